"""`task_events`: append-only, numbered in commit order, each with the audience that it had when it happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, and_, bindparam, delete, func, insert, literal, or_, select, text, tuple_

from vacancy.clock import later
from vacancy.model.tasks import OVERSEERS, EventType, Scope, Task, TaskEvent, User
from vacancy.store.engine import Tx
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema_tasks import roles, task_event_recipients, task_events, users

_e: Final = task_events.c
_p: Final = task_event_recipients.c
_ALL: Final = (
    _e.event_id, _e.task_id, _e.event_type, _e.actor_user_id, _e.actor_role_id, _e.created_at, _e.payload
)  # fmt: skip
_ONE_TELLER: Final = text("SELECT pg_advisory_xact_lock(7310592052)")
_OF_USER: Final = PreparedSelect(
    select(*_ALL)
    .join_from(task_event_recipients, task_events, _p.event_id == _e.event_id)
    .where(_p.user_id == bindparam("user"), _p.event_id > bindparam("after", type_=BigInteger))
    .order_by(_p.event_id)
    .limit(bindparam("most"))
)
_OLDEST: Final = select(func.min(_e.event_id), func.max(_e.event_id))
_A_DAY_S: Final = 86_400.0


def append(tx: Tx, now: datetime, task: Task, event: EventType, actor: User, payload: Mapping[str, Any]) -> int:
    """`task` is as the event leaves it: whoever may see that is the audience, for good."""
    if tx.dialect == "postgresql":
        # Until the commit: whoever draws a number after us commits after us, so a cursor never skips an event.
        tx.execute(_ONE_TELLER)
    row = insert(task_events).values(
        task_id=task.task_id, event_type=event, actor_user_id=actor.user_id, actor_role_id=actor.role_id,
        created_at=now, payload=payload,
    )  # fmt: skip
    number = int(tx.execute(row.returning(_e.event_id)).scalar_one())
    _tell(tx, task, number)
    return number


def _tell(tx: Tx, task: Task, number: int) -> None:
    """`tasks.access.may_see` over all users, in SQL; a test compares the two."""
    sees = [users.c.user_id == task.initiator_user_id, roles.c.kind.in_(OVERSEERS)]
    if task.assignment_scope is Scope.FUNCTIONAL:
        sees.append(users.c.role_id == task.executor_role_id)
    audience = (
        select(users.c.user_id, literal(number, BigInteger))
        .join_from(users, roles, users.c.role_id == roles.c.role_id)
        .where(and_(users.c.is_active, or_(*sees)))
    )
    tx.execute(insert(task_event_recipients).from_select(["user_id", "event_id"], audience))


def of_user(tx: Tx, user_id: int, after: int, limit: int) -> Sequence[TaskEvent]:
    """Ascending. What was told stays told, whatever becomes of the task, or of the user's role."""
    return [TaskEvent(*row) for row in tx.read(_OF_USER, {"user": user_id, "after": after, "most": limit})]


def of_task(tx: Tx, task_id: int, after: int, limit: int) -> Sequence[TaskEvent]:
    """Ascending."""
    query = select(*_ALL).where(_e.task_id == task_id, _e.event_id > after).order_by(_e.event_id).limit(limit)
    return [TaskEvent(*row) for row in tx.execute(query)]


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    """Oldest first, as far as the first that is young; in bites, for an event may have had many to hear of it."""
    oldest, newest = tx.execute(_OLDEST).one()
    young = select(_e.event_id).where(_e.created_at.between(before, later(tx.now(), _A_DAY_S)))
    first_young = tx.execute(young.order_by(_e.event_id).limit(1)).scalar()
    if oldest is None or oldest == first_young:
        return 0
    upto = min(newest if first_young is None else first_young - 1, oldest + at_most - 1)
    some = select(_p.user_id, _p.event_id).where(_p.event_id <= upto).limit(at_most)
    gone = tx.execute(delete(task_event_recipients).where(tuple_(_p.user_id, _p.event_id).in_(some))).rowcount
    if gone == at_most:
        return gone
    return gone + tx.execute(delete(task_events).where(_e.event_id <= upto)).rowcount
