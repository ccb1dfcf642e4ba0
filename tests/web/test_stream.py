from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import uvicorn
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.support.rows import course_event, insert_events, prune_events
from tests.web.calling import begin, fill, get, until, until_waiting

from vacancy.settings import Settings
from vacancy.web.app import create_app
from vacancy.web.context import House


@dataclass
class Said:
    id: int
    kind: str
    data: dict[str, Any]


def parse(text: str) -> list[Said]:
    """What a browser would dispatch: blocks with data."""
    said = []
    # What follows the last empty line is still on its way.
    for block in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if "data" in fields:
            said.append(Said(int(fields["id"]), fields["event"], msgspec.json.decode(fields["data"])))
    return said


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """A real server on a loopback socket."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none", lifespan="on"))
    task = asyncio.ensure_future(server.serve(sockets=[listening]))
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        app.state.house.stopping.set()
        await task
        listening.close()


class Reader:
    """A client of a stream, on a real socket."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.text = ""

    async def more(self) -> bool:
        chunk = await self.response.content.readany()
        self.text += chunk.decode()
        return bool(chunk)

    async def until(self, true: Callable[[list[Said]], object]) -> list[Said]:
        while not true(parse(self.text)):
            assert await self.more(), f"the stream ended after {self.text!r}"
        return parse(self.text)


def on_a_socket(app: FastAPI, scenario: Callable[[aiohttp.ClientSession], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with served(app) as base, aiohttp.ClientSession(base) as client:
            await asyncio.wait_for(scenario(client), 60)

    asyncio.run(run())


def test_a_stream_begins_now_and_tells_what_comes(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(1)])

    async def scenario(client: aiohttp.ClientSession) -> None:
        async with client.get("/api/events/stream") as response:
            assert response.status == 200
            assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
            assert response.headers["X-Trace-Id"]
            reader = Reader(response)
            await house.store.write(insert_events, [course_event(2), course_event(3, status_after="Closed")])
            said = await reader.until(lambda said: len(said) == 2)
            assert [(event.id, event.kind) for event in said] == [(2, "opening"), (3, "closing")]
            page = await (await client.get("/api/events?after_id=1")).json()
            assert [event.data for event in said] == page["items"]
            # Even before the first event the client knows where to come back to.
            assert reader.text.startswith("retry: 3000\nid: 1\n\n")

    on_a_socket(app, scenario)


def test_it_resumes_after_the_last_id_and_the_header_wins(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(number) for number in range(1, 6)])

    async def scenario(client: aiohttp.ClientSession) -> None:
        async with client.get("/api/events/stream?after_id=3") as response:
            said = await Reader(response).until(lambda said: len(said) == 2)
            assert [event.id for event in said] == [4, 5]
        async with client.get("/api/events/stream?after_id=4", headers={"Last-Event-ID": "1"}) as response:
            said = await Reader(response).until(lambda said: len(said) == 4)
            assert [event.id for event in said] == [2, 3, 4, 5]
        async with client.get("/api/events/stream?after_id=4", headers={"Last-Event-ID": "0"}) as response:
            said = await Reader(response).until(lambda said: len(said) == 5)

    on_a_socket(app, scenario)


def test_no_gap_while_events_are_committed(house: House) -> None:
    """Readers that begin, break off and come back during the inserts have each event once, in order."""
    # A place is given back a moment after its client has left: more places than readers.
    app = create_app(dataclasses.replace(house, settings=Settings()))
    batches = [[course_event(10 * batch + n) for n in range(batch % 4 + 1)] for batch in range(40)]
    total = sum(len(batch) for batch in batches)

    async def write() -> None:
        for batch in batches:
            await house.store.write(insert_events, batch)

    async def read(client: aiohttp.ClientSession, patience: int) -> list[int]:
        found: list[int] = []
        while len(found) < total:
            cursor = found[-1] if found else 0
            async with client.get("/api/events/stream", headers={"Last-Event-ID": str(cursor)}) as response:
                wanted = min(patience, total - len(found))
                said = await Reader(response).until(lambda said, wanted=wanted: len(said) >= wanted)  # type: ignore[misc]
                found += [event.id for event in said]
        return found

    async def scenario(client: aiohttp.ClientSession) -> None:
        _, often, seldom = await asyncio.gather(write(), read(client, 7), read(client, 1000))
        assert often == seldom == list(range(1, total + 1))

    on_a_socket(app, scenario)


