"""One error tree. What a user can meet stands in one table with a stable code.

VacancyError
├── UserError            has a code from CODES; the web answers with its status, commands exit with 2
├── SettingsError        a wrong setting: stops the start with one line
└── StoreError           the database is not usable: wrong schema, no access
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


class VacancyError(Exception):
    """Everything we raise on purpose. The message is one line that says what is wrong, where, and what to do."""


class SettingsError(VacancyError):
    pass


class StoreError(VacancyError):
    pass


@dataclass(frozen=True, slots=True)
class Code:
    status: int
    summary: str


CODES: Final[Mapping[str, Code]] = {
    "validation_failed": Code(422, "The request has a value that cannot be used; details name each one."),
    "not_found": Code(404, "There is nothing at this address."),
    "method_not_allowed": Code(405, "This address does not take that method."),
    "section_not_found": Code(404, "No such term, campus or section."),
    "section_conflict": Code(409, "The section belongs to another campus; details name it."),
    "invalid_contact": Code(400, "The contact is not one of its type; details say why."),
    "channel_unavailable": Code(400, "Contacts of this type cannot be reached here."),
    "contact_suppressed": Code(403, "Messages to this contact came back, or it asked for none; it is not written to."),
    "contact_mismatch": Code(400, "The contact is not that of the subscription."),
    "subscription_not_found": Code(404, "There is no such subscription, or the token is not its own."),
    "subscription_ended": Code(409, "The subscription has ended; subscribe anew."),
    "illegal_move": Code(409, "A subscription in this state cannot become that."),
    "link_invalid": Code(400, "The link is not one of ours; it may have been cut off."),
    "link_expired": Code(410, "The link is too old, or was used already; ask for a new one."),
    "idempotency_conflict": Code(409, "The same Idempotency-Key came with another request before."),
    "target_not_found": Code(404, "No such target is polled here."),
    "cursor_expired": Code(410, "The cursor is older than what is kept; details name the oldest event."),
    "not_held": Code(409, "No answer of this target is held back."),
    "unauthorized": Code(401, "A token is needed here, and this is not it."),
    "admin_closed": Code(403, "No `web.admin_token` is set, so what is the operator's alone is closed."),
    "message_not_found": Code(404, "The queue has no such message."),
    "mail_not_found": Code(404, "The outbox has no such mail."),
    "message_in_hand": Code(409, "The message is being sent this moment; try again when that has ended."),
    "message_sent": Code(409, "The message was sent, and is not sent twice."),
    "identity_unknown": Code(401, "Nobody known asks: `X-User-Id`, and the service token, are needed."),
    "task_not_found": Code(404, "No such task, or it is not for the caller to see."),
    "TASK_FORBIDDEN_REPORT": Code(403, "Only the executor's role reports, and never whoever set the task."),
    "TASK_FORBIDDEN_APPROVE": Code(403, "Only whoever set the task, a supervisor or a deputy judges it."),
    "TASK_FORBIDDEN_PATCH": Code(403, "Only the executor's role changes it, and never whoever set the task."),
    "TASK_CONFLICT_REPORT_ALREADY_SENT": Code(409, "The task does not wait for a report."),
    "TASK_CONFLICT_ACTION_STATUS": Code(409, "The task does not wait for approval."),
    "TASK_CONFLICT_APPROVE_NO_REPORT": Code(409, "There is no report to approve."),
    "TASK_CONFLICT_PATCH_STATUS": Code(409, "The task is not in progress any more."),
    "TGBIND_CONFLICT_CODE_INVALID": Code(409, "The code was used, is too old, or never was one."),
    "rate_limited": Code(429, "Too many requests; Retry-After says when to come back."),
    "too_many_streams": Code(503, "All streams are taken; Retry-After says when to come back."),
    "unavailable": Code(503, "The service cannot answer right now; try again shortly."),
    "internal_error": Code(500, "Something went wrong on our side; the trace id finds it in the log."),
}


class UserError(VacancyError):
    """Something a user can mend. `details` are lines such as `limit: must be at most 200`."""

    def __init__(self, code: str, message: str, details: Sequence[str] | Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details

    @property
    def status(self) -> int:
        return CODES[self.code].status
