"""What a courier keeps of openings is let go of between two transactions, and never while it is needed."""

from __future__ import annotations

import pytest

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.model.availability import Complete
from vacancy.pipeline import deliver as delivering
from vacancy.store.engine import Store

CLOSED = some(*range(100, 140))


def test_more_openings_than_are_kept_are_told_of(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "_FACTS_KEPT", 1)
    source = Lists("12025|NB")
    hand = Hand(store, clock, source)
    hand.configure()
    people = People(store, source, verify=False)
    for answer in (CLOSED, CLOSED):
        hand.poll(answer)
        clock.jump(15)
    for number in (1, 2, 3):
        people.subscribe(f"reader-{number}", f"{number:05d}")
    for opened in ((1,), (1, 2), (1, 2, 3)):
        hand.poll(Complete(CLOSED.keys | some(*opened).keys))
        clock.jump(15)
    people.fan_out()
    courier = make_courier(store, source, people, Script())
    assert len(deliver(courier)) == 3
    assert [row.status for row in people.queue()] == ["sent"] * 3
