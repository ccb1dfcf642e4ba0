"""How long to wait: for the next poll of a target, and for a whole source after trouble. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from vacancy.clock import Dice
from vacancy.model.availability import COLD_FACTOR, HOT_FACTOR, Claim, Failed, Policy, Trouble

IN_FLIGHT: Final = 10
IN_FLIGHT_SLOWED: Final = 5
GAP_S: Final = 0.25
GAP_SLOWED_S: Final = 0.5
SUCCESSES_TO_RECOVER: Final = 5
LEASE_SLACK_S: Final = 5.0
MISCONFIGURED_DELAY_S: Final = 1800.0
_PAUSE_S: Final = 15.0
_RATE_LIMITED_PAUSE_S: Final = 60.0
_HELD_PROBE_S: Final = 30.0
_HOT_FOR: Final = timedelta(minutes=10)
_WARM_FOR: Final = timedelta(hours=2)
# A target that was believed may be missing upstream for a deployment: only a lasting 404 is a wrong setting.
_MISCONFIGURED_FOR: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Setback:
    """What a failure costs: when to ask this target again, and how long the whole source rests."""

    target_delay_s: float
    source_pause_s: float
    misconfigured: bool = False


def longest_delay_s(policies: Iterable[Policy]) -> float:
    """No next time lies further ahead, whatever the jitter; one that does was written by a clock that was ahead."""
    return 1.5 * max([MISCONFIGURED_DELAY_S, *(policy.slowest_s for policy in policies)])


def next_delay(policy: Policy, dice: Dice, now: datetime, last_edge_at: datetime | None, *, held: bool) -> float:
    """The interval with its jitter, counted from now: a missed slot is skipped, never caught up."""
    if held:
        return min(_HELD_PROBE_S, policy.interval_s)
    factor = _warmth(now, last_edge_at) if policy.adaptive else 1.0
    return _jittered(policy, dice, factor)


def _jittered(policy: Policy, dice: Dice, factor: float = 1.0) -> float:
    return max(policy.least_s, dice.jitter(policy.interval_s * factor, policy.jitter))


def _warmth(now: datetime, last_edge_at: datetime | None) -> float:
    """What has just changed is likely to change again."""
    age = timedelta.max if last_edge_at is None else now - last_edge_at
    if age < _HOT_FOR:
        return HOT_FACTOR
    return 1.0 if age < _WARM_FOR else COLD_FACTOR


def after_failure(policy: Policy, dice: Dice, claim: Claim, failed: Failed, now: datetime) -> Setback:
    interval = _jittered(policy, dice)
    if failed.trouble is Trouble.INTERNAL:
        return Setback(interval, 0.0)
    if failed.trouble is Trouble.MISCONFIGURED and _is_lasting(claim, now):
        return Setback(dice.jitter(MISCONFIGURED_DELAY_S, policy.jitter), 0.0, misconfigured=True)
    if failed.trouble is Trouble.RATE_LIMITED:
        return Setback(interval, _RATE_LIMITED_PAUSE_S if failed.retry_after_s is None else failed.retry_after_s)
    return Setback(interval, max(_PAUSE_S, failed.retry_after_s or 0.0))


def trouble_since(claim: Claim, failed: Failed, now: datetime) -> datetime:
    """Since when attempts have failed in this same way without a break."""
    last = claim.last_error
    if not last or last.get("code") != failed.trouble:
        return now
    return min(datetime.fromisoformat(last["since"]), now)


def _is_lasting(claim: Claim, now: datetime) -> bool:
    if not claim.believed:
        return True
    last = claim.last_error or {}
    if last.get("code") != Trouble.MISCONFIGURED:
        return False
    return now - datetime.fromisoformat(last["since"]) >= _MISCONFIGURED_FOR
