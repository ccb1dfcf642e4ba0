"""What a mail sender is handed, and what it answers: seed 001's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

ErrorCode = Literal[
    "validation_error", "template_missing_locale", "template_variable_missing", "invalid_recipient", "rate_limited",
    "unauthorized", "network_error", "provider_error", "unknown",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class MailMessage:
    """Laid out and ready: `raw` is the whole message as SMTP sends it; the parts are for providers with an API."""

    to: str
    sender: str
    subject: str
    text: str
    html: str
    locale: str
    template_id: str
    template_version: str
    message_id: str  # without its brackets; the same on every try
    dedupe_key: str
    trace_id: str
    raw: bytes
    reply_to: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)  # List-Unsubscribe and its like
    metadata: Mapping[str, str] = field(default_factory=dict)  # subscriptionId, openEventId, term, campus, …


@dataclass(frozen=True, slots=True)
class SendError:
    code: ErrorCode
    message: str
    detail: str = ""  # what the provider answered, in numbers alone
    bounced: bool = False  # there is no such address, and there will be none


@dataclass(frozen=True, slots=True)
class SendResult:
    """`begun` tells whether a recipient was named: before that it is the channel's trouble, after it its own."""

    status: Literal["sent", "retryable", "failed"]
    provider: str
    attempt: int
    duration_ms: int
    sent_at: datetime | None = None
    provider_message_id: str | None = None
    retry_after_s: float | None = None
    error: SendError | None = None
    begun: bool = True


class MailSender(Protocol):
    """Takes one mail. An operating condition is a result, never an exception."""

    provider: str

    async def send(self, message: MailMessage) -> SendResult: ...

    async def verify(self) -> SendResult:
        """Whether it would take mail: a connection and a login, no message."""

    async def close(self) -> None: ...
