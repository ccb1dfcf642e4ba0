"""What an answer comes to: judged, compared and emitted in one transaction that also writes when to ask again.

Every way in takes the same steps: a poll, a released hold, an opening recorded by hand, a change the catalogue saw.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from vacancy.clock import Dice
from vacancy.model.availability import Answer, Claim, Complete, Failed, Flips, Item, Reference, Trouble, Unchanged
from vacancy.model.state import Believe, Changes, Held, Hold, Ignore, Reason, Reject, TargetState
from vacancy.pipeline import pace
from vacancy.pipeline.compare import compare
from vacancy.pipeline.emit import Emission, Scene, emit, hash_of
from vacancy.pipeline.gate import confirm_only, judge
from vacancy.sources.base import Asked, ReferenceSource, Source
from vacancy.store import budgets, held, schema, target_state, targets, venues
from vacancy.store.engine import Tx

_COUNTS_KEPT: Final = 16
_STALE_AFTER: Final = timedelta(seconds=60)
_c: Final = schema.targets.c
_ONE_MORE_POLL: Final = _c.polls + 1
_ONE_MORE_WHOLE: Final = _c.wholes + 1
NOTHING: Final = Emission()


class Came(StrEnum):
    """What an attempt came to; the value is the outcome in logs and metrics."""

    BELIEVED = "believed"
    UNCHANGED = "unchanged"
    WAITING = "waiting"  # the first answers wait for one like them
    HELD = "held"
    IGNORED = "ignored"
    FAILED = "failed"
    SUPERSEDED = "superseded"  # somebody else changed the target while we asked: our answer is dropped


@dataclass(frozen=True, slots=True)
class Settled:
    came: Came
    state: TargetState | None = None  # to keep in memory, once committed
    emission: Emission = NOTHING
    failed: Failed | None = None
    delay_s: float = 0.0  # until this target is due again
    misconfigured: bool = False
    reason: Reason | None = None


def settle_answer(
    tx: Tx, claim: Claim, source: Source, answer: Answer, remembered: TargetState | None, dice: Dice
) -> Settled:
    now = tx.now()
    state = _state(tx, claim, source, remembered)
    if state is None:
        return _superseded(tx, now, claim, source)
    return _recover(tx, claim, source, _judged(tx, now, claim, source, answer, state, dice))


def _judged(
    tx: Tx, now: datetime, claim: Claim, source: Source, answer: Answer, state: TargetState, dice: Dice
) -> Settled:
    added = answer.keys - state.open
    verdict = judge(state, claim.counts, answer, added, source.policy, now)
    match verdict:
        case Believe():
            return _believe(tx, now, claim, source, answer, added, state, verdict, dice)
        case Hold(answer_held):
            return _hold(tx, now, claim, source, state, answer_held, dice)
        case Ignore():
            return _heartbeat(tx, now, claim, source, dice, Came.IGNORED, polls=_ONE_MORE_POLL)
        case Reject(message):
            return settle_failure(tx, claim, source, Failed(Trouble.IMPLAUSIBLE, message), dice)


def settle_unchanged(tx: Tx, claim: Claim, source: Source, state: TargetState, dice: Dice) -> Settled:
    """The heartbeat of a target in which nothing waits: one row."""
    now = tx.now()
    counts = _with_count(claim.counts, len(state.open))
    values: dict[str, Any] = {"last_complete_at": now, "polls": _ONE_MORE_POLL, "wholes": _ONE_MORE_WHOLE}
    if counts != claim.counts:
        values["recent_counts"] = counts
    beat = _heartbeat(tx, now, claim, source, dice, Came.UNCHANGED, **values)
    return _recover(tx, claim, source, replace(beat, state=state))


def settle_reference(
    tx: Tx,
    claim: Claim,
    source: ReferenceSource,
    answer: Reference | Unchanged,
    lists: Mapping[str, Source],
    dice: Dice,
) -> Settled:
    """What the items are, not which are open; a change of state that it shows is checked against the list's own."""
    return _recover(tx, claim, source, _taken_in(tx, claim, source, answer, lists, dice))


