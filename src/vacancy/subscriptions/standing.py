"""How a message stands, in a sentence for its operator; and the message itself, with its contact masked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from vacancy.clock import iso
from vacancy.model.messages import Kind
from vacancy.store.notifications import PENDING, SENT
from vacancy.store.queue_view import Message, Note, Outside, Share
from vacancy.store.requeue import Verdict
from vacancy.store.sending import Halt
from vacancy.subscriptions.contacts import masked_contact

# (its error code, what to tell the operator) for each way in which a message is not requeued.
NOT_REQUEUED: Final[Mapping[Verdict, tuple[str, str]]] = {
    Verdict.MISSING: ("message_not_found", "there is no message {number} in the queue; it may have been pruned"),
    Verdict.IN_HAND: ("message_in_hand", "message {number} is in somebody's hand; see how it ends, then ask again"),
    Verdict.SENT: ("message_sent", "message {number} was sent, and is not sent twice"),
}
_SUBJECTS: Final = {
    Kind.VERIFICATION: "asks to confirm the contact",
    Kind.NOTICE: "a word about the subscription",
}
_SNOOZED: Final = "its owner asked for silence until then"


def at(moment: datetime) -> str:
    return f"{iso(moment)[:19].replace('T', ' ')} UTC"


def subject(message: Message) -> str:
    """What it is about, in a few words."""
    if message.open_event_id is None:
        return _SUBJECTS.get(Kind(message.kind), message.kind)
    return f"{title(message.about or {}, message.item_key or '')} is open"


def title(payload: Mapping[str, Any], item_key: str) -> str:
    """By the name that its source gives it, and what tells it from others of that name: of a table its time, for its
    key says nothing to people; else the key."""
    name = next((str(payload[key]) for key in ("courseTitle", "label", "title", "venueName") if payload.get(key)), "")
    when = " ".join(str(payload[key]) for key in ("date", "time") if payload.get(key))
    if name and when:
        return f"{name}, {when}"
    return f"{name} ({item_key})" if name else item_key


def standing(message: Message, outside: Outside) -> str:
    if message.status == PENDING:
        return _waiting(message, outside)
    if message.status == SENT:
        provider = (message.error or {}).get("provider")
        when = f" {at(message.last_attempt_at)}" if message.last_attempt_at else ""
        return f"sent{when}{f', {provider} took it' if provider else ''}"
    tries = f" after {_tries(message.attempts)}" if message.status == "failed" else ""
    return f"{message.status}{tries}: {why(message)}"


def why(message: Message) -> str:
    error = message.error or {}
    said = [str(error[name]) for name in ("code", "message") if error.get(name)]
    return ": ".join(said) or "no reason was written down"


def _waiting(message: Message, outside: Outside) -> str:
    if message.locked_by is not None:
        since = f" since {at(message.locked_at)}" if message.locked_at else ""
        return f"is in the hand of a courier{since}: {message.locked_by.partition('#')[0]}"
    if outside.halt is not None:
        return f"waits: sending is stopped ({outside.halt.reason})"
    if message.channel in outside.broken:
        return f"waits: {outside.broken[message.channel]}"
    if message.not_before is not None and message.not_before > outside.now:
        return f"waits until {at(message.not_before)}: {_reason(message)}"
    failed = f"; {_tries(message.attempts)} failed, the last by {why(message)}" if message.attempts else ""
    return f"may go now{failed}"


def _reason(message: Message) -> str:
    if message.attempts and message.error:
        return f"{_tries(message.attempts)} failed, the last by {why(message)}"
    return why(message) if message.error else _SNOOZED


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"


def shown(message: Message, outside: Outside) -> dict[str, Any]:
    """For machines: the columns in camelCase, the contact masked."""
    return {
        "notificationId": message.notification_id,
        "kind": message.kind,
        "channel": message.channel,
        "status": message.status,
        "standing": standing(message, outside),
        "contact": masked_contact(message.channel, message.contact_value),
        "topic": message.topic,
        "subject": subject(message),
        "subscriptionId": message.subscription_id,
        "subscriptionStatus": message.subscription_status,
        "openEventId": message.open_event_id,
        "eventAt": _iso(message.event_at),
        "attempts": message.attempts,
        "createdAt": iso(message.created_at),
        "lastAttemptAt": _iso(message.last_attempt_at),
        "notBefore": _iso(message.not_before),
        "lockedBy": message.locked_by,
        "lockedAt": _iso(message.locked_at),
        "providerMessageId": message.provider_message_id,
        "error": dict(message.error) if message.error is not None else None,
    }


def shown_note(note: Note) -> dict[str, Any]:
    return {"at": iso(note.at), "event": note.event, "status": note.status, "payload": dict(note.payload)}


def shown_share(share: Share) -> dict[str, Any]:
    return {
        "channel": share.channel, "status": share.status, "count": share.count, "oldestCreatedAt": iso(share.oldest),
    }  # fmt: skip


def shown_halt(halt: Halt | None) -> dict[str, Any]:
    return {
        "stopped": halt is not None,
        "reason": halt.reason if halt else None,
        "since": _iso(halt.since) if halt else None,
    }


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
