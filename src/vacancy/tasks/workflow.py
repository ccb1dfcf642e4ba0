"""What becomes of a task. Each step is one transaction: the change, its audit, its event, and who is to hear of that.

Checked in this order: who asks, whether he sees the task, whether he may do it, whether the task is in a state for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vacancy.errors import UserError
from vacancy.model.tasks import MOVES, Action, EventType, Report, Scope, Status, Task, TaskEvent, User
from vacancy.store import people, task_events
from vacancy.store import tasks as rows
from vacancy.store.engine import Tx
from vacancy.tasks import access, refusals
from vacancy.tasks.refusals import refusal

_CREATE: Final = "create"
_ARCHIVE: Final = "archive"
_PATCH: Final = "patch"


@dataclass(frozen=True, slots=True)
class Seen:
    """A task as somebody sees it."""

    task: Task
    report: Report | None
    allowed_actions: Sequence[str]


def caller(tx: Tx, user_id: int) -> User:
    user = people.find_user(tx, user_id)
    if user is None or not user.is_active:
        raise UserError("identity_unknown", "X-User-Id names no active user.")
    return user


def look(tx: Tx, user_id: int, task_id: int, *, archived: bool) -> Seen:
    user = caller(tx, user_id)
    return _seen(tx, user, _visible(tx, user, task_id, archived=archived))


def listing(
    tx: Tx, user_id: int, limit: int, status: Status | None, before: int | None, *, archived: bool
) -> list[Seen]:  # fmt: skip
    """Newest first, without their reports."""
    user = caller(tx, user_id)
    found = rows.visible(tx, user, limit, status, before, archived=archived)
    return [Seen(task, None, access.allowed_actions(user, task)) for task in found]


def feed(tx: Tx, user_id: int, after: int, limit: int) -> Sequence[TaskEvent]:
    """All that this user was to hear of when it happened."""
    return task_events.of_user(tx, caller(tx, user_id).user_id, after, limit)


def history(tx: Tx, user_id: int, task_id: int, after: int, limit: int, *, archived: bool) -> Sequence[TaskEvent]:
    _visible(tx, caller(tx, user_id), task_id, archived=archived)
    return task_events.of_task(tx, task_id, after, limit)


def create(tx: Tx, user_id: int, title: str, description: str | None, executor_role_id: int, scope: Scope) -> Seen:
    user, now = caller(tx, user_id), tx.now()
    if people.find_role(tx, executor_role_id) is None:
        line = "executor_role_id: there is no such role"
        raise UserError("validation_failed", line, [line])
    task_id = rows.add(tx, now, title, description, user_id, executor_role_id, scope)
    rows.audit(tx, now, task_id, user, _CREATE, {})
    return _reread(tx, user, task_id)


def patch(tx: Tx, user_id: int, task_id: int, wanted: Mapping[str, Any]) -> Seen:
    user, now = caller(tx, user_id), tx.now()
    task = _visible(tx, user, task_id, to_change=True)
    if not access.may_report(user, task):
        raise refusal(refusals.FORBIDDEN_PATCH, task_id=task_id)
    if task.status_code is not Status.IN_PROGRESS:
        raise refusal(refusals.PATCH_STATUS, task_id=task_id, current_status=task.status_code)
    changed = {name: {"from": getattr(task, name), "to": value} for name, value in wanted.items()
               if getattr(task, name) != value}  # fmt: skip
    if changed:
        rows.rewrite(tx, now, task, {name: each["to"] for name, each in changed.items()})
        rows.audit(tx, now, task_id, user, _PATCH, changed)
    return _reread(tx, user, task_id)


def archive(tx: Tx, user_id: int, task_id: int) -> None:
    """Who did not set the task is told that there is none, also where he sees it. Archiving again changes nothing."""
    user = caller(tx, user_id)
    task = _visible(tx, user, task_id, archived=True, to_change=True)
    if not access.may_archive(user, task):
        raise _no_task(task_id)
    if task.status_code is not Status.ARCHIVED:
        _move(tx, user, task, _ARCHIVE, Status.ARCHIVED)


def report(tx: Tx, user_id: int, task_id: int, link: str, comment: str) -> Seen:
    user, now = caller(tx, user_id), tx.now()
    task = _visible(tx, user, task_id, to_change=True)
    if not access.may_report(user, task):
        raise refusal(refusals.FORBIDDEN_REPORT, task_id=task_id)
    move = MOVES[Action.REPORT]
    if task.status_code not in move.of:
        raise refusal(refusals.REPORT_ALREADY_SENT, **_conflict(task, Action.REPORT))
    rows.report(tx, now, task_id, user_id, link, comment)
    moved = _move(tx, user, task, Action.REPORT, move.to)
    _tell(tx, user, moved, move.event, {"report_link": link, **_said(comment)})
    return _reread(tx, user, task_id)


def approve(tx: Tx, user_id: int, task_id: int, comment: str) -> Seen:
    return _judge(tx, user_id, task_id, comment, Action.APPROVE)


def reject(tx: Tx, user_id: int, task_id: int, comment: str) -> Seen:
    return _judge(tx, user_id, task_id, comment, Action.REJECT)


def _judge(tx: Tx, user_id: int, task_id: int, comment: str, action: Action) -> Seen:
    user, now = caller(tx, user_id), tx.now()
    task = _visible(tx, user, task_id, to_change=True)
    if not access.may_judge(user, task):
        raise refusal(refusals.FORBIDDEN_APPROVE, task_id=task_id, action=action)
    move = MOVES[action]
    if task.status_code not in move.of:
        raise refusal(refusals.ACTION_STATUS, **_conflict(task, action))
    last = rows.report_of(tx, task_id)
    approves = action is Action.APPROVE
    if last is not None:
        rows.judge_report(tx, last, comment, *((user_id, now) if approves else (None, None)))
    elif approves:
        raise refusal(refusals.APPROVE_NO_REPORT, **_conflict(task, action))
    moved = _move(tx, user, task, action, move.to)
    _tell(tx, user, moved, move.event, _said(comment))
    return _reread(tx, user, task_id)


def _move(tx: Tx, user: User, task: Task, action: str, to: Status) -> Task:
    rows.move(tx, tx.now(), task, to)
    rows.audit(tx, tx.now(), task.task_id, user, action, {"status_code": {"from": task.status_code, "to": to}})
    return replace(task, status_code=to)


def _tell(tx: Tx, user: User, task: Task, event: EventType, payload: Mapping[str, Any]) -> None:
    told = {**payload, "status_to": task.status_code, "task_title": task.title}
    task_events.append(tx, tx.now(), task, event, user, told)


def _said(comment: str) -> dict[str, str]:
    """What nobody said is left out."""
    return {"current_comment": comment} if comment else {}


def _visible(tx: Tx, user: User, task_id: int, *, archived: bool = False, to_change: bool = False) -> Task:
    task = rows.find(tx, task_id, to_change=to_change)
    if task is None or not access.may_see(user, task) or (task.status_code is Status.ARCHIVED and not archived):
        raise _no_task(task_id)
    return task


def _no_task(task_id: int) -> UserError:
    """The same whether there is none or it is not for these eyes."""
    return UserError("task_not_found", f"There is no task {task_id}, or it is not yours to see.")


def _conflict(task: Task, action: Action) -> dict[str, Any]:
    return {
        "task_id": task.task_id, "action": action, "current_status": task.status_code,
        "allowed_from": sorted(MOVES[action].of), "status_to": MOVES[action].to,
    }  # fmt: skip


def _reread(tx: Tx, user: User, task_id: int) -> Seen:
    task = rows.find(tx, task_id)
    if task is None:
        raise _no_task(task_id)
    return _seen(tx, user, task)


def _seen(tx: Tx, user: User, task: Task) -> Seen:
    return Seen(task, rows.report_of(tx, task.task_id), access.allowed_actions(user, task))
