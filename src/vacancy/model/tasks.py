"""Who works on what: the states of a task, its moves, and whom the rules speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

LARGEST: Final = 2**63 - 1


class Kind(StrEnum):
    """What a role may do beyond its own tasks."""

    EXECUTOR = "executor"
    SUPERVISOR = "supervisor"
    DEPUTY = "deputy"
    DIRECTOR = "director"


# They see every task, and judge every report.
OVERSEERS: Final = (Kind.SUPERVISOR, Kind.DEPUTY)


class Scope(StrEnum):
    FUNCTIONAL = "functional"
    ADMIN = "admin"  # its executor's role does not see it


class Status(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    WAITING_REPORT = "WAITING_REPORT"
    WAITING_APPROVAL = "WAITING_APPROVAL"
    DONE = "DONE"
    ARCHIVED = "ARCHIVED"


class Action(StrEnum):
    REPORT = "report"
    APPROVE = "approve"
    REJECT = "reject"


class EventType(StrEnum):
    REPORT_SUBMITTED = "REPORT_SUBMITTED"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


@dataclass(frozen=True, slots=True)
class Move:
    """What an action does to a task, and what is told of it."""

    of: tuple[Status, ...]
    to: Status
    event: EventType


# Every move that is told of; a test draws the same table in docs/states.md. Archiving leads from anywhere to ARCHIVED.
MOVES: Final[Mapping[Action, Move]] = {
    Action.REPORT: Move(
        (Status.IN_PROGRESS, Status.WAITING_REPORT), Status.WAITING_APPROVAL, EventType.REPORT_SUBMITTED
    ),
    Action.APPROVE: Move((Status.WAITING_APPROVAL,), Status.DONE, EventType.APPROVED),
    Action.REJECT: Move((Status.WAITING_APPROVAL,), Status.WAITING_REPORT, EventType.REJECTED),
}


@dataclass(frozen=True, slots=True)
class Role:
    role_id: int
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class User:
    """`kind` is that of the role."""

    user_id: int
    name: str
    role_id: int
    role_name: str
    kind: Kind
    is_active: bool

    @property
    def oversees(self) -> bool:
        return self.kind in OVERSEERS


@dataclass(frozen=True, slots=True)
class Task:
    task_id: int
    title: str
    description: str | None
    initiator_user_id: int
    executor_role_id: int
    assignment_scope: Scope
    status_code: Status
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Report:
    """The last one. An approval is its own only while the task is done by it."""

    report_id: int
    report_link: str
    current_comment: str
    submitted_by: int
    submitted_at: datetime
    approved_by: int | None
    approved_at: datetime | None


@dataclass(frozen=True, slots=True)
class TaskEvent:
    event_id: int
    task_id: int
    event_type: str
    actor_user_id: int
    actor_role_id: int
    created_at: datetime
    payload: Mapping[str, Any]
