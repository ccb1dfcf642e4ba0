"""What becomes of a row of the queue once somebody tried to send it. Seed 001 rules the counters and the states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Boolean, bindparam, case, exists, insert, literal_column, null, select, update

from vacancy.model.availability import OPEN
from vacancy.model.delivery import Due, Finished
from vacancy.model.messages import Blocked, Dead, Kind, Outcome, Retry, Sent
from vacancy.model.subscriptions import Status
from vacancy.store.engine import Tx
from vacancy.store.notifications import FAILED, IS_PENDING, PENDING, SKIPPED
from vacancy.store.openings import Still
from vacancy.store.prepared import Prepared, PreparedForAll, PreparedForThose, PreparedSelect
from vacancy.store.queue import give_places_back
from vacancy.store.schema import open_event_notifications, subscription_events, subscriptions

_n: Final = open_event_notifications.c
_s: Final = subscriptions.c
# Whoever has it in hand now: a message that was taken was taken.
_SENT: Final = PreparedForAll(
    lambda value: update(open_event_notifications)
    .where(_n.notification_id == value("id"), IS_PENDING)
    .values(
        # Spelt out: what is no parameter costs nothing in every row.
        fanout_status=literal_column("'sent'"), fanout_attempts=_n.fanout_attempts + literal_column("1"),
        last_attempt_at=value("at"), locked_by=null(), locked_at=null(), not_before=null(),
        provider_message_id=value("message_id"), error=value("why"),
    ),
    id=_n.notification_id.type, at=_n.last_attempt_at.type, message_id=_n.provider_message_id.type, why=_n.error.type,
)  # fmt: skip
# A failure is only the word of the one who still has the row.
_FAILED: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), _n.locked_by == bindparam("worker"), IS_PENDING)
    .values(
        fanout_status=bindparam("status"), fanout_attempts=_n.fanout_attempts + bindparam("attempts"),
        last_attempt_at=case((bindparam("attempts") > 0, bindparam("at", type_=_n.last_attempt_at.type)),
                             else_=_n.last_attempt_at),
        locked_by=None, locked_at=None, not_before=bindparam("until"), error=bindparam("why", type_=_n.error.type),
    )
)  # fmt: skip
# In the order in which they are given, or both in the table's: two couriers that have the same subscriptions meet at
# the first of them, and do not lock each other out.
_TOLD: Final = PreparedForThose(
    "who", _s.subscription_id,
    lambda value: update(subscriptions).values(
        last_notified_at=value("at"),
        last_known_section_status=case((value("is_open"), literal_column("'Open'")),
                                       else_=_s.last_known_section_status),
    ),
    at=_s.last_notified_at.type, is_open=Boolean(),
)  # fmt: skip
_EVENTS: Final[Mapping[str, str]] = {Kind.ALERT: "notify_sent", Kind.VERIFICATION: "verification_sent"}
_NOTED: Final = ("subscription_id", "event_type", "section_status_snapshot", "payload", "created_at")
_NOTE: Final = PreparedForAll(
    lambda value: insert(subscription_events).from_select(_NOTED, select(*[value(name) for name in _NOTED])),
    **{name: subscription_events.c[name].type for name in _NOTED},
)
_NOTED_OF: Final = PreparedSelect(
    select(subscription_events.c.payload).where(
        subscription_events.c.subscription_id == bindparam("who"), subscription_events.c.event_type == bindparam("kind")
    )
)
_UNDER_WAY: Final = exists().where(
    _n.subscription_id == _s.subscription_id, IS_PENDING, _n.locked_by.is_not(None), _n.kind == Kind.ALERT,
)  # fmt: skip
# As many at a time as a courier has in flight; a shorter list is filled up with its first.
_AT_ONCE: Final = 20
_WHOM: Final = tuple(f"who{number}" for number in range(_AT_ONCE))
_THE_FULL: Final = PreparedSelect(
    select(_s.subscription_id, _s.contact_hash).where(
        _s.subscription_id.in_([bindparam(name, type_=_s.subscription_id.type) for name in _WHOM]),
        _s.status == Status.ACTIVE, _s.notified_count >= _s.max_notifications, ~_UNDER_WAY,
    )
)  # fmt: skip
_PAUSE: Final = Prepared(
    update(subscriptions)
    .where(_s.subscription_id == bindparam("who"))
    .values(status=Status.PAUSED, updated_at=bindparam("at"))
)
_BLANK: Final = Prepared(
    update(subscriptions)
    .where(_s.subscription_id == bindparam("who"), _s.status == Status.UNSUBSCRIBED)
    .values(contact_value=None)
)


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


@dataclass(frozen=True, slots=True)
class Written:
    """What was written down. Its audit follows when the database has said how much of it was news."""

    lost: tuple[tuple[Due, Dead], ...]
    note: Callable[[], None]
    full: Callable[[], list[tuple[int, str]]]  # (subscription, hash) of those who have had as many as wished for

    def settle(self, tx: Tx, now: datetime) -> Aftermath:
        whom = self.full()
        self.note()
        return Aftermath(pause(tx, now, whom), self.lost)


def leads_of(done: Sequence[Finished]) -> set[int]:
    """The openings of which somebody was told."""
    return {each.due.open_event_id for each in done if each.due.open_event_id and isinstance(each.outcome, Sent)}


def write_down(
    tx: Tx, now: datetime, worker: str, done: Sequence[Finished], tries: Tries, stills: Mapping[int, Still | None]
) -> Written:
    """What became of each, and of which contact there is no more. No edge may come between `stills` and the commit."""
    taken, lost = [], []
    for each in sorted(done, key=_by_subscription):
        outcome = each.outcome
        if isinstance(outcome, Sent):
            taken.append((each.due, outcome))
        elif _give_up(tx, now, worker, each.due, outcome, tries) and isinstance(outcome, Dead) and outcome.contact_is:
            lost.append((each.due, outcome))
    return Written(tuple(lost), _take_note(tx, now, taken, stills), _ask_full(tx, done))


def _by_subscription(each: Finished) -> int:
    """Subscriptions in order of their numbers, and before the rows: as everybody else locks them."""
    return each.due.subscription_id


def _take_note(
    tx: Tx, now: datetime, taken: Sequence[tuple[Due, Sent]], stills: Mapping[int, Still | None]
) -> Callable[[], None]:  # fmt: skip
    told: dict[int, bool] = {}  # each once, though it may have been told of more than one opening
    for due, _ in taken:
        if due.kind == Kind.ALERT:
            told[due.subscription_id] = told.get(due.subscription_id, False) or _is_still_so(due, stills)
    tx.post(_TOLD, [{"who": who, "at": now, "is_open": is_open} for who, is_open in told.items()])
    written = tx.count(_SENT, [
        {"id": due.notification_id, "at": now, "message_id": sent.message_id[:200], "why": _result(due, sent)}
        for due, sent in taken
    ])  # fmt: skip
    _blank_the_ended(tx, [due for due, _ in taken])
    notes = [_sent_note(due, now) for due, _ in taken]
    return lambda: tx.post(_NOTE, notes if written() == len(notes) else _not_noted_yet(tx, notes))


def _is_still_so(due: Due, stills: Mapping[int, Still | None]) -> bool:
    """An answer that comes after the close must not hide the next opening."""
    still = stills.get(due.open_event_id or 0)
    return still is not None and due.item_key in still.items


def _not_noted_yet(tx: Tx, notes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Somebody else may have sent it as well, and our own word may be here already: its commit's answer was lost."""
    return [note for note in notes if not _is_noted(tx, note)]


