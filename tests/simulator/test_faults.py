from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from tests.simulator.harness import Rig, until, with_rig
from tests.support.clock import ManualClock
from vacancy.simulator.answers import COURSES, OPEN_SECTIONS
from vacancy.simulator.effects import page
from vacancy.simulator.faults import KINDS


async def inject(rig: Rig, kind: str, **args: Any) -> None:
    await rig.control("POST", "/faults", {"kind": kind} | args)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("rate_limited", 429),
        ("unavailable", 503),
        ("server_error", 500),
        ("not_found", 404),
        ("bad_request", 400),
        ("unauthorized", 401),
        ("forbidden", 403),
    ],
)
def test_refusals(kind: str, status: int) -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, kind)
        for endpoint in (OPEN_SECTIONS, COURSES):
            async with rig.ask(endpoint) as response:
                assert response.status == status
                assert "Retry-After" not in response.headers
        await rig.control("DELETE", "/faults")
        assert await rig.json()

    with_rig(scenario)


@pytest.mark.parametrize("retry_after", ["30", "Wed, 21 Oct 2026 07:28:00 GMT", "soon"])
def test_rate_limits_say_when_to_come_back(retry_after: str) -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "rate_limited", retry_after=retry_after, times=1)
        async with rig.ask() as response:
            assert (response.status, response.headers["Retry-After"]) == (429, retry_after)
        assert await rig.json()

    with_rig(scenario)


def test_a_redirect_leads_to_a_trap() -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "redirect")
        async with rig.ask() as response:
            assert (response.status, response.headers["Location"]) == (302, "/elsewhere")
        async with rig.session.get(rig.simulator.base_url.replace("/soc/api", "/elsewhere")) as response:
            assert await response.json() == []
        assert rig.simulator.requests[-1].endpoint == "elsewhere"

    with_rig(scenario)


@pytest.mark.parametrize("endpoint", [OPEN_SECTIONS, COURSES])
def test_a_reset_ends_the_connection(endpoint: str) -> None:
    async def scenario(rig: Rig) -> None:
        # aiohttp asks once more by itself when the connection of a GET breaks: one call, two requests.
        await inject(rig, "reset", times=2)
        with pytest.raises(aiohttp.ClientConnectionError):
            await rig.body(endpoint)
        assert [record.status for record in rig.simulator.requests] == [None, None]
        assert await rig.body(endpoint)

    with_rig(scenario)


@pytest.mark.parametrize("endpoint", [OPEN_SECTIONS, COURSES])
def test_a_connection_drops_midway(endpoint: str) -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "drop_midway")
        async with rig.ask(endpoint) as response:
            assert response.status == 200
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()

    with_rig(scenario)


def test_a_hanging_request_waits_for_the_fault_to_be_cleared() -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "hang", times=1)
        asked = asyncio.create_task(rig.json())
        await until(lambda: rig.simulator.traffic.in_flight == 1)
        assert await rig.json()
        assert not asked.done()
        rig.simulator.clear_faults()
        assert await asked

    with_rig(scenario)


def test_a_hanging_request_ends_when_its_client_goes() -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "hang")
        asked = asyncio.create_task(rig.json())
        await until(lambda: rig.simulator.traffic.in_flight == 1)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        await until(lambda: rig.simulator.traffic.in_flight == 0)
        assert rig.simulator.requests[-1].status is None

    with_rig(scenario)


def test_stopping_does_not_wait_for_a_sleeping_request() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        await inject(rig, "latency", seconds=600)
        asked = asyncio.create_task(rig.json())
        await until(lambda: clock.sleepers == 1)
        await rig.simulator.stop()
        with pytest.raises(aiohttp.ClientError):
            await asked

    with_rig(scenario, clock)


def test_latency_passes_on_the_clock() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        await inject(rig, "latency", seconds=12)
        asked = asyncio.create_task(rig.json())
        await until(lambda: clock.sleepers == 1)
        await clock.advance(11)
        assert not asked.done()
        await clock.advance(1)
        assert await asked

    with_rig(scenario, clock)


def test_a_slow_body_drips() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        whole = await rig.body()
        await inject(rig, "slow_body", pieces=4, seconds=3)
        async with rig.ask() as response:
            first = await response.content.readany()
            assert 0 < len(first) < len(whole)
            rest = asyncio.create_task(response.read())
            for _ in range(3):
                await until(lambda: clock.sleepers == 1)
                assert not rest.done()
                await clock.advance(3)
            assert first + await rest == whole

    with_rig(scenario, clock)


def test_a_body_can_be_larger_than_any_cap() -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "too_large", bytes=3_000_000)
        async with rig.ask() as response:
            assert "Content-Length" not in response.headers
            assert len(await response.read()) == 3_000_000

    with_rig(scenario)


