"""Why somebody did or did not get a message, told from the rows: they are the truth, and they are all that is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vacancy.errors import UserError
from vacancy.model.availability import OPEN
from vacancy.model.messages import Kind
from vacancy.model.subscriptions import Contact, Status, Subscription
from vacancy.store import history, queue_view
from vacancy.store.engine import Tx
from vacancy.store.history import Happened
from vacancy.store.notifications import EXPIRED, FAILED, PENDING, SENT, SKIPPED
from vacancy.store.queue_view import Message, Note, Outside
from vacancy.subscriptions.standing import at, standing, title

SHOWN: Final = 10
_FULL: Final = "max_notifications"
_ENDS: Final = (SENT, SKIPPED, FAILED, EXPIRED)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one opening for one subscription: a code for programs, a sentence for people."""

    code: str
    sentence: str
    event: Happened
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Waited:
    """One subscription: its audit, what opened since it began, and the messages that are about itself."""

    row: Subscription
    audit: Sequence[Note]
    fates: Sequence[Fate]
    left_out: int  # openings that are older than those told of
    letters: Sequence[tuple[Message, str]]


@dataclass(frozen=True, slots=True)
class Account:
    subscriptions: Sequence[Waited]
    outside: Outside
    event: Happened | None = None

    @property
    def is_known(self) -> bool:
        return bool(self.subscriptions)


def account(tx: Tx, contact: Contact, open_event_id: int | None = None) -> Account:
    """Of every subscription of the contact; of one event, or of the last of them."""
    event = _event(tx, open_event_id) if open_event_id is not None else None
    outside = queue_view.outside(tx)
    rows = history.subscriptions_of(tx, contact)
    return Account([_waited(tx, row, event, outside) for row in rows], outside, event)


def _event(tx: Tx, open_event_id: int) -> Happened:
    found = history.event(tx, open_event_id)
    if found is None:
        line = f"there is no event {open_event_id} here; old ones are pruned, see retention.events_days"
        raise UserError("not_found", line)
    return found


def _waited(tx: Tx, row: Subscription, event: Happened | None, outside: Outside) -> Waited:
    audit = queue_view.audit_of(tx, row.subscription_id)
    messages = queue_view.messages_of(tx, row.subscription_id)
    letters = [(each, standing(each, outside)) for each in messages if each.kind != Kind.ALERT]
    if event is not None:
        concerned = [event] if row.topic in event.topics else []
        return Waited(row, audit, [_Look(tx, row, audit, messages, outside).fate(e) for e in concerned], 0, letters)
    openings = history.openings_for(tx, row, SHOWN)
    left_out = history.count_openings_for(tx, row) - len(openings)
    look = _Look(tx, row, audit, messages, outside)
    return Waited(row, audit, [*look.open_at_its_begin(), *map(look.fate, reversed(openings))], left_out, letters)