def _is_noted(tx: Tx, note: Mapping[str, Any]) -> bool:
    found = tx.read(_NOTED_OF, {"who": note["subscription_id"], "kind": note["event_type"]})
    number = note["payload"]["notificationId"]
    return any(payload and payload.get("notificationId") == number for (payload,) in found)


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
        "event_type": _EVENTS.get(due.kind, "notice_sent"),
        "section_status_snapshot": OPEN if due.kind == Kind.ALERT else due.last_known_section_status,
        "payload": about,
        "created_at": now,
    }


def _give_up(tx: Tx, now: datetime, worker: str, due: Due, outcome: Outcome, tries: Tries) -> bool:
    """This try is over without success. False if the row is not ours any more."""
    values = _values(now, due, outcome, tries)
    if not tx.write(_FAILED, [{"id": due.notification_id, "worker": worker, "at": now, **values}]):
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
    tx.post(_NOTE, [{**note, "section_status_snapshot": due.last_known_section_status}])


def _blank_the_ended(tx: Tx, rows: Sequence[Due]) -> None:
    """The address of somebody whose subscription ended was kept for the last word alone."""
    tx.post(_BLANK, [{"who": row.subscription_id} for row in rows if row.kind == Kind.NOTICE])


def _ask_full(tx: Tx, done: Sequence[Finished]) -> Callable[[], list[tuple[int, str]]]:
    """(subscription, hash) of those who have had as many as wished for; not while one is under way that may fail."""
    whom = [each.due.subscription_id for each in done if isinstance(each.outcome, Sent) and each.due.kind == Kind.ALERT]
    asked = [tx.ask(_THE_FULL, _filled_up(whom[at : at + _AT_ONCE])) for at in range(0, len(whom), _AT_ONCE)]
    return lambda: [(row[0], row[1]) for answer in asked for row in answer()]


def _filled_up(whom: Sequence[int]) -> Mapping[str, int]:
    return dict(zip(_WHOM, [*whom, *[whom[0]] * (_AT_ONCE - len(whom))], strict=True))


def pause(tx: Tx, now: datetime, full: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """They rest until they ask for more. The hashes of their contacts."""
    tx.post(_PAUSE, [{"who": who, "at": now} for who, _ in full])
    moved = {"from": Status.ACTIVE, "to": Status.PAUSED, "reason": "max_notifications"}
    tx.post(_NOTE, [
        {"subscription_id": who, "event_type": "status_changed", "section_status_snapshot": OPEN, "payload": moved,
         "created_at": now}
        for who, _ in full
    ])  # fmt: skip
    return tuple(sorted({contact_hash for _, contact_hash in full}))
