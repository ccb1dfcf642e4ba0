"""The make-believe search for tables: the same for the same seed, and wrong in the ways that it is told to be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.harness import Rig, with_rig
from tests.support.clock import ManualClock
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.errors import SimulatorError, UnknownTargetError
from vacancy.simulator.resy_faults import KINDS, read_table_fault
from vacancy.simulator.resy_world import FIRST_NUMBER, SITTINGS, Tables

DAY = "2026-02-18"


def query(page: int = 1, size: int = 2, per_page: int = 10, **slot_filter: str) -> dict[str, Any]:
    return {
        "availability": True, "page": page, "per_page": per_page, "types": ["venue"], "order_by": "availability",
        "slot_filter": {"day": DAY, "party_size": size, **slot_filter}, "query": "",
        "geo": {"bounding_box": [40.6, -74.1, 40.9, -73.9]},
    }  # fmt: skip


async def ask(rig: Rig, status: int = 200, token: str | None = None, **given: Any) -> Any:
    headers = {"Authorization": 'ResyAPI api_key="k"', "x-resy-auth-token": token} if token else {}
    url = f"{rig.simulator.resy_url}/3/venuesearch/search"
    async with rig.session.post(url, json=query(**given), headers=headers, allow_redirects=False) as response:
        assert response.status == status, await response.text()
        return response if status != 200 else await response.json()


def number_of(hit: dict[str, Any]) -> int:
    found: int = hit["venue"]["id"] if "venue" in hit else hit["id"]["resy"]
    return found


def starts(answer: Any) -> list[str]:
    offers = [hit["availability"]["slots"] for hit in answer["search"]["hits"] if hit["availability"]]
    return [slot["date"]["start"] for slots in offers for slot in slots]


def test_the_same_seed_is_the_same_town() -> None:
    one, same, other = Tables(1, 0.1, "nyc"), Tables(1, 0.1, "nyc"), Tables(2, 0.1, "nyc")
    assert one.listed(DAY, 2, None) == same.listed(DAY, 2, None)
    assert one.listed(DAY, 2, None) != other.listed(DAY, 2, None)
    assert one.listed("2026-02-19", 2, None) != one.listed(DAY, 2, None)
    assert one.listed(DAY, 2, None) != one.listed(DAY, 4, None)


def test_some_restaurants_are_booked_out_and_still_listed() -> None:
    hits = Tables(1, 1, "nyc").listed(DAY, 2, None)
    without = [hit for hit in hits if hit["availability"] is None]
    assert 0.3 < len(without) / len(hits) < 0.6
    assert hits[-len(without) :] == without


def test_pages_share_out_every_restaurant_once() -> None:
    async def story(rig: Rig) -> None:
        first = await ask(rig)
        total = first["search"]["total_pages"]
        pages = [first, *[await ask(rig, page=number) for number in range(2, total + 1)]]
        numbers = [number_of(hit) for page in pages for hit in page["search"]["hits"]]
        assert total == 3
        assert sorted(numbers) == sorted(rig.simulator.resy.tables.restaurants)
        assert (await ask(rig, page=total + 1))["search"]["hits"] == []
        assert {record.target for record in rig.simulator.requests} == {f"{DAY}/2"}

    with_rig(story)


def test_an_hour_may_be_asked_for() -> None:
    async def story(rig: Rig) -> None:
        found = starts(await ask(rig, time_filter="20:00"))
        assert found
        assert {start[:13] for start in found} == {f"{DAY} 20"}

    with_rig(story)


def test_a_question_that_is_none_is_400() -> None:
    async def story(rig: Rig) -> None:
        await ask(rig, status=400, size=0)
        await ask(rig, status=400, page=0)

    with_rig(story)


def test_tables_open_and_close_by_hand_and_by_themselves() -> None:
    async def story(rig: Rig) -> None:
        tables = rig.simulator.resy.tables
        order = {"day": DAY, "venue": FIRST_NUMBER, "open": ["23:45"], "close": list(SITTINGS)}
        assert (await rig.control("POST", "/resy/tables", order))["free"] == ["23:45"]
        assert (await rig.control("GET", f"/resy/tables?day={DAY}"))[str(FIRST_NUMBER)] == ["23:45"]
        before = sum(len(tables.free(DAY, number)) for number in tables.restaurants)
        assert await rig.control("POST", "/resy/step", {"openings": 3, "closings": 1}) == {"moved": 4}
        assert sum(len(tables.free(DAY, number)) for number in tables.restaurants) == before + 2
        await rig.control("POST", "/resy/tables", {**order, "venue": 1}, status=404)
        await rig.control("POST", "/resy/tables", {**order, "open": ["8 PM"]}, status=422)
        await rig.control("POST", "/resy/step", {"openings": -1}, status=422)

    with_rig(story)


def test_churn_moves_tables_at_its_rate() -> None:
    clock = ManualClock()
    tables = Tables(1, 0.02, "nyc")
    churn = Churn(clock, Rates(openings_per_minute=6), lambda: [tables])
    before = sum(len(tables.free(DAY, number)) for number in tables.restaurants)
    clock.pass_time(60)
    churn.advance()
    assert sum(len(tables.free(DAY, number)) for number in tables.restaurants) == before + 6


def test_tokens_expire_into_a_login() -> None:
    async def story(rig: Rig) -> None:
        await ask(rig)
        await rig.control("POST", "/resy/tokens", {"accepted": ["good"]})
        await ask(rig, token="good")
        assert (await ask(rig, status=302, token="bad")).headers["Location"].startswith("/resy/login")
        await ask(rig, status=302)
        await rig.control("POST", "/resy/tokens", {"accepted": None})
        await ask(rig)

    with_rig(story)


@pytest.mark.parametrize(
    ("fault", "arguments", "status"),
    [
        ("rate_limited", {"retry_after": "7"}, 429), ("unavailable", {}, 503), ("server_error", {}, 500),
        ("not_found", {}, 404), ("bad_request", {}, 400), ("unauthorized", {}, 401), ("forbidden", {}, 403),
        ("session_over", {}, 419), ("login", {}, 302), ("redirect", {}, 302),
    ],
)  # fmt: skip
def test_a_fault_meets_its_place_as_often_as_it_is_told(fault: str, arguments: dict[str, Any], status: int) -> None:
    async def story(rig: Rig) -> None:
        await rig.control("POST", "/resy/faults", {"kind": fault, **arguments, "page": 2, "times": 1})
        await ask(rig)
        await ask(rig, status=status, page=2)
        await ask(rig, page=2)
        assert (await rig.control("GET", "/resy"))["faults"] == []

    with_rig(story)


@pytest.mark.parametrize(
    ("spelling", "shown"),
    [
        ("t", f"{DAY}T20:30:00"), ("t_short", f"{DAY}T20:30"), ("short", f"{DAY} 20:30"), ("time", "20:30"),
        ("twelve", "8:30 PM"), ("zulu", f"{DAY}T20:30:00Z"),
    ],
)  # fmt: skip
def test_times_are_spelt_another_way(spelling: str, shown: str) -> None:
    async def story(rig: Rig) -> None:
        tables = rig.simulator.resy.tables
        for number in tables.restaurants:
            tables.open(DAY, number, "20:30")
        rig.simulator.resy.fault("time_format", format=spelling)
        assert shown in starts(await ask(rig))

    with_rig(story)


def test_what_is_listed_changes_between_pages() -> None:
    async def story(rig: Rig) -> None:
        upstream = rig.simulator.resy
        first, second = await ask(rig), await ask(rig, page=2)
        upstream.fault("hop")
        hopped = await ask(rig, page=2)
        assert await ask(rig) == first
        assert hopped["search"]["hits"][0] == first["search"]["hits"][-1]
        assert hopped["search"]["hits"][1:] == second["search"]["hits"][1:]
        upstream.faults.clear()
        upstream.fault("total_changes", by=2)
        assert (await ask(rig, page=2))["search"]["total_pages"] == first["search"]["total_pages"] + 2
        upstream.faults.clear()
        upstream.fault("short_page")
        assert len((await ask(rig))["search"]["hits"]) == 5

    with_rig(story)


def test_a_fault_that_is_none_is_named() -> None:
    for kind, given in (
        ("nonsense", {}),
        ("hop", {"pages": 2}),
        ("time_format", {"format": "x"}),
        ("hop", {"page": 0}),
    ):
        with pytest.raises(SimulatorError):
            read_table_fault(kind, given)
    with pytest.raises(UnknownTargetError):
        Tables(1, 0.02, "nyc").free(DAY, 1)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"hang", "reset", "drop_midway"}))
def test_every_fault_is_answered(kind: str) -> None:
    async def story(rig: Rig) -> None:
        given = {"seconds": 0.0} if "seconds" in KINDS[kind].args else {}
        await rig.control("POST", "/resy/faults", {"kind": kind, **given})
        url = f"{rig.simulator.resy_url}/3/venuesearch/search"
        async with rig.session.post(url, json=query(page=2), allow_redirects=False) as response:
            assert response.status in (200, 302, 400, 401, 403, 404, 419, 429, 500, 503)
            assert await response.read()

    with_rig(story)


def test_chance_settles_for_how_many_a_table_is() -> None:
    one, same = Tables(1, 0.02, "nyc"), Tables(1, 0.02, "nyc")
    assert [one.sizes(DAY, FIRST_NUMBER, time) for time in SITTINGS] == [
        same.sizes(DAY, FIRST_NUMBER, time) for time in SITTINGS
    ]
    assert len({one.sizes(DAY, FIRST_NUMBER, time) for time in SITTINGS}) > 1
