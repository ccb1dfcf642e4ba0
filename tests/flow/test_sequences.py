"""The sequences that made earlier systems lose an alert, double it, or tell what was not true."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, listing, some
from vacancy.model.availability import Complete, Failed, Flips, Partial, Trouble
from vacancy.model.state import Reason
from vacancy.pipeline.settle import Came, open_by_hand, reconcile, release
from vacancy.store import events, house, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, open_events

KEY = "12025|NB"
FULL = some(*range(300))


@pytest.fixture
def source() -> Lists:
    return Lists(KEY)


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    return made


@pytest.fixture
def settled(hand: Hand) -> Hand:
    """A target whose baseline is FULL."""
    hear(hand, FULL, FULL)
    assert told(hand) == []
    return hand


def hear(hand: Hand, *answers: Complete | Partial | Failed, every: float = 15) -> list[Came]:
    came = []
    for answer in answers:
        came.append(hand.poll(answer).came)
        hand.clock.jump(every)  # type: ignore[attr-defined]
    return came


def told(hand: Hand) -> list[tuple[str, str, int]]:
    return hand.store.read_now(_told)


def _told(tx: Tx) -> list[tuple[str, str, int]]:
    e = open_events.c
    rows = tx.execute(select(e.item_key, e.status_after, e.episode).order_by(e.open_event_id)).all()
    return [(item, status, episode) for item, status, episode in rows]


def _target(tx: Tx) -> Any:
    return targets.find(tx, "soc", KEY)


def _item(tx: Tx, key: str) -> Any:
    return tx.execute(select(availability).where(availability.c.item_key == key)).one()


def without(answer: Complete, *numbers: int) -> Complete:
    return Complete(answer.keys - some(*numbers).keys)


def having(answer: Complete, *numbers: int) -> Complete:
    return Complete(answer.keys | some(*numbers).keys)


# Misses and flaps.


def test_a_miss_followed_by_an_unchanged_body_closes(settled: Hand) -> None:
    missing = without(FULL, 7)
    hear(settled, missing, missing)
    assert told(settled) == [("00007", "Closed", 1)]


def test_a_miss_that_is_mended_raises_nothing(settled: Hand) -> None:
    hear(settled, without(FULL, 7), FULL, without(FULL, 7), FULL)
    assert told(settled) == []
    assert settled.store.read_now(_item, "00007").missed_polls == 0


def test_a_restart_between_two_misses_changes_nothing(settled: Hand) -> None:
    hear(settled, without(FULL, 7))
    after = Hand(settled.store, settled.clock, settled.source, "after the restart")
    hear(after, without(FULL, 7))
    assert told(after) == [("00007", "Closed", 1)]


def test_two_quick_close_and_reopen_cycles_are_two_openings(settled: Hand) -> None:
    """All within three minutes: a bucket of time alone would swallow the second."""
    gone = without(FULL, 7)
    hear(settled, gone, gone, FULL, gone, gone, FULL)
    assert told(settled) == [
        ("00007", "Closed", 1), ("00007", "Open", 2), ("00007", "Closed", 2), ("00007", "Open", 3),
    ]  # fmt: skip


# What is believed.


def test_a_partial_first_baseline_tells_nobody(hand: Hand) -> None:
    part = some(*range(200))
    assert hear(hand, part, FULL, FULL) == [Came.WAITING, Came.WAITING, Came.BELIEVED]
    assert told(hand) == []


def test_an_empty_baseline_takes_three(hand: Hand) -> None:
    nothing = some()
    assert hear(hand, nothing, nothing, nothing) == [Came.WAITING, Came.WAITING, Came.BELIEVED]


def test_an_answer_with_failed_pages_is_never_a_baseline(hand: Hand) -> None:
    pages = Partial(FULL.keys)
    assert hear(hand, pages, pages, pages) == [Came.IGNORED] * 3
    assert not hand.store.read_now(_target).baseline_at


def test_an_answer_with_failed_pages_adds_and_never_removes(settled: Hand) -> None:
    pages = Partial(some(7, 400).keys)
    hear(settled, pages, pages, pages)
    assert told(settled) == [("00400", "Open", 1)]


def test_an_all_open_glitch_tells_nobody(settled: Hand) -> None:
    everything = some(*range(900))
    assert hear(settled, everything, FULL, FULL) == [Came.HELD, Came.BELIEVED, Came.UNCHANGED]
    assert told(settled) == []


def test_growth_that_stays_is_believed_at_its_second_answer(settled: Hand) -> None:
    grown = some(*range(420))
    assert hear(settled, grown, grown) == [Came.HELD, Came.BELIEVED]
    assert len(told(settled)) == 120


def test_an_empty_answer_is_held_and_mended_at_once(settled: Hand) -> None:
    assert hear(settled, some(), some(), some(), FULL) == [Came.HELD] * 3 + [Came.BELIEVED]
    assert told(settled) == []


def test_an_empty_list_of_a_few_is_believed_after_a_minute(hand: Hand) -> None:
    few = some(1, 2, 3)
    hear(hand, few, few)
    came = hear(hand, some(), some(), some(), every=30)
    assert came == [Came.HELD, Came.HELD, Came.BELIEVED]
    hear(hand, some())
    assert [status for _, status, _ in told(hand)] == ["Closed"] * 3


def test_a_short_list_is_believed_after_five_minutes_and_then_closes(settled: Hand) -> None:
    hear(settled, *[FULL] * 6)
    short = some(*range(200))
    came = hear(settled, *[short] * 12, every=30)
    assert came == [Came.HELD] * 10 + [Came.BELIEVED, Came.BELIEVED]
    assert len(told(settled)) == 100


def test_samples_with_a_long_gap_between_them_confirm_nothing(settled: Hand) -> None:
    short = some(*range(200))
    assert set(hear(settled, *[short] * 8, every=121)) == {Came.HELD}


def test_a_list_that_is_still_nine_percent_short_does_not_slip_out_of_a_hold(settled: Hand) -> None:
    assert hear(settled, some(*range(200)), some(*range(272)), some(*range(276))) == [
        Came.HELD, Came.HELD, Came.BELIEVED,
    ]  # fmt: skip


def test_a_held_answer_is_probed_without_jitter(store: Store, clock: ManualClock) -> None:
    hand = Hand(store, clock, Lists(KEY, jitter=0.3))
    hand.configure()
    hear(hand, FULL, FULL, every=20)
    hand.poll(some())
    row = store.read_now(_target)
    assert row.next_poll_at - clock.now() == timedelta(seconds=15)
    assert row.held_since == clock.now()


def test_a_list_of_another_campus_is_a_failure_and_changes_nothing(store: Store, clock: ManualClock) -> None:
    hand = Hand(store, clock, Lists(KEY, known=FULL.keys))
    hand.configure()
    hear(hand, FULL, FULL)
    settled = hand.poll(some(*range(5000, 5300)))
    assert settled.failed is not None
    assert settled.failed.trouble is Trouble.IMPLAUSIBLE
    assert told(hand) == []
    clock.jump(16)
    assert hear(hand, FULL) == [Came.UNCHANGED]


def test_a_changed_question_is_a_new_baseline(settled: Hand, source: Lists) -> None:
    source.question = "another box"
    settled.configure()
    other = some(*range(250, 600))
    assert hear(settled, other, other) == [Came.WAITING, Came.BELIEVED]
    assert told(settled) == []
    hear(settled, having(other, 0))
    # The item was open before: its episodes go on, they do not begin again.
    assert told(settled) == [("00000", "Open", 2)]


def test_an_operator_releases_a_held_answer(settled: Hand, source: Lists) -> None:
    short = some(*range(200))
    hear(settled, short)
    target = settled.store.read_now(_target)
    released = settled.store.write_now(release, source, target.target_id, "by hand")
    assert released is not None
    assert hear(settled, short) == [Came.BELIEVED]
    assert len(told(settled)) == 100
    assert settled.store.write_now(release, source, target.target_id, "by hand") is None


def test_a_released_answer_is_as_old_as_it_is(settled: Hand, source: Lists) -> None:
    """Nobody is told an hour later that it was seen just now."""
    seen_at = settled.clock.now()
    hear(settled, some(*range(200)), every=3600)
    target = settled.store.read_now(_target)
    assert settled.store.write_now(release, source, target.target_id, "by hand") is not None
    assert settled.store.read_now(_target).last_complete_at == seen_at


# By hand, and by the catalogue.


def test_an_opening_by_hand_is_said_once_and_closed_by_two_answers_without_it(settled: Hand, source: Lists) -> None:
    target = settled.store.read_now(_target).target_id
    assert settled.store.write_now(open_by_hand, source, target, "00900", "by hand") is not None
    assert settled.store.write_now(open_by_hand, source, target, "00900", "by hand") is None
    hear(settled, having(FULL, 900), FULL, FULL)
    assert told(settled) == [("00900", "Open", 1), ("00900", "Closed", 1)]


def flips(hand: Hand, opened: set[str], closed: set[str], *, seconds_ago: float = 0) -> Flips:
    seen = hand.clock.now() - timedelta(seconds=seconds_ago)
    return Flips(frozenset(opened), frozenset(closed), seen)


def test_the_catalogue_is_heard_while_the_list_is_stale(settled: Hand, source: Lists) -> None:
    settled.clock.jump(60)  # type: ignore[attr-defined]
    seen = settled.store.write_now(reconcile, source, KEY, flips(settled, {"00900"}, {"00007"}), "catalogue")
    assert seen is not None
    assert told(settled) == [("00900", "Open", 1), ("00007", "Closed", 1)]
    detected = settled.store.read_now(lambda tx: tx.execute(select(open_events.c.detected_by)).scalars().all())
    assert set(detected) == {"section_status_event"}
    # The list comes back and says the same: nobody is told again.
    hear(settled, having(without(FULL, 7), 900))
    assert len(told(settled)) == 2


@pytest.mark.parametrize(("stale_s", "seconds_ago"), [(44, 0), (200, 216)])
def test_the_catalogue_is_not_heard_while_the_list_is_fresh_or_newer(
    settled: Hand, source: Lists, stale_s: float, seconds_ago: float
) -> None:
    settled.clock.jump(stale_s)  # type: ignore[attr-defined]
    late = flips(settled, {"00900"}, set(), seconds_ago=seconds_ago)
    assert settled.store.write_now(reconcile, source, KEY, late, "catalogue") is None
    assert told(settled) == []


def test_a_stale_catalogue_during_a_hold_changes_nothing(settled: Hand, source: Lists) -> None:
    short = some(*range(200))
    hear(settled, *[short] * 4, every=30)
    before = settled.store.read_now(_target)
    for taken in (flips(settled, {"00900"}, set()), flips(settled, set(), {"00007", "00008"})):
        assert settled.store.write_now(reconcile, source, KEY, taken, "catalogue") is None
    assert settled.store.read_now(_target) == before
    assert told(settled) == []


def test_a_catalogue_may_confirm_a_hold(settled: Hand, source: Lists) -> None:
    """It saw the very sections close that the held list leaves out."""
    short = some(*range(200))
    hear(settled, *[short] * 3, every=100)
    seen = flips(settled, set(), {f"{number:05d}" for number in range(200, 300)})
    assert settled.store.write_now(reconcile, source, KEY, seen, "catalogue") is not None
    assert len(told(settled)) == 100


# Numbers.


def test_ids_after_everything_was_pruned_go_on(settled: Hand) -> None:
    hear(settled, having(FULL, 400, 401))
    last = settled.store.read_now(_highest)
    settled.clock.jump(86_400 * 40)  # type: ignore[attr-defined]
    now = settled.clock.now()
    assert settled.store.write_now(events.prune, now, 10) == 2
    settled.store.write_now(lambda tx: tx.execute(delete(availability)))
    settled.store.write_now(lambda tx: targets.start_over(tx, now, _target(tx).target_id))
    settled.state = None
    hear(settled, FULL, FULL, having(FULL, 500))
    numbers, snapshots = settled.store.read_now(_numbers)
    assert min(numbers) > last
    assert min(snapshots) > 302
    assert settled.store.read_now(house.recall, events.PRUNED_TO) == str(last)


def _highest(tx: Tx) -> int:
    return int(tx.execute(select(func.max(open_events.c.open_event_id))).scalar_one())


def _numbers(tx: Tx) -> tuple[list[int], list[int]]:
    return (
        list(tx.execute(select(open_events.c.open_event_id)).scalars()),
        list(tx.execute(select(availability.c.snapshot_id)).scalars()),
    )


# Clocks, leases, machines.


@pytest.mark.parametrize("back_s", [3600, 600])
def test_a_clock_set_back_an_hour_stops_nothing(settled: Hand, clock: ManualClock, back_s: float) -> None:
    hear(settled, Failed(Trouble.RATE_LIMITED, "slow down", retry_after_s=600))
    clock.jump(-back_s)
    assert hear(settled, having(FULL, 400)) == [Came.BELIEVED]
    assert told(settled) == [("00400", "Open", 1)]


def test_a_lease_from_before_the_clock_was_set_back_does_not_last_an_hour(settled: Hand, clock: ManualClock) -> None:
    assert settled.claim() is not None
    clock.jump(-3600)
    assert settled.claim() is not None


@pytest.mark.parametrize("meanwhile", ["leased", "settled", "paused"])
def test_a_claim_that_looked_at_the_clock_a_moment_too_early_takes_nothing(settled: Hand, meanwhile: str) -> None:
    """On PostgreSQL it waits for the budget's row, and then reads what was written after its look at the clock."""
    settled.clock.jump(1)  # type: ignore[attr-defined]
    now = settled.clock.now()
    claim = settled.claim()
    assert claim is not None
    if meanwhile == "settled":
        settled.settle(claim, FULL)
    elif meanwhile == "paused":
        settled.settle(claim, Failed(Trouble.TIMEOUT, "no answer"))
    assert settled.claim(now - timedelta(milliseconds=5)) is None


