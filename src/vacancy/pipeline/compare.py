"""Previous state and believed answer, turned into edges. Absence counts only in a complete answer."""

from __future__ import annotations

from collections.abc import Collection

from vacancy.model.availability import Answer, Complete, Policy
from vacancy.model.state import Changes, TargetState, item_of


def compare(
    state: TargetState,
    answer: Answer,
    added: Collection[str],
    policy: Policy,
    *,
    baseline: bool = False,
    surely_closed: frozenset[str] = frozenset(),
) -> Changes:
    """`added` is what the answer has and the state has not. `surely_closed` were seen to be closed, not merely not
    seen: they do not wait for a second miss."""
    opened = tuple(item_of(answer, key) for key in sorted(added))
    seen_again = tuple(state.missed & answer.keys)
    if not isinstance(answer, Complete):
        return Changes(opened, seen_again=seen_again)
    closed, missed = [], {}
    for key in sorted(state.open - answer.keys):
        misses = state.items[key].missed + 1
        if baseline or misses >= policy.misses_to_close or key in surely_closed:
            closed.append(key)
        else:
            missed[key] = misses
    return Changes(opened, tuple(closed), missed, seen_again, raises=not baseline)
