"""The client against real servers on loopback, well-behaved and not."""

from __future__ import annotations

import asyncio
import gzip
import traceback
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from tests.support.clock import START, ManualClock

from vacancy.clock import SystemClock
from vacancy.net.client import Client, NetTrouble, Reach, Response

Handler = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
Ask = Callable[..., Awaitable[Response]]


@asynccontextmanager
async def served(handler: Handler) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that hands each request, head and body, to the handler; and what it was asked so far."""
    seen: list[bytes] = []
    writers: set[asyncio.StreamWriter] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                seen.append(head + await reader.readexactly(int(length or 0)))
                await handler(seen[-1], writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", seen
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()


def answering(body: bytes, *lines: str, status: str = "200 OK") -> Handler:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines))

    async def handler(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + b"\r\n" + body)

    return handler


def raw(*pieces: bytes, then: str = "close") -> Handler:
    async def handler(request: bytes, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if then == "reset":
            writer.transport.abort()
        elif then == "close":
            writer.close()

    return handler


def chunked(body: bytes, size: int, *lines: str) -> Handler:
    head = "".join(f"{line}\r\n" for line in ("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *lines)).encode()
    cut = [body[start : start + size] for start in range(0, len(body), size)]
    return raw(head + b"\r\n", *(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in cut), b"0\r\n\r\n", then="keep")


def asks(handler: Handler, play: Callable[[str, list[bytes], Client], Awaitable[None]]) -> None:
    async def main() -> None:
        client = Client(SystemClock(), user_agent="vacancy/test")
        try:
            async with served(handler) as (origin, seen):
                await play(origin, seen, client)
        finally:
            await client.close()

    asyncio.run(main())


def answer(handler: Handler, *, max_bytes: int = 1 << 20, timeout_s: float = 5) -> Response:
    got: list[Response] = []

    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        url = f"{origin}/s3cret?token=s3cret"
        got.append(await client.get(url, reach=Reach.UPSTREAM, timeout_s=timeout_s, max_bytes=max_bytes))

    asks(handler, play)
    return got[0]


def trouble(handler: Handler, *, max_bytes: int = 1 << 20, timeout_s: float = 5) -> str:
    with pytest.raises(NetTrouble) as raised:
        answer(handler, max_bytes=max_bytes, timeout_s=timeout_s)
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in "".join(traceback.format_exception(raised.value))
    assert "http://127.0.0.1:" in raised.value.message
    return raised.value.kind


def test_an_answer_with_its_headers_in_any_case() -> None:
    got = answer(answering(b"[1]", "content-TYPE: application/json", "X-Two: a", "X-Two: b"))
    assert (got.status, got.body, got.headers["Content-Type"]) == (200, b"[1]", "application/json")
    assert got.elapsed_s > 0


def test_times_are_the_clocks() -> None:
    async def main() -> None:
        clock = ManualClock()
        client = Client(clock, user_agent="x")

        async def late(request: bytes, writer: asyncio.StreamWriter) -> None:
            clock.pass_time(2)
            await answering(b"")(request, writer)

        async with served(late) as (origin, _):
            got = await client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=1)
        await client.close()
        assert got.elapsed_s == 2
        assert (got.received_at - START).total_seconds() == 2

    asyncio.run(main())


def test_connections_are_kept_cookies_are_not_and_headers_are_sent() -> None:
    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        for path in ("/a?x=1", "/b"):
            await client.get(origin + path, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=10, headers={"X-Mine": "yes"})
        first, second = seen
        assert first.startswith(b"GET /a?x=1 HTTP/1.1\r\n")
        assert b"User-Agent: vacancy/test\r\n" in first
        assert b"Accept-Encoding: gzip, deflate\r\n" in first
        assert b"X-Mine: yes\r\n" in second
        assert b"cookie" not in second.lower()

    connections: set[asyncio.StreamWriter] = set()

    async def handler(request: bytes, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        await answering(b"ok", "Set-Cookie: a=1")(request, writer)

    asks(handler, play)
    assert len(connections) == 1


def test_a_post_sends_its_bytes_and_its_type() -> None:
    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        got = await client.post(
            f"{origin}/hook",
            reach=Reach.UPSTREAM,
            timeout_s=5,
            max_bytes=10,
            body=b'{"a":1}',
            content_type="application/json",
            headers={"X-Signature": "abc"},
        )
        assert got.status == 202
        assert seen[0].endswith(b'\r\n\r\n{"a":1}')
        assert b"Content-Type: application/json\r\n" in seen[0]
        assert b"X-Signature: abc\r\n" in seen[0]

    asks(answering(b"", status="202 Accepted"), play)


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        got = await client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=10)
        assert (got.status, got.headers["location"]) == (302, "http://127.0.0.1:1/elsewhere")
        assert len(seen) == 1

    asks(answering(b"", "Location: http://127.0.0.1:1/elsewhere", status="302 Found"), play)


@pytest.mark.parametrize("status", ["304 Not Modified", "204 No Content"])
def test_answers_without_a_body_give_their_connection_back(status: str) -> None:
    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        for _ in range(2):
            got = await client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=10)
            assert got.body == b""

    asks(raw(f"HTTP/1.1 {status}\r\nETag: x\r\n\r\n".encode(), then="keep"), play)


@pytest.mark.parametrize(
    "pieces", [(), (b"HTTP/1.1 200 OK\r\n",), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",)]
)
def test_the_timeout_covers_head_and_body(pieces: tuple[bytes, ...]) -> None:
    assert trouble(raw(*pieces, then="keep"), timeout_s=0.05) == "timeout"


def test_a_body_that_trickles_is_given_up_in_time() -> None:
    async def trickle(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await asyncio.sleep(0)

    assert trouble(trickle, timeout_s=0.1, max_bytes=1 << 30) == "timeout"


@pytest.mark.parametrize(
    ("pieces", "then"),
    [
        ((), "close"),
        ((), "reset"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",), "close"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",), "reset"),
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",), "close"),
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab",), "close"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc",), "close"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: br\r\n\r\nabc",), "close"),
        ((b"SSH-2.0-OpenSSH_9\r\n",), "close"),
        ((b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",), "close"),
    ],
)
def test_answers_that_break_off_or_make_no_sense(pieces: tuple[bytes, ...], then: str) -> None:
    assert trouble(raw(*pieces, then=then)) == "network"


def test_nobody_listens() -> None:
    async def main() -> None:
        async with served(answering(b"")) as (origin, _):
            pass
        client = Client(SystemClock(), user_agent="x")
        with pytest.raises(NetTrouble) as raised:
            await client.get(f"{origin}/s3cret", reach=Reach.UPSTREAM, timeout_s=5, max_bytes=10)
        assert raised.value.message.startswith(f"{origin}: no connection could be made")
        assert raised.value.kind == "network"
        await client.close()

    asyncio.run(main())


def test_a_length_over_the_cap_fails_before_the_body() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n"
    assert trouble(raw(head, then="keep"), max_bytes=100) == "too_large"


@pytest.mark.parametrize("size", [1, 50, 101])
def test_chunks_over_the_cap(size: int) -> None:
    assert trouble(chunked(b"x" * 101, size), max_bytes=100) == "too_large"
    assert answer(chunked(b"x" * 100, size), max_bytes=100).body == b"x" * 100


def test_a_body_that_ends_with_its_connection() -> None:
    assert answer(raw(b"HTTP/1.1 200 OK\r\n\r\n", b"abc")).body == b"abc"
    assert trouble(raw(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 200), max_bytes=100) == "too_large"


def test_packed_bodies_are_unpacked() -> None:
    body = b'["12345"]' * 100_000
    assert answer(answering(gzip.compress(body), "Content-Encoding: gzip")).body == body
    assert answer(chunked(zlib.compress(body), 1000, "Content-Encoding: deflate")).body == body


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_stopped_before_it_is_unpacked(encoding: str) -> None:
    """100 MB in 100 KB; unpacked at once it would show in the peak of what was allocated."""
    packer = zlib.compressobj(9, wbits=31 if encoding == "gzip" else 15)
    zeros = bytes(1 << 20)
    packed = b"".join(packer.compress(zeros) for _ in range(100)) + packer.flush()
    for handler in (answering, lambda body, line: chunked(body, 1 << 14, line)):
        tracemalloc.start()
        try:
            kind = trouble(handler(packed, f"Content-Encoding: {encoding}"), max_bytes=1 << 20)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kind == "too_large"
        assert peak < 8 << 20


def test_after_trouble_the_next_request_works() -> None:
    big = True

    async def handler(request: bytes, writer: asyncio.StreamWriter) -> None:
        await (chunked(b"x" * 500_000, 1000) if big else answering(b"ok"))(request, writer)

    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        nonlocal big
        with pytest.raises(NetTrouble):
            await client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=100)
        big = False
        got = await client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=100)
        assert got.body == b"ok"

    asks(handler, play)


def test_a_cancelled_request_leaves_the_client_usable() -> None:
    stalled = True

    async def handler(request: bytes, writer: asyncio.StreamWriter) -> None:
        await (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", then="keep") if stalled else answering(b"ok"))(
            request, writer
        )
        started.set()

    started = asyncio.Event()

    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        nonlocal stalled
        request = asyncio.ensure_future(client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=100))
        await started.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        stalled = False
        assert (await client.get(origin, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=100)).body == b"ok"

    asks(handler, play)


def test_users_do_not_reach_this_machine() -> None:
    async def play(origin: str, seen: list[bytes], client: Client) -> None:
        for url in (origin, origin.replace("http", "https")):
            with pytest.raises(NetTrouble) as raised:
                await client.get(url, reach=Reach.PUBLIC, timeout_s=5, max_bytes=10)
            assert raised.value.kind == "refused"
        assert seen == []

    asks(answering(b"ok"), play)


def test_a_closed_client_is_not_used_again() -> None:
    async def main() -> None:
        client = Client(SystemClock(), user_agent="x")
        await client.close()
        with pytest.raises(RuntimeError):
            await client.get("http://127.0.0.1:1", reach=Reach.UPSTREAM, timeout_s=1, max_bytes=1)

    asyncio.run(main())