class _Look:
    """One subscription, looked at opening by opening."""

    def __init__(
        self, tx: Tx, row: Subscription, audit: Sequence[Note], messages: Sequence[Message], outside: Outside
    ) -> None:
        self._tx = tx
        self._row = row
        self._audit = audit
        self._messages = messages
        self._outside = outside
        self._own = {each.open_event_id: each for each in messages if each.open_event_id is not None}

    def open_at_its_begin(self) -> Iterator[Fate]:
        """Most who ask why nothing came subscribed to what was open already."""
        before = history.last_before(self._tx, self._row)
        if before is not None and before.is_opening:
            yield self._before(before)

    def fate(self, event: Happened) -> Fate:
        message = self._own.get(event.lead)
        if message is not None:
            code = "waits" if message.status == PENDING else message.status
            return Fate(code, self._standing(message), event, message)
        code, sentence = self._why_none(event)
        return Fate(code, sentence, event)

    def _standing(self, message: Message) -> str:
        said = standing(message, self._outside)
        if message.status == PENDING and self._row.status == Status.PENDING:
            return f"{said}; and nothing is sent before the contact is confirmed"
        return said

    def _before(self, event: Happened) -> Fate:
        return Fate(
            "before", f"no message: it had opened before this subscription began ({at(self._row.created_at)}); whoever "
            "subscribes to what is open is told so in the answer, and hears of the next opening", event,
        )  # fmt: skip

    def _why_none(self, event: Happened) -> tuple[str, str]:
        """There is no row for it: what kept one from being made, in the order in which it is asked at fan-out."""
        if not event.is_opening:
            return "closing", "no message: it is a close, and nobody is told of those"
        if event.open_event_id <= self._row.since_event_id:
            early = self._before(event)
            return early.code, early.sentence
        ended = self._ended_at()
        if ended is not None and event.event_at >= ended:
            return "ended", f"no message: the subscription had ended before ({at(ended)})"
        told_by_other = self._other_row(event)
        if told_by_other is not None:
            return told_by_other
        if event.fanned_out_at is None:
            line = "not queued yet: fan-out has not come to it; is `vacancy serve` running, with its part fanout?"
            return "not_fanned_out", line
        return self._passed_over(event, event.fanned_out_at)

    def _other_row(self, event: Happened) -> tuple[str, str] | None:
        row = self._row
        other = queue_view.message_about(self._tx, event.lead, row.contact_type, row.contact_hash)
        if other is None:
            return None
        said = standing(other, self._outside)
        return "other_subscription", (
            f"no message of its own: one message goes to a contact for one opening, and that is message "
            f"{other.notification_id} of subscription {other.subscription_id} ({other.topic}), which {_is(said)}"
        )

    def _passed_over(self, event: Happened, fanned_out_at: datetime) -> tuple[str, str]:
        """Fan-out came to it, and made no row."""
        row = self._row
        closed = history.closed_at(self._tx, event)
        if closed is not None and closed <= fanned_out_at:
            return "closed", f"no message: it had closed again ({at(closed)}) before anybody could be told"
        status, reason = self._state_at(fanned_out_at)
        if status == Status.PAUSED and reason == _FULL:
            return "cap", f"no message: as many alerts as were wished for ({row.max_notifications}) had been sent"
        if status == Status.PAUSED:
            return "paused", f"no message: it was paused then ({reason or 'no reason was written down'})"
        if status in (Status.UNSUBSCRIBED, Status.SUPPRESSED):
            return "ended", f"no message: it was {status} then ({reason or 'no reason was written down'})"
        if not row.wants_open:
            return "notify_on", "no message: its notifyOn does not name openings"
        if (before := self._told_in_episode(event)) is not None:
            when = f" {at(before.last_attempt_at)}" if before.last_attempt_at else ""
            number = before.notification_id
            return "told_already", f"no message: it was told of this opening already{when}, by message {number}"
        if row.notified_count >= row.max_notifications:
            return "cap", f"no message: {row.notified_count} of {row.max_notifications} alerts were used or under way"
        if row.item_key is not None and row.last_known_section_status == OPEN:
            return "known_open", "no message: as it knew, this was open already, from a baseline or when it subscribed"
        return "unknown", "no message, and nothing that is kept says why; messages are pruned with their events"

    def _told_in_episode(self, event: Happened) -> Message | None:
        same = (event.source, event.item_key, event.episode)
        sent = (each for each in self._messages if each.status == SENT)
        return next((each for each in sent if (each.source, each.item_key, each.episode) == same), None)

    def _state_at(self, moment: datetime) -> tuple[str, str]:
        """By its audit, which has every move; what came before the audit is as it is now."""
        status, reason = self._row.status if not self._audit else "", ""
        for note in self._audit:
            moved = note.payload.get("to") or note.payload.get("status")
            if moved and note.at <= moment:
                status, reason = str(moved), str(note.payload.get("reason") or "")
        return status or self._row.status, reason

    def _ended_at(self) -> datetime | None:
        if self._row.is_live:
            return None
        ends = (Status.UNSUBSCRIBED, Status.SUPPRESSED)
        return next((note.at for note in reversed(self._audit) if note.payload.get("to") in ends), None)


def _is(said: str) -> str:
    """`sent …` and `skipped …` follow an `is`; `waits …` and `may go now` are whole already."""
    return f"was {said}" if said.startswith(_ENDS) else said


def in_short(event: Happened) -> str:
    return f"event {event.open_event_id}, {at(event.event_at)}, {title(event.payload, event.item_key)}"
