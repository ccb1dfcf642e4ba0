"""Previous state and believed answer, turned into edges. Absence counts only in a complete answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from vacancy.model.availability import Answer, Complete, Item, Policy
from vacancy.model.state import Changes, TargetState, digest, item_of


def compare(
    state: TargetState,
    answer: Answer,
    added: Collection[str],
    policy: Policy,
    now: datetime,
    *,
    baseline: bool = False,
    surely_closed: frozenset[str] = frozenset(),
) -> Changes:
    """`added` is what the answer has and the state has not. `surely_closed` were seen to be closed, not merely not
    seen: they do not wait for a second miss."""
    opened = tuple(item_of(answer, key) for key in sorted(added))
    silent = _silent(state, opened, policy)
    changes = Changes(
        opened,
        seen_again=tuple(state.missed & answer.keys),
        said_anew=_said_anew(state, answer),
        silent=silent,
        put_off=_put_off(state, opened, silent, policy, now),
        due=_due(state, answer, policy, now),
        raises=not baseline,
    )
    if not isinstance(answer, Complete):
        return changes
    closed, missed = [], {}
    for key in sorted(state.open - answer.keys):
        misses = state.items[key].missed + 1
        if baseline or misses >= policy.misses_to_close or key in surely_closed:
            closed.append(key)
        else:
            missed[key] = misses
    return replace(changes, closed=tuple(closed), missed=missed)


def _silent(state: TargetState, opened: Sequence[Item], policy: Policy) -> frozenset[str]:
    """Judged as it was before this answer: of a group that was empty, all that opens at once is news."""
    if policy.group_empty_after is None:
        return frozenset()
    groups = {item.group for item in opened if item.group is not None}
    lively = {group for group in groups if state.group_empty_for(group) < policy.group_empty_after}
    return frozenset(item.key for item in opened if item.group in lively)


def _put_off(
    state: TargetState, opened: Sequence[Item], silent: Collection[str], policy: Policy, now: datetime
) -> Mapping[str, datetime]:
    if not policy.event_gap_s:
        return {}
    gap = timedelta(seconds=policy.event_gap_s)
    told = {item.key: state.items[item.key].told_at for item in opened
            if item.key in state.items and item.key not in silent}  # fmt: skip
    # One that was told of in a time to come was so before the clock was set back.
    return {key: min(at, now) + gap for key, at in told.items() if at is not None and at + gap > now}


def _due(state: TargetState, answer: Answer, policy: Policy, now: datetime) -> tuple[Item, ...]:
    """Open all the while, and still in the answer."""
    latest = now + timedelta(seconds=policy.event_gap_s)
    owed = {key: state.items[key].owed_from for key in state.owed & answer.keys}
    return tuple(item_of(answer, key) for key, at in sorted(owed.items()) if at and not now < at <= latest)


def _said_anew(state: TargetState, answer: Answer) -> tuple[Item, ...]:
    """Open before and after, and described in other words: readers filter by them. What is the same object still was
    compared when it came."""
    said = state.said
    return tuple(
        item
        for key, item in answer.items.items()
        if said.get(key) is not item
        and key in state.open
        and item.payload
        and digest(item.payload) != state.items[key].says
    )
