"""Retention, the write-ahead log, backups, and a backup that is put back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.store.test_commit_order import append, read_all
from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.errors import StoreError
from vacancy.model.availability import Complete
from vacancy.pipeline.upkeep import Upkeep
from vacancy.runner import Stop
from vacancy.settings_sections import RetentionSettings
from vacancy.store import events, house, migrate, troubles, upkeep
from vacancy.store.engine import Store
from vacancy.store.schema import availability, targets

KEEP = RetentionSettings(events_days=30, closed_items_days=90)


def run_upkeep(store: Store, clock: ManualClock) -> None:
    async def once() -> None:
        await Upkeep(store, KEEP).once(Stop(clock))

    asyncio.run(once())


def test_events_are_kept_for_their_days_and_readers_are_told_how_far(store: Store, clock: ManualClock) -> None:
    numbers = store.write_now(append, *(f"old {n}" for n in range(700)))
    clock.jump(86_400 * 29)
    recent = store.write_now(append, "recent")
    run_upkeep(store, clock)
    assert read_all(store, 0)[0] == numbers[0]
    clock.jump(86_400 * 2)
    run_upkeep(store, clock)
    assert read_all(store, 0) == recent
    assert store.read_now(house.recall, events.PRUNED_TO) == str(numbers[-1])


@pytest.mark.parametrize("years", [-20, 20])
def test_an_event_from_a_clock_that_was_wrong_takes_no_other_with_it_and_keeps_none(
    store: Store, clock: ManualClock, years: int
) -> None:
    old = store.write_now(append, "old")
    clock.jump(86_400 * 31)
    before = store.write_now(append, "before")
    clock.jump(86_400 * 365 * years)
    wrong = store.write_now(append, "wrong")
    clock.jump(-86_400 * 365 * years)
    after = store.write_now(append, "after")
    run_upkeep(store, clock)
    assert read_all(store, 0) == [*before, *wrong, *after]
    clock.jump(86_400 * 31)
    last = store.write_now(append, "last")
    run_upkeep(store, clock)
    assert read_all(store, 0) == last
    assert store.read_now(house.recall, events.PRUNED_TO) == str(after[-1])
    assert old < last


def test_a_trouble_that_is_over_is_forgotten_and_one_that_lasts_is_not(store: Store, clock: ManualClock) -> None:
    store.write_now(lambda tx: troubles.begin(tx, tx.now(), "disk", "what"))
    store.write_now(lambda tx: troubles.begin(tx, tx.now(), "polling", "what"))
    store.write_now(lambda tx: troubles.end(tx, tx.now(), "disk"))
    clock.jump(86_400 * 31)
    run_upkeep(store, clock)
    assert [each.name for each in store.read_now(troubles.all_of)] == ["polling"]


def test_a_closed_item_is_forgotten_but_its_episodes_are_not(store: Store, clock: ManualClock) -> None:
    hand = Hand(store, clock, Lists("12025|NB"))
    hand.configure()
    both, one = some(1, 2), some(1)
    for answer in (both, both, one, one, both, one, one):
        hand.poll(answer)
        clock.jump(15)
    clock.jump(86_400 * 91)
    run_upkeep(store, clock)
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(availability)).scalar()) == 1
    assert store.read_now(lambda tx: tx.execute(select(targets.c.episode_floor)).scalar()) == 2
    # The process still remembers the item; its row is gone, and so that memory is not to be believed.
    hand.poll(both)
    episodes = store.read_now(lambda tx: tx.execute(select(availability.c.episode)).scalars().all())
    assert sorted(episodes) == [1, 3]


def test_the_write_ahead_log_is_folded_in(sqlite_store: Store) -> None:
    path = sqlite_store.path
    assert path is not None
    for n in range(300):
        sqlite_store.write_now(append, *(f"{n}-{m}" for m in range(20)))
    upkeep.checkpoint(sqlite_store)
    wal = path.with_name(path.name + "-wal")
    size = wal.stat().st_size
    for n in range(300, 330):
        sqlite_store.write_now(append, *(f"{n}-{m}" for m in range(20)))
    assert wal.stat().st_size <= size


def test_a_backup_that_is_put_back_never_hands_out_a_number_again(
    sqlite_store: Store, clock: ManualClock, tmp_path: Path
) -> None:
    before = sqlite_store.write_now(append, "before the backup")
    copy = tmp_path / "copy.db"
    upkeep.backup(sqlite_store, copy)
    after = sqlite_store.write_now(append, "after the backup")
    assert upkeep.check(sqlite_store) == []
    assert sqlite_store.write_now(upkeep.wake_restored) is None

    restored = Store(f"sqlite:///{copy}", clock)
    try:
        assert migrate.upgrade(restored) is False
        assert restored.write_now(upkeep.wake_restored) is not None
        assert restored.write_now(upkeep.wake_restored) is None
        assert upkeep.check(restored) == []
        (number,) = restored.write_now(append, "after the restore")
        assert number > after[-1] > before[-1]
        # A reader that had seen everything before the disaster misses nothing after it.
        assert read_all(restored, after[-1]) == [number]
    finally:
        restored.close()


def test_what_waited_in_a_backup_is_not_sent_after_its_restore_and_the_next_opening_is(
    sqlite_store: Store, clock: ManualClock, tmp_path: Path
) -> None:
    hand, people = watched(sqlite_store, clock)
    waits, under_way = (people.subscribe(who, "00007", max_notifications=1) for who in ("ada", "bob"))
    look(hand, some(1, 2, 7))
    people.fan_out()
    assert people.begin_sending(people.live()[1])
    look(hand, some(1, 2, 7, 8))
    copy = tmp_path / "copy.db"
    upkeep.backup(sqlite_store, copy)

    restored = Store(f"sqlite:///{copy}", clock)
    try:
        restored.write_now(upkeep.wake_restored)
        hand, people = watched(restored, clock, like=hand)
        assert people.live() == []
        assert people.fan_out() == 0
        assert {row.status for row in people.queue()} == {"expired"}
        assert [people.one(each.subscription.subscription_id).notified_count for each in (waits, under_way)] == [0, 0]
        look(hand, some(1, 2), some(1, 2), some(1, 2, 7))
        assert people.fan_out() == 2
    finally:
        restored.close()


def watched(store: Store, clock: ManualClock, like: Hand | None = None) -> tuple[Hand, People]:
    source = Lists("12025|NB")
    hand = Hand(store, clock, source, "hand" if like is None else "another")
    if like is None:
        hand.configure()
        look(hand, some(1, 2), some(1, 2))
    return hand, People(store, source, verify=False)


def look(hand: Hand, *answers: Complete) -> None:
    for answer in answers:
        hand.poll(answer)
        hand.clock.jump(15)  # type: ignore[attr-defined]


def test_a_backup_overwrites_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("something else")
    with pytest.raises(StoreError, match="exists already"):
        upkeep.backup(sqlite_store, tmp_path / "precious")


def test_a_backup_that_cannot_be_written_leaves_no_half(sqlite_store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write the backup"):
        upkeep.backup(sqlite_store, tmp_path / "no such folder" / "copy.db")


def test_postgres_is_backed_up_by_its_own_tool(postgres_store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="pg_dump"):
        upkeep.backup(postgres_store, tmp_path / "copy.db")


def test_ages_are_measured_by_the_stores_clock(store: Store, clock: ManualClock) -> None:
    store.write_now(append, "now")
    assert store.write_now(events.prune, clock.now(), 10) == 0
    assert store.write_now(events.prune, clock.now() + timedelta(milliseconds=1), 10) == 1
