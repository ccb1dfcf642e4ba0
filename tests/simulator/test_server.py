from __future__ import annotations

import asyncio
import gzip
import signal
from email.utils import parsedate_to_datetime

import aiohttp
import pytest

from tests.simulator.harness import NB, Rig, running, until, with_rig
from tests.support.clock import ManualClock
from vacancy.clock import SystemClock
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.run import serve_simulator
from vacancy.simulator.server import Simulator


def test_headers_are_those_of_a_web_farm() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        answers = []
        for _ in range(4):
            async with rig.ask() as response:
                answers.append((response.headers.copy(), await response.read()))
        headers, bodies = [answer[0] for answer in answers], {answer[1] for answer in answers}
        assert len(bodies) == 1
        assert len({one["ETag"] for one in headers}) == 4
        assert len({one["X-Server-Name"] for one in headers}) == 4
        assert headers[0]["Content-Type"] == "application/json"
        assert headers[0]["Cache-Control"] == "max-age=30"
        assert parsedate_to_datetime(headers[0]["Date"]) == clock.now()

    with_rig(scenario, clock)


@pytest.mark.parametrize("endpoint", ["openSections", "courses"])
def test_bodies_are_packed_only_for_clients_that_say_so(endpoint: str) -> None:
    async def scenario(rig: Rig) -> None:
        url = f"{rig.simulator.base_url}/{endpoint}.json"
        async with aiohttp.ClientSession(auto_decompress=False) as session:
            async with session.get(url, params=NB, headers={"Accept-Encoding": "gzip"}) as response:
                assert response.headers["Content-Encoding"] == "gzip"
                packed = await response.read()
            async with session.get(url, params=NB, headers={"Accept-Encoding": "identity"}) as response:
                assert "Content-Encoding" not in response.headers
                assert gzip.decompress(packed) == await response.read()

    with_rig(scenario)


def test_a_catalogue_of_several_megabytes_arrives_whole() -> None:
    async def scenario(rig: Rig) -> None:
        courses = await rig.json("courses", campus="CM")
        assert len(courses) >= 900

    with_rig(scenario, scale=1.0, campuses=("CM",))


def test_subject_and_level_are_ignored() -> None:
    async def scenario(rig: Rig) -> None:
        assert await rig.json("courses", subject="198", level="U") == await rig.json("courses")

    with_rig(scenario)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"year": ""}, 400),
        ({"year": "25"}, 400),
        ({"term": "2"}, 400),
        ({"campus": ""}, 400),
        ({"campus": "NWK"}, 404),
        ({"year": "2031"}, 404),
    ],
)
def test_wrong_parameters(changes: dict[str, str], status: int) -> None:
    async def scenario(rig: Rig) -> None:
        async with rig.ask("openSections", **changes) as response:
            assert response.status == status
        assert rig.simulator.requests[-1].status == status

    with_rig(scenario)


def test_requests_are_counted_and_timed() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        await rig.json()
        await clock.advance(15)
        await asyncio.gather(rig.json(), rig.json("courses", campus="NK"))
        records = rig.simulator.requests
        assert sorted(record.arrived for record in records) == [0, 15, 15]
        assert "aiohttp" in records[0].headers["User-Agent"]
        shown = await rig.control("GET")
        assert shown["served"] == {"openSections 12025/NB": 2, "courses 12025/NK": 1}
        assert shown["served_by_endpoint"] == {"openSections": 2, "courses": 1}
        assert shown["in_flight"] == 0
        assert [arrival["at"] for arrival in shown["arrivals"]] == [0, 15, 15]
        assert {world["campus"] for world in shown["worlds"]} == {"NB", "NK"}

    with_rig(scenario, clock)


def test_requests_in_flight_are_counted_by_target() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        rig.simulator.fault("latency", seconds=5)
        asked = [asyncio.create_task(rig.json(campus=campus)) for campus in ("NB", "NB", "NK")]
        await until(lambda: clock.sleepers == 3)
        await clock.advance(5)
        await asyncio.gather(*asked)
        shown = await rig.control("GET")
        assert shown["max_in_flight"] == 3
        assert shown["max_in_flight_by_target"] == {"openSections 12025/NB": 2, "openSections 12025/NK": 1}

    with_rig(scenario, clock)


