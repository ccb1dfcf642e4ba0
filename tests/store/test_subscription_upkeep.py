"""What time does to subscriptions: days that run out, terms that end, rows that are kept and rows that go."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, insert, select, update

from tests.support.clock import ManualClock
from tests.support.desks import SECRET, make_desk
from tests.support.rows import course_event, insert_events, insert_target
from vacancy.clock import SystemClock
from vacancy.model.subscriptions import Contact, Status, Subscription
from vacancy.net.client import Client
from vacancy.pipeline.upkeep import Upkeep
from vacancy.runner import Stop
from vacancy.settings_sections import RetentionSettings, SocSettings
from vacancy.sources.soc import Soc
from vacancy.store import bells, idempotency, notifications, outbox
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import (
    idempotency_keys,
    open_event_notifications,
    open_events,
    subscription_events,
    subscriptions,
)
from vacancy.subscriptions.subscribe import Wish, subscribe

HOUR = 3600
DAY = 24 * HOUR
KEEP = RetentionSettings(events_days=30, subscriptions_days=90)
# The clock of the tests begins in January 2026: the one term is over, the other has just begun.
OVER, RUNNING = "12025", "12026"
SOURCE = Soc(
    SocSettings(base_url="http://127.0.0.1:1", terms=(OVER, RUNNING), campuses=("NB", "NK")),
    Client(SystemClock(), user_agent="test"),
)
DESK = make_desk(SOURCE)
TRUSTING = make_desk(SOURCE, verify=False)


def contact(name: str = "ada") -> Contact:
    value = f"{name}@example.com"
    return Contact("email", value, SECRET.hash_contact(value))


def wish(topic: str = f"soc:{RUNNING}:NB:12345", name: str = "ada", **more: Any) -> Wish:
    return Wish(SOURCE, SOURCE.topic(topic), DESK.channel("email"), contact(name), **more)


def pending(store: Store, *asked: Any, **more: Any) -> Subscription:
    return store.write_now(subscribe, DESK, wish(*asked, **more)).subscription


def active(store: Store, *asked: Any, **more: Any) -> Subscription:
    return store.write_now(subscribe, TRUSTING, wish(*asked, **more)).subscription


def found(store: Store, subscription: Subscription) -> Subscription | None:
    return store.write_now(rows.find, subscription.subscription_id)


def status(store: Store, subscription: Subscription) -> str | None:
    now = found(store, subscription)
    return now.status if now else None


def upkeep(store: Store, clock: ManualClock) -> None:
    async def once() -> None:
        await Upkeep(store, KEEP).once(Stop(clock))

    asyncio.run(once())


def audit(store: Store, subscription: Subscription) -> list[tuple[str, Any]]:
    log = subscription_events.c
    query = select(log.event_type, log.payload).where(log.subscription_id == subscription.subscription_id)
    return [tuple(row) for row in store.read_now(lambda tx: tx.execute(query.order_by(log.event_id)).all())]


def watch(store: Store, term: str, campus: str = "NB", *, configured: bool = True) -> None:
    store.write_now(insert_target, "soc", f"{term}|{campus}", configured=configured)


def words(store: Store) -> list[tuple[int, str]]:
    queue = open_event_notifications.c
    query = select(queue.subscription_id, queue.dedupe_key).where(queue.kind == "notice").order_by(queue.dedupe_key)
    return [tuple(row) for row in store.read_now(lambda tx: tx.execute(query).all())]


def test_what_nobody_confirms_ends_after_a_day_and_is_blanked(store: Store, clock: ManualClock) -> None:
    asked = pending(store)
    clock.jump(DAY)
    upkeep(store, clock)
    assert status(store, asked) == Status.PENDING
    clock.jump(0.001)
    upkeep(store, clock)
    ended = found(store, asked)
    assert ended is not None
    assert (ended.status, ended.contact_value, ended.verification_nonce) == (Status.UNSUBSCRIBED, None, None)
    assert ended.contact_hash == asked.contact_hash
    assert audit(store, asked)[-1] == ("unsubscribed", {"reason": "not_confirmed", "to": "unsubscribed"})


def test_the_day_begins_anew_with_each_verification_mail(store: Store, clock: ManualClock) -> None:
    asked = pending(store)
    clock.jump(23 * HOUR)
    assert pending(store).subscription_id == asked.subscription_id
    clock.jump(23 * HOUR)
    upkeep(store, clock)
    assert status(store, asked) == Status.PENDING
    clock.jump(2 * HOUR)
    upkeep(store, clock)
    assert status(store, asked) == Status.UNSUBSCRIBED


def test_asking_again_without_a_new_mail_wins_no_time(store: Store, clock: ManualClock) -> None:
    asked = pending(store)
    clock.jump(HOUR / 2)
    pending(store)
    clock.jump(DAY - HOUR / 4)
    upkeep(store, clock)
    assert status(store, asked) == Status.UNSUBSCRIBED


def test_whoever_did_not_confirm_in_time_may_begin_again(store: Store, clock: ManualClock) -> None:
    asked = pending(store)
    clock.jump(DAY + 1)
    upkeep(store, clock)
    assert pending(store).subscription_id > asked.subscription_id


def test_active_ones_know_no_day(store: Store, clock: ManualClock) -> None:
    watch(store, RUNNING)
    asked = active(store)
    clock.jump(365 * DAY)
    upkeep(store, clock)
    assert status(store, asked) == Status.ACTIVE


def test_ended_rows_are_pruned_after_their_days_and_suppressed_ones_stay(store: Store, clock: ManualClock) -> None:
    left, barred = active(store), active(store, name="bob")
    store.write_now(end, left, Status.UNSUBSCRIBED)
    store.write_now(end, barred, Status.SUPPRESSED)
    clock.jump(90 * DAY)
    upkeep(store, clock)
    assert status(store, left) == Status.UNSUBSCRIBED
    clock.jump(1)
    upkeep(store, clock)
    assert found(store, left) is None
    assert audit(store, left) == []
    assert status(store, barred) == Status.SUPPRESSED
    assert store.read_now(rows.is_suppressed, contact("bob"))


def end(tx: Tx, subscription: Subscription, to: Status) -> None:
    assert rows.move(tx, tx.now(), subscription, to, event="status_changed", reason="for a test")


def test_more_than_a_bite_is_pruned_in_one_go(store: Store, clock: ManualClock) -> None:
    for number in range(3):
        store.write_now(end, active(store, f"soc:{RUNNING}:NB:{number:05d}"), Status.UNSUBSCRIBED)
    clock.jump(91 * DAY)
    upkeep(store, clock)
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(subscriptions)).scalar()) == 0


def test_idempotency_keys_go_after_a_day(store: Store, clock: ManualClock) -> None:
    active(store, idempotency_key="the same")
    clock.jump(DAY)
    upkeep(store, clock)
    assert store.write_now(idempotency.recall, "the same") is not None
    clock.jump(1)
    upkeep(store, clock)
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(idempotency_keys)).scalar()) == 0


def test_finished_messages_go_after_the_days_of_events_and_waiting_ones_stay(store: Store, clock: ManualClock) -> None:
    done, waits = pending(store), pending(store, name="bob")
    for asked in (done, waits):
        store.write_now(make_active, asked)
    store.write_now(finish, done)
    clock.jump(30 * DAY)
    upkeep(store, clock)
    assert queued_for(store) == [done.subscription_id, waits.subscription_id]
    clock.jump(1)
    upkeep(store, clock)
    assert queued_for(store) == [waits.subscription_id]


def test_mails_of_the_outbox_go_after_the_days_of_events(store: Store, clock: ManualClock) -> None:
    """They hold addresses and links that let somebody in."""
    kept = outbox.Mail("<1>", "ada@example.com", "Confirm", "text", "html", "en-US", "verification", "0" * 32, None)
    store.write_now(outbox.add, clock.now(), kept)
    clock.jump(30 * DAY)
    upkeep(store, clock)
    assert len(store.read_now(outbox.latest, 9)) == 1
    clock.jump(1)
    upkeep(store, clock)
    assert store.read_now(outbox.latest, 9) == []


def test_a_waiting_message_in_front_keeps_no_finished_one_back(store: Store, clock: ManualClock) -> None:
    waits, done = pending(store), pending(store, name="bob")
    for asked in (waits, done):
        store.write_now(make_active, asked)
    store.write_now(finish, done)
    clock.jump(31 * DAY)
    late = pending(store, name="eve")
    store.write_now(finish, late)
    upkeep(store, clock)
    assert queued_for(store) == [waits.subscription_id, late.subscription_id]


def make_active(tx: Tx, subscription: Subscription) -> None:
    """Confirmed, and its mail is in the queue still."""
    assert rows.move(tx, tx.now(), subscription, Status.ACTIVE, event="verified", reason="for a test")


def finish(tx: Tx, subscription: Subscription) -> None:
    queue = open_event_notifications
    own = queue.c.subscription_id == subscription.subscription_id
    tx.execute(update(queue).where(own).values(fanout_status=notifications.SENT))


def queued_for(store: Store) -> list[int]:
    queue = open_event_notifications.c
    query = select(queue.subscription_id).order_by(queue.notification_id)
    return list(store.read_now(lambda tx: tx.execute(query).scalars().all()))


def test_the_messages_of_an_event_go_with_it(store: Store, clock: ManualClock) -> None:
    asked = active(store)
    (event,) = store.write_now(insert_events, [course_event(1)])
    store.write_now(
        lambda tx: tx.execute(insert(open_event_notifications).values(
            open_event_id=event, subscription_id=asked.subscription_id, dedupe_key="k", channel="email",
            contact_hash=asked.contact_hash, created_at=tx.now(),
        ))
    )  # fmt: skip
    clock.jump(31 * DAY)
    upkeep(store, clock)
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(open_events)).scalar()) == 0
    assert queued_for(store) == []


def test_a_term_that_is_over_and_not_polled_ends_its_subscriptions(store: Store, clock: ManualClock) -> None:
    watch(store, OVER, configured=False)
    confirmed, paused = active(store, f"soc:{OVER}:NB:12345"), active(store, f"soc:{OVER}:NB:12346")
    course, unconfirmed = (
        active(store, f"soc:{OVER}:NB:course/01:198:111"),
        pending(store, f"soc:{OVER}:NB:12345", "bob"),
    )
    store.write_now(end, paused, Status.PAUSED)
    heard = store.bells[bells.NOTIFICATIONS].rings
    upkeep(store, clock)
    for each in (confirmed, paused, course, unconfirmed):
        assert status(store, each) == Status.UNSUBSCRIBED
        assert audit(store, each)[-1] == ("unsubscribed", {"reason": "term_over", "to": "unsubscribed"})
    told = (confirmed, paused, course)
    assert words(store) == [(each.subscription_id, f"term_over:{each.subscription_id}") for each in told]
    assert store.bells[bells.NOTIFICATIONS].rings > heard


def test_an_address_is_kept_only_for_whom_a_word_is_still_to_be_said(store: Store, clock: ManualClock) -> None:
    confirmed, unconfirmed = active(store, f"soc:{OVER}:NB:12345"), pending(store, f"soc:{OVER}:NB:12345", "bob")
    upkeep(store, clock)
    values = [now.contact_value for each in (confirmed, unconfirmed) if (now := found(store, each))]
    assert values == ["ada@example.com", None]


def test_the_word_is_said_once(store: Store, clock: ManualClock) -> None:
    active(store, f"soc:{OVER}:NB:12345")
    upkeep(store, clock)
    clock.jump(60)
    upkeep(store, clock)
    assert len(words(store)) == 1


@pytest.mark.parametrize("known", [True, False], ids=["configured before", "never configured"])
def test_a_term_that_is_merely_not_polled_ends_nothing(store: Store, clock: ManualClock, known: bool) -> None:
    if known:
        watch(store, RUNNING, configured=False)
    asked = active(store)
    upkeep(store, clock)
    assert status(store, asked) == Status.ACTIVE
    assert words(store) == []


def test_a_term_that_is_over_and_still_polled_ends_nothing(store: Store, clock: ManualClock) -> None:
    watch(store, OVER)
    asked = active(store, f"soc:{OVER}:NB:12345")
    upkeep(store, clock)
    assert status(store, asked) == Status.ACTIVE


def test_a_campus_that_is_not_polled_any_more_takes_no_other_with_it(store: Store, clock: ManualClock) -> None:
    watch(store, OVER, "NB")
    watch(store, OVER, "NK", configured=False)
    there, gone = active(store, f"soc:{OVER}:NB:12345"), active(store, f"soc:{OVER}:NK:12346")
    upkeep(store, clock)
    assert status(store, there) == Status.ACTIVE
    assert status(store, gone) == Status.UNSUBSCRIBED


def test_a_term_ends_on_its_last_day_and_not_before(store: Store, clock: ManualClock) -> None:
    asked = active(store)
    # The last day of spring 2026 is 31 May.
    clock.jump((timedelta(days=146) + timedelta(hours=11)).total_seconds())
    upkeep(store, clock)
    assert status(store, asked) == Status.ACTIVE
    clock.jump(2 * HOUR)
    upkeep(store, clock)
    assert status(store, asked) == Status.UNSUBSCRIBED