def test_ten_kills_in_mid_fetch_leak_no_slot(store: Store, clock: ManualClock) -> None:
    """Ten targets are claimed and their process dies: when the leases end, ten can be claimed again."""
    source = Lists(*(f"12025|T{number}" for number in range(12)))
    hand = Hand(store, clock, source)
    hand.configure()
    for _ in range(10):
        for _ in range(10):
            assert hand.claim() is not None
        assert hand.claim() is None
        clock.jump(20)


def test_an_answer_that_comes_after_its_lease_is_dropped(settled: Hand, clock: ManualClock) -> None:
    late = settled.claim()
    assert late is not None
    clock.jump(21)
    other = Hand(settled.store, clock, settled.source, "another")
    hear(other, having(FULL, 400))
    assert settled.settle(late, without(FULL, 7)).came is Came.SUPERSEDED
    assert settled.settle(late, Failed(Trouble.TIMEOUT, "late")).came is Came.FAILED
    assert told(settled) == [("00400", "Open", 1)]
    assert settled.store.read_now(_item, "00007").missed_polls == 0


def test_an_answer_that_comes_after_its_lease_leaves_the_next_ones_lease_alone(
    settled: Hand, clock: ManualClock
) -> None:
    """The other has not answered yet, so nothing but the lease has changed."""
    late = settled.claim()
    assert late is not None
    clock.jump(21)
    other = Hand(settled.store, clock, settled.source, "another")
    claim = other.claim()
    assert claim is not None
    assert settled.settle(late, FULL).came is Came.SUPERSEDED
    assert settled.settle(late, Failed(Trouble.TIMEOUT, "late")).came is Came.FAILED
    clock.jump(16)
    assert settled.claim() is None
    assert other.settle(claim, FULL).came is Came.UNCHANGED


