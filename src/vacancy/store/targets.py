"""`targets`: the schedule, the leases and the heartbeat. Every write but the operator's is a compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, bindparam, case, func, insert, or_, select, update

from vacancy.clock import MOMENT_S, later
from vacancy.errors import StoreError
from vacancy.model.availability import Claim, Question
from vacancy.store import bells, budgets, held
from vacancy.store.engine import Tx
from vacancy.store.prepared import Prepared, PreparedSelect
from vacancy.store.schema import targets

_c: Final = targets.c

# A lease that ends later than any lease can was written before the clock was set back.
_LEASED: Final = and_(_c.lease_until > bindparam("now"), _c.lease_until <= bindparam("latest_lease"))
_IS_DUE: Final = case(
    (
        or_(
            _c.next_poll_at <= bindparam("now"),
            _c.scheduled_at > bindparam("latest_schedule"),
            _c.next_poll_at > bindparam("latest_poll"),
        ),
        1,
    ),
    else_=0,
)
_ASKABLE: Final = and_(_c.budget == bindparam("budget"), _c.configured, _c.paused_at.is_(None))
_COUNT_LEASES: Final = PreparedSelect(select(func.count()).where(_c.budget == bindparam("budget"), _LEASED))
# Those that are due come first; the first of the others says when to look again.
_NEXT_TARGETS: Final = PreparedSelect(
    select(
        _c.target_id, _c.source, _c.key, _c.version, _c.known_version, _c.baseline_at, _c.recent_counts,
        _c.last_complete_at, _c.failures, _c.last_error, _c.wholes, _c.last_edge_at, _c.next_poll_at, _IS_DUE,
    )
    .where(_ASKABLE, or_(_c.lease_until.is_(None), ~_LEASED))
    .order_by(_IS_DUE.desc(), _c.next_poll_at, _c.target_id)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)  # fmt: skip
_LEASE: Final = Prepared(
    update(targets)
    .where(_c.target_id == bindparam("id"))
    .values(lease_owner=bindparam("owner"), lease_until=bindparam("until"), last_attempt_at=bindparam("at"))
)
_HELD_LEASES: Final = select(_c.target_id, _c.lease_owner).where(_c.lease_owner.is_not(None))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a claim may take: of the budget as a whole, and into this process's hands."""

    in_flight: int
    in_flight_slowed: int
    here: int
    longest_lease_s: float
    longest_delay_s: float


@dataclass(frozen=True, slots=True)
class Claimed:
    claims: tuple[Claim, ...]
    look_again_at: datetime | None  # None: only a bell, or a lease that ends, brings something to do
    is_full: bool = False  # no place was free: who gives one back should say so


def claim(
    tx: Tx, now: datetime, budget: str, limits: Limits, leases_s: Mapping[str, float],
    new_token: Callable[[], tuple[str, str]],
) -> Claimed:  # fmt: skip
    """Take what is due, oldest first, as far as the budget allows. A token is a lease owner and a trace id."""
    state = budgets.lock(tx, now, budget)
    if state.paused_until is not None:
        return Claimed((), state.paused_until)
    when = {
        "budget": budget,
        "now": now,
        "latest_lease": later(now, limits.longest_lease_s + MOMENT_S),
        "latest_schedule": later(now, MOMENT_S),
        "latest_poll": later(now, limits.longest_delay_s),
    }
    allowed = limits.in_flight_slowed if state.slowed else limits.in_flight
    ((leased,),) = tx.read(_COUNT_LEASES, when)
    free = min(allowed - leased, limits.here)
    if free <= 0:
        return Claimed((), None, is_full=True)
    rows = tx.read(_NEXT_TARGETS, {**when, "most": free})
    claims = tuple(_claim(row, *new_token(), state.slowed) for *row, _, is_due in rows if is_due)
    if claims:
        leases = [
            {"id": c.target_id, "owner": c.lease_owner, "until": later(now, leases_s[c.source]), "at": now}
            for c in claims
        ]
        tx.write(_LEASE, leases)
    if len(claims) == free:
        return Claimed(claims, now)  # there may be more, as soon as a place is free
    *_, next_poll_at, _ = rows[len(claims)] if len(rows) > len(claims) else (None, 0)
    return Claimed(claims, next_poll_at)


def _claim(row: Sequence[Any], owner: str, trace_id: str, slowed: bool) -> Claim:
    target_id, source, key, version, known_version, baseline_at, counts, last_complete_at, failures, error, *more = row
    return Claim(
        target_id,
        source,
        key,
        version,
        known_version,
        owner,
        trace_id,
        baseline_at is not None,
        tuple(counts),
        last_complete_at,
        failures,
        error,
        slowed,
        *more,
    )


_SETTLE: Final = update(targets).where(
    _c.target_id == bindparam("id"), _c.version == bindparam("was_version"), _c.lease_owner == bindparam("was_owner")
)


def settle(tx: Tx, now: datetime, claim: Claim, delay_s: float, **values: Any) -> bool:
    """Write what a poll found and when to ask again, and give the lease back; False if somebody else went ahead."""
    schedule = {"next_poll_at": later(now, delay_s), "scheduled_at": now, "lease_owner": None, "lease_until": None}
    who = {"id": claim.target_id, "was_version": claim.version, "was_owner": claim.lease_owner}
    by_row = {f"new_{name}": value for name, value in values.items() if not isinstance(value, ColumnElement)}
    return tx.write(_settling(frozenset(values), frozenset(by_row)), [who | schedule | by_row]) == 1


