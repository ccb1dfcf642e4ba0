"""What is asked and answered about tasks, field by field: snake_case, as their clients know it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from vacancy.model.tasks import LARGEST, Action, EventType, Kind, Scope, Status

_LONGEST_TEXT: Final = 10_000
_LONGEST_LINK: Final = 2000
_ONE_LINE: Final = r"^[^\x00-\x1f\x7f]*$"
_LINES: Final = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"


def _web_link(text: str) -> str:
    try:
        parts = urlsplit(text)
        _ = parts.port  # reading it is what checks it
    except ValueError as problem:
        raise ValueError("must be an address") from problem
    if parts.scheme not in ("http", "https") or not parts.hostname or any(mark in text for mark in ' "<>\\'):
        raise ValueError("must be an address that starts with http:// or https://")
    return text


def plain_digits(value: object) -> object:
    """Of the ways to write a number that are understood elsewhere, one."""
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise ValueError("must be a whole number, not below 0")
    return value


Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=_ONE_LINE)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, max_length=_LONGEST_TEXT, pattern=_LINES)]
Link = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=_LONGEST_LINK, pattern=_ONE_LINE),
    AfterValidator(_web_link),
]
# Not of a text or of true: what is no number in JSON names no role.
RoleId = Annotated[int, Field(ge=1, le=LARGEST, strict=True)]
Digits = BeforeValidator(plain_digits)


class Asked(BaseModel):
    """A misspelt field is refused."""

    model_config = ConfigDict(extra="forbid")


class TaskAsked(Asked):
    title: Title
    description: Words | None = None
    executor_role_id: RoleId = Field(description="Whoever has this role works on it.")
    assignment_scope: Scope = Field(default=Scope.FUNCTIONAL, description="`admin` hides it from its executor's role.")


class TaskPatched(Asked):
    """Only what is sent is changed."""

    title: Title | None = None
    description: Words | None = None
    assignment_scope: Scope | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("nothing to change: give title, description or assignment_scope")
        for name in ("title", "assignment_scope"):
            if name in self.model_fields_set and getattr(self, name) is None:
                raise ValueError(f"{name} must not be null")
        return self

    def wanted(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set}


class ActionAsked(Asked):
    report_link: Link | None = Field(default=None, description="Of a report, where it is needed: http(s).")
    current_comment: Words | None = Field(default=None, description="An empty one leaves what was said before.")


class CodeAsked(Asked):
    code: Annotated[str, StringConstraints(min_length=1, max_length=64)]


class ReportShown(BaseModel):
    report_id: int
    report_link: str
    current_comment: str
    submitted_by: int
    submitted_at: str
    approved_by: int | None
    approved_at: str | None


class TaskListed(BaseModel):
    task_id: int
    title: str
    description: str | None
    initiator_user_id: int
    executor_role_id: int
    assignment_scope: Scope
    status_code: Status
    created_at: str
    updated_at: str
    allowed_actions: list[Literal["update", Action.REPORT, Action.APPROVE, Action.REJECT]] = Field(
        description="What the caller may do with it now."
    )


class TaskShown(TaskListed):
    report: ReportShown | None


class TaskPage(BaseModel):
    """Newest first."""

    items: list[TaskListed]


class TaskEventShown(BaseModel):
    """Something that happened to a task. Never changes; numbered in the order of commits."""

    event_id: int
    task_id: int
    event_type: EventType
    actor_user_id: int
    actor_role_id: int
    created_at: str = Field(description="UTC, ISO 8601, milliseconds.")
    payload: dict[str, Any] = Field(
        description="`status_to` and `task_title`; `report_link` of a report; `current_comment` where one was given."
    )


class MeShown(BaseModel):
    user_id: int
    name: str
    role: str
    role_id: int
    role_kind: Kind


class CodeShown(BaseModel):
    code: str = Field(examples=["1A2B-3C4D"])
    expires_at: str


class TiedShown(BaseModel):
    user_id: int
    name: str
