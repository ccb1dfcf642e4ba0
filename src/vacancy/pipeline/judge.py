"""Whether a message may go this moment: still wanted, still true, not too late at night. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from vacancy.model.availability import Policy
from vacancy.model.delivery import NOT_WANTED, QUIET, SNOOZED, Decision, Drop, Due, Go, Truth, Wait
from vacancy.model.messages import Kind
from vacancy.model.subscriptions import HEARING, LIVE, Status
from vacancy.pipeline.quiet import opens_at

ENDED: Final = "ended"
_LEAST_FRESH: Final = timedelta(seconds=60)
_LOOK_AGAIN: Final = timedelta(seconds=5)
# Whoever confirms an address moves its rows to now; this is only for the case that a row was overlooked.
_UNCONFIRMED: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the sources are like. One that is not polled any more goes by the defaults, and is never fresh again."""

    policies: Mapping[str, Policy] = field(default_factory=dict)

    def fresh_for(self, source: str) -> timedelta:
        policy = self.policies.get(source)
        return _three_of(policy.interval_s) if policy else _LEAST_FRESH

    def time_zone(self, source: str) -> str:
        policy = self.policies.get(source)
        return policy.time_zone if policy else "UTC"


@cache
def _three_of(interval_s: float) -> timedelta:
    return max(_LEAST_FRESH, timedelta(seconds=3 * interval_s))


def judge(due: Due, truth: Truth | None, rules: Rules, now: datetime) -> Decision:
    """In this order: what makes a message pointless for good comes before what merely delays it."""
    if due.contact_value is None:
        return _not_waiting(due)
    if due.kind == Kind.VERIFICATION:
        return Go() if due.status == Status.PENDING else Drop("skipped", "verified", "it was confirmed, or it ended")
    if due.kind == Kind.NOTICE:
        return _judge_notice(due, rules, now)
    if due.status not in HEARING:
        return _not_waiting(due)
    if truth is None or not truth.is_open:
        return Drop("expired", "closed", "it closed before the message was sent")
    if not truth.is_wanted:
        return Drop("skipped", NOT_WANTED, "nothing that opened is at a time, or for as many, as its owner asked for")
    if truth.seen_at is None or now - truth.seen_at > rules.fresh_for(truth.source):
        return Wait(now + _LOOK_AGAIN, "stale", "whether it is still open is not known; waits for the next answer")
    if due.status == Status.PENDING:
        return Wait(now + _UNCONFIRMED, "unverified", "the address is not confirmed yet")
    if due.snooze_until is not None and due.snooze_until > now:
        return Wait(due.snooze_until, SNOOZED, "its owner asked for silence until then")
    return _quiet(due, rules.time_zone(truth.source), now) or _place(due, now) or Go()


def _judge_notice(due: Due, rules: Rules, now: datetime) -> Decision:
    """The last word to somebody whose subscription ended is said although it ended."""
    is_last_word = due.payload is None or due.payload.get("code") == ENDED
    if not is_last_word and (due.status not in LIVE or not due.is_verified):
        return _not_waiting(due)
    return _quiet(due, rules.time_zone(due.source), now) or Go()


def _not_waiting(due: Due) -> Drop:
    return Drop("skipped", "not_waiting", f"its subscription is {due.status} and hears nothing")


def _quiet(due: Due, zone: str, now: datetime) -> Wait | None:
    until = opens_at(now, due.preferences.window, zone)
    return Wait(until, QUIET, "its owner is not to be disturbed until then") if until else None


def _place(due: Due, now: datetime) -> Wait | None:
    """A full cap whose owner is active yet: others of its messages are under way, and may fail and leave a place."""
    if due.is_taken_over or due.notified_count < due.max_notifications:
        return None
    return Wait(now + _LOOK_AGAIN, "cap", "as many alerts as were wished for are under way")
