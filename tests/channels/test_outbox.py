"""Mails as rows."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from tests.support.clock import START, ManualClock
from tests.support.mails import TO, mail
from vacancy.channels.mail import SendResult
from vacancy.channels.outbox import OutboxSender
from vacancy.errors import StoreError
from vacancy.store import outbox
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import outbox as outbox_table


def make_table(tx: Tx) -> None:
    outbox_table.create(tx.connection, checkfirst=True)


def drop_table(tx: Tx) -> None:
    outbox_table.drop(tx.connection)


def send(store: Store, clock: ManualClock, *changes: dict[str, Any]) -> list[SendResult]:
    async def main() -> list[SendResult]:
        sender = OutboxSender(store, clock)
        results = [await sender.send(mail(**one)) for one in changes]
        await sender.close()
        return results

    return asyncio.run(main())


def test_a_mail_becomes_a_row(store: Store, clock: ManualClock) -> None:
    store.write_now(make_table)
    (result,) = send(store, clock, {})
    assert (result.status, result.provider, result.provider_message_id) == ("sent", "outbox", "m1@house.example")
    (kept,) = store.read_now(outbox.latest, 10)
    assert kept.created_at == START
    assert kept.mail == outbox.Mail(
        message_id="m1@house.example",
        to_address=TO,
        subject="1 seat",
        text="There is a seat.",
        html="<p>There is a seat.</p>",
        locale="en-US",
        template_id="open-seat",
        trace_id="t1",
        notification_id=11,
    )
    assert store.read_now(outbox.find, kept.outbox_id) == kept
    assert store.read_now(outbox.find, kept.outbox_id + 1) is None


def test_a_mail_that_is_sent_again_is_no_second_row(store: Store, clock: ManualClock) -> None:
    store.write_now(make_table)
    results = send(store, clock, {}, {"subject": "changed"}, {"message_id": "m2@house.example"})
    assert [result.status for result in results] == ["sent"] * 3
    kept = store.read_now(outbox.latest, 10)
    assert [(one.mail.message_id, one.mail.subject) for one in kept] == [
        ("m2@house.example", "1 seat"),
        ("m1@house.example", "1 seat"),
    ]
    assert store.read_now(outbox.latest, 1) == kept[:1]


def test_a_mail_that_no_row_asked_for(store: Store, clock: ManualClock) -> None:
    store.write_now(make_table)
    send(store, clock, {"metadata": {}}, {"metadata": {"notificationId": "x"}, "message_id": "m2"})
    assert [one.mail.notification_id for one in store.read_now(outbox.latest, 10)] == [None, None]


def test_old_mails_go_a_few_at_a_time_and_numbers_are_not_used_again(store: Store, clock: ManualClock) -> None:
    store.write_now(make_table)
    send(store, clock, *({"message_id": f"m{number}"} for number in range(5)))
    clock.pass_time(60)
    send(store, clock, {"message_id": "young"})
    last = store.read_now(outbox.latest, 1)[0].outbox_id
    before = START + timedelta(seconds=60)
    assert [store.write_now(outbox.prune, before, 3) for _ in range(3)] == [3, 2, 0]
    assert [one.mail.message_id for one in store.read_now(outbox.latest, 10)] == ["young"]
    store.write_now(outbox.prune, before + timedelta(seconds=1), 3)
    send(store, clock, {"message_id": "next"})
    assert store.read_now(outbox.latest, 1)[0].outbox_id == last + 1


def test_a_database_that_does_not_answer_is_the_channels_trouble(sqlite_store: Store, clock: ManualClock) -> None:
    sqlite_store.write_now(make_table)
    sqlite_store.write_now(drop_table)

    async def main() -> None:
        sender = OutboxSender(sqlite_store, clock)
        for result in (await sender.send(mail()), await sender.verify()):
            assert (result.status, result.begun) == ("retryable", False)
            assert result.error is not None
            assert (result.error.code, result.error.message) == (
                "provider_error", "outbox: the database does not answer"
            )  # fmt: skip

    asyncio.run(main())


def test_verify_writes_nothing(store: Store, clock: ManualClock) -> None:
    store.write_now(make_table)
    assert asyncio.run(OutboxSender(store, clock).verify()).status == "sent"
    assert store.read_now(outbox.latest, 10) == []


def test_what_the_store_says_is_one_of_our_errors() -> None:
    assert not issubclass(StoreError, OSError), "the reliable sender would take it for a broken connection"
