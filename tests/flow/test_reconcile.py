"""What a catalogue records of sections counts where their open list is away, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pytest

from tests.flow.test_sequences import FULL, KEY, hear, told
from tests.support.clock import ManualClock
from tests.support.lists import LIMITS, Hand, Lists, some
from vacancy.clock import Dice
from vacancy.model.availability import (
    Claim,
    Failed,
    Flips,
    Policy,
    Question,
    Reference,
    ReferenceOutcome,
    Taken,
    Trouble,
    Unchanged,
)
from vacancy.pipeline.settle import Came, settle_reference
from vacancy.store import targets
from vacancy.store.engine import Store, Tx

AWAY = Failed(Trouble.TIMEOUT, "no answer")


class Catalogue:
    """A reference that remembers what it saw and when, as `section_status_events` do."""

    name = "soc_catalogue"
    budget = "catalogue"
    describes = "soc"
    policy = Policy(interval_s=1, jitter=0, fetch_timeout_s=120)

    def __init__(self) -> None:
        self.seen: list[tuple[datetime, str, bool]] = []

    def questions(self) -> Sequence[Question]:
        return [Question(self.name, KEY, "as ever")]

    async def ask(self, claim: Claim, last_mark: bytes | None) -> ReferenceOutcome:
        raise NotImplementedError

    def take_in(self, tx: Tx, key: str, reference: Reference, *, anew: bool) -> Taken:
        return Taken(300)

    def flips_since(self, tx: Tx, key: str, since: datetime) -> Flips:
        last = {index: is_open for at, index, is_open in self.seen if at > since}
        newest = max([since, *(at for at, _, _ in self.seen)])
        opened = frozenset(index for index, is_open in last.items() if is_open)
        return Flips(opened, frozenset(last) - opened, newest)


class Desk:
    """A list whose baseline is FULL, and its catalogue."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.clock = clock
        self.hand = Hand(store, clock, Lists(KEY))
        self.catalogue = Catalogue()
        self.hand.configure()
        store.write_now(_configure, self.catalogue)
        hear(self.hand, FULL, FULL)

    def sees(self, index: str, *, is_open: bool) -> None:
        self.catalogue.seen.append((self.clock.now(), index, is_open))

    def polls(self, answer: Reference | Unchanged) -> Came:
        store = self.hand.store
        claim = store.write_now(_claim)
        return store.write_now(settle_reference, claim, self.catalogue, answer, {"soc": self.hand.source}, Dice(1)).came


def _configure(tx: Tx, source: Catalogue) -> None:
    targets.configure(tx, tx.now(), source.budget, source.name, source.questions())


def _claim(tx: Tx) -> Claim:
    token = ("catalogue", "trace of the catalogue")
    (claim,) = targets.claim(tx, tx.now(), "catalogue", LIMITS, {"soc_catalogue": 125.0}, lambda: token).claims
    return claim


@pytest.fixture
def desk(store: Store, clock: ManualClock) -> Desk:
    return Desk(store, clock)


def test_what_it_saw_while_the_list_was_fresh_counts_once_the_list_is_away(desk: Desk) -> None:
    desk.clock.jump(1)
    desk.sees("00900", is_open=True)
    desk.polls(Reference(None))
    assert told(desk.hand) == []
    hear(desk.hand, AWAY, every=60)
    desk.polls(Unchanged())
    assert told(desk.hand) == [("00900", "Open", 1)]
    desk.clock.jump(600)
    desk.polls(Unchanged())
    desk.sees("00900", is_open=False)
    desk.clock.jump(600)
    desk.polls(Reference(None))
    assert told(desk.hand) == [("00900", "Open", 1), ("00900", "Closed", 1)]


def test_what_it_saw_before_the_list_was_believed_never_counts(desk: Desk) -> None:
    desk.sees("00900", is_open=True)
    hear(desk.hand, FULL, AWAY, every=60)
    desk.polls(Reference(None))
    assert told(desk.hand) == []


def test_the_same_once_more_is_no_further_sample_of_a_hold(desk: Desk) -> None:
    """It saw the very sections close that the held list leaves out: once."""
    short = some(*range(200))
    hear(desk.hand, short, short, every=110)
    for number in range(200, 300):
        desk.sees(f"{number:05d}", is_open=False)
    for _ in range(4):
        desk.polls(Unchanged())
        desk.clock.jump(110)
    assert told(desk.hand) == []


def test_a_shrinking_that_it_confirmed_is_not_held_again(desk: Desk) -> None:
    short = some(*range(200))
    hear(desk.hand, short, short, short, every=100)
    for number in range(200, 300):
        desk.sees(f"{number:05d}", is_open=False)
    desk.polls(Reference(None))
    assert len(told(desk.hand)) == 100
    assert hear(desk.hand, short, short) == [Came.UNCHANGED, Came.UNCHANGED]


def test_it_may_give_the_samples_that_a_hold_waits_for(desk: Desk) -> None:
    hear(desk.hand, some(*range(200)), every=100)
    for index in sorted(FULL.keys - some(*range(200)).keys):
        desk.sees(index, is_open=False)
    for _ in range(3):
        assert told(desk.hand) == []
        desk.polls(Reference(None))
        desk.clock.jump(100)
    assert len(told(desk.hand)) == 100


def test_a_catalogue_that_starts_over_unchanged_is_believed_again(desk: Desk) -> None:
    """Or the next one, however short, would be swapped in as if it were the first."""
    desk.polls(Unchanged())
    desk.clock.jump(2)
    assert desk.hand.store.write_now(_claim).believed
