"""`tasks`, their reports, and their audit. Every move is a compare-and-set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, case, insert, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.errors import StoreError
from vacancy.model.tasks import Report, Scope, Status, Task, User
from vacancy.store.engine import Tx
from vacancy.store.schema_tasks import task_audit_log, task_reports, tasks

_c: Final = tasks.c
_r: Final = task_reports.c
_ALL: Final = (
    _c.task_id, _c.title, _c.description, _c.initiator_user_id, _c.executor_role_id, _c.assignment_scope,
    _c.status_code, _c.created_at, _c.updated_at,
)  # fmt: skip
_REPORT: Final = (
    _r.report_id, _r.report_link, _r.current_comment, _r.submitted_by, _r.submitted_at, _r.approved_by, _r.approved_at
)  # fmt: skip


def find(tx: Tx, task_id: int, *, to_change: bool = False) -> Task | None:
    """`to_change`: on PostgreSQL it stays ours until the commit."""
    query = select(*_ALL).where(_c.task_id == task_id)
    row = tx.execute(query.with_for_update() if to_change else query).one_or_none()
    return _task(row) if row else None


def visible(
    tx: Tx, user: User, limit: int, status: Status | None, before: int | None, *, archived: bool
) -> Sequence[Task]:  # fmt: skip
    """Newest first."""
    query = select(*_ALL).where(_may_see(user))
    if status is not None:
        query = query.where(_c.status_code == status)
    elif not archived:
        query = query.where(_c.status_code != Status.ARCHIVED)
    if before is not None:
        query = query.where(_c.task_id < before)
    return [_task(row) for row in tx.execute(query.order_by(_c.task_id.desc()).limit(limit))]


def _may_see(user: User) -> ColumnElement[bool]:
    """`tasks.access.may_see` in SQL; a test compares the two."""
    if user.oversees:
        return true()
    as_executor = and_(_c.executor_role_id == user.role_id, _c.assignment_scope == Scope.FUNCTIONAL)
    return or_(_c.initiator_user_id == user.user_id, as_executor)


def add(
    tx: Tx, now: datetime, title: str, description: str | None, initiator: int, executor_role_id: int, scope: Scope
) -> int:  # fmt: skip
    row = insert(tasks).values(
        title=title, description=description, initiator_user_id=initiator, executor_role_id=executor_role_id,
        assignment_scope=scope, status_code=Status.IN_PROGRESS, created_at=now, updated_at=now,
    )  # fmt: skip
    return int(tx.execute(row.returning(_c.task_id)).scalar_one())


def move(tx: Tx, now: datetime, task: Task, to: Status) -> None:
    _change(tx, task, {"status_code": to, "updated_at": now})


def rewrite(tx: Tx, now: datetime, task: Task, values: Mapping[str, Any]) -> None:
    _change(tx, task, {**values, "updated_at": now})


def _change(tx: Tx, task: Task, values: Mapping[str, Any]) -> None:
    """Only from the state in which it was judged."""
    changed = tx.execute(
        update(tasks).where(_c.task_id == task.task_id, _c.status_code == task.status_code).values(values)
    )
    if changed.rowcount != 1:
        raise StoreError(f"task {task.task_id} is not {task.status_code} any more, although its row was locked")


def report_of(tx: Tx, task_id: int) -> Report | None:
    row = tx.execute(select(*_REPORT).where(_r.task_id == task_id)).one_or_none()
    return Report(*row) if row else None


def report(tx: Tx, now: datetime, task_id: int, by: int, link: str, comment: str) -> None:
    """One row a task: it takes the place of the last one, and whoever approved that has approved nothing of this. An
    empty comment leaves the last word that was said."""
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(task_reports).values(
        task_id=task_id, report_link=link, current_comment=comment, submitted_by=by, submitted_at=now
    )
    given = row.excluded
    tx.execute(row.on_conflict_do_update(index_elements=["task_id"], set_={
        "report_link": given.report_link, "submitted_by": given.submitted_by, "submitted_at": given.submitted_at,
        "current_comment": case((given.current_comment == "", _r.current_comment), else_=given.current_comment),
        "approved_by": None, "approved_at": None,
    }))  # fmt: skip


def judge_report(tx: Tx, report: Report, comment: str, by: int | None, at: datetime | None) -> None:
    """`by` and `at` of an approval; None of a rejection."""
    said = {"current_comment": comment} if comment else {}
    judged = tx.execute(
        update(task_reports).where(_r.report_id == report.report_id).values(approved_by=by, approved_at=at, **said)
    )
    if judged.rowcount != 1:
        raise StoreError(f"report {report.report_id} is gone, although its task was locked")


def audit(tx: Tx, now: datetime, task_id: int, actor: User, action: str, changed: Mapping[str, Any]) -> None:
    tx.execute(insert(task_audit_log).values(
        task_id=task_id, actor_user_id=actor.user_id, actor_role_id=actor.role_id, action=action,
        fields_changed=changed, created_at=now,
    ))  # fmt: skip


def _task(row: Any) -> Task:
    task_id, title, description, initiator, role_id, scope, status, created_at, updated_at = row
    return Task(task_id, title, description, initiator, role_id, Scope(scope), Status(status), created_at, updated_at)
