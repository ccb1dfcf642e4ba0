"""The operator's reset of seed 001, and the switch that stops all sending: on both databases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from tests.support.clock import START, ManualClock
from tests.support.queue_rows import add_dead, add_message, columns_of
from tests.support.subscribers import add_many
from vacancy.store import bells, house, queue, queue_view, requeue, sending
from vacancy.store.engine import Store, Tx
from vacancy.store.requeue import Verdict
from vacancy.store.sending import SENDING_STOPPED, Halt

TOPIC = "soc:12025:NB:12345"


def do(store: Store, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return store.write_now(lambda tx: fn(tx, *args, **kwargs))


def again(store: Store, number: int) -> Verdict:
    return store.write_now(lambda tx: requeue.requeue(tx, tx.now(), number))


def again_dead(store: Store, channel: str | None = None, code: str | None = None) -> int:
    return store.write_now(lambda tx: requeue.requeue_dead(tx, tx.now(), channel, code))


@pytest.fixture
def someone(store: Store) -> int:
    do(store, add_many, TOPIC, 3)
    return 1


@pytest.mark.parametrize("status", ["failed", "skipped", "expired", "pending"])
def test_a_message_begins_from_the_start(store: Store, someone: int, clock: ManualClock, status: str) -> None:
    later = clock.now() + timedelta(hours=1)
    number = do(store, add_dead, someone, fanout_status=status, not_before=later)
    heard = store.bells[bells.NOTIFICATIONS].rings
    assert again(store, number) is Verdict.REQUEUED
    row = do(store, columns_of, number)
    assert (row.fanout_status, row.fanout_attempts, row.error, row.not_before) == ("pending", 0, None, None)
    # A courier that sleeps hears of it, and finds it.
    assert store.bells[bells.NOTIFICATIONS].rings > heard
    assert [due.notification_id for due in do(store, queue.find_due, clock.now(), "email", "w", 9, 120)] == [number]
    assert [note.event for note in do(store, queue_view.audit_of, someone)] == ["requeued"]


def test_what_was_sent_or_is_in_somebodys_hand_is_left_alone(store: Store, someone: int) -> None:
    sent = do(store, add_message, someone, fanout_status="sent", fanout_attempts=1)
    held = do(store, add_message, someone, locked_by="a worker", locked_at=START)
    assert again(store, sent) is Verdict.SENT
    assert again(store, held) is Verdict.IN_HAND
    assert again(store, held + 1) is Verdict.MISSING
    assert do(store, columns_of, held).locked_by == "a worker"
    assert do(store, columns_of, sent).fanout_status == "sent"
    assert do(store, queue_view.audit_of, someone) == []


def test_dead_letters_of_a_channel_and_of_a_code(store: Store, someone: int) -> None:
    do(store, add_dead, 1, "network_error")
    do(store, add_dead, 2, "network_error", channel="webhook")
    do(store, add_dead, 3, "provider_error")
    do(store, add_message, 3, fanout_status="skipped", error={"code": "network_error", "message": "no"})
    assert again_dead(store, "webhook", "provider_error") == 0
    assert again_dead(store, code="network") == 0
    assert again_dead(store, "email", "network_error") == 1
    assert again_dead(store) == 2
    assert again_dead(store) == 0


def test_a_code_is_found_however_its_error_is_spelt(store: Store, someone: int) -> None:
    """By hand, or by another program, an error is written with spaces; its message may look like a code."""
    spelt = do(store, add_dead, someone)
    quoted = do(store, add_dead, someone)
    with_spaces = '{ "message": "x",\n "code" : "timeout" }'
    with_a_quote = '{"code":"other","message":"it said \\"code\\":\\"timeout\\""}'
    statement = text("UPDATE open_event_notifications SET error = :error WHERE notification_id = :id")
    for number, error in ((spelt, with_spaces), (quoted, with_a_quote)):
        store.write_now(lambda tx, n, e: tx.execute(statement, {"error": e, "id": n}), number, error)
    assert again_dead(store, code="timeout") == 1
    assert do(store, columns_of, spelt).fanout_status == "pending"
    assert do(store, columns_of, quoted).fanout_status == "failed"


def test_a_stop_has_a_reason_and_a_begin(store: Store, clock: ManualClock) -> None:
    assert store.read_now(sending.halt) is None
    assert do(store, sending.stop, START, "the relay is moved") == Halt("the relay is moved", START)
    assert do(store, sending.stop, START + timedelta(hours=1), "still") == Halt("still", START)
    heard = store.bells[bells.NOTIFICATIONS].rings
    assert store.write_now(sending.resume) == Halt("still", START)
    assert store.bells[bells.NOTIFICATIONS].rings > heard
    assert store.read_now(sending.halt) is None
    assert store.write_now(sending.resume) is None


def test_a_stop_by_hand_is_one_as_well(store: Store) -> None:
    do(store, house.remember, SENDING_STOPPED, "SQL")
    assert store.read_now(sending.halt) == Halt("SQL", None)


def test_the_queue_by_state_channel_and_number(store: Store, someone: int, clock: ManualClock) -> None:
    dead = do(store, add_dead, 1)
    waiting = do(store, add_message, 2, channel="webhook", contact_hash="h")
    sent = do(store, add_message, 3, fanout_status="sent")

    def found(*statuses: str, channel: str | None = None, **how: Any) -> list[int]:
        rows = do(store, queue_view.messages, statuses, channel, 9, **how)
        return [row.notification_id for row in rows]

    assert found("pending", "failed") == [dead, waiting]
    assert found("pending", "failed", newest_first=True) == [waiting, dead]
    assert found("pending", "failed", after=dead) == [waiting]
    assert found(*queue_view.STATUSES, channel="email") == [dead, sent]
    assert [(each.channel, each.status, each.count) for each in store.read_now(queue_view.shares)] == [
        ("email", "failed", 1), ("email", "sent", 1), ("webhook", "pending", 1),
    ]  # fmt: skip
    assert store.read_now(queue_view.count_dead) == 1


def test_overdue_is_what_may_go_and_nobody_takes(store: Store, someone: int, clock: ManualClock) -> None:
    do(store, add_message, 1)
    do(store, add_message, 2, not_before=START + timedelta(minutes=30))
    do(store, add_message, 3, locked_by="w", locked_at=START)
    minute = timedelta(minutes=1)
    assert store.read_now(queue_view.overdue, START) == {}
    assert store.read_now(queue_view.overdue, START + minute) == {"email": 1}
    assert store.read_now(queue_view.overdue, START + 31 * minute) == {"email": 2}


def test_sqlite_looks_for_dead_letters_in_their_index(sqlite_store: Store) -> None:
    plans: list[str] = []

    def plan(tx: Tx) -> None:
        for statuses in (("failed",), ("pending",)):
            sql = str(queue_view._is_one_of(statuses).compile(compile_kwargs={"literal_binds": True}))
            asked = f"EXPLAIN QUERY PLAN SELECT notification_id FROM open_event_notifications WHERE {sql}"
            plans.extend(row.detail for row in tx.execute(text(asked)))

    sqlite_store.read_now(plan)
    assert ["ix_open_event_notifications_failed" in plans[0], "ix_open_event_notifications_pending" in plans[1]] == [
        True, True,
    ]  # fmt: skip
