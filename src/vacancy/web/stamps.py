"""When a form was handed out, signed by us: what comes back within a blink, or was never ours, no person sent."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from enum import Enum, auto
from typing import Final

from itsdangerous import BadSignature, Signer

from vacancy.clock import Clock
from vacancy.subscriptions.contacts import Secret

_PURPOSE: Final = "form stamp"
_SOONEST: Final = timedelta(seconds=2)
_LATEST: Final = timedelta(hours=24)


class Verdict(Enum):
    GOOD = auto()
    EARLY = auto()
    LATE = auto()  # or not one of ours


class Stamps:
    def __init__(self, secret: Secret, clock: Clock) -> None:
        self._clock = clock
        self._signer = Signer(
            secret.derive(_PURPOSE), salt=_PURPOSE, key_derivation="hmac", digest_method=hashlib.sha256
        )

    def make(self) -> str:
        return self._signer.sign(str(self._now_ms())).decode()

    def judge(self, stamp: str) -> Verdict:
        try:
            made = int(self._signer.unsign(stamp.encode()))
        except BadSignature:
            return Verdict.LATE
        age = timedelta(milliseconds=self._now_ms() - made)
        if age < _SOONEST:
            return Verdict.EARLY
        return Verdict.GOOD if age <= _LATEST else Verdict.LATE

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
