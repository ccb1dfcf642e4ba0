"""What can be waited for at Resy, and what is said of a slot: also of one of which only the key is known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.clock import ManualClock

from vacancy.channels.told import tell_all
from vacancy.errors import UserError
from vacancy.model.availability import Failed, Item
from vacancy.model.messages import Opening, OpenItem
from vacancy.model.state import TargetState
from vacancy.settings_sections import ResySettings
from vacancy.sources.resy import Resy
from vacancy.sources.tables import Bucket, Found
from vacancy.store import availability, item_facts, targets
from vacancy.store.engine import Store, Tx

KEY, NEXT = "2026-01-07_20:30", "2026-01-08_20:30"
PAYLOAD = {
    "provider": "resy", "market": "nyc", "venueId": "834", "venueName": "Blue Fern", "date": "2026-01-07",
    "time": "20:30", "partySizes": [2, 4], "neighborhood": "Riverside", "bookUrl": "https://resy.com/x",
}  # fmt: skip
SLOT = Item("a" * 32, "834", PAYLOAD)


class Nobody:
    name = "resy"
    asks = ""

    async def search(
        self, bucket: Bucket, party_sizes: Sequence[int], last_mark: bytes | None, *, gap_s: float
    ) -> Found | Failed:
        return Found({}, {})


def source(clock: ManualClock, **given: Any) -> Resy:
    settings = {"enabled": True, "base_url": "http://127.0.0.1:1", "time_slots": ("20:30",), **given}
    return Resy(ResySettings(**settings), Nobody(), clock)


def opened(tx: Tx, resy: Resy, key: str, *items: Item) -> None:
    """The rows that an opening leaves behind."""
    targets.configure(tx, tx.now(), resy.budget, resy.name, resy.questions())
    target = targets.find(tx, resy.name, key)
    assert target
    availability.open_items(tx, target.target_id, TargetState(0), items, tx.now())


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("resy:venue/834", "https://resy.com/cities/new-york-ny"),
        ("resy:venue/834@2026-01-05", "https://resy.com/cities/new-york-ny?date=2026-01-05"),
        ("resy:venue/834@2026-01-18", "https://resy.com/cities/new-york-ny?date=2026-01-18"),
    ],
)
def test_a_venue_is_a_topic_and_a_venue_on_a_day_is_one(clock: ManualClock, name: str, link: str) -> None:
    topic = source(clock).topic(name)
    assert (topic.name, topic.source, topic.item_key, topic.link) == (name, "resy", None, link)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("resy:834", "must be resy:venue/VENUE or"),
        ("resy:venue/", "must be resy:venue/VENUE or"),
        ("resy:venue/8 34", "must be resy:venue/VENUE or"),
        ("resy:venue/834@", "must be resy:venue/VENUE or"),
        ("resy:venue/834@20260107", "must be resy:venue/VENUE or"),
        ("resy:venue/834@2026-02-30", "there is no day 2026-02-30"),
        ("resy:venue/834@2026-01-04", "2026-01-04 is over; today is 2026-01-05 there"),
        ("resy:venue/834@2026-01-19", "2026-01-19 is not watched yet; from 2026-01-06 on it can be waited for"),
        ("resy:venue/834@9999-12-31", "9999-12-31 is not watched yet"),
    ],
)
def test_what_could_never_come_is_refused_with_the_reason(clock: ManualClock, name: str, why: str) -> None:
    with pytest.raises(UserError) as wrong:
        source(clock).topic(name)
    assert wrong.value.code == "validation_failed"
    assert why in wrong.value.message


def test_where_no_tables_are_polled_none_can_be_waited_for(clock: ManualClock) -> None:
    with pytest.raises(UserError) as wrong:
        source(clock, enabled=False).topic("resy:venue/834")
    assert (wrong.value.code, wrong.value.message) == ("section_not_found", "tables are not watched here")


def test_today_is_that_of_the_market() -> None:
    late = ManualClock(datetime(2026, 1, 6, 7, 0, tzinfo=UTC))
    assert source(late).topic("resy:venue/1@2026-01-06").source == "resy"
    assert source(late, market="la").topic("resy:venue/1@2026-01-05").source == "resy"
    with pytest.raises(UserError, match="is over"):
        source(late).topic("resy:venue/1@2026-01-05")


def test_an_opening_says_what_every_channel_tells(store: Store, clock: ManualClock) -> None:
    resy = source(clock)
    said = store.read_now(resy.describe, KEY, [SLOT])[SLOT.key]
    assert said.topics == ("resy:venue/834@2026-01-07", "resy:venue/834")
    assert said.payload.items() >= PAYLOAD.items()
    assert said.section_id is None
    item = OpenItem(SLOT.key, 1, said.payload)
    opening = Opening(
        1, "k", "t", "resy", KEY, clock.now(), "resy", "Closed", "Open", "America/New_York", (item,)
    )  # fmt: skip
    (told,) = tell_all(opening, "en-US")
    assert (told.title, told.link) == ("Blue Fern", "https://resy.com/x")
    assert told.lines == ("Wed, Jan 7, 8:30 PM", "for 2 or 4", "Riverside")


def test_a_slot_of_which_only_the_key_is_known_is_described_by_its_row(store: Store, clock: ManualClock) -> None:
    resy = source(clock)
    store.write_now(opened, resy, KEY, SLOT)
    full = store.read_now(resy.describe, KEY, [SLOT])[SLOT.key]
    # A close names the group, a look at a topic nothing but the key.
    assert store.read_now(resy.describe, KEY, [Item(SLOT.key, "834")])[SLOT.key] == full
    assert store.read_now(resy.describe, KEY, [Item(SLOT.key)])[SLOT.key] == full


def test_a_slot_that_nobody_ever_saw_is_of_no_venue(store: Store, clock: ManualClock) -> None:
    said = store.read_now(source(clock).describe, KEY, [Item("b" * 32)])["b" * 32]
    assert (said.topics, dict(said.payload)) == ((), {})


def test_the_items_of_a_venue_are_those_that_its_buckets_know(store: Store, clock: ManualClock) -> None:
    resy = source(clock, window_days=4)
    store.write_now(opened, resy, KEY, SLOT, Item("b" * 32, "835"))
    store.write_now(opened, resy, NEXT, Item("c" * 32, "834"))
    every = store.read_now(resy.items_of, resy.topic("resy:venue/834"))
    assert [(item.target_key, item.item_key) for item in every] == [(KEY, "a" * 32), (NEXT, "c" * 32)]
    on_a_day = store.read_now(resy.items_of, resy.topic("resy:venue/834@2026-01-08"))
    assert [item.item_key for item in on_a_day] == ["c" * 32]
    assert store.read_now(resy.items_of, resy.topic("resy:venue/83")) == []
    # What left the window is asked no more, and says nothing of today.
    clock.pass_time(3 * 86_400)
    store.write_now(opened, resy, "2026-01-11_20:30")
    assert [item.target_key for item in store.read_now(resy.items_of, resy.topic("resy:venue/834"))] == [NEXT]


def test_facts_of_more_slots_than_a_statement_takes_are_found(store: Store, clock: ManualClock) -> None:
    resy = source(clock)
    many = [Item(f"{number:032x}", "834", {"time": str(number)}) for number in range(10_050)]
    store.write_now(opened, resy, KEY, *many)
    found = store.read_now(item_facts.of_items, "resy", KEY, [item.key for item in many])
    assert len(found) == len(many)
    assert found[many[-1].key].payload == {"time": "10049"}


def test_an_edge_is_itself_by_bucket_slot_and_minute(clock: ManualClock) -> None:
    at = datetime(2026, 1, 5, 12, 34, 56, tzinfo=UTC)
    assert source(clock).dedupe_key(KEY, SLOT.key, "Open", 7, 3, at=at) == f"{KEY}|{SLOT.key}|2026-01-05T12:34"


def test_how_the_engine_treats_tables(clock: ManualClock, store: Store) -> None:
    resy = source(clock, dedupe_minutes=45, market="la")
    policy = resy.policy
    assert (policy.misses_to_close, policy.ratio_gate, policy.records_close) == (1, False, False)
    assert (policy.group_empty_after, policy.event_gap_s, policy.adaptive) == (2, 2700, True)
    assert policy.time_zone == "America/Los_Angeles"
    assert resy.is_item_key(SLOT.key)
    assert not any(resy.is_item_key(text) for text in ("a" * 31, "A" * 32, "g" * 32, ""))
    assert store.read_now(resy.known, KEY) is None
    assert store.read_now(resy.section_of, resy.topic("resy:venue/1")) is None
