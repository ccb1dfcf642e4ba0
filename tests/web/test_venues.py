"""A venue's history: how often it opens, how long what opens stays, at what hours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.support.open_tables import DAY, KEY, LATER_KEY, OTHER_DAY, OTHER_KEY, Maitre, table
from tests.web.calling import ask

from vacancy.model.availability import Group
from vacancy.store import venues
from vacancy.store.engine import Store
from vacancy.web.context import House

MINUTE = 60.0
HOUR = 60 * MINUTE


@pytest.fixture
def maitre(store: Store, clock: ManualClock) -> Maitre:
    return Maitre(store, clock, KEY, LATER_KEY, OTHER_KEY)


def venue(app: FastAPI, venue_id: str = "carbone") -> dict[str, Any]:
    answer = ask(app, f"/api/venues/{venue_id}")
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()
    return found


def test_a_venue_is_shown_with_its_history(app: FastAPI, maitre: Maitre) -> None:
    # It is 7 in the morning in New York.
    two = [table("carbone", "20:30"), table("carbone", "21:00", sizes=[6])]
    maitre.now({KEY: two}, passes_s=4 * MINUTE)
    maitre.now({KEY: two[:1]}, passes_s=2 * HOUR)
    maitre.now({KEY: []})
    maitre.now({KEY: []})
    maitre.now({OTHER_KEY: [table("carbone", "19:30", OTHER_DAY)]})
    found = venue(app)
    assert [found[name] for name in ("venueId", "name", "neighborhood", "timeZone")] == [
        "carbone", "Carbone", "Park Row", "America/New_York",
    ]  # fmt: skip
    assert found["imageUrl"] == "https://images.example/carbone.jpg"
    assert (found["since"], found["openings"]) == ("2025-12-07T05:00:00.000Z", 2)
    assert len(found["byDay"]) == 30
    assert found["byDay"][0]["date"] == "2025-12-07"
    assert found["byDay"][-1] == {"date": "2026-01-05", "openings": 2, "slots": 3}
    assert {day["openings"] for day in found["byDay"][:-1]} == {0}
    assert found["byHour"] == [0] * 7 + [1, 0, 1] + [0] * 14
    assert found["openFor"] == {"episodes": 2, "medianS": 240, "p90S": 2 * HOUR + 240}
    (day,) = found["openNow"]
    assert (day["date"], day["venues"][0]["times"]) == (OTHER_DAY, ["19:30"])


def test_the_longest_and_the_usual_are_told_of_many(app: FastAPI, maitre: Maitre) -> None:
    tables = [table("carbone", f"{hour}:00") for hour in range(10, 20)]
    for left in range(10, -1, -1):
        maitre.now({KEY: tables[:left]}, passes_s=10)
    assert venue(app)["openFor"] == {"episodes": 10, "medianS": 50, "p90S": 90}


def test_a_table_in_two_buckets_lasted_once_and_as_long_as_either_had_it(app: FastAPI, maitre: Maitre) -> None:
    both = [table("carbone", "21:00")]
    maitre.now({KEY: both}, passes_s=30)
    maitre.now({LATER_KEY: both}, passes_s=60)
    maitre.now({KEY: [], LATER_KEY: []})
    assert venue(app)["openFor"] == {"episodes": 1, "medianS": 90, "p90S": 90}


def test_one_that_never_closed_has_no_length_yet(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "21:00")]})
    assert venue(app)["openFor"] == {"episodes": 0, "medianS": None, "p90S": None}


def test_days_are_those_of_the_city(app: FastAPI, maitre: Maitre, clock: ManualClock) -> None:
    clock.pass_time(16.5 * HOUR)
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=HOUR)
    # Half past eleven in the evening, and by now another day.
    found = venue(app)
    assert [day for day in found["byDay"] if day["openings"]] == [{"date": "2026-01-05", "openings": 1, "slots": 1}]
    assert found["byDay"][-1]["date"] == DAY
    assert found["byHour"][23] == 1


def test_what_is_long_ago_is_forgotten_and_the_name_is_not(
    app: FastAPI, maitre: Maitre, clock: ManualClock
) -> None:  # fmt: skip
    maitre.now({KEY: [table("carbone", "20:30")]})
    maitre.now({KEY: []})
    clock.pass_time(31 * 24 * HOUR)
    found = venue(app)
    assert (found["name"], found["openings"], found["openFor"]["episodes"]) == ("Carbone", 0, 0)


def test_a_venue_of_a_bucket_that_is_over_is_known_still(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]})
    maitre.source.keys = (OTHER_KEY,)
    maitre.configure()
    found = venue(app)
    assert (found["openings"], found["openNow"]) == (1, [])


@pytest.mark.parametrize("venue_id", ["nobody", "%00", "a%20b", "x" * 300])
def test_one_that_was_never_seen_is_not_found(app: FastAPI, maitre: Maitre, house: House, venue_id: str) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]})
    answer = ask(app, f"/api/venues/{venue_id}")
    assert (answer.status, answer.error["code"]) == (404, "not_found")


def test_a_table_is_booked_on_the_board(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]})
    page = ask(app, "/").body.decode()
    assert re.search(r'href="https://resy\.com/carbone\?seats=2"[^>]*>Book<', page)


def test_one_that_is_listed_and_never_had_a_table_is_known(app: FastAPI, store: Store) -> None:
    listed = {"9": Group("Quiet Place", "Soho", "https://images.example/9.jpg")}
    store.write_now(lambda tx: venues.keep(tx, tx.now(), "resy", listed))
    found = venue(app, "9")
    assert (found["name"], found["neighborhood"], found["imageUrl"]) == (
        "Quiet Place", "Soho", "https://images.example/9.jpg",
    )  # fmt: skip
    assert (found["openings"], found["openNow"], found["openFor"]["episodes"]) == (0, [], 0)
