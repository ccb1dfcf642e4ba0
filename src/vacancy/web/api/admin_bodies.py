"""What is asked and answered below /api/admin, field by field."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

_NO_CONTROL = r"^[^\x00-\x1f\x7f]*$"
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=_NO_CONTROL)]
ChannelName = Annotated[str, StringConstraints(pattern=r"^[a-z]{1,16}$")]
ErrorCode = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_]{1,64}$")]
Status = Literal["pending", "sent", "skipped", "failed", "expired"]


class _Asked(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class RequeueAsked(_Asked):
    """Dead letters: all of them, or only these."""

    channel: ChannelName | None = None
    code: ErrorCode | None = Field(default=None, description="The code that they failed with.")


class StopAsked(_Asked):
    reason: Reason = Field(default="by hand", description="Kept, and shown to whoever wonders.")


class _Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class MessageShown(_Shown):
    """A row of the queue. Never a contact in clear, and no token."""

    notification_id: int
    kind: str = Field(description="`alert`, `verification` or `notice`.")
    channel: str
    status: Status
    standing: str = Field(description="How it stands, in a sentence: what it waits for, why it failed.")
    contact: str | None = Field(description="Masked; null where it was erased.")
    topic: str
    subject: str = Field(description="What it is about, in a few words.")
    subscription_id: int
    subscription_status: str
    open_event_id: int | None
    event_at: str | None
    attempts: int
    created_at: str
    last_attempt_at: str | None
    not_before: str | None
    locked_by: str | None = Field(description="Whose hand it is in.")
    locked_at: str | None
    provider_message_id: str | None
    error: dict[str, Any] | None = Field(description="What the last try came to: `code`, `message`, and more.")


class NoteShown(_Shown):
    at: str
    event: str
    status: str | None = Field(description="Of what it waits for, as known then.")
    payload: dict[str, Any]


class MessageWhole(MessageShown):
    dedupe_key: str
    outbox_id: int | None = Field(description="The mail, where mails are kept in the outbox.")
    audit: list[NoteShown] = Field(description="All that happened to its subscription.")


class MessagePage(_Shown):
    items: list[MessageShown]
    next_after_id: int = Field(description="Hand it back as `after_id`; an empty page gives the cursor back.")


class RequeuedShown(_Shown):
    requeued: int
    trace_id: str


class SendingShown(_Shown):
    stopped: bool
    reason: str | None
    since: str | None


class MailShown(_Shown):
    outbox_id: int
    created_at: str
    to_address: str
    subject: str
    template_id: str
    locale: str
    message_id: str


class MailWhole(MailShown):
    trace_id: str
    text: str
    html: str


class MailPage(_Shown):
    items: list[MailShown]
    next_before_id: int | None = Field(description="Hand it back as `before_id`; null when there is no older one.")
