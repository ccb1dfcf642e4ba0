"""Is this answer believable? What is not is held back: nothing written, nobody told, until answers like it confirm it
or a fuller one takes its place. Upstreams do lose a quarter of a list for a minute, with status 200 and valid JSON."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from statistics import median_low
from typing import Final

from vacancy.model.availability import Answer, Complete, Partial, Policy
from vacancy.model.state import Believe, Held, Hold, Ignore, Reason, Reject, TargetState, Verdict

_SMALL: Final = 25  # below this many items, shares mean nothing
_ENTRY_SHARE: Final = 0.10
_EXIT_SHARE: Final = 0.05  # half of entry: a list that is still 9 % short must not slip out of the hold
_GROWTH: Final = 100
_LIKE_SHARE: Final = 0.01
_SAMPLES: Final = 3
_SPAN: Final = timedelta(seconds=300)
_SMALL_SPAN: Final = timedelta(seconds=60)
_LONGEST_GAP: Final = timedelta(seconds=120)


def judge(
    state: TargetState, counts: tuple[int, ...], answer: Answer, added: Collection[str], policy: Policy, now: datetime
) -> Verdict:
    """`counts` are the sizes of the last believed answers, newest last; `added` is what the answer has and the state
    has not."""
    if state.known and answer.keys and answer.keys.isdisjoint(state.known):
        return Reject(f"none of the {len(answer.keys)} items belongs to this target: the list of another one?")
    if isinstance(answer, Partial):
        return Believe() if state.believed and not state.held else Ignore()
    if not state.believed:
        return _first_answers(state.held, answer, now)
    doubt = _doubt(state, counts, answer, added, policy)
    if doubt is None:
        return Believe()
    return _next_sample(state.held, answer, doubt, _reference(counts), now)


def confirm_only(state: TargetState, counts: tuple[int, ...], answer: Complete, now: datetime) -> Verdict:
    """For an observation from another place: while an answer is held it may add a sample to it, and nothing else."""
    if state.held is None or state.held.reason is Reason.BASELINE or not _like(state.held, answer):
        return Ignore()
    return _next_sample(state.held, answer, state.held.reason, _reference(counts), now)


def _first_answers(held: Held | None, answer: Complete, now: datetime) -> Verdict:
    samples = held.samples + 1 if held and held.reason is Reason.BASELINE and _like(held, answer) else 1
    if samples >= (3 if answer.is_empty else 2):
        return Believe(baseline=True, recount=True)
    return Hold(_anchor(Reason.BASELINE, answer, now, samples))


def _doubt(
    state: TargetState, counts: tuple[int, ...], answer: Complete, added: Collection[str], policy: Policy
) -> Reason | None:
    reference = _reference(counts)
    if answer.is_empty and counts and counts[-1]:
        return Reason.EMPTY
    if not policy.ratio_gate:
        return None
    doubted = state.held is not None and state.held.reason in (Reason.EMPTY, Reason.SHORT)
    if reference - len(answer.keys) >= _at_least(_EXIT_SHARE if doubted else _ENTRY_SHARE, reference, _SMALL):
        return Reason.SHORT if answer.keys else Reason.EMPTY
    if len(added) >= _at_least(_ENTRY_SHARE, reference, _GROWTH):
        return Reason.GROWTH
    return None


def _next_sample(held: Held | None, answer: Complete, doubt: Reason, reference: int, now: datetime) -> Verdict:
    if held is None or held.reason is not doubt or not _like(held, answer):
        return Hold(_anchor(doubt, answer, now))
    if doubt is Reason.GROWTH:
        return Believe()
    if not timedelta(0) <= now - held.last_at <= _LONGEST_GAP:
        return Hold(_anchor(doubt, answer, now))
    samples = held.samples + 1
    span = _SMALL_SPAN if reference < _SMALL else _SPAN
    if samples >= _SAMPLES and now - held.first_at >= span:
        return Believe(recount=True)
    return Hold(Held(doubt, samples, held.first_at, now, held.keys, held.items))


def _anchor(reason: Reason, answer: Complete, now: datetime, samples: int = 1) -> Held:
    return Held(reason, samples, now, now, answer.keys, answer.items)


def _like(held: Held, answer: Answer) -> bool:
    # One more or less is a hundredth of few; but what is empty is like nothing else.
    if not held.keys or not answer.keys:
        return not held.keys and not answer.keys
    return len(held.keys ^ answer.keys) <= _at_least(_LIKE_SHARE, len(held.keys), 0)


def _reference(counts: tuple[int, ...]) -> int:
    return max(median_low(counts), counts[-1]) if counts else 0


def _at_least(share: float, reference: int, floor: int) -> int:
    # In whole numbers: ceil(0.1 * 30) is 4 in floating point.
    return max(-(-reference * round(share * 100) // 100), floor)
