"""What becomes of a row of the queue once somebody tried to send it. Seed 001 rules the counters and the states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import and_, bindparam, case, exists, insert, select, update

from vacancy.model.availability import OPEN
from vacancy.model.delivery import Due, Finished
from vacancy.model.messages import Blocked, Dead, Kind, Outcome, Retry, Sent
from vacancy.model.subscriptions import Status
from vacancy.store.engine import Tx
from vacancy.store.events import of_group
from vacancy.store.notifications import FAILED, IS_PENDING, PENDING, SENT, SKIPPED
from vacancy.store.prepared import Prepared
from vacancy.store.queue import give_places_back
from vacancy.store.schema import (
    availability,
    open_event_notifications,
    open_events,
    subscription_events,
    subscriptions,
)

_n: Final = open_event_notifications.c
_s: Final = subscriptions.c
_opening: Final = open_events.alias("opening")
_WHY: Final = bindparam("why", type_=_n.error.type)
# Whoever has it in hand now: a message that was taken was taken.
_SENT: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), IS_PENDING)
    .values(
        fanout_status=SENT, fanout_attempts=_n.fanout_attempts + 1, last_attempt_at=bindparam("at"), locked_by=None,
        locked_at=None, not_before=None, provider_message_id=bindparam("message_id"), error=_WHY,
    )
)  # fmt: skip
# A failure is only the word of the one who still has the row.
_FAILED: Final = (
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), _n.locked_by == bindparam("worker"), IS_PENDING)
    .values(
        fanout_status=bindparam("status"), fanout_attempts=_n.fanout_attempts + bindparam("attempts"),
        last_attempt_at=case((bindparam("attempts") > 0, bindparam("at", type_=_n.last_attempt_at.type)),
                             else_=_n.last_attempt_at),
        locked_by=None, locked_at=None, not_before=bindparam("until"), error=_WHY,
    )
)  # fmt: skip
# What the message told of is still so: an answer that comes after the close must not hide the next opening.
_STILL_OPEN: Final = exists().where(
    of_group(_opening.c, bindparam("event")),
    _opening.c.item_key == _s.item_key,
    availability.c.snapshot_id == _opening.c.snapshot_id,
    availability.c.state == OPEN,
    availability.c.episode == _opening.c.episode,
)
_TOLD: Final = Prepared(
    update(subscriptions)
    .where(_s.subscription_id == bindparam("who"))
    .values(
        last_notified_at=bindparam("at"),
        last_known_section_status=case((_STILL_OPEN, OPEN), else_=_s.last_known_section_status),
    )
)
_NOTE: Final = Prepared(
    insert(subscription_events),
    ("subscription_id", "event_type", "section_status_snapshot", "payload", "created_at"),
)
_UNDER_WAY: Final = exists().where(
    _n.subscription_id == _s.subscription_id, IS_PENDING, _n.locked_by.is_not(None), _n.kind == Kind.ALERT,
)  # fmt: skip
_FULL: Final = and_(_s.status == Status.ACTIVE, _s.notified_count >= _s.max_notifications, ~_UNDER_WAY)


@dataclass(frozen=True, slots=True)
class Tries:
    """How often, and how long to wait in between."""

    most: int = 3
    schedule_ms: Sequence[int] = (0, 2000, 7000)
    lock_ttl_s: float = 120

    def wait_s(self, attempts: int, asked_s: float | None) -> float:
        """After that many attempts. What a provider asks for is honoured, however long; our own waits have an end."""
        own = self.schedule_ms[min(attempts, len(self.schedule_ms)) - 1] / 1000
        return max(min(own, self.lock_ttl_s), asked_s or 0)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What others have to do because of it: contacts whose subscription paused, contacts that are no more."""

    paused: tuple[str, ...] = ()
    lost: tuple[tuple[Due, Dead], ...] = ()


def finish(tx: Tx, now: datetime, worker: str, done: Sequence[Finished], tries: Tries) -> Aftermath:
    """All that came to an end since the last time, in one transaction."""
    taken = [(each.due, each.outcome) for each in done if isinstance(each.outcome, Sent)]
    lost = []
    for each in sorted(done, key=lambda each: each.due.subscription_id):
        if not isinstance(each.outcome, Sent) and _give_up(tx, now, worker, each.due, each.outcome, tries):
            lost += [(each.due, each.outcome)] if isinstance(each.outcome, Dead) and each.outcome.contact_is else []
    paused = _take_note(tx, now, taken) if taken else ()
    return Aftermath(tuple(paused), tuple(lost))


def _take_note(tx: Tx, now: datetime, taken: Sequence[tuple[Due, Sent]]) -> Sequence[str]:
    # Subscriptions in order of their numbers, before the rows: as everybody else locks them.
    alerts = sorted((due for due, _ in taken if due.kind == Kind.ALERT), key=lambda due: due.subscription_id)
    if alerts:
        tx.write(_TOLD, [{"who": due.subscription_id, "at": now, "event": due.open_event_id} for due in alerts])
    written = tx.write(_SENT, [
        {"id": due.notification_id, "at": now, "message_id": sent.message_id[:200], "why": _result(due, sent)}
        for due, sent in taken
    ])  # fmt: skip
    notes = [_sent_note(due, now) for due, _ in taken]
    notes = notes if written == len(taken) else _not_noted_yet(tx, notes)
    if notes:
        tx.write(_NOTE, notes)
    _blank_the_ended(tx, [due for due, _ in taken])
    return _pause_the_full(tx, now, [due.subscription_id for due in alerts])


