"""An answer of a channel and the close of what it told of, at the same moment: the next opening is told whatever order
they are committed in."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.clock import Dice
from vacancy.model.availability import Complete
from vacancy.model.delivery import Due, Finished
from vacancy.model.messages import Sent
from vacancy.pipeline.dispatch import Errand, run_errand
from vacancy.pipeline.judge import Rules
from vacancy.pipeline.settle import settle_answer
from vacancy.store.engine import Store, Tx
from vacancy.store.queue_results import Tries

CLOSED = some(*range(100, 140))
OPEN = Complete(CLOSED.keys | some(7).keys)
SEVEN = "00007"


@pytest.fixture
def source() -> Lists:
    return Lists("12025|NB")


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    for answer in (CLOSED, CLOSED):
        made.poll(answer)
        clock.jump(15)
    return made


def errand(*done: Finished, room: int = 0) -> Errand:
    return Errand("email", "a worker", room, done, 0, {}, {})


def in_hand(hand: Hand, people: People, source: Lists) -> Due:
    """Ada's alert, on its way to her while the item was missed once: by the next answer it is closed."""
    clock: Any = hand.clock
    people.subscribe("ada", SEVEN)
    hand.poll(OPEN)
    people.fan_out()
    rules = Rules({source.name: source.policy})
    (taken,) = hand.store.write_now(run_errand, errand(room=20), rules, Tries()).rows
    clock.jump(15)
    hand.poll(CLOSED)
    clock.jump(15)
    return taken.due


def test_the_close_commits_first_and_the_ack_after(hand: Hand, source: Lists, store: Store) -> None:
    people = People(store, source, verify=False)
    due = in_hand(hand, people, source)
    claim = hand.claim()
    assert claim is not None
    state, hand.state = hand.state, None
    written, go_on = threading.Event(), threading.Event()

    def slowly(tx: Tx) -> Any:
        settled = settle_answer(tx, claim, source, CLOSED, state, Dice(1))
        written.set()
        assert go_on.wait(30)
        return settled

    with ThreadPoolExecutor(2) as threads:
        closing = threads.submit(store.write_now, slowly)
        assert written.wait(30)
        done = Finished(due, Sent("test", "message"))
        acking = threads.submit(store.write_now, run_errand, errand(done), Rules(), Tries())
        with pytest.raises(TimeoutError):
            acking.result(0.2)
        go_on.set()
        hand.state = closing.result(30).state
        acking.result(30)
    assert people.one(due.subscription_id).last_known_section_status == "Closed"
    hand.clock.jump(15)  # type: ignore[attr-defined]
    hand.poll(OPEN)
    assert people.fan_out() == 1
