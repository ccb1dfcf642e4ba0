"""Who sees a task, and who may do what with it. Pure; `store.tasks` and `store.task_events` have the first in SQL too.

Directors oversee nothing: what they could not open, they are not told of either.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacancy.model.tasks import MOVES, Action, Scope, Status, Task, User

UPDATE = "update"


def may_see(user: User, task: Task) -> bool:
    return _is_initiator(user, task) or user.oversees or (_executes(user, task) and _is_functional(task))


def may_report(user: User, task: Task) -> bool:
    """The same for changing its words: nobody reports to himself."""
    return _executes(user, task) and not _is_initiator(user, task)


def may_judge(user: User, task: Task) -> bool:
    return _is_initiator(user, task) or user.oversees


def may_archive(user: User, task: Task) -> bool:
    return _is_initiator(user, task)


def allowed_actions(user: User, task: Task) -> Sequence[str]:
    if not may_see(user, task):
        return []
    if may_report(user, task) and task.status_code in MOVES[Action.REPORT].of:
        return [UPDATE, Action.REPORT] if task.status_code is Status.IN_PROGRESS else [Action.REPORT]
    if may_judge(user, task) and task.status_code is Status.WAITING_APPROVAL:
        return [Action.APPROVE, Action.REJECT]
    return []


def _is_initiator(user: User, task: Task) -> bool:
    return user.user_id == task.initiator_user_id


def _executes(user: User, task: Task) -> bool:
    return user.role_id == task.executor_role_id


def _is_functional(task: Task) -> bool:
    return task.assignment_scope is Scope.FUNCTIONAL
