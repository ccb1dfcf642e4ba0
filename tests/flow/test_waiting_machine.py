"""Random lives of subscriptions beside random openings, on both databases, against a plain model: never a message that
the rules forbid, never one that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import delete

from tests.support.clock import START, ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.model.availability import Complete
from vacancy.model.subscriptions import Status
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_event_notifications, open_events, subscriptions, targets

FULL = some(*range(100, 140))
ITEMS = ("00007", "00008")
COURSE = "course/01:198:111"
NAMES = ("ada", "bob")
# An edge in the very moment before, and more often none.
JUST_OPENED = st.sampled_from([None, None, *ITEMS])
names = count(1)


@dataclass
class Waiting:
    """A subscription as a person would describe it."""

    id: int
    name: str
    topic: str
    since: int  # openings that had been before
    status: str
    cap: int
    told: int = 0
    snoozed: datetime | None = None
    knows_it_is_open: bool = False

    @property
    def hears(self) -> bool:
        return self.status in ("pending", "active") and self.told < self.cap

    def wants(self, opening: Opening) -> bool:
        return self.hears and opening.number > self.since and (
            self.topic == COURSE or (self.topic == opening.item and not self.knows_it_is_open)
        )  # fmt: skip


@dataclass
class Opening:
    number: int
    item: str
    heard: set[str] = field(default_factory=set)  # contacts that were told of it


class Lives(RuleBasedStateMachine):
    store: ClassVar[Store]
    clock: ClassVar[ManualClock]
    alive = Bundle("alive")

    def __init__(self) -> None:
        super().__init__()
        self.clock.jump((START - self.clock.now()).total_seconds())
        self.store.write_now(_clear)
        source = Lists(f"12025|M{next(names)}")
        source.courses = dict.fromkeys(ITEMS, "01:198:111")
        self.hand = Hand(self.store, self.clock, source)
        self.hand.configure()
        self.people = People(self.store, source)
        self.open: set[str] = set()
        self.missed: set[str] = set()
        self.running: dict[str, Opening] = {}
        self.openings = 0
        self.waiting: dict[int, Waiting] = {}
        self.verified: set[str] = set()
        self._poll()
        self._poll()

    @initialize(
        target=alive,
        wishes=st.lists(
            st.tuples(st.sampled_from(NAMES), st.sampled_from((*ITEMS, COURSE)), st.integers(1, 3)),
            min_size=2, max_size=6,
        ),
        confirmed=st.sampled_from([NAMES, NAMES[:1]]),
    )  # fmt: skip
    def some_wait(self, wishes: list[tuple[str, str, int]], confirmed: tuple[str, ...]) -> Any:
        """Most histories begin with people who wait already, or they would be over before anything happened."""
        numbers = [self.subscribes(*wish) for wish in wishes]
        for number in numbers:
            if self.waiting[number].name in confirmed:
                self.verifies(number)
        return multiple(*numbers)

    # Few rules, each of many things: of many rules Hypothesis would leave most out of a history.

    @rule(what=st.sampled_from(["opens", "opens", "closes", "blinks", "turns over"]), item=st.sampled_from(ITEMS),
          items=st.sets(st.sampled_from(ITEMS)))  # fmt: skip
    def upstream(self, what: str, item: str, items: set[str]) -> None:
        match what:
            case "opens":
                self.opens(item)
            case "closes":
                self.closes(item, 2)
            case "blinks":
                self.closes(item, 1)
            case _:
                self.turns_over(items)

    @rule(what=st.sampled_from(["verifies", "resumes", "pauses", "cap", "wakes", "snoozes", "leaves"]), number=alive,
          minutes=st.sampled_from([10, 600]), cap=st.integers(1, 4), just_opened=JUST_OPENED)  # fmt: skip
    def somebody(self, what: str, number: int, minutes: int, cap: int, just_opened: str | None) -> None:
        self._edge(just_opened)
        match what:
            case "snoozes":
                self.snoozes(number, minutes)
            case "cap":
                self.changes_the_cap(number, cap)
            case _:
                getattr(self, what)(number)

    @rule(what=st.sampled_from(["tells of an opening", "sends all", "sends", "sends late", "fans out", "waits"]),
          which=st.integers(0, 5), seconds=st.sampled_from([60, 900, 40_000]))  # fmt: skip
    def we(self, what: str, which: int, seconds: int) -> None:
        match what:
            case "tells of an opening":
                self.opens(ITEMS[which % 2])
                self.sends_all()
            case "sends":
                self.sends_one(which, closes_meanwhile=False)
            case "sends all":
                self.sends_all()
            case "sends late":
                self.sends_one(which, closes_meanwhile=True)
            case "fans out":
                self.people.fan_out(1 + which)
            case _:
                self.clock.jump(seconds)

    # What happens upstream.

    def opens(self, item: str) -> None:
        self.open.add(item)
        self._poll()

    def _edge(self, item: str | None) -> None:
        """What is not fanned out yet when the next thing happens: every rule ends with a fan-out."""
        if item is not None:
            self.opens(item)

    def turns_over(self, items: set[str]) -> None:
        """What is open closes, and at once something opens."""
        self.open = set()
        self._poll()
        self._poll()
        self.open = items
        self._poll()

    def closes(self, item: str, times: int) -> None:
        self.open.discard(item)
        for _ in range(times):
            self._poll()

    # What people do.

    @rule(target=alive, name=st.sampled_from(NAMES), topic=st.sampled_from((*ITEMS, COURSE)), cap=st.integers(1, 3),
          just_opened=JUST_OPENED)  # fmt: skip
    def one_more_subscribes(self, name: str, topic: str, cap: int, just_opened: str | None) -> int:
        self._edge(just_opened)
        return self.subscribes(name, topic, cap)

    def subscribes(self, name: str, topic: str, cap: int) -> int:
        told = self.people.subscribe(name, topic, max_notifications=cap)
        number = told.subscription.subscription_id
        if told.created:
            is_open = topic in self.running
            self.waiting[number] = Waiting(
                number, name, topic, self.openings, "active" if name in self.verified else "pending", cap,
                knows_it_is_open=is_open,
            )  # fmt: skip
            expected = "Open" if is_open or (topic == COURSE and self.running) else "Closed"
            assert told.status_now == expected
        else:
            self._resume(self.waiting[number])
        return number

    def verifies(self, number: int) -> None:
        mine = self.waiting[number]
        if mine.status != "pending":
            return
        self.people.verify(number)
        self.verified.add(mine.name)
        for each in self.waiting.values():
            if each.name == mine.name and each.status == "pending":
                each.status = "active"

    def pauses(self, number: int) -> None:
        if self.waiting[number].status == "active":
            self.people.change(number, Status.PAUSED)
            self.waiting[number].status = "paused"

    def resumes(self, number: int) -> None:
        if self.waiting[number].status == "paused":
            self.people.change(number, Status.ACTIVE)
            self._resume(self.waiting[number])

    def snoozes(self, number: int, minutes: int) -> None:
        if self._is_live(number):
            self.waiting[number].snoozed = until = self.clock.now() + timedelta(minutes=minutes)
            self.people.change(number, snooze_until=until)

    def wakes(self, number: int) -> None:
        if self._is_live(number):
            self.waiting[number].snoozed = None
            self.people.change(number, snooze_until=None)

    def changes_the_cap(self, number: int, cap: int) -> None:
        if self._is_live(number):
            mine = self.waiting[number]
            mine.cap = cap
            self.people.change(number, max_notifications=cap)
            if mine.status == "active" and mine.told >= cap:
                mine.status = "paused"

    def leaves(self, number: int) -> None:
        mine = self.waiting[number]
        self.people.leave(number)
        mine.status = "unsubscribed"
        # Who has left with everything proves the address anew when coming back.
        if not any(each.status in ("active", "paused") for each in self._of(mine.name)):
            self.verified.discard(mine.name)

    # What we do.

    def sends_all(self) -> None:
        for _ in range(4):
            self.sends_one(0, closes_meanwhile=False)

    def sends_one(self, which: int, closes_meanwhile: bool) -> None:
        ready = [row for row in self.people.live() if not row.waits and self._may_be_told(self.waiting[row.who])]
        if not ready:
            return
        row = ready[which % len(ready)]
        mine, opening = self.waiting[row.who], self.running[row.item]
        assert self.people.begin_sending(row)
        mine.told += 1
        opening.heard.add(mine.name)
        if closes_meanwhile:
            self.closes(row.item, 2)
        self.people.end_sending(row)
        if self.running.get(row.item) is opening and mine.topic == row.item:
            mine.knows_it_is_open = True
        if mine.told >= mine.cap:
            mine.status = "paused"

    # What must hold.

    @invariant()
    def everybody_who_should_hear_has_one_row_and_nobody_else_any(self) -> None:
        self.people.fan_out()
        live = self.people.live()
        assert sorted((self.waiting[row.who].name, row.item) for row in live) == sorted(self._expected())
        for row in live:
            mine = self.waiting[row.who]
            assert mine.wants(self.running[row.item])
            # One that does not wait is judged when it is sent; one that does must keep nothing from who is awake.
            wanting = [each for each in self._of(mine.name) if each.wants(self.running[row.item])]
            assert not row.waits or all(self._rests(each) for each in wanting if each.status == "active")

    @invariant()
    def the_rows_say_what_the_model_does(self) -> None:
        for number, mine in self.waiting.items():
            row = self.people.one(number)
            assert (row.status, row.notified_count) == (mine.status, mine.told)

    def _expected(self) -> Iterator[tuple[str, str]]:
        for opening in self.running.values():
            for name in NAMES:
                if name not in opening.heard and any(each.wants(opening) for each in self._of(name)):
                    yield name, opening.item

    def _may_be_told(self, mine: Waiting) -> bool:
        return mine.status == "active" and not self._rests(mine)

    def _rests(self, mine: Waiting) -> bool:
        return mine.snoozed is not None and mine.snoozed > self.clock.now()

    def _of(self, name: str) -> list[Waiting]:
        return [each for each in self.waiting.values() if each.name == name]

    def _is_live(self, number: int) -> bool:
        return self.waiting[number].status in ("pending", "active", "paused")

    def _resume(self, mine: Waiting) -> None:
        if mine.status == "paused":
            mine.status, mine.told = "active", 0

    def _poll(self) -> None:
        self.hand.poll(Complete(FULL.keys | self.open))
        self.clock.jump(15)
        for item in ITEMS:
            if item in self.open:
                self.missed.discard(item)
                if item not in self.running:
                    self.openings += 1
                    self.running[item] = Opening(self._newest_event(), item)
            elif item in self.running:
                if item in self.missed:
                    self._closed(item)
                else:
                    self.missed.add(item)

    def _closed(self, item: str) -> None:
        self.missed.discard(item)
        del self.running[item]
        self.openings += 1
        for mine in self.waiting.values():
            if mine.topic == item:
                mine.knows_it_is_open = False

    def _newest_event(self) -> int:
        return self.openings


def _clear(tx: Tx) -> None:
    for table in (open_event_notifications, subscriptions, open_events, availability, targets):
        tx.execute(delete(table))


@contextmanager
def _machine(store: Store, clock: ManualClock) -> Iterator[type[Lives]]:
    yield type("LivesHere", (Lives,), {"store": store, "clock": clock})


@pytest.mark.timeout(3600)
def test_lives(store: Store, clock: ManualClock, request: pytest.FixtureRequest) -> None:
    given: Any = {"max_examples": 60, "stateful_step_count": 40}
    with _machine(store, clock) as machine:
        run_state_machine_as_test(
            machine,
            settings=settings(
                deadline=None, suppress_health_check=list(HealthCheck), derandomize=False, database=None, **given
            ),
        )
