"""There is one row for a contact and an opening. What its owner has no taste for, or sleeps through, another
subscription of the same contact may want now: or whoever subscribes somebody else's address would keep its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from vacancy.model.delivery import NOT_WANTED, RESTING, Decision, Drop, Due, Wait
from vacancy.model.messages import Kind
from vacancy.model.subscriptions import Preferences, Status
from vacancy.pipeline.judge import Rules
from vacancy.pipeline.quiet import opens_at
from vacancy.store import addressees, queue, unwanted
from vacancy.store.engine import Tx
from vacancy.store.openings import OpeningFacts, Still
from vacancy.store.unwanted import Heir

Decided = Sequence[tuple[Due, Decision]]
_Said = Sequence[tuple[Sequence[str], Mapping[str, Any]]]  # topics of what is open, and what it says


class _Claim(NamedTuple):
    heir: Heir
    rests_until: datetime | None


def leave_to_heirs(
    tx: Tx, channel: str, decided: Decided, stills: Mapping[int, Still | None],
    facts_of: Callable[[int], Sequence[OpeningFacts]], rules: Rules, now: datetime,
) -> Decided:  # fmt: skip
    """The rows that stay whose they are, with what is decided of them. The others go in the next turn."""
    rows = [row for row, decision in decided if _may_be_another_s(row, decision)]
    if not rows:
        return decided
    others = unwanted.heirs(tx, channel, {row.contact_hash for row in rows})
    given: dict[int, Heir] = {}
    left: list[tuple[Due, Decision]] = []
    for row, decision in decided:
        claims: Sequence[_Claim] = ()
        if _may_be_another_s(row, decision) and (still := stills.get(row.open_event_id or 0)) is not None:
            said = _said(facts_of(row.open_event_id or 0), still)
            claims = _claims(others, row, said, rules.time_zone(still.source), now)
        heir = _heir(claims, decision)
        if heir is not None:
            given[row.notification_id] = heir
        else:
            left.append((row, _no_longer_than(claims, decision)))
    unwanted.give(tx, given)
    queue.give_places_back(tx, [row for row, _ in decided if row.notification_id in given and row.is_taken_over])
    return left


def _may_be_another_s(row: Due, decision: Decision) -> bool:
    if row.kind != Kind.ALERT or row.open_event_id is None or not addressees.shares(row.contact_type):
        return False
    if isinstance(decision, Wait):
        return decision.code in RESTING
    return isinstance(decision, Drop) and decision.code == NOT_WANTED


def _said(facts: Sequence[OpeningFacts], still: Still) -> _Said:
    says = still.says()
    return [(each.topics, says[each.open_event_id]) for each in facts if each.open_event_id in still.events]


def _claims(others: Sequence[Heir], row: Due, said: _Said, zone: str, now: datetime) -> Sequence[_Claim]:
    return [_Claim(each, _rests_until(each.preferences, zone, now)) for each in others if _is_heir(each, row, said)]


def _is_heir(heir: Heir, row: Due, said: _Said) -> bool:
    if heir.contact_hash != row.contact_hash or heir.subscription_id == row.subscription_id:
        return False
    if heir.since_event_id >= (row.open_event_id or 0):
        return False
    taste = heir.preferences.taste
    return any(heir.topic in topics and taste.takes(words) for topics, words in said)


def _rests_until(preferences: Preferences, zone: str, now: datetime) -> datetime | None:
    awake = max(now, preferences.snooze_until or now)
    return opens_at(awake, preferences.window, zone) or (awake if awake > now else None)


def _heir(claims: Sequence[_Claim], decision: Decision) -> Heir | None:
    """Whoever hears now; of what its owner does not want at all, else anybody who will."""
    awake = [claim.heir for claim in claims if claim.rests_until is None and claim.heir.status == Status.ACTIVE]
    if awake or isinstance(decision, Wait):
        return awake[0] if awake else None
    return claims[0].heir if claims else None


def _no_longer_than(claims: Sequence[_Claim], decision: Decision) -> Decision:
    """Judged anew when the first of them wakes."""
    if not isinstance(decision, Wait):
        return decision
    wakes = [claim.rests_until for claim in claims if claim.rests_until and claim.heir.status == Status.ACTIVE]
    return Wait(min([decision.until, *wakes]), decision.code, decision.message) if wakes else decision