def test_an_operators_change_while_we_ask_is_not_written_over(settled: Hand, source: Lists) -> None:
    asking = settled.claim()
    assert asking is not None
    source.question = "changed meanwhile"
    settled.configure()
    assert settled.settle(asking, some(*range(10))).came is Came.SUPERSEDED
    row = settled.store.read_now(_target)
    assert row.baseline_at is None
    assert row.lease_owner is None


def test_two_machines_with_clocks_apart_keep_each_others_leases(postgres_store: Store) -> None:
    """Both go by the database's clock, however wrong their own is."""
    source = Lists(KEY)
    ahead, behind = ManualClock(), ManualClock()
    ahead.jump(7200)
    stores = [Store(postgres_store.url, machine_clock) for machine_clock in (ahead, behind)]
    first, second = (Hand(store, ahead, source, name) for store, name in zip(stores, "ab", strict=True))
    try:
        first.configure()
        assert first.claim() is not None
        assert second.claim() is None
        assert first.claim() is None
    finally:
        for store in stores:
            store.close()


def test_trouble_pauses_the_source_and_slows_it_until_five_answers(store: Store, clock: ManualClock) -> None:
    source = Lists(*(f"12025|T{number}" for number in range(8)))
    hand = Hand(store, clock, source)
    hand.configure()
    hand.poll(Failed(Trouble.TIMEOUT, "no answer"))
    assert hand.claim() is None
    clock.jump(14.9)
    assert hand.claim() is None
    clock.jump(0.1)
    claims = [hand.claim() for _ in range(6)]
    assert [claim is None for claim in claims] == [False] * 5 + [True]
    for claim in claims[:5]:
        assert claim is not None
        assert claim.slowed
        hand.state = None
        hand.settle(claim, FULL)
    clock.jump(15)
    assert [hand.claim() is None for _ in range(8)] == [False] * 8


