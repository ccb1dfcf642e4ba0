"""Random histories of one target, on both databases, against the model: every true edge gives exactly one event, no
false edge any, numbers ascend in commit order, and a reader with a cursor misses none."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete, select

from tests.flow.model import Model, Rules
from tests.support.clock import START, ManualClock
from tests.support.lists import Hand, Lists
from vacancy.clock import MOMENT_S, later
from vacancy.model.availability import Complete, Failed, Item, Partial, Policy, Trouble
from vacancy.model.state import Reason
from vacancy.pipeline.settle import Came, open_by_hand, release
from vacancy.store import budgets, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_events
from vacancy.store.schema import budgets as budgets_table
from vacancy.store.schema import targets as targets_table

ALL = [f"{number:05d}" for number in range(360)]
names = count(1)


class Histories(RuleBasedStateMachine):
    """As the policy of courses has it."""

    store: ClassVar[Store]
    clock: ClassVar[ManualClock]
    world: ClassVar[Rules] = Rules()

    def __init__(self) -> None:
        super().__init__()
        # Every history begins at the same moment, with nothing left over but the numbers.
        self.clock.jump((START - self.clock.now()).total_seconds())
        self.store.write_now(_clear)
        self.key = f"12025|T{next(names)}"
        self.source = Lists(self.key)
        self.source.policy = policy_of(self.source.policy, self.world)
        self.hand = Hand(self.store, self.clock, self.source)
        self.model = Model(self.world)
        self.true_list: frozenset[str] = frozenset()
        self.told: list[tuple[str, str, int]] = []
        self.cursor = self._newest()

    @initialize(size=st.sampled_from([0, 3, 20, 60, 240]), seed=st.integers(0, 99))
    def begin(self, size: int, seed: int) -> None:
        self.true_list = frozenset(random.Random(seed).sample(ALL, size))
        self.hand.configure()

    # What happens upstream.

    @rule(keys=st.sets(st.sampled_from(ALL), max_size=4))
    def some_open(self, keys: set[str]) -> None:
        self.true_list |= keys

    @rule(keys=st.sets(st.sampled_from(ALL), max_size=4))
    def some_close(self, keys: set[str]) -> None:
        self.true_list -= keys

    @rule(share=st.sampled_from([0.2, 0.5, 0.9]), seed=st.integers(0, 9))
    def many_close(self, share: float, seed: int) -> None:
        self.true_list = self._part(share, seed)

    @rule(seed=st.integers(0, 9), number=st.sampled_from([30, 110, 200]))
    def many_open(self, seed: int, number: int) -> None:
        self.true_list |= set(random.Random(seed).sample(ALL, number))

    # What it answers.

    @rule(times=st.integers(1, 4))
    def answers_truly(self, times: int) -> None:
        for _ in range(times):
            self._hear(self._whole(self.true_list))

    @rule(share=st.sampled_from([0.5, 0.85, 0.92, 0.97]), seed=st.integers(0, 3), times=st.integers(1, 3))
    def answers_a_part(self, share: float, seed: int, times: int) -> None:
        for _ in range(times):
            self._hear(self._whole(self._part(share, seed)))

    @rule(times=st.integers(1, 4), listed=st.booleans())
    def answers_nothing(self, times: int, listed: bool) -> None:
        for _ in range(times):
            self._hear(self._whole(frozenset(), listed=listed))

    @rule(gap=st.sampled_from([30, 60, 100, 119, 121, 150]))
    def insists_for_minutes(self, gap: int) -> None:
        """The same short answer again and again, so that it may be confirmed."""
        answer = self._whole(self._part(0.5, 1))
        for _ in range(1 + 330 // gap):
            self._hear(answer, wait=gap)

    @rule(share=st.sampled_from([0.5, 1.0]), seed=st.integers(0, 3))
    def fails_on_a_page(self, share: float, seed: int) -> None:
        keys = self._part(share, seed)
        self._hear(Partial(keys, self._items(keys)))

    @rule(trouble=st.sampled_from([Trouble.TIMEOUT, Trouble.RATE_LIMITED, Trouble.MISCONFIGURED]))
    def fails(self, trouble: Trouble) -> None:
        self._wait_until_due()
        assert self.hand.poll(Failed(trouble, "no")).came is Came.FAILED

    # What happens to us.

    @rule()
    def restarts(self) -> None:
        self.hand = Hand(self.store, self.clock, self.source, f"hand{next(names)}")

    @rule(other=st.booleans())
    def is_overtaken(self, other: bool) -> None:
        """We ask, fall asleep for longer than our lease, and answer after somebody else did."""
        self._wait_until_due()
        late = self.hand.claim()
        assert late is not None
        self.clock.jump(21)
        self._hear(self._whole(self._part(0.9, 2) if other else self.true_list), hand=self._colleague(), wait=0)
        told = len(self.model.told)
        assert self.hand.settle(late, self._whole(self._part(0.99, 5))).came is Came.SUPERSEDED
        assert len(self.model.told) == told

    @rule(seconds=st.sampled_from([-7200, -3600, -60, -1, 600, 7200, 90_000]))
    def clock_jumps(self, seconds: int) -> None:
        self.clock.jump(seconds)

    @rule()
    def question_changes(self) -> None:
        self.source.question = f"another {next(names)}"
        self.hand.configure()
        self.model.start_over()

    @rule(key=st.sampled_from(ALL[:20]))
    def operator_opens(self, key: str) -> None:
        if self.world.venues and key not in self.model.episodes:
            return  # nobody could say whose table it is
        opened = self.store.write_now(open_by_hand, self.source, self._target_id(), key, "by hand")
        assert (opened is None) == (key in self.model.open)
        self.model.open_by_hand(key, self.clock.now())

    @precondition(lambda self: self.model.waiting is not None)
    @rule()
    def operator_releases(self) -> None:
        assert self.store.write_now(release, self.source, self._target_id(), "released") is not None
        self.model.release(self.clock.now())

    # What must hold after every step.

    @invariant()
    def a_reader_was_told_what_is_true_in_order(self) -> None:
        rows = self.store.read_now(_events_after, self.cursor)
        for number, item, status, episode, target in rows:
            assert number > self.cursor
            self.cursor = number
            assert target == self.key
            self.told.append((item, status, episode))
        assert sorted(self.told) == sorted(self.model.told)
        assert len(set(self.told)) == len(self.told)

    @invariant()
    def the_rows_say_what_is_believed(self) -> None:
        rows = self.store.read_now(_items, self.key)
        assert {key: episode for key, _, episode, _ in rows} == self.model.episodes
        assert {key for key, state, _, _ in rows if state == "Open"} == self.model.open
        assert {key: misses for key, _, _, misses in rows if misses} == self.model.misses

    def _whole(self, keys: frozenset[str], *, listed: bool = False) -> Complete:
        return Complete(keys, self._items(keys), listed=max(len(keys), int(listed)) if self.world.venues else None)

    def _items(self, keys: frozenset[str]) -> dict[str, Item]:
        venues = self.world.venues
        return {key: Item(key, venues[key], {"venue": venues[key]}) for key in keys} if venues else {}

    def _hear(self, answer: Complete | Partial, *, hand: Hand | None = None, wait: float | None = None) -> None:
        self._wait_until_due()
        if wait:
            self.clock.jump(wait)
            self._wait_until_due()
        settled = (hand or self.hand).poll(answer)
        self.model.hear(
            answer.keys, self.clock.now(), complete=isinstance(answer, Complete),
            nothing_listed=isinstance(answer, Complete) and answer.is_empty,
        )  # fmt: skip
        held = settled.came in (Came.HELD, Came.WAITING)
        if isinstance(answer, Complete):
            assert held == (self.model.waiting is not None)
        if held:
            assert self.model.waiting is not None
            assert settled.reason is Reason(self.model.waiting.why)

    def _wait_until_due(self) -> None:
        """More than once if need be: a pause that was written before the clock was set back may yet begin."""
        while (seconds := self.store.read_now(_when_due, self.key, self.clock.now())) > 0:
            self.clock.jump(seconds)

    def _colleague(self) -> Hand:
        return Hand(self.store, self.clock, self.source, f"colleague{next(names)}")

    def _part(self, share: float, seed: int) -> frozenset[str]:
        listed = sorted(self.true_list)
        return frozenset(random.Random(seed).sample(listed, round(len(listed) * share)))

    def _target_id(self) -> int:
        row = self.store.read_now(targets.find, "soc", self.key)
        assert row is not None
        return int(row.target_id)

    def _newest(self) -> int:
        rows = self.store.read_now(_events_after, 0)
        return int(rows[-1][0]) if rows else 0


def _events_after(tx: Tx, cursor: int) -> list[Any]:
    e = open_events.c
    query = select(e.open_event_id, e.item_key, e.status_after, e.episode, e.target_key)
    return list(tx.execute(query.where(e.open_event_id > cursor).order_by(e.open_event_id)).all())


def _clear(tx: Tx) -> None:
    for table in (targets_table, budgets_table):
        tx.execute(delete(table))


def _items(tx: Tx, key: str) -> list[Any]:
    row = targets.find(tx, "soc", key)
    assert row is not None
    a = availability.c
    query = select(a.item_key, a.state, a.episode, a.missed_polls).where(a.target_id == row.target_id)
    return list(tx.execute(query).all())


def _when_due(tx: Tx, key: str, now: Any) -> float:
    """Seconds until the target and its source may be asked again."""
    row = targets.find(tx, "soc", key)
    assert row is not None
    paused = budgets.lock(tx, now, "soc").paused_until
    moments = [row.next_poll_at] if row.scheduled_at <= later(now, MOMENT_S) else []
    return max([(moment - now).total_seconds() for moment in [*moments, *([paused] if paused else [])]], default=0.0)


def policy_of(policy: Policy, rules: Rules) -> Policy:
    if not rules.venues:
        return policy
    return replace(
        policy, misses_to_close=rules.misses, ratio_gate=rules.ratio, records_close=rules.tells_closes,
        group_empty_after=2, event_gap_s=rules.gap.total_seconds(), adaptive=True,
    )  # fmt: skip


# Few venues with many tables, and many with few.
TABLES = Rules(
    1, False, False, {key: f"venue {int(key) % 40 // (1 + int(key) % 3)}" for key in ALL}, timedelta(minutes=30)
)


@contextmanager
def _on(store: Store, clock: ManualClock, rules: Rules) -> Iterator[type[Histories]]:
    yield type("HistoriesHere", (Histories,), {"store": store, "clock": clock, "world": rules})


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rules", [Rules(), TABLES], ids=["courses", "tables"])
def test_histories(store: Store, clock: ManualClock, rules: Rules) -> None:
    # 100 histories of each kind on each database; `pytest --hypothesis-profile=thorough` goes through 1,000.
    with _on(store, clock, rules) as machine:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=settings().max_examples,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                derandomize=False,
            ),
        )