def _taken_in(
    tx: Tx,
    claim: Claim,
    source: ReferenceSource,
    answer: Reference | Unchanged,
    lists: Mapping[str, Source],
    dice: Dice,
) -> Settled:
    now = tx.now()
    values: dict[str, Any] = {"last_complete_at": now, "polls": _ONE_MORE_POLL}
    if not claim.believed:
        values["baseline_at"] = now
    came = Came.UNCHANGED
    if isinstance(answer, Reference):
        taken = source.take_in(tx, claim.key, answer, anew=not claim.believed)
        if isinstance(taken, Failed):
            return settle_failure(tx, claim, source, taken, dice)
        came, values["open_count"] = Came.BELIEVED, taken.size
    beat = _heartbeat(tx, now, claim, source, dice, came, **values)
    if beat.came is not came:
        return beat
    seen = _heed(tx, source, lists[source.describes], claim, says_something_new=came is Came.BELIEVED)
    return replace(beat, emission=seen.emission) if seen else beat


def _heed(
    tx: Tx, source: ReferenceSource, listing: Source, claim: Claim, *, says_something_new: bool
) -> Settled | None:  # fmt: skip
    """All that a reference recorded since the list was believed, also what was of no use then, for the list was fresh.
    A hold counts what it hears: the same once more is no further sample."""
    row = targets.find(tx, listing.name, claim.key)
    if row is None or not _is_stale(row, tx.now()) or (row.held_since and not says_something_new):
        return None
    flips = source.flips_since(tx, claim.key, row.last_complete_at)
    if not flips.opened and not flips.closed:
        return None
    return reconcile(tx, listing, claim.key, flips, claim.trace_id)


def _is_stale(row: Any, now: datetime) -> bool:
    return row.last_complete_at is not None and now - row.last_complete_at >= _STALE_AFTER


def settle_failure(tx: Tx, claim: Claim, source: Asked, failed: Failed, dice: Dice) -> Settled:
    """Nothing is learnt about any item: only the target's trouble and the source's rest are written."""
    now = tx.now()
    setback = pace.after_failure(source.policy, dice, claim, failed, now)
    error = {
        "code": failed.trouble,
        "message": failed.message,
        "since": pace.trouble_since(claim, failed, now).isoformat(),
    }
    values: dict[str, Any] = {"failures": claim.failures + 1, "last_error": error}
    if not claim.failures:
        values["failing_since"] = now
    if not targets.settle(tx, now, claim, setback.target_delay_s, **values):
        targets.hand_back(tx, now, claim, setback.target_delay_s)
    if setback.source_pause_s:
        budgets.pause(tx, now, source.budget, setback.source_pause_s, failed.message)
    return Settled(Came.FAILED, failed=failed, delay_s=setback.target_delay_s, misconfigured=setback.misconfigured)


def _state(tx: Tx, claim: Claim, source: Source, remembered: TargetState | None) -> TargetState | None:
    """What we believe, as of the version that was claimed; None if that is not the newest any more."""
    state = remembered if remembered and remembered.version == claim.version else None
    if state is None:
        state = target_state.load(tx, claim.target_id)
        if state.version != claim.version:
            return None
    state.wholes = claim.wholes
    if state.known_version != claim.known_version:
        state.known, state.known_version = source.known(tx, claim.key), claim.known_version
    return state


