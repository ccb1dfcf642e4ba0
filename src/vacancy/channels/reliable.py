"""A sender that tries again where nothing can have been sent: the connection failed before a recipient was named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from vacancy.channels.attempt import Attempt, milliseconds_since
from vacancy.channels.bucket import Bucket
from vacancy.channels.mail import MailMessage, MailSender, SendResult
from vacancy.clock import Clock, Dice

WAITS_S: Final = (0.0, 2.0, 7.0)
JITTER: Final = 0.25
# Who is asked to wait longer gives the message back: a row can wait without anybody's hands on it.
LONGEST_WAIT_S: Final = 10.0


class ReliableMailSender:
    def __init__(
        self,
        sender: MailSender,
        clock: Clock,
        dice: Dice,
        bucket: Bucket | None = None,
        *,
        waits_s: Sequence[float] = WAITS_S,
        jitter: float = JITTER,
    ) -> None:
        self.provider = sender.provider
        self._sender = sender
        self._clock = clock
        self._dice = dice
        self._bucket = bucket
        self._waits_s = tuple(waits_s)
        self._jitter = jitter

    async def send(self, message: MailMessage) -> SendResult:
        """As many tries as there are waits, the first after the first wait. `attempt` says how many there were."""
        began = self._clock.monotonic()
        attempt, result = 1, await self._after(self._waits_s[0], message)
        while attempt < len(self._waits_s) and _is_worth_another(result):
            wait = max(self._waits_s[attempt], result.retry_after_s or 0)
            attempt, result = attempt + 1, await self._after(wait, message)
        return replace(result, attempt=attempt, duration_ms=milliseconds_since(self._clock, began))

    async def verify(self) -> SendResult:
        return await self._explained(self._sender.verify)

    async def close(self) -> None:
        await self._sender.close()

    async def _after(self, wait_s: float, message: MailMessage) -> SendResult:
        if wait_s > 0:
            await self._clock.sleep(self._stretched(wait_s))
        if self._bucket is not None:
            await self._bucket.take()
        return await self._explained(lambda: self._sender.send(message))

    async def _explained(self, ask: Callable[[], Awaitable[SendResult]]) -> SendResult:
        attempt = Attempt.begin(self.provider, self._clock)
        try:
            return await ask()
        except OSError as trouble:  # a timeout is one
            # Its text may quote an address, and it does not say how far the message came.
            return attempt.retryable("network_error", f"{self.provider}: {type(trouble).__name__}")

    def _stretched(self, seconds: float) -> float:
        """Longer by up to the jitter's share and never shorter. The dice spread around a middle."""
        half = self._jitter / 2
        return self._dice.jitter(seconds * (1 + half), half / (1 + half))


def _is_worth_another(result: SendResult) -> bool:
    return (
        result.status == "retryable"
        and not result.begun
        and result.error is not None
        and result.error.code == "network_error"
        and (result.retry_after_s or 0) <= LONGEST_WAIT_S
    )