def test_filters_hold_for_a_stream(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> str:
        call = begin(app, "/api/events/stream?after_id=0&status=Open&topic=soc:12025:NB:00002")
        await until_waiting(clock)
        events = [course_event(1), course_event(2, status_after="Closed"), course_event(3)]
        await house.store.write(insert_events, events)
        await house.store.write(insert_events, [course_event(4, topics=["soc:12025:NB:00002"])])
        await until(lambda: parse(call.text))
        house.stopping.set()
        await call.answer()
        return call.text

    assert [event.id for event in parse(asyncio.run(scenario()))] == [4]


def test_the_heartbeat_carries_on_what_was_passed_over(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> str:
        call = begin(app, "/api/events/stream?after_id=0&source=resy")
        await until_waiting(clock)
        await clock.advance(15)
        await until_waiting(clock)
        naps = clock.naps
        await house.store.write(insert_events, [course_event(1)])
        # It was woken, looked at the event, and waits again.
        await until(lambda: clock.naps > naps)
        await clock.advance(15)
        await until(lambda: call.text.count("still here") == 2)
        house.stopping.set()
        await call.answer()
        return call.text

    assert asyncio.run(scenario()) == "retry: 3000\nid: 0\n\n: still here\n\n: still here\nid: 1\n\n"


def test_a_drain_ends_every_stream(app: FastAPI, house: House) -> None:
    async def scenario(client: aiohttp.ClientSession) -> None:
        async with client.get("/api/events/stream") as response:
            reader = Reader(response)
            await reader.more()
            house.stopping.set()
            while await reader.more():
                pass
            assert response.content.at_eof()

    on_a_socket(app, scenario)


def test_streams_are_counted_and_given_back(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> None:
        calls = [begin(app, "/api/events/stream") for _ in range(2)]
        await until_waiting(clock, 2)
        assert b"vacancy_streams 2.0" in house.metrics.text()
        refused = await get(app, "/api/events/stream")
        assert (refused.status, refused.error["code"]) == (503, "too_many_streams")
        assert refused.headers["retry-after"] == "5"
        calls[0].gone.set()
        await calls[0].answer()
        calls.append(begin(app, "/api/events/stream"))
        await until_waiting(clock, 2)
        for call in calls[1:]:
            call.gone.set()
            assert (await call.answer()).status == 200
        await until_waiting(clock, 0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert b"vacancy_streams 0.0" in house.metrics.text()

    asyncio.run(scenario())


def test_a_client_that_vanishes_is_noticed_on_a_real_socket(app: FastAPI, house: House) -> None:
    async def scenario(client: aiohttp.ClientSession) -> None:
        async with client.get("/api/events/stream") as response:
            await Reader(response).more()
            assert b"vacancy_streams 1.0" in house.metrics.text()
            response.close()
        await until(lambda: b"vacancy_streams 0.0" in house.metrics.text())

    on_a_socket(app, scenario)


def test_a_stream_that_fell_behind_what_is_kept_ends(app: FastAPI, house: House, clock: ManualClock) -> None:
    """Its client comes back with the old cursor then, and is told that it expired."""
    fill(house, insert_events, [course_event(number) for number in range(1, 6)])

    async def scenario() -> str:
        call = begin(app, "/api/events/stream?after_id=1&source=resy")
        await until_waiting(clock)
        await house.store.write(prune_events, 5)
        await house.store.write(insert_events, [course_event(9)])
        await until_waiting(clock)
        late = await get(app, "/api/events/stream?after_id=1")
        assert late.status == 410
        house.stopping.set()
        await call.answer()
        return call.text

    assert parse(asyncio.run(scenario())) == []


def test_head_of_a_stream_ends(app: FastAPI) -> None:
    async def scenario() -> None:
        answer = await get(app, "/api/events/stream", "HEAD")
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.body == b""

    asyncio.run(scenario())
