"""One transaction of a channel's courier: what ended is written down, and what may go now is taken in hand.

Taking is judging: a row is locked in the transaction that saw it open, wanted and due, and is handed over right after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from vacancy.model.delivery import Decision, Drop, Due, Finished, Go, Truth, Wait
from vacancy.model.messages import Kind
from vacancy.pipeline.heirs import leave_to_heirs
from vacancy.pipeline.judge import Rules, judge
from vacancy.store import ids, openings, queue, queue_results, sending
from vacancy.store.engine import Tx
from vacancy.store.openings import OpeningFacts, Still
from vacancy.store.queue_results import Aftermath, Tries, Written
from vacancy.subscriptions.lost import contact_lost
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.running import pass_on


@dataclass(frozen=True, slots=True)
class Errand:
    """What a courier asks for: `done` to be written down, and up to `room` rows. `known` are facts that it has."""

    channel: str
    worker: str
    room: int
    done: Sequence[Finished]
    contact_gap_s: float
    last_told: Mapping[str, datetime]  # contact hash -> when it was last written to
    known: MutableMapping[int, Sequence[OpeningFacts]]


class InHand(NamedTuple):
    """A row that is locked for us, and has its place under the cap."""

    due: Due
    still: Still | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class Taken:
    rows: Sequence[InHand] = ()
    looked_at: int = 0
    found_nothing: bool = False  # that may go now; not said where nothing was looked for
    stopped: bool = False
    next_due_at: datetime | None = None
    aftermath: Aftermath = field(default_factory=Aftermath)
    dropped: Mapping[str, int] = field(default_factory=dict)


def run_errand(tx: Tx, errand: Errand, rules: Rules, tries: Tries) -> Taken:
    with tx.together():
        # Nothing opens or closes until the commit: an ack that did not see a close would hide what opens next.
        ids.hold_edges_off(tx)
        told = openings.ask_still(tx, queue_results.leads_of(errand.done))
        now = tx.now()
        stills = told()
        written = queue_results.write_down(tx, now, errand.worker, errand.done, tries, stills)
        if errand.room <= 0:
            return Taken(aftermath=written.settle(tx, now))
        return _exchange(tx, errand, rules, tries, now, stills, written)


def _exchange(
    tx: Tx, errand: Errand, rules: Rules, tries: Tries, now: datetime, stills: dict[int, Still | None],
    written: Written,
) -> Taken:  # fmt: skip
    """What ended for what may go. Everything is asked before the first answer is looked at, as if nobody had to pause
    because of what ended: almost nobody has."""
    stopped = sending.ask_why(tx)
    looked = queue.ask_due(tx, now, errand.channel, errand.worker, errand.room, tries.lock_ttl_s)
    aftermath = written.settle(tx, now)
    if stopped() is not None:
        return Taken(found_nothing=True, stopped=True, aftermath=aftermath)
    rows = looked()
    if aftermath.paused or (not rows and queue.notice_resets(tx, errand.channel)):
        rows = queue.find_due(tx, now, errand.channel, errand.worker, errand.room, tries.lock_ttl_s)
    if not rows:
        return Taken(found_nothing=True, next_due_at=queue.next_due_at(tx, errand.channel), aftermath=aftermath)
    stills |= openings.ask_still(tx, _leads(rows) - stills.keys())()
    wanted = _wanted(rows, stills)
    decided = _decide(rows, wanted, errand, rules, now)
    left = leave_to_heirs(tx, errand.channel, decided, stills, lambda lead: _facts(tx, errand, lead), rules, now)
    return replace(_take(tx, errand, now, left, wanted, aftermath), looked_at=len(decided))


def _facts(tx: Tx, errand: Errand, lead: int) -> Sequence[OpeningFacts]:
    if lead not in errand.known:
        errand.known[lead] = openings.facts_of(tx, lead)
    return errand.known[lead]


def _take(
    tx: Tx, errand: Errand, now: datetime, decided: Sequence[tuple[Due, Decision]],
    wanted: Mapping[int, Still | None], aftermath: Aftermath,
) -> Taken:  # fmt: skip
    taken = [row for row, decision in decided if isinstance(decision, Go)]
    drops = [(row, decision) for row, decision in decided if isinstance(decision, Drop)]
    queue.put_off(tx, [(row, decision) for row, decision in decided if isinstance(decision, Wait)])
    queue.drop(tx, drops)
    queue.lock(tx, now, errand.worker, taken)
    for lead in _leads(taken):
        _facts(tx, errand, lead)
    return Taken(
        [InHand(row, wanted.get(row.notification_id), _is_last(row)) for row in taken],
        looked_at=len(decided),
        aftermath=_with_skipped(aftermath, drops),
        dropped=Counter([drop.status for _, drop in drops]),
    )


def _leads(rows: Sequence[Due]) -> set[int]:
    return {row.open_event_id for row in rows if row.open_event_id is not None}


def clear_up(tx: Tx, desk: Desk, aftermath: Aftermath) -> None:
    """In a transaction of its own: it waits for whoever works on the same contact, and must hold nothing meanwhile."""
    for due, why in aftermath.lost:
        contact_lost(tx, tx.now(), due, why)
    for contact_hash in aftermath.paused:
        pass_on(tx, tx.now(), desk, contact_hash)


def _wanted(rows: Sequence[Due], stills: Mapping[int, Still | None]) -> Mapping[int, Still | None]:
    """Of each row, what is open of its opening; of that, only what its owner has a taste for as it is now."""
    found: dict[int, Still | None] = {}
    for row in rows:
        still = stills.get(row.open_event_id) if row.open_event_id is not None else None
        if still is not None and (taste := row.preferences.taste):
            still = replace(still, events=frozenset(at for at, words in still.says().items() if taste.takes(words)))
        found[row.notification_id] = still
    return found


def _decide(
    rows: Sequence[Due], stills: Mapping[int, Still | None], errand: Errand, rules: Rules, now: datetime
) -> list[tuple[Due, Decision]]:
    """Each as if those before it had gone already: two rows of one subscription take two places under its cap."""
    told = dict(errand.last_told)
    placed: dict[int, int] = {}
    decided: list[tuple[Due, Decision]] = []
    for row in rows:
        taken = placed.get(row.subscription_id)
        due = row._replace(notified_count=row.notified_count + taken) if taken else row
        still = stills.get(row.notification_id)
        truth = Truth(still.source, True, still.seen_at, is_wanted=bool(still.events)) if still else None
        decision = _rest(due, told, errand.contact_gap_s, now) or judge(due, truth, rules, now)
        if isinstance(decision, Go):
            told[due.contact_hash] = now
            if due.kind == Kind.ALERT and not due.is_taken_over:
                placed[due.subscription_id] = placed.get(due.subscription_id, 0) + 1
        decided.append((due, decision))
    return decided


def _rest(due: Due, told: Mapping[str, datetime], gap_s: float, now: datetime) -> Wait | None:
    if not gap_s or due.contact_hash not in told:
        return None
    until = told[due.contact_hash] + timedelta(seconds=gap_s)
    return Wait(until, "pace", "this contact was written to a moment ago") if until > now else None


def _is_last(due: Due) -> bool:
    """A row that was taken over has its place counted already."""
    places = due.notified_count + (0 if due.is_taken_over else 1)
    return due.kind == Kind.ALERT and places >= due.max_notifications


def _with_skipped(aftermath: Aftermath, drops: Sequence[tuple[Due, Drop]]) -> Aftermath:
    """Whoever does not hear may have another subscription that does."""
    silent = {row.contact_hash for row, drop in drops if drop.status == "skipped" and row.kind == Kind.ALERT}
    return replace(aftermath, paused=tuple(sorted({*aftermath.paused, *silent}))) if silent else aftermath