def test_too_many_requests_pause_the_source_as_long_as_asked(settled: Hand, clock: ManualClock) -> None:
    hear(settled, Failed(Trouble.RATE_LIMITED, "slow down", retry_after_s=90), every=89)
    assert settled.claim() is None
    clock.jump(1)
    assert settled.claim() is not None


def test_a_short_pause_does_not_end_a_long_one(store: Store, clock: ManualClock) -> None:
    hand = Hand(store, clock, Lists(KEY, "12025|CM"))
    hand.configure()
    first, second = hand.claim(), hand.claim()
    assert first is not None
    assert second is not None
    hand.settle(first, Failed(Trouble.RATE_LIMITED, "slow down", retry_after_s=90))
    hand.settle(second, Failed(Trouble.TIMEOUT, "no answer"))
    clock.jump(89)
    assert hand.claim() is None
    clock.jump(1)
    assert hand.claim() is not None


def test_a_target_that_never_answered_but_404_waits_half_an_hour_and_holds_up_no_other(
    store: Store, clock: ManualClock
) -> None:
    hand = Hand(store, clock, Lists(KEY, "12025|CM"))
    hand.configure()
    failed = hand.poll(Failed(Trouble.MISCONFIGURED, "404"))
    assert failed.misconfigured
    assert hand.claim() is not None
    clock.jump(1700)
    assert [hand.claim() is None for _ in range(2)] == [False, True]


