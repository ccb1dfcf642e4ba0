"""The queue on its way out: what may go now, who has it in hand, and until when.

Whoever locks a row takes a place under its subscription's cap in the same transaction, and gives it back with the lock
unless the message was sent. So a row that is locked has a place, and one that is not has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import Select, Text, and_, bindparam, func, literal_column, or_, select, type_coerce, update

from vacancy.errors import StoreError
from vacancy.model.delivery import Drop, Due, Wait
from vacancy.model.messages import Kind
from vacancy.store.engine import Tx
from vacancy.store.notifications import IS_PENDING
from vacancy.store.prepared import Prepared, PreparedForThose, PreparedSelect
from vacancy.store.schema import open_event_notifications, subscriptions

_n: Final = open_event_notifications.c
_s: Final = subscriptions.c
# Nobody takes a row from itself: if our lock lapsed while we have it in hand, the clock was set, not we were dead.
_FREE: Final = or_(
    _n.locked_at.is_(None), and_(_n.locked_at < bindparam("lapsed"), _n.locked_by != bindparam("worker"))
)
_LET_GO: Final = "let go"
_COLUMNS: Final = (
    _n.notification_id, _n.kind, _n.open_event_id, _n.dedupe_key, _n.fanout_attempts,
    _n.locked_by.is_not(None).label("is_taken_over"), _n.payload, _s.subscription_id, _s.topic, _s.source, _s.item_key,
    _s.contact_type, _s.contact_value, _s.contact_hash, _s.locale, _s.status, _s.is_verified,
    _s.last_known_section_status, _s.max_notifications, _s.notified_count, _s.snooze_until, _s.unsubscribe_token,
    _s.manage_token, _s.verification_nonce, type_coerce(_s.metadata, Text),
)  # fmt: skip


@cache
def _due(room: int, *, waited: bool) -> PreparedSelect:
    """Two questions, each answered by a stretch of the index: what waited and may go, oldest wait first; what never had
    to. The limit is spelt out: one that it does not know makes PostgreSQL plan the question anew each time, which takes
    longer than to answer it."""
    statement: Select[*tuple[Any, ...]] = (
        select(*_COLUMNS)
        .join_from(open_event_notifications, subscriptions, _n.subscription_id == _s.subscription_id)
        .where(IS_PENDING, _n.channel == bindparam("channel"), _FREE)
        .where(_n.not_before <= bindparam("now") if waited else _n.not_before.is_(None))
        # In the index's own words: for `notification_id` alone PostgreSQL walks through all that was ever finished.
        .order_by(_n.not_before, _n.notification_id)
        .limit(literal_column(str(room)))
        # What somebody else works at this moment is passed over, not waited for.
        .with_for_update(skip_locked=True)
    )
    return PreparedSelect(statement)


_LOCK: Final = PreparedForThose(
    "id", _n.notification_id,
    lambda value: update(open_event_notifications)
    .where(IS_PENDING)
    .values(locked_by=value("worker"), locked_at=value("now")),
    worker=_n.locked_by.type, now=_n.locked_at.type,
)  # fmt: skip
_TAKE_PLACES: Final = PreparedForThose(
    "who", _s.subscription_id,
    lambda value: update(subscriptions)
    .where(_s.notified_count + value("places") <= _s.max_notifications)
    .values(notified_count=_s.notified_count + value("places")),
    places=_s.notified_count.type,
)  # fmt: skip
_WAIT: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), IS_PENDING)
    .values(not_before=bindparam("until"), error=bindparam("why", type_=_n.error.type), locked_by=None, locked_at=None)
)
_DROP: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), IS_PENDING)
    .values(
        fanout_status=bindparam("status"), fanout_attempts=_n.fanout_attempts + bindparam("attempts"),
        error=bindparam("why", type_=_n.error.type), locked_by=None, locked_at=None, not_before=None,
    )
)  # fmt: skip
_NEXT: Final = PreparedSelect(
    select(func.min(_n.not_before)).where(IS_PENDING, _n.channel == bindparam("channel"), _n.not_before.is_not(None))
)
_RESET: Final = Prepared(
    update(open_event_notifications)
    .where(
        IS_PENDING, _n.channel == bindparam("channel"), _n.fanout_attempts == 0, _n.last_attempt_at.is_not(None),
        _n.error.is_(None), _n.not_before.is_not(None),
    )
    .values(not_before=None)
)  # fmt: skip
_RENEW: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), _n.locked_by == bindparam("worker"), IS_PENDING)
    .values(locked_at=bindparam("now"))
)


def find_due(tx: Tx, now: datetime, channel: str, worker: str, room: int, lock_ttl_s: float) -> list[Due]:
    """Free rows that may go now, at most `room`. On PostgreSQL they stay ours until the transaction ends."""
    return ask_due(tx, now, channel, worker, room, lock_ttl_s)()


def ask_due(tx: Tx, now: datetime, channel: str, worker: str, room: int, lock_ttl_s: float) -> Callable[[], list[Due]]:
    """The same, asked now and answered later."""
    lapsed = now - timedelta(seconds=lock_ttl_s)
    given = {"channel": channel, "worker": worker, "now": now, "lapsed": lapsed}
    waited, ready = tx.ask(_due(room, waited=True), given), tx.ask(_due(room, waited=False), given)
    return lambda: [Due(*row) for row in (waited() + ready())[:room]]


def lock(tx: Tx, now: datetime, worker: str, rows: Sequence[Due]) -> None:
    """The caller has found these free in this transaction, and judged that each has a place under its cap."""
    if not rows:
        return
    placed = Counter([row.subscription_id for row in rows if row.kind == Kind.ALERT and not row.is_taken_over])
    with tx.together():
        locked = tx.count(_LOCK, [{"id": row.notification_id, "worker": worker, "now": now} for row in rows])
        taken = tx.count(_TAKE_PLACES, [{"who": who, "places": places} for who, places in placed.items()])
        if (locked(), taken()) != (len(rows), len(placed)):
            raise StoreError("rows of the queue changed while they were locked; they are tried again")


def put_off(tx: Tx, waits: Sequence[tuple[Due, Wait]]) -> None:
    tx.post(_WAIT, [
        {"id": row.notification_id, "until": wait.until, "why": {"code": wait.code, "message": wait.message}}
        for row, wait in waits
    ])  # fmt: skip
    give_places_back(tx, [row for row, _ in waits if row.is_taken_over])


def drop(tx: Tx, drops: Sequence[tuple[Due, Drop]]) -> None:
    """`skipped` counts as an attempt, `expired` does not: seed 001."""
    tx.post(_DROP, [
        {"id": row.notification_id, "status": gone.status, "attempts": int(gone.status == "skipped"),
         "why": {"code": gone.code, "message": gone.message}}
        for row, gone in drops
    ])  # fmt: skip
    give_places_back(tx, [row for row, _ in drops if row.is_taken_over])


_GIVE_BACK: Final = Prepared(
    update(subscriptions)
    .where(_s.subscription_id == bindparam("who"), _s.notified_count > 0)
    .values(notified_count=_s.notified_count - 1)
)


def give_places_back(tx: Tx, rows: Sequence[Due]) -> None:
    tx.post(_GIVE_BACK, [{"who": row.subscription_id} for row in rows if row.kind == Kind.ALERT])


def renew(tx: Tx, now: datetime, worker: str, notification_ids: Sequence[int]) -> int:
    """How many are still ours."""
    return tx.write(_RENEW, [{"id": number, "worker": worker, "now": now} for number in notification_ids])


def let_go_of_others(tx: Tx, worker: str, in_hand: Sequence[int], is_dead: Callable[[str], bool]) -> int:
    """Rows that this worker locked and does not know of, and those of processes that surely ended: their locks lapse at
    once. They keep a name, for that says that a place was taken."""
    held = tx.execute(select(_n.locked_by).where(IS_PENDING, _n.locked_by.is_not(None)).distinct()).scalars()
    dead = [each for each in held if each != worker and is_dead(each)]
    stray = and_(_n.locked_by == worker, _n.notification_id.not_in(in_hand))
    return tx.execute(
        update(open_event_notifications)
        .where(IS_PENDING, or_(stray, _n.locked_by.in_(dead)))
        .values(locked_by=_LET_GO, locked_at=tx.now() - timedelta(days=1))
    ).rowcount


def next_due_at(tx: Tx, channel: str) -> datetime | None:
    """When the next of those that wait may go."""
    moment: datetime | None = tx.read(_NEXT, {"channel": channel})[0][0]
    return moment


def notice_resets(tx: Tx, channel: str) -> int:
    """An operator who sets `fanout_attempts` to 0 by hand wants it tried now, whatever it waited for."""
    return tx.write(_RESET, [{"channel": channel}])


def dead_letters_since(tx: Tx, moment: datetime) -> int:
    failed = _n.fanout_status == literal_column("'failed'")
    count: int = tx.execute(select(func.count()).where(failed, _n.last_attempt_at > moment)).scalar_one()
    return count


def facts(tx: Tx) -> Mapping[str, tuple[int, datetime | None]]:
    """Channel -> (how many wait, since when the oldest that may go now does)."""
    rows = tx.execute(
        select(_n.channel, func.count(), func.min(_n.created_at).filter(_n.not_before.is_(None)))
        .where(IS_PENDING)
        .group_by(_n.channel)
    )
    return {channel: (count, oldest) for channel, count, oldest in rows}