def test_seats_and_lists_are_set_from_outside() -> None:
    async def scenario(rig: Rig) -> None:
        where = {"term": "12025", "campus": "NB"}
        world = await rig.control("GET", "/world?term=12025&campus=NB")
        closed = sorted(set(world["catalogue"]) - set(world["open"]))[0]
        opened = world["open"][0]
        await rig.control("POST", "/seats", where | {"open": [closed], "close": [opened]})
        members = await rig.json()
        assert closed in members
        assert opened not in members
        await rig.control("POST", "/open_list", where | {"indexes": ["00002", "00001"]})
        assert await rig.json() == ["00002", "00001"]
        await rig.control("POST", "/open_list", where | {"indexes": None})
        assert await rig.json() == members
        moved = await rig.control("POST", "/step", where | {"openings": 2, "closings": 1})
        assert set(moved["opened"]) <= set(await rig.json())

    with_rig(scenario)


def test_churn_runs_by_the_clock_once_it_has_rates() -> None:
    clock = ManualClock()

    async def scenario(rig: Rig) -> None:
        before = len(set(await rig.json()))
        shown = await rig.control("POST", "/churn", {"openings_per_minute": 6})
        assert shown["enabled"]
        assert shown["NB"] == {"openings_per_minute": 6, "closings_per_minute": 0}
        await clock.advance(60)
        assert len(set(await rig.json())) == before + 6
        await rig.control("POST", "/churn", {"enabled": False})
        await clock.advance(60)
        assert len(set(await rig.json())) == before + 6

    with_rig(scenario, clock)


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/faults", {"campus": "NB"}, 422, "kind"),
        ("/faults", {"kind": "nonsense"}, 422, "nonsense"),
        ("/faults", {"kind": "empty", "speed": 3}, 422, "speed"),
        ("/faults", {"kind": "latency", "seconds": "long"}, 422, "seconds"),
        ("/faults", {"kind": "latency", "seconds": -1}, 422, "seconds"),
        ("/faults", {"kind": "partial", "count": True}, 422, "count"),
        ("/faults", {"kind": "partial", "endpoint": "courses"}, 422, "endpoint"),
        ("/faults", {"kind": "empty", "times": 0}, 422, "times"),
        ("/faults", {"kind": "empty", "campus": 5}, 422, "campus"),
        ("/faults", {"kind": "empty", "campus": "XX"}, 404, "XX"),
        ("/faults", {"kind": "empty", "term": "92030"}, 404, "92030"),
        ("/faults", [], 422, "object"),
        ("/seats", {"term": "12025", "campus": "NB", "open": ["12"]}, 422, "12"),
        ("/seats", {"term": "12025", "campus": "NB", "opened": []}, 422, "opened"),
        ("/seats", {"term": "12025", "campus": "XX"}, 404, "XX"),
        ("/churn", {"openings_per_minute": -1}, 422, "openings_per_minute"),
        ("/churn", {"campus": "XX", "enabled": True}, 404, "XX"),
        ("/step", {"term": "12025", "campus": "NB", "openings": -1}, 422, "openings"),
    ],
)
def test_wrong_orders_are_explained(path: str, body: object, status: int, message: str) -> None:
    async def scenario(rig: Rig) -> None:
        answer = await rig.control("POST", path, body, status)
        assert message in answer["error"]["message"]

    with_rig(scenario)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::"])
def test_only_loopback_is_served(host: str) -> None:
    simulator = Simulator(SystemClock(), scale=0.01)
    with pytest.raises(SimulatorError, match="loopback"):
        asyncio.run(simulator.start(host))


def test_a_taken_port_is_reported_and_nothing_is_left_behind() -> None:
    async def play() -> None:
        async with running() as rig:
            port = int(rig.simulator.base_url.split(":")[2].split("/")[0])
            second = Simulator(SystemClock(), scale=0.01)
            with pytest.raises(OSError, match="address"):
                await second.start(port=port)
            with pytest.raises(SimulatorError, match="not been started"):
                assert second.base_url
            await second.stop()

    asyncio.run(play())


def test_the_process_says_where_it_is_and_stops_on_a_signal() -> None:
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.startswith("Clear"):
            signal.raise_signal(signal.SIGTERM)

    async def play() -> None:
        serving = serve_simulator(
            "127.0.0.1",
            0,
            seed=1,
            scale=0.01,
            terms=["12025"],
            campuses=["NB"],
            openings_per_minute=1,
            closings_per_minute=1,
            say=say,
        )
        await asyncio.wait_for(serving, 10)

    asyncio.run(play())
    assert "/soc/api/openSections.json?year=2025&term=1&campus=NB" in said[0]
    assert sum("curl -X POST" in line for line in said) == 2
