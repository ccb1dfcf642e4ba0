"""The sequences of tables that made earlier systems cry wolf or keep silent: venues, gaps, groups, partial answers."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists
from vacancy.model.availability import Complete, Item, Partial, Policy
from vacancy.pipeline.settle import Came, open_by_hand
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_events

BUCKET = "2026-02-28_20:30"
POLICY = Policy(
    interval_s=30, jitter=0, fetch_timeout_s=15, misses_to_close=1, ratio_gate=False, records_close=False,
    group_empty_after=2, event_gap_s=1800, adaptive=True, time_zone="America/New_York",
)  # fmt: skip
# So many venues are always open that no answer is ever empty.
EVERGREEN = ("diner 18", "diner 19")


@pytest.fixture
def source() -> Lists:
    made = Lists(BUCKET)
    made.policy = POLICY
    return made


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    return made


@pytest.fixture
def settled(hand: Hand) -> Hand:
    hear(hand, tables(), tables())
    return hand


def tables(*keys: str, **facts: Any) -> Complete:
    """`carbone 20` is a table of the venue carbone; all that are always there are there as well."""
    items = _items(*EVERGREEN, *keys, **facts)
    return Complete(frozenset(items), items, listed=len(items) + 5)


def some_of(*keys: str) -> Partial:
    items = _items(*keys)
    return Partial(frozenset(items), items)


def _items(*keys: str, **facts: Any) -> dict[str, Item]:
    return {key: Item(key, key.partition(" ")[0], {"venueId": key.partition(" ")[0], **facts}) for key in keys}


def hear(hand: Hand, *answers: Complete | Partial, every: float = 60) -> list[Came]:
    came = []
    for answer in answers:
        came.append(hand.poll(answer).came)
        hand.clock.jump(every)  # type: ignore[attr-defined]
    return came


def told(hand: Hand) -> list[str]:
    return [row.item_key for row in hand.store.read_now(_events)]


def _events(tx: Tx) -> list[Any]:
    return list(tx.execute(select(open_events).order_by(open_events.c.open_event_id)).all())


def open_now(hand: Hand) -> set[str]:
    query = select(availability.c.item_key).where(availability.c.state == "Open")
    return set(hand.store.read_now(lambda tx: tx.execute(query).scalars().all()))


def test_a_venue_that_had_nothing_is_news_with_every_table_that_opens_at_once(settled: Hand) -> None:
    eight = [f"carbone {hour}" for hour in range(17, 25)]
    hear(settled, tables(*eight))
    rows = settled.store.read_now(_events)
    assert [row.item_key for row in rows] == eight
    assert {row.lead_event_id for row in rows} == {rows[0].open_event_id}
    assert {row.group_key for row in rows} == {"carbone"}


def test_a_venue_that_had_a_table_and_gains_another_is_shown_and_no_news(settled: Hand) -> None:
    hear(settled, tables("carbone 20"), tables("carbone 20", "carbone 21"))
    assert told(settled) == ["carbone 20"]
    assert open_now(settled) == {*EVERGREEN, "carbone 20", "carbone 21"}


def test_a_table_leaves_the_feed_at_once_and_its_venue_is_empty_after_two_answers(settled: Hand) -> None:
    hear(settled, tables("carbone 20"), tables())
    assert open_now(settled) == set(EVERGREEN)
    hear(settled, tables("carbone 21"))
    assert told(settled) == ["carbone 20"]
    hear(settled, tables(), tables(), tables("carbone 22"))
    assert told(settled) == ["carbone 20", "carbone 22"]


def test_emptiness_is_known_after_a_restart(settled: Hand, store: Store, clock: ManualClock, source: Lists) -> None:
    hear(settled, tables("carbone 20"), tables())
    again = Hand(store, clock, source, "again")
    hear(again, tables("carbone 21"))
    assert told(again) == ["carbone 20"]


def test_a_partial_answer_counts_for_no_emptiness(settled: Hand) -> None:
    hear(settled, tables("carbone 20"), tables(), some_of(), some_of(), tables("carbone 21"))
    assert told(settled) == ["carbone 20"]


def test_a_partial_answer_adds_and_is_news_where_nothing_was_open(settled: Hand) -> None:
    hear(settled, some_of("carbone 20"), some_of("carbone 21"))
    assert told(settled) == ["carbone 20"]
    assert open_now(settled) == {*EVERGREEN, "carbone 20", "carbone 21"}


def test_a_table_that_flickers_is_told_of_once_in_half_an_hour(settled: Hand) -> None:
    for _ in range(5):
        hear(settled, tables("carbone 20"), tables(), tables())
    assert told(settled) == ["carbone 20"]


def test_an_opening_kept_back_by_the_gap_is_told_when_it_ends_if_it_is_open_still(settled: Hand) -> None:
    hear(settled, tables("carbone 20"), tables(), tables())
    there = tables("carbone 20")
    hear(settled, *[there] * 26)
    assert told(settled) == ["carbone 20"]
    hear(settled, *[there] * 3)
    rows = settled.store.read_now(_events)
    assert [(row.item_key, row.episode) for row in rows] == [("carbone 20", 1), ("carbone 20", 2)]
    assert rows[1].dedupe_key != rows[0].dedupe_key
    hear(settled, *[there] * 40)
    assert len(told(settled)) == 2


def test_an_opening_kept_back_by_the_gap_is_told_to_nobody_if_it_closed(settled: Hand) -> None:
    hear(settled, tables("carbone 20"), tables(), tables(), tables("carbone 20"), *[tables()] * 40)
    assert told(settled) == ["carbone 20"]


def test_what_is_owed_is_known_after_a_restart(settled: Hand, store: Store, clock: ManualClock, source: Lists) -> None:
    hear(settled, tables("carbone 20"), tables(), tables(), tables("carbone 20"))
    clock.jump(1800)
    again = Hand(store, clock, source, "again")
    hear(again, tables("carbone 20"))
    assert told(again) == ["carbone 20", "carbone 20"]


def test_a_new_baseline_owes_nothing(settled: Hand, source: Lists) -> None:
    hear(settled, tables("carbone 20"), tables(), tables(), tables("carbone 20"))
    source.question = "another box"
    settled.configure()
    hear(settled, tables("carbone 20"), tables("carbone 20"), every=1800)
    hear(settled, tables("carbone 20"))
    assert told(settled) == ["carbone 20"]


def test_all_booked_is_an_answer_and_nothing_listed_is_none(settled: Hand) -> None:
    hear(settled, tables("carbone 20"))
    assert hear(settled, Complete(frozenset(), listed=0)) == [Came.HELD]
    assert "carbone 20" in open_now(settled)
    assert hear(settled, Complete(frozenset(), listed=40)) == [Came.BELIEVED]
    assert open_now(settled) == set()


def test_the_words_of_an_open_table_follow_the_upstream(settled: Hand, store: Store) -> None:
    hear(settled, tables("carbone 20", partySizes=[2]), tables("carbone 20", partySizes=[2, 4]))
    query = select(availability.c.payload).where(availability.c.item_key == "carbone 20")
    assert store.read_now(lambda tx: tx.execute(query).scalar_one())["partySizes"] == [2, 4]
    assert told(settled) == ["carbone 20"]


def test_a_table_in_two_overlapping_buckets_is_told_of_once(store: Store, clock: ManualClock) -> None:
    both = Lists(BUCKET, "2026-02-28_21:30")
    both.policy = POLICY
    hand = Hand(store, clock, both)
    hand.configure()
    hands: dict[str, Hand] = {}
    for _ in range(4):
        claim = hand.claim()
        assert claim is not None
        mine = hands.setdefault(claim.key, Hand(store, clock, both, claim.key))
        mine.settle(claim, tables())
        clock.jump(31)
    for key in both.keys:
        clock.jump(60)
        (claim,) = [claim for claim in (hand.claim(), hand.claim()) if claim and claim.key == key]
        hands[key].settle(claim, tables("carbone 21"))
        clock.jump(60)
    assert told(hand) == ["carbone 21"]
    openings = select(availability.c.target_id).where(availability.c.item_key == "carbone 21")
    assert len(store.read_now(lambda tx: tx.execute(openings).all())) == 2


def test_a_table_opened_by_hand_keeps_its_words_and_its_venue(settled: Hand, store: Store, source: Lists) -> None:
    hear(settled, tables("carbone 20", partySizes=[2]), tables())
    (target_id,) = store.read_now(lambda tx: tx.execute(select(availability.c.target_id).distinct()).scalars().all())
    store.write_now(open_by_hand, source, target_id, "carbone 20", "by hand")
    query = select(availability.c.payload, availability.c.group_key).where(availability.c.item_key == "carbone 20")
    assert store.read_now(lambda tx: tx.execute(query).one()) == ({"venueId": "carbone", "partySizes": [2]}, "carbone")


def test_targets_with_edges_are_asked_sooner_and_quiet_ones_later(settled: Hand, clock: ManualClock) -> None:
    assert settled.poll(tables("carbone 20")).delay_s == 15
    clock.jump(700)
    assert settled.poll(tables("carbone 20")).delay_s == 30
    clock.jump(7200)
    assert settled.poll(tables("carbone 20")).delay_s == 60


def test_an_older_answer_that_arrives_after_a_newer_one_changes_nothing(
    settled: Hand, store: Store, clock: ManualClock, source: Lists
) -> None:
    slow = settled.claim()
    assert slow is not None
    clock.jump(30)  # its lease is over
    other = Hand(store, clock, source, "other")
    hear(other, tables())
    # Read before the other's, and heard after it: the table was gone by then.
    assert settled.settle(slow, tables("carbone 20")).came is Came.SUPERSEDED
    assert open_now(settled) == set(EVERGREEN)
    assert told(settled) == []


def test_of_two_pollers_one_asks_and_one_tells(settled: Hand, store: Store, clock: ManualClock, source: Lists) -> None:
    other = Hand(store, clock, source, "other")
    claim = settled.claim()
    assert claim is not None
    assert other.claim() is None
    settled.settle(claim, tables("carbone 20"))
    clock.jump(60)
    # The other one knows nothing of it but what the rows say.
    hear(other, tables("carbone 20"))
    assert told(settled) == ["carbone 20"]
