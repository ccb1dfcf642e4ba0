"""Errors below /tasks, in the shape that their clients know: {"detail": …}. What is refused to somebody who sees the
task is an object with a code, what is malformed a list, anything else a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Scope

from vacancy.errors import CODES
from vacancy.tasks.refusals import WORDS

_ROOT: Final = "/tasks"
_ERRORS: Final = {403: "forbidden", 409: "conflict"}
_ALWAYS: Final = ("identity_unknown", "validation_failed", "rate_limited", "internal_error", "unavailable")


class TaskError(BaseModel):
    """Who asks is not known, there is no such task, or something is wrong on our side."""

    detail: str


class Refusal(BaseModel):
    model_config = ConfigDict(extra="allow")

    error: Literal["forbidden", "conflict"]
    message: str
    reason: str
    hint: str
    code: str = Field(description="Stable; what a program decides by.", examples=["TASK_CONFLICT_ACTION_STATUS"])
    task_id: int | None = None
    action: str | None = None
    current_status: str | None = None
    allowed_from: list[str] | None = Field(default=None, description="The states in which it would be possible.")
    status_to: str | None = None


class TaskRefused(BaseModel):
    """The caller sees the task, and may not do this: never (403), or not in the state that it is in (409)."""

    detail: Refusal


class Wrong(BaseModel):
    type: str
    loc: list[str | int]
    msg: str


class TaskInvalid(BaseModel):
    """The request cannot be read: an entry for each bad value."""

    detail: list[Wrong]


def speaks_detail(scope: Scope) -> bool:
    path = str(scope["path"])
    return path == _ROOT or path.startswith(f"{_ROOT}/")


def detail(code: str, message: str, details: Sequence[str] | Mapping[str, Any] | None) -> object:
    if code == "validation_failed":
        return _wrongs(message, details)
    if code not in WORDS:
        return message
    words, context = WORDS[code], details if isinstance(details, Mapping) else {}
    return {
        "error": _ERRORS[CODES[code].status], "message": words.message, "reason": words.reason, "hint": words.hint,
        "code": code, **context,
    }  # fmt: skip


def _wrongs(message: str, details: Sequence[str] | Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What the framework found, or our own lines, which are about the query. What was sent is not repeated."""
    if isinstance(details, Mapping):
        return [{"type": wrong.get("type", "value_error"), "loc": wrong["loc"], "msg": wrong["msg"]}
                for wrong in details["wrongs"]]  # fmt: skip
    lines = [line.partition(": ") for line in details or ()]
    if not lines:
        return [{"type": "value_error", "loc": ["body"], "msg": message}]
    return [{"type": "value_error", "loc": ["query", name], "msg": problem} for name, _, problem in lines]


def told(*codes: str) -> dict[int | str, dict[str, Any]]:
    """These codes, and those of every route here, as FastAPI wants its `responses`."""
    found: dict[int | str, dict[str, Any]] = {}
    for code in dict.fromkeys([*_ALWAYS, *codes]):
        entry = found.setdefault(CODES[code].status, {"model": _shape(code), "description": ""})
        entry["description"] = f"{entry['description']} `{code}`: {CODES[code].summary}".strip()
    return found


def _shape(code: str) -> type[BaseModel]:
    if code == "validation_failed":
        return TaskInvalid
    return TaskRefused if code in WORDS else TaskError
