"""What leaves the queue, when, and what becomes of its rows: sequences that lose, double or falsify, each by name."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from sqlalchemy import select, update

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.two_sections import EIGHT, FULL, SEVEN, poll
from tests.support.waiting import People
from vacancy.model.availability import Complete
from vacancy.model.messages import Blocked, Dead, Retry
from vacancy.model.subscriptions import Status
from vacancy.pipeline.deliver import IN_FLIGHT
from vacancy.runner import Stop
from vacancy.store import house, troubles
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_event_notifications, subscription_events, subscriptions
from vacancy.store.sending import SENDING_STOPPED


def opens(hand: Hand, *items: int) -> None:
    poll(hand, Complete(FULL.keys | some(*items).keys))


def closes(hand: Hand) -> None:
    poll(hand, FULL, FULL)


def row_of(store: Store, who: int) -> Any:
    n = open_event_notifications
    query = select(n).where(n.c.subscription_id == who).order_by(n.c.notification_id.desc()).limit(1)
    return store.read_now(lambda tx: tx.execute(query).one())


def wait(people: People, *names: str, item: str = SEVEN, **wishes: Any) -> list[int]:
    return [people.subscribe(name, item, **wishes).subscription.subscription_id for name in names]


def test_everybody_who_waits_is_told_once(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada, bob) = wait(people, "ada", "bob")
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, channel := Script())
    assert sorted(channel.told or [p.person.contact for p in deliver(courier)]) == [
        "ada@example.com",
        "bob@example.com",
    ]
    assert deliver(courier) == []
    for who in (ada, bob):
        row = row_of(store, who)
        assert (row.fanout_status, row.fanout_attempts, row.locked_by, row.locked_at) == ("sent", 1, None, None)
        assert row.error["status"] == "sent"
        assert row.error["providerMessageId"] == row.provider_message_id
        one = people.one(who)
        assert (one.last_known_section_status, one.notified_count) == ("Open", 1)
        assert one.last_notified_at is not None
        assert people.audit(who)[-1] == "notify_sent"


def test_a_parcel_says_what_opened_and_carries_its_owners_links(
    hand: Hand, people: People, source: Lists, store: Store
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    (parcel,) = deliver(make_courier(store, source, people, Script()))
    one = people.one(ada)
    assert parcel.opening is not None
    assert [item.item_key for item in parcel.opening.items] == [SEVEN]
    assert parcel.person.manage_url == f"https://vacancy.example/manage/{ada}?token={one.manage_token}"
    assert parcel.person.unsubscribe_url == f"https://vacancy.example/unsubscribe?token={one.unsubscribe_token}"
    assert parcel.key == f"{parcel.opening.dedupe_key}|{ada}"


def test_it_closes_and_reopens_between_queueing_and_sending_and_one_mail_goes_out(
    hand: Hand, people: People, source: Lists, store: Store
) -> None:
    wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    closes(hand)
    opens(hand, 7)
    people.fan_out()
    (parcel,) = deliver(make_courier(store, source, people, Script()))
    assert parcel.opening is not None
    assert parcel.opening.items[0].episode == 2
    assert [row.status for row in people.queue()] == ["expired", "sent"]


def test_an_ack_that_comes_after_the_close_does_not_hide_the_next_opening(
    hand: Hand, people: People, source: Lists, store: Store
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, channel := Script())

    async def closes_meanwhile() -> None:
        channel.free.clear()
        sending = asyncio.create_task(courier.once(Stop(store.clock)))
        await asyncio.wait_for(channel.began.wait(), 30)
        await asyncio.to_thread(closes, hand)
        channel.free.set()
        await asyncio.wait_for(sending, 30)

    asyncio.run(closes_meanwhile())
    assert people.one(ada).last_known_section_status == "Closed"
    opens(hand, 7)
    people.fan_out()
    assert len(deliver(courier)) == 1


def test_ten_in_flight_at_a_cap_of_one_are_one_message(hand: Hand, people: People, source: Lists, store: Store) -> None:
    source.courses = {f"{number:05d}": "01:198:111" for number in range(1, 11)}
    (ada,) = wait(people, "ada", item="course/01:198:111", max_notifications=1)
    opens(hand, *range(1, 11))
    assert people.fan_out() == 10
    (parcel,) = deliver(make_courier(store, source, people, Script()))
    assert parcel.is_last
    one = people.one(ada)
    assert (one.status, one.notified_count) == ("paused", 1)
    assert people.audit(ada)[-2:] == ["notify_sent", "status_changed"]


def test_a_place_that_failed_is_given_back(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada,) = wait(people, "ada", max_notifications=1)
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, Script(Retry("provider_error", "try later"), Dead("no", "never")))
    assert len(deliver(courier)) == 2
    one = people.one(ada)
    assert (one.status, one.notified_count) == ("active", 0)
    assert row_of(store, ada).fanout_status == "skipped"
    assert people.audit(ada)[-1] == "notify_failed"


def test_tries_are_counted_once_each_and_wait_as_the_schedule_says(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    failed = Retry("provider_error", "try later", provider="script")
    courier = make_courier(store, source, people, Script(failed, failed, failed))
    assert len(deliver(courier)) == 2  # the second at once
    row = row_of(store, ada)
    assert (row.fanout_status, row.fanout_attempts) == ("pending", 2)
    assert row.not_before - clock.now() == timedelta(seconds=2)
    assert row.error == {"code": "provider_error", "message": "try later", "provider": "script", "attempt": 2,
                         "status": "retryable"}  # fmt: skip
    assert deliver(courier) == []
    clock.jump(2)
    assert len(deliver(courier)) == 1
    row = row_of(store, ada)
    assert (row.fanout_status, row.fanout_attempts, row.error["code"]) == ("failed", 3, "provider_error")
    clock.jump(30)
    assert deliver(courier) == []


def test_a_success_on_the_last_permitted_try_is_sent(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    failed = Retry("provider_error", "try later")
    courier = make_courier(store, source, people, Script(failed, failed))
    deliver(courier)
    clock.jump(2)
    deliver(courier)
    assert (row_of(store, ada).fanout_status, row_of(store, ada).fanout_attempts) == ("sent", 3)


def test_what_a_provider_asks_for_is_honoured_beyond_the_lock(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script(Retry("rate_limited", "later", after_s=600))))
    assert row_of(store, ada).not_before - clock.now() == timedelta(seconds=600)


def test_a_reset_by_hand_overrides_what_it_waits_for(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, Script(Retry("rate_limited", "later", after_s=3600)))
    deliver(courier)
    n = open_event_notifications
    reset = {"fanout_status": "pending", "fanout_attempts": 0, "error": None}
    store.write_now(lambda tx: tx.execute(update(n).values(**reset)))
    assert len(deliver(courier)) == 1
    assert row_of(store, ada).fanout_status == "sent"


def test_a_truth_that_is_too_old_waits_for_the_next_answer(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    clock.jump(61)
    courier = make_courier(store, source, people, Script())
    assert deliver(courier) == []
    row = row_of(store, ada)
    assert (row.fanout_status, row.fanout_attempts, row.error["code"]) == ("pending", 0, "stale")
    opens(hand, 7)
    assert len(deliver(courier)) == 1


def test_unverified_ones_wait_while_it_is_open_and_hear_when_they_confirm(
    hand: Hand, store: Store, source: Lists, clock: ManualClock
) -> None:
    people = People(store, source)
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, Script())
    (asked,) = deliver(courier)
    assert asked.kind == "verification"
    assert asked.person.verify_url.startswith("https://vacancy.example/verify?token=")
    people.verify(ada)
    opens(hand, 7)
    (told,) = deliver(courier)
    assert told.kind == "alert"


def test_quiet_hours_end_while_the_upstream_is_down_and_no_stale_alert_goes_out(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    # The clock begins at 7:00 in New York.
    (ada,) = wait(people, "ada", window_start=480, window_end=1200)
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, Script())
    assert deliver(courier) == []
    assert row_of(store, ada).error["code"] == "quiet_hours"
    clock.jump(3600)
    assert deliver(courier) == []
    assert row_of(store, ada).error["code"] == "stale"
    opens(hand, 7)
    assert len(deliver(courier)) == 1


def test_who_left_or_rests_is_skipped_and_counted(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    n = subscriptions
    store.write_now(lambda tx: tx.execute(update(n).values(status="paused")))
    assert deliver(make_courier(store, source, people, Script())) == []
    assert (row_of(store, ada).fanout_status, row_of(store, ada).fanout_attempts) == ("skipped", 1)


def test_what_closed_is_expired_and_not_counted(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    closes(hand)
    assert deliver(make_courier(store, source, people, Script())) == []
    assert (row_of(store, ada).fanout_status, row_of(store, ada).fanout_attempts) == ("expired", 0)


def test_trouble_of_the_channel_burns_no_attempt_and_is_probed_before_the_rest_goes_out(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    everybody = wait(people, *(f"p{number}" for number in range(50)))
    opens(hand, 7)
    people.fan_out()
    down = Blocked("unauthorized", "the key was refused")
    courier = make_courier(store, source, people, channel := Script(*[down] * IN_FLIGHT))
    channel.trouble = down
    assert len(deliver(courier)) == IN_FLIGHT
    assert all(row_of(store, who).fanout_attempts == 0 for who in everybody)
    assert {people.one(who).notified_count for who in everybody} == {0}
    assert [each.name for each in store.read_now(troubles.running)] == ["channel:email"]
    for _ in range(3):
        clock.pass_time(30)
        opens(hand, 7)
        assert deliver(courier) == []
    assert channel.probes == 3
    channel.trouble = None
    clock.pass_time(30)
    assert len(deliver(courier)) == 50
    assert {row_of(store, who).fanout_attempts for who in everybody} == {1}
    assert store.read_now(troubles.running) == []


def test_a_rate_answer_rests_the_channel_for_as_long_as_it_asks_and_is_no_trouble(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, channel := Script(Blocked("rate_limited", "slow down", after_s=20)))
    assert len(deliver(courier)) == 1
    clock.pass_time(19)
    assert deliver(courier) == []
    clock.pass_time(1)
    assert len(deliver(courier)) == 1
    assert channel.probes == 0
    assert store.read_now(troubles.all_of) == []
    assert row_of(store, ada).fanout_attempts == 1


def test_a_poison_message_is_its_own_trouble_and_the_others_go_out(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    wait(people, *(f"p{number}" for number in range(30)))
    opens(hand, 7)
    people.fan_out()
    poison = Retry("network_error", "it hung up")
    courier = make_courier(store, source, people, Script(poison))
    assert len(deliver(courier)) == 31
    assert not courier.breaker.is_open


def test_a_fault_of_ours_loses_nothing(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script(ValueError("a bug"))))
    assert (row_of(store, ada).fanout_status, row_of(store, ada).fanout_attempts) == ("sent", 2)


def test_a_stop_of_all_sending_loses_no_row(hand: Hand, people: People, source: Lists, store: Store) -> None:
    wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    store.write_now(house.remember, SENDING_STOPPED, "by hand")
    courier = make_courier(store, source, people, Script())
    assert deliver(courier) == []
    store.write_now(house.forget, SENDING_STOPPED)
    assert len(deliver(courier)) == 1


def test_an_address_that_takes_no_mail_is_suppressed_with_all_it_waited_for(
    hand: Hand, people: People, source: Lists, store: Store
) -> None:
    ada, other = wait(people, "ada")[0], wait(people, "ada", item=EIGHT)[0]
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script(Dead("invalid_recipient", "no such", contact_is="bounced"))))
    for who in (ada, other):
        assert (people.one(who).status, people.one(who).contact_value) == ("suppressed", None)


def test_at_most_twenty_are_in_flight(hand: Hand, people: People, source: Lists, store: Store) -> None:
    wait(people, *(f"p{number}" for number in range(50)))
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, channel := Script())

    async def story() -> None:
        channel.free.clear()
        stop = Stop(store.clock)
        running = asyncio.create_task(courier.run(stop))
        await asyncio.wait_for(channel.began.wait(), 30)
        await store.read(lambda tx: tx.now())
        assert len(channel.parcels) == IN_FLIGHT
        locked = await store.read(_locked)
        assert locked == IN_FLIGHT
        stop.request()
        channel.free.set()
        await asyncio.wait_for(running, 30)
        assert len(channel.parcels) == IN_FLIGHT
        assert await store.read(_locked) == 0

    asyncio.run(story())


def _locked(tx: Tx) -> int:
    n = open_event_notifications.c
    return len(tx.execute(select(n.notification_id).where(n.locked_by.is_not(None))).all())


def test_a_clock_that_jumps_ahead_takes_no_row_out_of_a_hand_that_holds_it(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    courier = make_courier(store, source, people, channel := Script())

    async def story() -> None:
        channel.free.clear()
        sending = asyncio.create_task(courier.once(Stop(store.clock)))
        await asyncio.wait_for(channel.began.wait(), 30)
        clock.jump(7200)
        await asyncio.to_thread(opens, hand, 7)
        store.bells["notifications"].ring()
        await store.read(lambda tx: tx.now())
        channel.free.set()
        await asyncio.wait_for(sending, 30)

    asyncio.run(story())
    assert len(channel.parcels) == 1


def test_a_worker_that_outlives_its_lock_takes_no_second_place_and_a_late_failure_says_nothing(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    (ada,) = wait(people, "ada", max_notifications=1)
    opens(hand, 7)
    people.fan_out()
    frozen = make_courier(store, source, people, slow := Script(Dead("late", "an old word")))
    other = make_courier(store, source, people, Script())

    async def story() -> None:
        slow.free.clear()
        sending = asyncio.create_task(frozen.once(Stop(store.clock)))
        await asyncio.wait_for(slow.began.wait(), 30)
        clock.jump(121)
        await asyncio.to_thread(opens, hand, 7)
        await other.once(Stop(store.clock))
        slow.free.set()
        await asyncio.wait_for(sending, 30)

    asyncio.run(story())
    assert (people.one(ada).notified_count, people.one(ada).status) == (1, "paused")
    assert row_of(store, ada).fanout_status == "sent"
    assert people.audit(ada).count("notify_sent") == 1
    assert "notify_failed" not in people.audit(ada)


def test_one_contact_with_a_section_and_its_course_hears_of_the_rest_when_the_course_pauses(
    hand: Hand, people: People, source: Lists, store: Store
) -> None:
    (course,) = wait(people, "ada", item="course/01:198:111", max_notifications=1)
    (section,) = wait(people, "ada", item=EIGHT)
    opens(hand, 7, 8)
    people.fan_out()
    told = deliver(make_courier(store, source, people, Script()))
    assert [(p.person.subscription_id, p.opening and p.opening.items[0].item_key) for p in told] == [
        (course, SEVEN), (section, EIGHT),
    ]  # fmt: skip


def test_last_words_reach_somebody_whose_term_ended_and_then_the_address_is_gone(
    hand: Hand, people: People, source: Lists, store: Store
) -> None:
    (ada,) = wait(people, "ada")
    people.term_ends()
    (parcel,) = deliver(make_courier(store, source, people, Script()))
    assert parcel.notice is not None
    assert (parcel.notice.code, parcel.person.contact) == ("ended", "ada@example.com")
    one = people.one(ada)
    assert (one.status, one.contact_value) == (Status.UNSUBSCRIBED, None)
    assert people.audit(ada)[-1] == "notice_sent"


def test_nothing_of_an_audit_is_lost(hand: Hand, people: People, source: Lists, store: Store) -> None:
    (ada,) = wait(people, "ada")
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script()))
    log = subscription_events.c
    query = select(log.section_status_snapshot, log.payload).where(log.event_type == "notify_sent")
    ((status, payload),) = store.read_now(lambda tx: tx.execute(query).all())
    assert status == "Open"
    assert payload["notificationId"] == row_of(store, ada).notification_id
