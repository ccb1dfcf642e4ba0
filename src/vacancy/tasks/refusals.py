"""What is refused to somebody who sees the task: what it is, why, and what to do. The code is what programs go by."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from vacancy.errors import UserError


class Words(NamedTuple):
    message: str
    reason: str
    hint: str


FORBIDDEN_REPORT: Final = "TASK_FORBIDDEN_REPORT"
FORBIDDEN_APPROVE: Final = "TASK_FORBIDDEN_APPROVE"
FORBIDDEN_PATCH: Final = "TASK_FORBIDDEN_PATCH"
REPORT_ALREADY_SENT: Final = "TASK_CONFLICT_REPORT_ALREADY_SENT"
ACTION_STATUS: Final = "TASK_CONFLICT_ACTION_STATUS"
APPROVE_NO_REPORT: Final = "TASK_CONFLICT_APPROVE_NO_REPORT"
PATCH_STATUS: Final = "TASK_CONFLICT_PATCH_STATUS"
CODE_INVALID: Final = "TGBIND_CONFLICT_CODE_INVALID"

WORDS: Final[Mapping[str, Words]] = MappingProxyType({
    FORBIDDEN_REPORT: Words(
        "You may not report on this task.",
        "Only users of its executor's role report on it, and never whoever set it.",
        "Ask somebody of that role to report.",
    ),
    FORBIDDEN_APPROVE: Words(
        "You may not judge the report on this task.",
        "Only whoever set the task, a supervisor or a deputy judges it.",
        "Ask one of them to approve or to reject it.",
    ),
    FORBIDDEN_PATCH: Words(
        "You may not change this task.",
        "Only users of its executor's role change it, and never whoever set it.",
        "Ask somebody of that role to change it.",
    ),
    REPORT_ALREADY_SENT: Words(
        "A report was sent already.",
        "The task is not in a state that waits for one.",
        "Wait until it is approved or rejected; after a rejection a new report is taken.",
    ),
    ACTION_STATUS: Words(
        "The task is not in a state for this.",
        "Only a report that waits for approval can be approved or rejected.",
        "Look at the task again: it says what can be done now.",
    ),
    APPROVE_NO_REPORT: Words(
        "There is no report to approve.",
        "The task waits for approval, and its report is missing.",
        "Reject it, so that a report can be sent.",
    ),
    PATCH_STATUS: Words(
        "The task cannot be changed any more.",
        "Its words can be changed only while it is in progress.",
        "Say what is new in the report, or set a new task.",
    ),
    CODE_INVALID: Words(
        "This code is not good.",
        "It was used, is too old, was replaced by a newer one, or never was one.",
        "Ask for a new code, and send it within 30 minutes.",
    ),
})  # fmt: skip


def refusal(code: str, **context: object) -> UserError:
    return UserError(code, WORDS[code].message, context)