def _not_noted_yet(tx: Tx, notes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Somebody else may have sent it as well, and our own word may be here already: its commit's answer was lost."""
    e = subscription_events.c
    found = tx.execute(
        select(e.event_type, e.payload).where(
            e.subscription_id.in_([note["subscription_id"] for note in notes]),
            e.event_type.in_({note["event_type"] for note in notes}),
        )
    )
    known = {(kind, payload.get("notificationId")) for kind, payload in found if payload}
    return [note for note in notes if (note["event_type"], note["payload"]["notificationId"]) not in known]


def _result(due: Due, sent: Sent) -> Mapping[str, Any]:
    return {
        "code": "sent", "message": f"{sent.provider} took it", "provider": sent.provider,
        "providerMessageId": sent.message_id, "status": "sent", "attempt": due.attempts + 1,
    }  # fmt: skip


def _sent_note(due: Due, now: datetime) -> dict[str, Any]:
    about = {"notificationId": due.notification_id, "channel": due.contact_type}
    if due.open_event_id is not None:
        about["openEventId"] = due.open_event_id
    return {
        "subscription_id": due.subscription_id,
        "event_type": {Kind.ALERT: "notify_sent", Kind.VERIFICATION: "verification_sent"}.get(
            Kind(due.kind), "notice_sent"
        ),
        "section_status_snapshot": OPEN if due.kind == Kind.ALERT else due.last_known_section_status,
        "payload": about,
        "created_at": now,
    }


def _give_up(tx: Tx, now: datetime, worker: str, due: Due, outcome: Outcome, tries: Tries) -> bool:
    """This try is over without success. False if the row is not ours any more."""
    values = _values(now, due, outcome, tries)
    if not tx.execute(_FAILED, {"id": due.notification_id, "worker": worker, "at": now, **values}).rowcount:
        return False
    give_places_back(tx, [due])
    if values["status"] != PENDING:
        _note_failure(tx, now, due, values["why"])
        _blank_the_ended(tx, [due])
    return True


def _values(now: datetime, due: Due, outcome: Outcome, tries: Tries) -> dict[str, Any]:
    attempts = due.attempts + 1
    why = _why(outcome, attempts)
    if isinstance(outcome, Blocked):
        return {"status": PENDING, "attempts": 0, "until": None, "why": why}
    if isinstance(outcome, Dead):
        return {"status": FAILED if outcome.alarm else SKIPPED, "attempts": 1, "until": None, "why": why}
    if attempts >= tries.most:
        return {"status": FAILED, "attempts": 1, "until": None, "why": why}
    asked_s = outcome.after_s if isinstance(outcome, Retry) else None
    until = now + timedelta(seconds=tries.wait_s(attempts, asked_s))
    return {"status": PENDING, "attempts": 1, "until": until, "why": why}


def _why(outcome: Outcome, attempts: int) -> dict[str, Any]:
    """Only ever more members: older tools read this too."""
    if isinstance(outcome, Sent):
        return {}
    said: dict[str, Any] = {"code": outcome.code, "message": outcome.message}
    if outcome.provider:
        said["provider"] = outcome.provider
    if not isinstance(outcome, Blocked):
        said |= {"attempt": attempts, "status": "failed" if isinstance(outcome, Dead) else "retryable"}
    if isinstance(outcome, Retry | Blocked) and outcome.after_s is not None:
        said["retryAfterSeconds"] = outcome.after_s
    return said


def _note_failure(tx: Tx, now: datetime, due: Due, why: Mapping[str, Any]) -> None:
    about = {"notificationId": due.notification_id, "code": why["code"], "message": why["message"]}
    note = {**_sent_note(due, now), "event_type": "notify_failed", "payload": about}
    tx.write(_NOTE, [{**note, "section_status_snapshot": due.last_known_section_status}])


def _blank_the_ended(tx: Tx, rows: Sequence[Due]) -> None:
    """The address of somebody whose subscription ended was kept for the last word alone."""
    said = [row.subscription_id for row in rows if row.kind == Kind.NOTICE]
    if said:
        tx.execute(
            update(subscriptions)
            .where(_s.subscription_id.in_(said), _s.status == Status.UNSUBSCRIBED)
            .values(contact_value=None)
        )


def _pause_the_full(tx: Tx, now: datetime, whom: Sequence[int]) -> Sequence[str]:
    """Whoever has had as many as wished for rests until it asks for more; not while one is under way that may fail."""
    full = tx.execute(select(_s.subscription_id, _s.contact_hash).where(_s.subscription_id.in_(whom), _FULL)).all()
    if not full:
        return ()
    tx.execute(
        update(subscriptions)
        .where(_s.subscription_id.in_([row.subscription_id for row in full]))
        .values(status=Status.PAUSED, updated_at=now)
    )
    moved = {"from": Status.ACTIVE, "to": Status.PAUSED, "reason": "max_notifications"}
    tx.write(_NOTE, [
        {"subscription_id": row.subscription_id, "event_type": "status_changed", "section_status_snapshot": OPEN,
         "payload": moved, "created_at": now}
        for row in full
    ])  # fmt: skip
    return sorted({row.contact_hash for row in full})
