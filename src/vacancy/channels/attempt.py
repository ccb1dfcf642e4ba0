"""One try of one provider: measured from its begin, and told in the words of the contract."""

from __future__ import annotations

from dataclasses import dataclass

from vacancy.channels.mail import ErrorCode, SendError, SendResult
from vacancy.clock import Clock


def milliseconds_since(clock: Clock, began: float) -> int:
    return round((clock.monotonic() - began) * 1000)


@dataclass(frozen=True, slots=True)
class Attempt:
    provider: str
    clock: Clock
    began: float

    @classmethod
    def begin(cls, provider: str, clock: Clock) -> Attempt:
        return cls(provider, clock, clock.monotonic())

    def sent(self, message_id: str | None = None) -> SendResult:
        duration = milliseconds_since(self.clock, self.began)
        return SendResult("sent", self.provider, 1, duration, self.clock.now(), message_id)

    def retryable(
        self, code: ErrorCode, message: str, *, detail: str = "", after_s: float | None = None, begun: bool = True
    ) -> SendResult:
        duration, error = milliseconds_since(self.clock, self.began), SendError(code, message, detail)
        return SendResult("retryable", self.provider, 1, duration, retry_after_s=after_s, error=error, begun=begun)

    def failed(
        self, code: ErrorCode, message: str, *, detail: str = "", bounced: bool = False, begun: bool = True
    ) -> SendResult:
        duration, error = milliseconds_since(self.clock, self.began), SendError(code, message, detail, bounced)
        return SendResult("failed", self.provider, 1, duration, error=error, begun=begun)