def test_a_believed_target_may_be_gone_for_ten_minutes(settled: Hand, clock: ManualClock) -> None:
    outcomes = []
    for _ in range(42):
        outcomes.append(settled.poll(Failed(Trouble.MISCONFIGURED, "404")).misconfigured)
        clock.jump(15)
        if outcomes[-1]:
            break
    assert outcomes.count(True) == 1
    assert len(outcomes) == 41
    assert settled.claim() is None
    clock.jump(1800)
    assert hear(settled, having(FULL, 400)) == [Came.BELIEVED]


# The incident.


def test_the_incident_of_2026_08_19(store: Store, clock: ManualClock) -> None:
    """11,423 open; then 13 answers of 8,146 over 41 s, a strict subset with status 200; then 11,422."""
    hand = Hand(store, clock, Lists("92026|NB"))
    hand.configure()
    full = some(*range(11_423))
    hear(hand, full, full)
    part = Complete(frozenset(sorted(full.keys)[:8_146]))
    for _ in range(13):
        # As often as it was asked then; our own schedule asks less often.
        store.write_now(lambda tx: targets.want_now(tx, tx.now(), targets.find(tx, "soc", "92026|NB").target_id))  # type: ignore[union-attr]
        hear(hand, part, every=41 / 13)
    assert told(hand) == []
    row = store.read_now(lambda tx: targets.find(tx, "soc", "92026|NB"))
    assert row is not None
    assert row.open_count == 11_423
    assert row.held_since is not None
    clock.jump(15)
    after = listing(*(full.keys - {"00005", "00006"}), "11999")
    assert len(after.keys) == 11_422
    assert hear(hand, after, after) == [Came.BELIEVED, Came.BELIEVED]
    assert told(hand) == [("11999", "Open", 1), ("00005", "Closed", 1), ("00006", "Closed", 1)]


def test_reasons_of_a_hold_are_told(settled: Hand) -> None:
    assert settled.poll(some()).reason is Reason.EMPTY
