"""Mail through SendGrid's API."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parseaddr
from typing import Any, Final

import aiohttp
import msgspec

from vacancy.channels.attempt import Attempt
from vacancy.channels.mail import MailMessage, SendResult
from vacancy.clock import Clock
from vacancy.logs import MASK, redact_text
from vacancy.net.client import Client, NetTrouble, Reach, Response
from vacancy.net.headers import retry_after_s

PROVIDER: Final = "sendgrid"
RATE_WAIT_S: Final = 30.0
MAX_ANSWER: Final = 64 * 1024
LONGEST_REPLY: Final = 200
MAY_SEND: Final = "mail.send"
# It would write the links anew, ours with their tokens among them, and put a picture in that tells who read the mail.
_NO_TRACKING: Final = {name: {"enable": False} for name in ("click_tracking", "open_tracking", "subscription_tracking")}
_NOT_CONNECTED: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)


class SendgridSender:
    provider = PROVIDER

    def __init__(self, client: Client, clock: Clock, *, base_url: str, api_key: str, timeout_s: float) -> None:
        self._client = client
        self._clock = clock
        self._base_url = base_url
        self._key = api_key
        self._timeout_s = timeout_s

    async def send(self, message: MailMessage) -> SendResult:
        attempt = Attempt.begin(PROVIDER, self._clock)
        try:
            answer = await self._client.post(
                f"{self._base_url}/v3/mail/send",
                reach=Reach.UPSTREAM,
                timeout_s=self._timeout_s,
                max_bytes=MAX_ANSWER,
                body=msgspec.json.encode(body_of(message)),
                content_type="application/json",
                headers={**self._identity(), "X-Trace-Id": message.trace_id},
            )
        except NetTrouble as trouble:
            return _unanswered(attempt, trouble)
        if answer.status == 202:
            return attempt.sent(answer.headers.get("x-message-id") or message.message_id)
        return self._refused(attempt, answer, message.to)

    async def verify(self) -> SendResult:
        """What the key may do, asked of the key: a mail is not needed for that."""
        attempt = Attempt.begin(PROVIDER, self._clock)
        try:
            answer = await self._client.get(
                f"{self._base_url}/v3/scopes",
                reach=Reach.UPSTREAM,
                timeout_s=self._timeout_s,
                max_bytes=MAX_ANSWER,
                headers=self._identity(),
            )
        except NetTrouble as trouble:
            return _unanswered(attempt, trouble)
        if answer.status != 200:
            return self._refused(attempt, answer)
        scopes = _read(answer.body).get("scopes")
        if isinstance(scopes, list) and MAY_SEND not in scopes:
            return attempt.failed("unauthorized", f"sendgrid: the key lacks the scope {MAY_SEND}", begun=False)
        return attempt.sent()

    async def close(self) -> None:
        """The client belongs to the house."""

    def _identity(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self._key}"}

    def _refused(self, attempt: Attempt, answer: Response, recipient: str = "") -> SendResult:
        status, detail = answer.status, str(answer.status)
        message = f"sendgrid answered {status} {self._reason(answer, recipient)}".strip()
        if status == 429:
            after = retry_after_s(answer.headers.get("Retry-After"), answer.received_at)
            after = RATE_WAIT_S if after is None else after
            return attempt.retryable("rate_limited", message, detail=detail, after_s=after, begun=False)
        if status >= 500:
            after = retry_after_s(answer.headers.get("Retry-After"), answer.received_at)
            return attempt.retryable("provider_error", message, detail=detail, after_s=after)
        if status in (401, 403):
            return attempt.failed("unauthorized", message, detail=detail, begun=False)
        return attempt.failed("provider_error" if status >= 400 else "unknown", message, detail=detail)

    def _reason(self, answer: Response, recipient: str) -> str:
        """The first of its complaints, without what was complained about."""
        errors = _read(answer.body).get("errors")
        first = errors[0] if isinstance(errors, list) and errors else {}
        text = first.get("message") if isinstance(first, dict) else None
        if not isinstance(text, str):
            return ""
        for word in filter(None, (recipient, self._key)):
            text = text.replace(word, MASK)
        return redact_text(" ".join(text.split()))[:LONGEST_REPLY]


def body_of(message: MailMessage) -> Mapping[str, Any]:
    body: dict[str, Any] = {
        "personalizations": [{"to": [{"email": message.to}]}],
        "from": _party(message.sender),
        "subject": message.subject,
        # In this order, or it is refused.
        "content": [{"type": "text/plain", "value": message.text}, {"type": "text/html", "value": message.html}],
        "headers": {
            **message.headers,
            "Message-ID": f"<{message.message_id}>",
            "X-Trace-Id": message.trace_id,
        },
        "custom_args": {
            "dedupe_key": message.dedupe_key,
            "trace_id": message.trace_id,
            "template_version": message.template_version,
            "subscription_id": str(message.metadata.get("subscriptionId", "")),
            "open_event_id": str(message.metadata.get("openEventId", "")),
        },
        "tracking_settings": _NO_TRACKING,
    }
    if message.reply_to:
        body["reply_to"] = _party(message.reply_to)
    return body


def _party(text: str) -> Mapping[str, str]:
    name, address = parseaddr(text)
    return {"email": address, "name": name} if name else {"email": address}


def _unanswered(attempt: Attempt, trouble: NetTrouble) -> SendResult:
    """Once the connection stood it may have taken the mail, whether or not we heard so."""
    connected = trouble.kind != "refused" and not isinstance(trouble.__context__, _NOT_CONNECTED)
    return attempt.retryable("network_error", trouble.message, begun=connected)


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}
