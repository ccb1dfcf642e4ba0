"""The source against a real server on loopback: what it asks for, and what it makes of each answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web
from tests.support.catalogues import Json, course, encoded, several, taken
from tests.support.clock import ManualClock

from vacancy.model.availability import Claim, Failed, Trouble, Unchanged
from vacancy.model.catalogue import CatalogueAnswer, CatalogueOutcome
from vacancy.net.client import Client, Reach
from vacancy.simulator.server import Simulator
from vacancy.sources.soc_catalogue import SocCatalogue
from vacancy.sources.upstream import fetch
from vacancy.store import catalogue, section_status
from vacancy.store.engine import Store

CLAIM = Claim(1, "soc_catalogue", "12025|NB", 0, 0, "me", "trace", False, (), None, 0, None, False)


@dataclass
class Upstream:
    status: int = 200
    body: bytes = b"[]"
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json;charset=utf-8"})
    asked: list[web.Request] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request)
        return web.Response(status=self.status, body=self.body, headers=self.headers)


@asynccontextmanager
async def serving(upstream: Upstream) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path:.*}", upstream.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def play(
    store: Store, clock: ManualClock, scenario: Callable[[SocCatalogue, Upstream], Awaitable[None]], body: bytes = b"[]"
) -> None:
    async def run() -> None:
        upstream = Upstream(body=body)
        client = Client(clock, user_agent="test")
        try:
            async with serving(upstream) as origin:
                source = SocCatalogue(store, client, base_url=f"{origin}/", terms=["12025"], campuses=["NB", "NK"])
                await scenario(source, upstream)
        finally:
            await client.close()

    asyncio.run(run())


def answered(outcome: CatalogueOutcome) -> CatalogueAnswer:
    assert isinstance(outcome, CatalogueAnswer), outcome
    return outcome


def test_the_questions_are_every_term_and_campus(sqlite_store: Store, clock: ManualClock) -> None:
    async def scenario(source: SocCatalogue, upstream: Upstream) -> None:
        assert [question.key for question in source.questions()] == ["12025|NB", "12025|NK"]
        assert {question.source for question in source.questions()} == {"soc_catalogue"}
        assert source.budget == "soc"

    play(sqlite_store, clock, scenario)


def test_one_catalogue_from_the_question_to_the_rows_and_nothing_new_after(
    sqlite_store: Store, clock: ManualClock
) -> None:
    store = sqlite_store

    async def scenario(source: SocCatalogue, upstream: Upstream) -> None:
        upstream.headers = {**upstream.headers, "Date": "Mon, 05 Jan 2026 11:59:30 GMT", "Age": "20"}
        answer = answered(await source.ask(CLAIM, None))
        asked = upstream.asked[0]
        assert (asked.path, dict(asked.query)) == ("/courses.json", {"year": "2025", "term": "1", "campus": "NB"})
        assert asked.headers["Accept"] == "application/json"
        assert answer.observed_at == datetime(2026, 1, 5, 11, 59, 10, tzinfo=UTC)
        assert taken(await store.write(catalogue.swap, clock.now(), answer)).sections_changed == 5
        assert await source.ask(CLAIM, answer.digest) == Unchanged()
        assert await source.ask(CLAIM, None) == Unchanged(), "after a restart the stored hash says so"
        upstream.body = encoded([*several(5), course("01:998:205")])
        second = answered(await source.ask(CLAIM, answer.digest))
        assert [each.course_string for each in second.courses] == ["01:998:205"]
        assert len(second.kept) == 5

    play(store, clock, scenario, encoded(several(5)))


def test_one_malformed_course_refuses_the_body(sqlite_store: Store, clock: ManualClock) -> None:
    bad: Json = course("01:998:205") | {"title": None}

    async def scenario(source: SocCatalogue, upstream: Upstream) -> None:
        outcome = await source.ask(CLAIM, None)
        assert isinstance(outcome, Failed)
        assert outcome.trouble is Trouble.UNREADABLE
        assert outcome.message.startswith("catalogue 12025 NB: course 01:998:205: Expected str, got null")

    play(sqlite_store, clock, scenario, encoded([*several(3), bad]))


JSON = {"Content-Type": "application/json"}
PAGE = {"Content-Type": "text/html"}
ANSWERS = [
    (200, PAGE, Trouble.UNREADABLE, None),
    (200, {"Content-Type": "application/jsonp"}, Trouble.UNREADABLE, None),
    (204, JSON, Trouble.UNREADABLE, None),
    (302, {**JSON, "Location": "https://elsewhere.example/"}, Trouble.REFUSED, None),
    (304, JSON, Trouble.REFUSED, None),
    (400, JSON, Trouble.MISCONFIGURED, None),
    (401, JSON, Trouble.UNAUTHORIZED, None),
    (403, PAGE, Trouble.UNAUTHORIZED, None),
    (404, JSON, Trouble.MISCONFIGURED, None),
    (408, JSON, Trouble.SERVER_ERROR, None),
    (418, JSON, Trouble.REFUSED, None),
    (429, {**JSON, "Retry-After": "17"}, Trouble.RATE_LIMITED, 17.0),
    (429, {**JSON, "Retry-After": "soon"}, Trouble.RATE_LIMITED, None),
    (500, PAGE, Trouble.SERVER_ERROR, None),
    (503, {**JSON, "Retry-After": "Mon, 05 Jan 2026 12:00:30 GMT"}, Trouble.SERVER_ERROR, 30.0),
]


@pytest.mark.parametrize(("status", "headers", "trouble", "retry_after"), ANSWERS)
def test_every_status_has_its_trouble(
    clock: ManualClock, status: int, headers: Mapping[str, str], trouble: Trouble, retry_after: float | None
) -> None:
    failed = ask_once(clock, Upstream(status, b"<h1>no\r\nway</h1>" + b"x" * 999, headers))
    assert isinstance(failed, Failed)
    assert (failed.trouble, failed.retry_after_s) == (trouble, retry_after)
    assert f"answered {status}" in failed.message
    assert len(failed.message) < 300
    assert "\n" not in failed.message
    assert "secret" not in failed.message


def ask_once(clock: ManualClock, upstream: Upstream, max_bytes: int = 1 << 20) -> object:
    async def run() -> object:
        client = Client(clock, user_agent="test")
        try:
            async with serving(upstream) as origin:
                return await fetch(
                    client, f"{origin}/x?key=secret", reach=Reach.UPSTREAM, timeout_s=5, max_bytes=max_bytes
                )
        finally:
            await client.close()

    return asyncio.run(run())


def test_what_is_too_large_cannot_be_read(clock: ManualClock) -> None:
    failed = ask_once(clock, Upstream(body=b"x" * 5000), max_bytes=4999)
    assert isinstance(failed, Failed)
    assert failed.trouble is Trouble.UNREADABLE
    assert "4999" in failed.message


@pytest.mark.parametrize(
    ("url", "trouble"), [("http://127.0.0.1:9/x", Trouble.NETWORK), ("http://192.0.2.1/x", Trouble.REFUSED)]
)
def test_what_cannot_be_reached(clock: ManualClock, url: str, trouble: Trouble) -> None:
    async def run() -> object:
        client = Client(clock, user_agent="test")
        try:
            return await fetch(client, url, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=9)
        finally:
            await client.close()

    failed = asyncio.run(run())
    assert isinstance(failed, Failed)
    assert failed.trouble is trouble


def test_a_simulated_campus_is_taken_in_whole(store: Store, clock: ManualClock) -> None:
    """With all the quirks that the simulator knows, at a twentieth of the real size."""

    async def run() -> None:
        simulator = Simulator(clock, scale=0.05)
        client = Client(clock, user_agent="test")
        await simulator.start()
        try:
            source = SocCatalogue(store, client, base_url=simulator.base_url, terms=["12025"], campuses=["NB"])
            answer = answered(await source.ask(CLAIM, None))
            taken(await store.write(catalogue.swap, clock.now(), answer))
            world = simulator.world("12025", "NB")
            known = await store.read(catalogue.known_indexes, "12025", "NB")
            assert known == frozenset(world.catalogue_indexes)
            flipped = next(index for index in world.catalogue_indexes if index in world.open_indexes)
            world.close(flipped)
            answer = answered(await source.ask(CLAIM, answer.digest))
            taken(await store.write(catalogue.swap, clock.now(), answer))
            before = answer.observed_at - timedelta(seconds=1)
            flips = await store.read(section_status.flips_since, "12025", "NB", before)
            assert (flips.opened, flips.closed) == (frozenset(), frozenset({flipped}))
        finally:
            await client.close()
            await simulator.stop()

    asyncio.run(run())