def _believe(
    tx: Tx, now: datetime, claim: Claim, source: Source, answer: Answer, added: Collection[str], state: TargetState,
    verdict: Believe, dice: Dice,
) -> Settled:  # fmt: skip
    changes = compare(state, answer, added, source.policy, now, baseline=verdict.baseline)
    state.said = answer.items
    values: dict[str, Any] = {"polls": _ONE_MORE_POLL}
    if isinstance(answer, Complete):
        counts = () if verdict.recount else claim.counts
        values |= {
            "last_complete_at": now,
            "open_count": len(answer.keys),
            "recent_counts": _with_count(counts, len(answer.keys)),
            "wholes": _ONE_MORE_WHOLE,
        }
    if changes.opened or changes.closed:
        values["last_edge_at"] = now
    if not changes and not state.held and not verdict.baseline:
        beat = _heartbeat(tx, now, claim, source, dice, Came.UNCHANGED, **values)
        _keep_groups(tx, now, source, state, answer)
        return replace(beat, state=state)
    snapshot_hash = hash_of(answer)
    values |= {"version": claim.version + 1, "held_since": None, "source_hash": snapshot_hash}
    if verdict.baseline:
        values["baseline_at"] = now
    beat = _heartbeat(tx, now, claim, source, dice, Came.BELIEVED, **values)
    if beat.came is Came.SUPERSEDED:
        return beat
    _keep_groups(tx, now, source, state, answer)
    scene = Scene(claim.target_id, claim.key, source, source.detected_by, claim.trace_id, now,
                  claim.last_complete_at, snapshot_hash)  # fmt: skip
    return replace(beat, state=state, emission=_take_in(tx, scene, state, changes, claim.version + 1))


def _keep_groups(tx: Tx, now: datetime, source: Source, state: TargetState, answer: Answer) -> None:
    """What the last answer said of them already is not even looked up."""
    new = {key: group for key, group in answer.groups.items() if state.groups.get(key) != group}
    if new:
        venues.keep(tx, now, source.name, new)
        state.groups = {**state.groups, **new}


def _take_in(tx: Tx, scene: Scene, state: TargetState, changes: Changes, version: int) -> Emission:
    """The target's row is ours and says `version`; make the state say the same."""
    emission = emit(tx, scene, state, changes)
    if state.held:
        held.drop(tx, scene.target_id)
        state.held = None
    state.believed = True
    state.version = version
    return emission


def _hold(
    tx: Tx, now: datetime, claim: Claim, source: Source, state: TargetState, answer_held: Held, dice: Dice
) -> Settled:
    held_since = None if answer_held.reason is Reason.BASELINE else _held_since(state.held, answer_held)
    values = {"polls": _ONE_MORE_POLL, "version": claim.version + 1, "held_since": held_since}
    came = Came.WAITING if held_since is None else Came.HELD
    beat = _heartbeat(tx, now, claim, source, dice, came, probe=came is Came.HELD, **values)
    if beat.came is came:
        held.save(tx, claim.target_id, answer_held, state.held)
        state.held, state.version = answer_held, claim.version + 1
    return replace(beat, state=state, reason=answer_held.reason)


def _held_since(before: Held | None, now_held: Held) -> Any:
    """Doubt lasts from the first answer that raised it, however often the held answer was exchanged."""
    continued = before is not None and before.reason is not Reason.BASELINE
    return _c.held_since if continued else now_held.first_at


def _heartbeat(
    tx: Tx, now: datetime, claim: Claim, source: Asked, dice: Dice, came: Came, *, probe: bool = False, **values: Any
) -> Settled:  # fmt: skip
    """Win the target's row, or find out that somebody else did."""
    if claim.failures:
        values |= {"failures": 0, "failing_since": None, "last_error": None}
    last_edge_at = values.get("last_edge_at", claim.last_edge_at)
    delay = pace.next_delay(source.policy, dice, now, last_edge_at, held=probe)
    if not targets.settle(tx, now, claim, delay, **values):
        return _superseded(tx, now, claim, source)
    return Settled(came, delay_s=delay)


def _recover(tx: Tx, claim: Claim, source: Asked, settled: Settled) -> Settled:
    """The budget's row comes last everywhere: whoever held it and waited for a target's row could wait for ever."""
    if claim.slowed and settled.came not in (Came.FAILED, Came.SUPERSEDED):
        budgets.succeed(tx, source.budget, pace.SUCCESSES_TO_RECOVER)
    return settled


