"""The other ends, each in a process of its own so that what they cost is not counted: `python -m bench.peer ROLE ...`.

body N                   answers every GET with the same open list of N members
feed ours|bare DATABASE  serves GET /api/events under uvicorn: the product's app, or the bare reference
feed bytes FILE          answers every GET under uvicorn with the same bytes
readers                  reads `ask url count connections` lines, answers with the median and the 99th percentile of the
                         seconds that a request took; and `keep url file`, answers with the size of what it kept
client                   reads `url count connections` lines, asks that often, answers with the seconds it took
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import uvicorn

from bench.feed_apps import bare_app, bytes_app, our_app


async def _serve_body(count: int) -> None:
    body = msgspec.json.encode([f"{number:05d}" for number in range(10_000, 10_000 + count)])
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    answer = head + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    _say(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()


def _serve_feed(which: str, database: Path) -> None:
    app: Any = our_app(database)[0] if which == "ours" else {"bare": bare_app, "bytes": bytes_app}[which](database)
    # With the protocol named: asyncio turns Nagle's delay off only where it reads TCP, and 40 ms would hide the rest.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    _say(f"http://127.0.0.1:{listening.getsockname()[1]}")
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listening])


async def _ask(address: str, count: int) -> tuple[list[float], bytes]:
    """The seconds that each request took, and the last body."""
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    assert parts.port
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 20)
    request = f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    took, body = [], b""
    for _ in range(count):
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        took.append(time.perf_counter() - began)
    writer.close()
    return took, body


async def _ask_all(address: str, count: int, connections: int) -> list[float]:
    async with asyncio.timeout(60):
        done = await asyncio.gather(*[_ask(address, count // connections) for _ in range(connections)])
    return sorted(seconds for took, _ in done for seconds in took)


def _be_client() -> None:
    for line in sys.stdin:
        address, count, connections = line.split()
        began = time.perf_counter()
        asyncio.run(_ask_all(address, int(count), int(connections)))
        _say(f"{time.perf_counter() - began:.6f}")


def _be_readers() -> None:
    for line in sys.stdin:
        what, address, *more = line.split(maxsplit=2)
        if what == "keep":
            _, body = asyncio.run(_ask(address, 1))
            _say(str(Path(more[0].strip()).write_bytes(body)))
        else:
            count, connections = more[0].split()
            took = asyncio.run(_ask_all(address, int(count), int(connections)))
            _say(f"{took[len(took) // 2]:.6f} {took[len(took) * 99 // 100]:.6f}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(role: str, *arguments: str) -> None:
    if role == "body":
        asyncio.run(_serve_body(int(arguments[0])))
    elif role == "feed":
        _serve_feed(arguments[0], Path(arguments[1]))
    elif role == "readers":
        _be_readers()
    else:
        _be_client()


if __name__ == "__main__":
    main(*sys.argv[1:])
