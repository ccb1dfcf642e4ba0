"""`bot_chats` and `bot_cursors`: who is bound where, and how far each chat has read.

A cursor only grows, and only in the hand of whoever read it in this binding: every move is a compare-and-set.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, delete, exists, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.model.bot import Move, PassedOver, Record, Seat
from vacancy.store.engine import Tx
from vacancy.store.prepared import Prepared, PreparedSelect
from vacancy.store.schema_bot import bot_chats, bot_cursors, bot_passed_over

BOUND: Final = "bound"
UNBOUND: Final = "unbound"
_LONGEST_NAME: Final = 200
_c: Final = bot_chats.c
_k: Final = bot_cursors.c
_seats: Final = (
    select(_c.chat_id, _c.user_id, _c.binding, _c.name, _c.locale, _k.cursor, _k.is_reading_up)
    .join_from(bot_chats, bot_cursors, _c.chat_id == _k.chat_id)
    .where(_c.status == BOUND)
)
_IS_CURRENT: Final = PreparedSelect(
    select(_c.binding).where(_c.chat_id == bindparam("chat"), _c.binding == bindparam("binding"), _c.status == BOUND)
)
_ADVANCE: Final = Prepared(
    update(bot_cursors)
    .where(
        _k.chat_id == bindparam("chat"),
        _k.cursor == bindparam("before"),
        # Who read history, while another one found its end, must not take what happened since for history.
        _k.is_reading_up == bindparam("read_up_before"),
        exists().where(_c.chat_id == _k.chat_id, _c.binding == bindparam("its_binding"), _c.status == BOUND),
    )
    .values(cursor=bindparam("after"), is_reading_up=bindparam("reads_up"), saved_at=bindparam("at"))
)


def seats(tx: Tx) -> list[Seat]:
    """Everybody who is bound."""
    return [Seat(*row) for row in tx.execute(_seats.order_by(_c.user_id, _c.chat_id))]


def seat(tx: Tx, chat_id: int) -> Seat | None:
    row = tx.execute(_seats.where(_c.chat_id == chat_id)).one_or_none()
    return Seat(*row) if row else None


def records(tx: Tx) -> list[Record]:
    passed = select(func.count()).where(bot_passed_over.c.chat_id == _c.chat_id).correlate(bot_chats).scalar_subquery()
    rows = tx.execute(
        select(
            _c.chat_id, _c.user_id, _c.name, _c.status, _c.reason, _k.cursor, func.coalesce(_k.is_reading_up, False),
            _c.bound_at, _c.changed_at, passed,
        )
        .outerjoin_from(bot_chats, bot_cursors, _c.chat_id == _k.chat_id)
        .order_by(_c.chat_id)
    )  # fmt: skip
    return [Record(*row) for row in rows]


def bind(tx: Tx, chat_id: int, user_id: int, name: str, locale: str) -> Seat:
    """From now on: what was there before is read to its end and not told. A chat that is bound to the same user already
    stays as it is."""
    row = tx.execute(
        select(_c.user_id, _c.binding, _c.status).where(_c.chat_id == chat_id).with_for_update()
    ).one_or_none()
    values = {"name": name[:_LONGEST_NAME], "locale": locale, "changed_at": tx.now()}
    if row is not None and (row.user_id, row.status) == (user_id, BOUND):
        tx.execute(update(bot_chats).where(_c.chat_id == chat_id).values(**values))
    else:
        values |= {"user_id": user_id, "status": BOUND, "reason": None, "bound_at": tx.now()}
        if row is None:
            tx.execute(insert(bot_chats).values(chat_id=chat_id, binding=1, **values))
        else:
            tx.execute(update(bot_chats).where(_c.chat_id == chat_id).values(binding=row.binding + 1, **values))
        _begin(tx, chat_id, user_id)
    bound = seat(tx, chat_id)
    if bound is None:
        raise LookupError(f"chat {chat_id} was bound and is not")
    return bound


def _begin(tx: Tx, chat_id: int, user_id: int) -> None:
    """What another chat of the same user has read is surely past."""
    others = (
        select(func.max(_k.cursor))
        .join_from(bot_chats, bot_cursors, _c.chat_id == _k.chat_id)
        .where(_c.user_id == user_id, _c.status == BOUND, _c.chat_id != chat_id)
    )
    read = tx.execute(others).scalar() or 0
    tx.execute(delete(bot_cursors).where(_k.chat_id == chat_id))
    tx.execute(insert(bot_cursors).values(chat_id=chat_id, cursor=read, is_reading_up=True, saved_at=tx.now()))


def unbind(tx: Tx, chat_id: int, reason: str, binding: int | None = None) -> bool:
    """False if it was not bound, or not in this binding any more."""
    wanted = update(bot_chats).where(_c.chat_id == chat_id, _c.status == BOUND)
    if binding is not None:
        wanted = wanted.where(_c.binding == binding)
    done = tx.execute(wanted.values(status=UNBOUND, reason=reason[:_LONGEST_NAME], changed_at=tx.now()))
    if done.rowcount:
        tx.execute(delete(bot_cursors).where(_k.chat_id == chat_id))
    return done.rowcount == 1


def move(tx: Tx, before: int, after: int) -> bool:
    """A group became a supergroup: the same chat under another number, as far as it had read. Wherever the new number
    is bound already, that stays."""
    old = seat(tx, before)
    if old is None:
        return False
    new = seat(tx, after)
    unbind(tx, before, f"the chat is number {after} now")
    if new is not None:
        return True
    bind(tx, after, old.user_id, old.name, old.locale)
    tx.execute(
        update(bot_cursors).where(_k.chat_id == after).values(cursor=old.cursor, is_reading_up=old.is_reading_up)
    )
    return True


def is_current(tx: Tx, asked: Seat) -> bool:
    """Whether it is bound still, in this binding."""
    return bool(tx.read(_IS_CURRENT, {"chat": asked.chat_id, "binding": asked.binding}))


def advance(tx: Tx, moves: Sequence[Move]) -> list[bool]:
    """Which of them were made. One that was not is no error: the chat was unbound meanwhile, or bound anew."""
    now = tx.now()
    for each in moves:
        for passed in each.passed_over:
            _note(tx, each.seat, passed)
    with tx.together():
        counts = [tx.count(_ADVANCE, [_row(each, now)] if each.after >= each.before else []) for each in moves]
        return [count() == 1 for count in counts]


def _row(made: Move, now: datetime) -> dict[str, object]:
    return {
        "chat": made.seat.chat_id, "its_binding": made.seat.binding, "before": made.before, "after": made.after,
        "read_up_before": made.seat.is_reading_up,
        "reads_up": made.seat.is_reading_up and not made.is_read_up, "at": now,
    }  # fmt: skip


def _note(tx: Tx, where: Seat, passed: PassedOver) -> None:
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(bot_passed_over).values(
        chat_id=where.chat_id, user_id=where.user_id, event_id=passed.event_id, digest=passed.digest,
        reason=passed.reason, passed_at=tx.now(),
    )  # fmt: skip
    tx.execute(row.on_conflict_do_nothing(index_elements=["chat_id", "digest"]))


def prune(tx: Tx, before: datetime) -> int:
    """Of what was passed over, what nobody asks for any more."""
    return tx.execute(delete(bot_passed_over).where(bot_passed_over.c.passed_at < before)).rowcount
