"""How often one address or chat may ask. Counted in this process: it keeps out a flood, it does not keep books."""

from __future__ import annotations

import math
import time
from typing import NoReturn

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from vacancy.errors import UserError


class Attempts:
    def __init__(self, at_most: int, within_s: int) -> None:
        self._limit = RateLimitItemPerSecond(at_most, within_s)
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def count(self, address: str) -> None:
        """This attempt counts, however it ends."""
        if not self._window.hit(self._limit, address):
            self._refuse(address)

    def check(self, address: str) -> None:
        """Nothing counts, but whoever has used up all attempts is refused."""
        if not self._window.test(self._limit, address):
            self._refuse(address)

    def _refuse(self, address: str) -> NoReturn:
        resets_at = self._window.get_window_stats(self._limit, address).reset_time
        wait = max(1, math.ceil(resets_at - time.time()))
        raise UserError(
            "rate_limited", f"too many requests from your address; try again in {wait} s", {"retryAfterS": wait}
        )