def _superseded(tx: Tx, now: datetime, claim: Claim, source: Asked) -> Settled:
    # What changed under us (a new question, a pause, a release) wants the next answer soon.
    delay = min(1.0, source.policy.interval_s)
    targets.hand_back(tx, now, claim, delay)
    return Settled(Came.SUPERSEDED, delay_s=delay)


def _with_count(counts: tuple[int, ...], count: int) -> tuple[int, ...]:
    return (*counts, count)[-_COUNTS_KEPT:]


def release(tx: Tx, source: Source, target_id: int, trace_id: str) -> Settled | None:
    """An operator believes the held answer now; None if none is held."""
    row = targets.lock(tx, target_id)
    state = target_state.load(tx, target_id)
    if state.held is None:
        return None
    now, seen_at, answer = tx.now(), state.held.last_at, Complete(state.held.keys, state.held.items)
    changes = compare(state, answer, answer.keys - state.open, source.policy, now, baseline=not state.believed)
    snapshot_hash = hash_of(answer)
    targets.advance(
        tx, target_id, state.version, held_since=None, baseline_at=row.baseline_at or now,
        last_complete_at=min(seen_at, now), source_hash=snapshot_hash, open_count=len(answer.keys),
        recent_counts=(len(answer.keys),), wholes=state.wholes + 1, last_edge_at=now,
    )  # fmt: skip
    scene = Scene(target_id, row.key, source, source.detected_by, trace_id, now, row.last_complete_at, snapshot_hash)
    return Settled(Came.BELIEVED, state, _take_in(tx, scene, state, changes, state.version + 1))


def open_by_hand(tx: Tx, source: Source, target_id: int, item_key: str, trace_id: str) -> Settled | None:
    """None if the item is open already. Two complete answers without it close it again."""
    row = targets.lock(tx, target_id)
    state = target_state.load(tx, target_id)
    if item_key in state.open:
        return None
    targets.advance(tx, target_id, state.version)
    scene = Scene(target_id, row.key, source, "manual", trace_id, tx.now(), row.last_complete_at)
    before = state.items.get(item_key)
    item = Item(item_key, before.group if before else None)
    return Settled(Came.BELIEVED, state, emit(tx, scene, state, Changes(opened=(item,))))


def reconcile(tx: Tx, source: Source, key: str, flips: Flips, trace_id: str) -> Settled | None:
    """Another place saw items change while the list itself was stale; None if that is of no use now."""
    found = targets.find(tx, source.name, key)
    if found is None:
        return None
    now, row = tx.now(), targets.lock(tx, found.target_id)
    believed_at = row.last_complete_at
    if not _is_stale(row, now) or flips.observed_at <= believed_at:
        return None
    state = target_state.load(tx, row.target_id)
    state.known = source.known(tx, key)
    counts = tuple(row.recent_counts)
    answer = Complete(frozenset((state.open | flips.opened) - flips.closed))
    added = answer.keys - state.open
    if state.held:
        verdict = confirm_only(state, counts, answer, now)
    else:
        verdict = judge(state, counts, answer, added, source.policy, now)
    if isinstance(verdict, Hold) and state.held:
        targets.advance(tx, row.target_id, state.version)
        held.save(tx, row.target_id, verdict.held, state.held)
    if not isinstance(verdict, Believe):
        return None
    # Items that nothing was said about keep their misses.
    changes = replace(compare(state, answer, added, source.policy, now, surely_closed=flips.closed), seen_again=())
    if not changes and not state.held:
        return None
    recounted = {"recent_counts": (len(answer.keys),)} if verdict.recount else {}
    targets.advance(tx, row.target_id, state.version, held_since=None, **recounted)
    scene = Scene(row.target_id, key, source, "section_status_event", trace_id, now, believed_at)
    return Settled(Came.BELIEVED, state, _take_in(tx, scene, state, changes, state.version + 1))