# What a poll may write of a column without knowing it: one more poll, and a doubt that lasts since it began.
_EXPRESSIONS: Final[Mapping[str, ColumnElement[Any]]] = {
    "polls": _c.polls + 1, "wholes": _c.wholes + 1, "held_since": _c.held_since,
}  # fmt: skip


@cache
def _settling(names: frozenset[str], by_row: frozenset[str]) -> Prepared:
    """One statement for each of the few sets of columns that a poll writes."""
    new = {name: bindparam(f"new_{name}", type_=_c[name].type) if f"new_{name}" in by_row else _EXPRESSIONS[name]
           for name in names}  # fmt: skip
    schedule = {
        name: bindparam(name, type_=_c[name].type)
        for name in ("next_poll_at", "scheduled_at", "lease_owner", "lease_until")
    }
    return Prepared(_SETTLE.values(**schedule, **new))


def hand_back(tx: Tx, now: datetime, claim: Claim, delay_s: float) -> None:
    """The next time is written on every way out, also when what we found is of no use any more."""
    tx.execute(
        update(targets)
        .where(_c.target_id == claim.target_id, _c.lease_owner == claim.lease_owner)
        .values(next_poll_at=later(now, delay_s), scheduled_at=now, lease_owner=None, lease_until=None)
    )


def advance(tx: Tx, target_id: int, version: int, **values: Any) -> None:
    """A change that no poll of this target brought; its row is locked. A poll under way finds that it came too late."""
    changed = update(targets).where(_c.target_id == target_id, _c.version == version)
    if tx.execute(changed.values(version=version + 1, **values)).rowcount != 1:
        raise StoreError(f"target {target_id} moved on from version {version} although its row was locked")


def configure(tx: Tx, now: datetime, budget: str, source: str, questions: Sequence[Question]) -> None:
    """Make the targets of one source what the settings say: a new one is due at once, one whose question changed
    starts from a new baseline, one that is gone rests with all it knows."""
    budgets.ensure(tx, budget)
    stored = {row.key: row for row in tx.execute(select(targets).where(_c.source == source)).all()}
    for question in questions:
        row = stored.pop(question.key, None)
        if row is None:
            _add(tx, now, budget, question)
        elif row.question_hash != question.hash:
            start_over(tx, now, row.target_id, question_hash=question.hash, configured=True, budget=budget)
        elif not row.configured or row.budget != budget:
            tx.execute(update(targets).where(_c.target_id == row.target_id).values(configured=True, budget=budget))
    if gone := [row.target_id for row in stored.values() if row.configured]:
        tx.execute(update(targets).where(_c.target_id.in_(gone)).values(configured=False))
    tx.ring(bells.TARGETS)


def rest_all_but(tx: Tx, sources: Collection[str]) -> None:
    """The targets of sources that the settings no longer ask for rest as well."""
    tx.execute(update(targets).where(_c.source.not_in(sources), _c.configured).values(configured=False))


def _add(tx: Tx, now: datetime, budget: str, question: Question) -> None:
    tx.execute(
        insert(targets).values(
            source=question.source,
            key=question.key,
            budget=budget,
            configured=True,
            question_hash=question.hash,
            next_poll_at=now,
            scheduled_at=now,
            created_at=now,
        )
    )


def start_over(tx: Tx, now: datetime, target_id: int, **values: Any) -> None:
    """The next like answers are a baseline: they tell nobody. Episodes go on counting."""
    held.drop(tx, target_id)
    fresh: dict[str, Any] = {"baseline_at": None, "recent_counts": [], "held_since": None, "version": _c.version + 1}
    soon = {"next_poll_at": now, "scheduled_at": now}
    tx.execute(update(targets).where(_c.target_id == target_id).values(**fresh, **soon, **values))
    tx.ring(bells.TARGETS)


def lock(tx: Tx, target_id: int) -> Any:
    """The row as it is now, and stays until the transaction ends."""
    return tx.execute(select(targets).where(_c.target_id == target_id).with_for_update()).one()


def find(tx: Tx, source: str, key: str) -> Any | None:
    return tx.execute(select(targets).where(_c.source == source, _c.key == key)).one_or_none()


def set_paused(tx: Tx, now: datetime, target_id: int, *, paused: bool) -> None:
    """A poll that is under way ends as usual; a resumed target is due at once."""
    values: dict[str, Any] = {"paused_at": now} if paused else {"paused_at": None, "next_poll_at": now,
                                                                "scheduled_at": now}  # fmt: skip
    tx.execute(update(targets).where(_c.target_id == target_id).values(**values))
    tx.ring(bells.TARGETS)


def want_now(tx: Tx, now: datetime, target_id: int) -> None:
    tx.execute(update(targets).where(_c.target_id == target_id).values(next_poll_at=now, scheduled_at=now))
    tx.ring(bells.TARGETS)


def want_all_now(tx: Tx, now: datetime, sources: Collection[str]) -> int:
    """Every configured target of these sources that is not paused; answers how many they are."""
    wanted = and_(_c.source.in_(sources), _c.configured, _c.paused_at.is_(None))
    return tx.execute(update(targets).where(wanted).values(next_poll_at=now, scheduled_at=now)).rowcount


def held_leases(tx: Tx) -> list[tuple[int, str]]:
    return [(row.target_id, row.lease_owner) for row in tx.execute(_HELD_LEASES).all()]


def take_over(tx: Tx, now: datetime, owners: Collection[str]) -> int:
    """End the leases of processes that are known to be dead: their targets are due now, their budget is free."""
    return tx.execute(
        update(targets)
        .where(_c.lease_owner.in_(owners))
        .values(lease_owner=None, lease_until=None, next_poll_at=now, scheduled_at=now)
    ).rowcount