@pytest.mark.parametrize("endpoint", [OPEN_SECTIONS, COURSES])
@pytest.mark.parametrize(
    ("kind", "content_type", "readable"),
    [
        ("html", "text/html", False),
        ("html_as_json", "application/json", False),
        ("truncated", "application/json", False),
        ("wrong_type", "text/plain", True),
        ("empty", "application/json", True),
    ],
)
def test_bodies_that_are_not_what_they_should_be(kind: str, content_type: str, readable: bool, endpoint: str) -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, kind, endpoint=endpoint)
        async with rig.ask(endpoint) as response:
            assert (response.status, response.headers["Content-Type"]) == (200, content_type)
            body = await response.read()
        if readable:
            assert bool(json.loads(body)) is (kind != "empty")
        else:
            with pytest.raises(json.JSONDecodeError):
                json.loads(body)

    with_rig(scenario)


def test_wrong_shapes_of_the_open_list() -> None:
    async def scenario(rig: Rig) -> None:
        whole = await rig.json()
        await inject(rig, "numbers", times=1)
        assert await rig.json() == [int(index) for index in whole]
        await inject(rig, "four_digits", times=1)
        assert [len(index) for index in await rig.json()].count(4) == 1
        await inject(rig, "not_an_array", times=1)
        assert await rig.json() == {"openSections": whole}
        assert await rig.json() == whole

    with_rig(scenario)


@pytest.mark.parametrize("args", [{"keep": 0.7}, {"count": 50}, {"keep": 1.0}])
def test_a_partial_list_is_a_stable_strict_subset(args: dict[str, float]) -> None:
    async def scenario(rig: Rig) -> None:
        whole = await rig.json()
        await inject(rig, "partial", **args)
        first = await rig.json()
        assert await rig.json() == first
        assert set(first) < set(whole)
        if "count" in args:
            assert len(first) == 50
        kept = [index for index in dict.fromkeys(whole) if index in set(first)]
        assert first == kept

    with_rig(scenario)


def test_lists_of_other_places() -> None:
    async def scenario(rig: Rig) -> None:
        newark = await rig.json(campus="NK")
        camden = await rig.json(campus="CM")
        await inject(rig, "other_campus", campus="NB", times=1)
        assert await rig.json() == newark
        await inject(rig, "other_campus", campus="NB", other="CM")
        assert await rig.json() == camden
        assert await rig.json(campus="NK") == newark
        await rig.control("DELETE", "/faults")
        await inject(rig, "all_open")
        assert await rig.json() == list(rig.simulator.world("12025", "NB").catalogue_indexes)

    with_rig(scenario)


def test_other_campus_needs_another_campus() -> None:
    async def scenario(rig: Rig) -> None:
        await rig.control("POST", "/faults", {"kind": "other_campus"}, 404)

    with_rig(scenario, campuses=("NB",))


def test_catalogues_that_change_shrink_and_contradict_themselves() -> None:
    async def scenario(rig: Rig) -> None:
        whole = await rig.json(COURSES)
        await inject(rig, "shrunk", drop=0.25, times=1)
        assert len(await rig.json(COURSES)) == len(whole) - round(len(whole) * 0.25)
        await inject(rig, "catalogue_swap", share=0.2)
        swapped = await rig.json(COURSES)
        assert swapped != whole
        assert await rig.json(COURSES) == swapped
        await rig.control("DELETE", "/faults")
        await inject(rig, "conflicting_duplicate", times=1)
        assert (await rig.json(COURSES))[-1]["sections"][-1]["number"] == "X9"
        await inject(rig, "not_an_array", times=1)
        assert list(await rig.json(COURSES)) == [COURSES]
        assert await rig.json(COURSES) == whole

    with_rig(scenario)


def test_an_age_is_told() -> None:
    async def scenario(rig: Rig) -> None:
        await inject(rig, "age", seconds=900)
        async with rig.ask(COURSES) as response:
            assert response.headers["Age"] == "900"

    with_rig(scenario)


def test_faults_add_up_and_keep_to_their_place() -> None:
    async def scenario(rig: Rig) -> None:
        whole = await rig.json()
        rig.simulator.fault("partial", campus="NB", term="12025", keep=0.5)
        rig.simulator.fault("wrong_type", endpoint=OPEN_SECTIONS)
        async with rig.ask() as response:
            assert response.headers["Content-Type"] == "text/plain"
            assert len(json.loads(await response.read())) < len(whole)
        assert rig.simulator.requests[-1].faults == ["partial", "wrong_type"]
        assert await rig.json(COURSES)
        shown = (await rig.control("GET"))["faults"]
        assert [fault["kind"] for fault in shown] == ["partial", "wrong_type"]
        assert shown[0]["keep"] == 0.5

    with_rig(scenario)


def test_list_faults_stand_bodies_that_are_no_list() -> None:
    async def scenario(rig: Rig) -> None:
        for first in ("html_as_json", "not_an_array", "empty"):
            for second in ("partial", "numbers", "four_digits", "shrunk", "catalogue_swap", "conflicting_duplicate"):
                rig.simulator.clear_faults()
                rig.simulator.fault(first)
                rig.simulator.fault(second)
                await rig.json(KINDS[second].endpoints[0])

    with_rig(scenario)


def test_pages_are_html() -> None:
    assert page("x").startswith(b"<!DOCTYPE html>")
