"""`vacancy why ADDRESS`: why somebody did or did not get a message, told from the rows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from vacancy.app import engine
from vacancy.clock import iso
from vacancy.commands.common import OUT, as_json, prepare
from vacancy.model.subscriptions import Contact, Status, Subscription
from vacancy.settings import Settings
from vacancy.store.queue_view import Note
from vacancy.subscriptions import why as reasons
from vacancy.subscriptions.contacts import masked_contact, read_contact
from vacancy.subscriptions.standing import at, shown, shown_halt, shown_note, title
from vacancy.subscriptions.why import Account, Fate, Waited, in_short

_STATES: Final = {
    Status.PENDING: "its contact is not confirmed yet, and nothing is sent before",
    Status.ACTIVE: "it is told of openings",
    Status.PAUSED: "it rests, and is told of nothing until it goes on",
    Status.SUPPRESSED: "messages to it came back, and it is not written to any more",
    Status.UNSUBSCRIBED: "it is over",
}


def why(config: Path | None, address: str, contact_type: str, event: int | None, *, json: bool) -> int:
    settings = prepare(config)
    contact, account = asyncio.run(_ask(settings, address, contact_type, event))
    if json:
        as_json(_facts(contact, account))
        return 0
    for line in _told(contact, account, settings):
        OUT.print(line, markup=False, soft_wrap=True)
    return 0


async def _ask(
    settings: Settings, address: str, contact_type: str, event: int | None
) -> tuple[Contact, Account]:  # fmt: skip
    async with engine(settings) as parts:
        desk = parts.desk()
        contact = read_contact(desk.secret, desk.channel(contact_type), address)
        return contact, await parts.store.read(reasons.account, contact, event)


def _told(contact: Contact, account: Account, settings: Settings) -> Iterator[str]:
    who = f"{masked_contact(contact.channel, contact.value)} ({contact.channel})"
    if not account.is_known:
        yield f"{who}: nobody of that address ever subscribed here."
        days = settings.retention.subscriptions_days
        yield f"Or it left more than {days} days ago, or was erased, or secret_key is not what it was then."
        return
    count = len(account.subscriptions)
    yield f"{who}: {count} subscription{'' if count == 1 else 's'}."
    if account.outside.halt is not None:
        yield f"Sending is stopped: {account.outside.halt.reason}. Nothing goes out to anybody."
    told = account.subscriptions
    if account.event is not None:
        yield f"Asked about {in_short(account.event)}."
        told = [waited for waited in told if waited.fates]
        if not told:
            yield "None of them waits for that."
    for waited in told:
        yield ""
        yield from _told_of(waited, account)


def _told_of(waited: Waited, account: Account) -> Iterator[str]:
    row = waited.row
    yield f"Subscription {row.subscription_id}, {row.topic}: {row.status}; {_STATES[Status(row.status)]}."
    yield f"  {_counts(row)}"
    if account.event is None:
        yield "  What happened to it:"
        yield from (f"    {at(note.at)}  {_note(note)}" for note in waited.audit)
        yield from _letters(waited)
    yield from _fates(waited)


def _counts(row: Subscription) -> str:
    last = f", the last {at(row.last_notified_at)}" if row.last_notified_at else ""
    said = f"Begun {at(row.created_at)}; {row.notified_count} of {row.max_notifications} alerts used{last}."
    return said + (f" Snoozed until {at(row.snooze_until)}." if row.snooze_until else "")


def _letters(waited: Waited) -> Iterator[str]:
    if waited.letters:
        yield "  Messages about the subscription itself:"
    for message, said in waited.letters:
        yield f"    message {message.notification_id}, {message.kind}: {said}."


def _fates(waited: Waited) -> Iterator[str]:
    if not waited.fates:
        yield "  Nothing that it waits for has opened since it began."
        return
    yield "  What opened, and what became of it:"
    if waited.left_out:
        yield f"    … {waited.left_out} before these; --event asks about one of them."
    for fate in waited.fates:
        number = f" (message {fate.message.notification_id})" if fate.message else ""
        yield f"    {in_short(fate.event)}"
        yield f"      {fate.sentence}{number}."


def _note(note: Note) -> str:
    """`status_changed: active to paused, max_notifications`."""
    said = dict(note.payload)
    moved = " to ".join(str(said.pop(name)) for name in ("from", "to") if said.get(name))
    rest = [f"{value}" if name in ("reason", "status") else f"{name} {value}" for name, value in said.items()]
    details = ", ".join(filter(None, (moved, *rest)))
    return f"{note.event}: {details}" if details else note.event


def _facts(contact: Contact, account: Account) -> dict[str, Any]:
    return {
        "contact": masked_contact(contact.channel, contact.value),
        "contactType": contact.channel,
        "known": account.is_known,
        "sending": shown_halt(account.outside.halt),
        "subscriptions": [_subscription(waited, account) for waited in account.subscriptions],
    }


def _subscription(waited: Waited, account: Account) -> dict[str, Any]:
    row = waited.row
    return {
        "subscriptionId": row.subscription_id,
        "topic": row.topic,
        "status": row.status,
        "isVerified": row.is_verified,
        "createdAt": iso(row.created_at),
        "notifiedCount": row.notified_count,
        "maxNotifications": row.max_notifications,
        "snoozeUntil": iso(row.snooze_until) if row.snooze_until else None,
        "audit": [shown_note(note) for note in waited.audit],
        "messages": [shown(message, account.outside) for message, _ in waited.letters],
        "events": [_fate(fate, account) for fate in waited.fates],
        "eventsLeftOut": waited.left_out,
    }


def _fate(fate: Fate, account: Account) -> dict[str, Any]:
    event = fate.event
    return {
        "openEventId": event.open_event_id,
        "eventAt": iso(event.event_at),
        "itemKey": event.item_key,
        "title": title(event.payload, event.item_key),
        "became": fate.code,
        "said": fate.sentence,
        "message": shown(fate.message, account.outside) if fate.message else None,
    }
