"""`vacancy queue …`: what waits and why, what failed, and one more chance for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from vacancy.commands.common import ERR, OUT, as_json, opened, prepare
from vacancy.errors import UserError
from vacancy.store import outbox, queue_view, requeue
from vacancy.store.engine import Tx
from vacancy.store.notifications import FAILED, PENDING
from vacancy.store.queue_view import STATUSES, Message, Note, Outside, Share
from vacancy.store.requeue import Verdict
from vacancy.subscriptions.contacts import masked_contact
from vacancy.subscriptions.standing import (
    NOT_REQUEUED,
    at,
    shown,
    shown_halt,
    shown_note,
    shown_share,
    standing,
    subject,
    why,
)

_COLOURS: Final = {"pending": "cyan", "sent": "green", "skipped": "dim", "failed": "red", "expired": "dim"}
# Of what is over the last ones are of interest; what waits is told from the one that has waited longest.
_OPEN_ENDED: Final = (PENDING, FAILED)


@dataclass(frozen=True, slots=True)
class Overview:
    shares: Sequence[Share]
    messages: Sequence[Message]
    outside: Outside


@dataclass(frozen=True, slots=True)
class Whole:
    message: Message
    outside: Outside
    audit: Sequence[Note]
    mail: int | None


def show(config: Path | None, *, status: str | None, channel: str | None, limit: int, json: bool) -> int:
    if status is not None and status not in STATUSES:
        raise UserError("validation_failed", f"--status knows {', '.join(STATUSES)}; not {status}")
    with opened(prepare(config)) as store:
        found = store.read_now(_overview, status, channel, limit)
    if json:
        summary = None if status else [shown_share(share) for share in found.shares]
        items = [shown(each, found.outside) for each in found.messages]
        as_json({"sending": shown_halt(found.outside.halt), "summary": summary, "items": items})
    else:
        _say(found, status, limit)
    return 0


def _overview(tx: Tx, status: str | None, channel: str | None, limit: int) -> Overview:
    newest_first = status is not None and status not in _OPEN_ENDED
    statuses = _OPEN_ENDED if status is None else (status,)
    messages = queue_view.messages(tx, statuses, channel, limit, newest_first=newest_first)
    shares = [] if status else [share for share in queue_view.shares(tx) if channel in (None, share.channel)]
    return Overview(shares, messages, queue_view.outside(tx))


def _say(found: Overview, status: str | None, limit: int) -> None:
    for line in _warnings(found.outside):
        ERR.print(line, markup=False, soft_wrap=True)
    if status is None and not found.shares:
        OUT.print("The queue is empty: nothing was ever to be sent, or all of it was pruned.")
        return
    if status is None:
        OUT.print(_summary(found.shares))
        oldest = min((share.oldest for share in found.shares if share.status == PENDING), default=None)
        if oldest is not None:
            OUT.print(f"The oldest that waits has waited since {at(oldest)}.")
        OUT.print()
    if not found.messages:
        OUT.print("Nothing waits, and nothing failed." if status is None else f"No message is {status}.")
        return
    OUT.print(_table(found))
    if len(found.messages) == limit:
        OUT.print(f"These are {limit}; there may be more: --limit shows them. `vacancy queue show N` tells all of one.")


def _warnings(outside: Outside) -> Iterator[str]:
    if outside.halt is not None:
        yield f"Sending is stopped: {outside.halt.reason}. `vacancy sending resume` lets it go on."
    yield from (f"{each}." for each in outside.broken.values())


def _summary(shares: Sequence[Share]) -> Table:
    counts = {(share.channel, share.status): share.count for share in shares}
    table = Table("Channel", *STATUSES, box=None, pad_edge=False)
    for channel in dict.fromkeys(share.channel for share in shares):
        table.add_row(channel, *(str(counts.get((channel, status), 0)) for status in STATUSES))
    return table


def _table(found: Overview) -> Table:
    table = Table("N", "Channel", "To", "About", "Since", "How it stands", box=None, pad_edge=False)
    for each in found.messages:
        said = f"[{_COLOURS[each.status]}]{escape(standing(each, found.outside))}[/]"
        table.add_row(
            str(each.notification_id), each.channel, escape(_to(each)), escape(subject(each)),
            at(each.created_at), said,
        )  # fmt: skip
    return table


def _to(message: Message) -> str:
    return masked_contact(message.channel, message.contact_value) or "(erased)"


def show_one(config: Path | None, number: int, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        found = store.read_now(_whole, number)
    if json:
        as_json({
            **shown(found.message, found.outside), "dedupeKey": found.message.dedupe_key, "outboxId": found.mail,
            "audit": [shown_note(note) for note in found.audit],
        })  # fmt: skip
        return 0
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    for name, value in _facts(found):
        table.add_row(name, escape(value))
    OUT.print(table)
    OUT.print("\nWhat happened to its subscription", markup=False)
    for note in found.audit:
        OUT.print(f"  {at(note.at)}  {note.event}{_details(note)}", markup=False, soft_wrap=True)
    return 0


def _whole(tx: Tx, number: int) -> Whole:
    found = queue_view.message(tx, number)
    if found is None:
        code, line = NOT_REQUEUED[Verdict.MISSING]
        raise UserError(code, line.format(number=number))
    mail = outbox.find_sent(tx, found.provider_message_id) if found.provider_message_id else None
    return Whole(found, queue_view.outside(tx), queue_view.audit_of(tx, found.subscription_id), mail)


def _facts(found: Whole) -> Iterator[tuple[str, str]]:
    message = found.message
    yield "message", f"{message.notification_id} ({message.kind}), made {at(message.created_at)}"
    yield "how it stands", standing(message, found.outside)
    yield "channel, to", f"{message.channel}, {_to(message)}"
    yield "about", subject(message)
    if message.open_event_id is not None and message.event_at is not None:
        yield "event", f"{message.open_event_id}, seen {at(message.event_at)}"
    yield "subscription", f"{message.subscription_id}, {message.topic}, {message.subscription_status}"
    last = f", the last {at(message.last_attempt_at)}" if message.last_attempt_at else ""
    yield "tries", f"{message.attempts}{last}"
    if message.not_before is not None:
        yield "not before", at(message.not_before)
    if message.locked_by is not None:
        since = f" since {at(message.locked_at)}" if message.locked_at else ""
        yield "in hand of", f"{message.locked_by}{since}"
    if message.error:
        yield "last result", why(message)
        yield "", ", ".join(f"{name}={value}" for name, value in message.error.items() if name not in _SAID)
    if found.mail is not None:
        yield "the mail", f"`vacancy outbox show {found.mail}`"
    yield "dedupe key", message.dedupe_key


_SAID: Final = ("code", "message")


def _details(note: Note) -> str:
    said = ", ".join(f"{name} {value}" for name, value in note.payload.items() if value not in (None, ""))
    return f": {said}" if said else ""


def requeue_some(config: Path | None, numbers: Sequence[int], *, json: bool) -> int:
    with opened(prepare(config)) as store:
        verdicts = {number: store.write_now(_requeue, number) for number in dict.fromkeys(numbers)}
    refused = {number: verdict for number, verdict in verdicts.items() if verdict is not Verdict.REQUEUED}
    if json:
        as_json({
            "requeued": [number for number in verdicts if number not in refused],
            "refused": [_refusal(number, verdict) for number, verdict in refused.items()],
        })  # fmt: skip
    else:
        _say_requeued(len(verdicts) - len(refused))
        for number, verdict in refused.items():
            ERR.print(f"Not requeued: {_refusal(number, verdict)['message']}.", markup=False, soft_wrap=True)
    return 1 if refused else 0


def requeue_failed(config: Path | None, channel: str | None, code: str | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        count = store.write_now(_requeue_dead, channel, code)
    if json:
        as_json({"requeued": count})
    else:
        _say_requeued(count)
    return 0


def _say_requeued(count: int) -> None:
    what = {0: "No message was", 1: "1 message was"}.get(count, f"{count:,} messages were")
    OUT.print(f"{what} requeued{'; a running service sends what may still go, at once' if count else ''}.")


def _refusal(number: int, verdict: Verdict) -> dict[str, Any]:
    code, line = NOT_REQUEUED[verdict]
    return {"notificationId": number, "code": code, "message": line.format(number=number)}


def _requeue(tx: Tx, number: int) -> Verdict:
    return requeue.requeue(tx, tx.now(), number)


def _requeue_dead(tx: Tx, channel: str | None, code: str | None) -> int:
    return requeue.requeue_dead(tx, tx.now(), channel, code)
