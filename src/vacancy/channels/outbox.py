"""Mails as rows, that a page shows: a first run needs no mail server."""

from __future__ import annotations

from typing import Final

from vacancy.channels.attempt import Attempt
from vacancy.channels.mail import MailMessage, SendResult
from vacancy.clock import Clock
from vacancy.errors import StoreError
from vacancy.store import outbox
from vacancy.store.engine import Store

PROVIDER: Final = "outbox"


class OutboxSender:
    provider = PROVIDER

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def send(self, message: MailMessage) -> SendResult:
        attempt = Attempt.begin(PROVIDER, self._clock)
        try:
            await self._store.write(outbox.add, self._clock.now(), _row(message))
        except StoreError:
            return _unreachable(attempt)
        return attempt.sent(message.message_id)

    async def verify(self) -> SendResult:
        attempt = Attempt.begin(PROVIDER, self._clock)
        try:
            await self._store.read(outbox.latest, 1)
        except StoreError:
            return _unreachable(attempt)
        return attempt.sent()

    async def close(self) -> None:
        """The store belongs to the house."""


def _unreachable(attempt: Attempt) -> SendResult:
    """Not the mail's own trouble: nothing was begun. And no reason to knock thrice, as at a network's."""
    return attempt.retryable("provider_error", "outbox: the database does not answer", begun=False)


def _row(message: MailMessage) -> outbox.Mail:
    notification_id = message.metadata.get("notificationId", "")
    return outbox.Mail(
        message_id=message.message_id,
        to_address=message.to,
        subject=message.subject,
        text=message.text,
        html=message.html,
        locale=message.locale,
        template_id=message.template_id,
        trace_id=message.trace_id,
        notification_id=int(notification_id) if notification_id.isdecimal() else None,
    )
