"""Where the gate's thresholds lie, to the item and to the millisecond."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vacancy.model.availability import Complete, Policy
from vacancy.model.state import Believe, Held, Hold, ItemState, Reason, TargetState, Verdict
from vacancy.pipeline.gate import judge

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
COURSES = Policy(15, 0, 15)


def keys(count: int, first: int = 0) -> frozenset[str]:
    return frozenset(f"{number:05d}" for number in range(first, first + count))


def state_of(count: int, held: Held | None = None) -> TargetState:
    state = TargetState(1, believed=True, held=held)
    for number, key in enumerate(sorted(keys(count))):
        state.put(key, ItemState(number, True, 1))
    return state


def held(reason: Reason, count: int, samples: int = 1, *, since_s: float = 15, last_s: float = 15) -> Held:
    return Held(reason, samples, NOW - timedelta(seconds=since_s), NOW - timedelta(seconds=last_s), keys(count))


def doubted(before: int, now: int, counts: tuple[int, ...] = (), waiting: Held | None = None) -> Reason | None:
    state, answer = state_of(before, waiting), Complete(keys(now))
    verdict = judge(state, counts or (before,), answer, answer.keys - state.open, COURSES, NOW)
    return verdict.held.reason if isinstance(verdict, Hold) else None


@pytest.mark.parametrize(
    ("before", "now", "reason"),
    [
        (1000, 901, None), (1000, 900, Reason.SHORT),  # 10 %
        (1001, 901, None), (1001, 900, Reason.SHORT),  # a part of an item counts as one: 101
        (100, 76, None), (100, 75, Reason.SHORT),  # 25, where a tenth is less
        (24, 1, None), (24, 0, Reason.EMPTY), (1, 0, Reason.EMPTY), (0, 0, None),
        (1000, 1099, None), (1000, 1100, Reason.GROWTH),
        (2001, 2201, None), (2001, 2202, Reason.GROWTH),
        (0, 99, None), (0, 100, Reason.GROWTH),
    ],
)  # fmt: skip
def test_when_an_answer_is_held(before: int, now: int, reason: Reason | None) -> None:
    assert doubted(before, now) is reason


@pytest.mark.parametrize(("now", "reason"), [(950, Reason.SHORT), (951, None)])
def test_a_hold_ends_only_when_less_than_half_of_that_is_missing(now: int, reason: Reason | None) -> None:
    assert doubted(1000, now, waiting=held(Reason.SHORT, 700)) is reason
    assert doubted(1000, now, waiting=held(Reason.EMPTY, 0)) is reason


def test_what_is_missing_is_measured_by_the_middle_of_the_last_sixteen() -> None:
    """A slow decline, each step too small to be held, does not take the yardstick down with it at once."""
    counts = (1000,) * 9 + (910,) * 7
    assert doubted(910, 900, counts) is Reason.SHORT
    assert doubted(910, 900, (1000,) * 8 + (910,) * 8) is None


def test_what_is_missing_is_measured_by_the_last_one_if_that_is_more() -> None:
    assert doubted(1000, 900, (500,) * 15 + (1000,)) is Reason.SHORT


@pytest.mark.parametrize(
    ("samples", "since_s", "last_s", "reference", "believed"),
    [
        (2, 300, 100, 1000, True), (2, 299.999, 100, 1000, False), (1, 300, 100, 1000, False),
        (9, 900, 120, 1000, True), (9, 900, 120.001, 1000, False), (9, 900, -0.001, 1000, False),
        (2, 60, 30, 24, True), (2, 59.999, 30, 24, False), (2, 60, 30, 25, False),
    ],
)  # fmt: skip
def test_when_a_held_answer_is_confirmed(
    samples: int, since_s: float, last_s: float, reference: int, believed: bool
) -> None:
    waiting = held(Reason.EMPTY, 0, samples, since_s=since_s, last_s=last_s)
    verdict: Verdict = judge(state_of(reference, waiting), (reference,), Complete(frozenset()), (), COURSES, NOW)
    assert verdict == Believe(recount=True) if believed else isinstance(verdict, Hold)


@pytest.mark.parametrize(("other", "alike"), [(7, True), (8, False)])
def test_how_far_answers_like_each_other_may_differ(other: int, alike: bool) -> None:
    """One in a hundred of the first, rounded up: 7 of 700."""
    waiting = held(Reason.SHORT, 700, 2, since_s=300, last_s=100)
    answer = Complete(keys(700 - other))
    verdict = judge(state_of(1000, waiting), (1000,), answer, (), COURSES, NOW)
    assert isinstance(verdict, Believe) is alike


def test_a_bucket_of_tables_may_lose_half_but_not_all() -> None:
    tables = Policy(30, 0, 15, ratio_gate=False)
    state = state_of(1000)
    assert judge(state, (1000,), Complete(keys(1)), (), tables, NOW) == Believe()
    assert judge(state, (1000,), Complete(keys(2000)), keys(1000, 1000), tables, NOW) == Believe()
    assert isinstance(judge(state, (1000,), Complete(frozenset()), (), tables, NOW), Hold)


@pytest.mark.parametrize(("before", "now"), [(1, 0), (0, 1)])
def test_what_is_empty_is_like_nothing_else(before: int, now: int) -> None:
    """Rounded up, one in a hundred of one item is that item."""
    state = TargetState(1, held=held(Reason.BASELINE, before))
    verdict = judge(state, (), Complete(keys(now)), (), COURSES, NOW)
    assert isinstance(verdict, Hold)
    assert verdict.held.samples == 1
