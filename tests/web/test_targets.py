from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from fastapi import FastAPI
from tests.support.clock import START, ManualClock
from tests.support.rows import insert_target
from tests.web.calling import ask, fill

from vacancy.store.target_overview import state
from vacancy.web.context import House


def before(seconds: float) -> datetime:
    return START - timedelta(seconds=seconds)


def test_targets_are_shown_in_order(app: FastAPI, house: House) -> None:
    fill(house, insert_target, "soc", "12025|NK", baseline_at=START, last_complete_at=START, polls=3, open_count=7)
    fill(house, insert_target, "soc", "12025|NB")
    fill(house, insert_target, "soc_catalogue", "12025|NB")
    fill(house, insert_target, "json:B", "x")
    items = ask(app, "/api/targets").json()["items"]
    assert [(item["source"], item["key"]) for item in items] == [
        ("json:B", "x"), ("soc", "12025|NB"), ("soc", "12025|NK"),
    ]  # fmt: skip
    assert items[2] == {
        "source": "soc", "key": "12025|NK", "state": "fresh", "polls": 3, "openCount": 7,
        "lastCompleteAt": "2026-01-05T12:00:00.000Z", "lastAttemptAt": None,
        "nextPollAt": "2026-01-05T12:00:15.000Z", "failures": 0, "failingSince": None, "lastError": None,
        "heldSince": None, "baselineAt": "2026-01-05T12:00:00.000Z",
    }  # fmt: skip
    everything = ask(app, "/api/targets?all=true").json()["items"]
    assert [item["source"] for item in everything] == ["json:B", "soc", "soc", "soc_catalogue"]


def test_a_failing_target_says_why(app: FastAPI, house: House) -> None:
    error = {"code": "timeout", "message": "no answer within 15 s"}
    fill(house, insert_target, "soc", "12025|NB", baseline_at=START, last_complete_at=START, failures=2,
         failing_since=before(30), last_error=error)  # fmt: skip
    (item,) = ask(app, "/api/targets").json()["items"]
    assert item["state"] == "stale"
    assert item["lastError"] == error
    assert item["failingSince"] == "2026-01-05T11:59:30.000Z"


@pytest.mark.parametrize(
    ("paused", "held", "baseline", "failures", "complete", "word"),
    [
        (True, True, True, 1, 0, "paused"),
        (False, True, True, 1, 0, "held"),
        (False, False, False, 3, None, "new"),
        (False, False, True, 1, 0, "stale"),
        (False, False, True, 0, 45, "fresh"),
        (False, False, True, 0, 45.001, "stale"),
        (False, False, True, 0, None, "stale"),
    ],
)
def test_the_word_for_a_state(
    paused: bool, held: bool, baseline: bool, failures: int, complete: float | None, word: str
) -> None:
    assert word == state(
        START,
        15,
        paused_at=START if paused else None,
        held_since=START if held else None,
        baseline_at=START if baseline else None,
        failures=failures,
        last_complete_at=None if complete is None else before(complete),
    )


def test_freshness_goes_by_the_clock(app: FastAPI, house: House, clock: ManualClock) -> None:
    fill(house, insert_target, "soc", "12025|NB", baseline_at=START, last_complete_at=START)
    clock.pass_time(46)
    assert ask(app, "/api/targets").json()["items"][0]["state"] == "stale"
