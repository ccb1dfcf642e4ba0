"""Whether a channel works. What makes it stop is never one message's fault, and is never counted against one."""

from __future__ import annotations

from typing import Final

from vacancy.clock import Clock
from vacancy.model.messages import Blocked

PROBE_EVERY_S: Final = 30.0


class Breaker:
    """Shut: rows go through. Open: none does; it is probed by a connection, or waits for the time that the provider
    named. Then one row at a time goes through until one was taken, or failed by its own fault."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open_until: float | None = None
        self._probes = False
        self.why: Blocked | None = None

    @property
    def is_open(self) -> bool:
        return self._open_until is not None

    @property
    def is_trouble(self) -> bool:
        """Something that nobody said would pass by itself."""
        return self.why is not None and self.why.after_s is None

    def room(self, most: int) -> int:
        """How many rows may be under way."""
        if self.is_open:
            return 0
        return most if self.why is None else 1

    def blocked(self, why: Blocked) -> None:
        self.why = why
        self._probes = why.after_s is None
        self._open_until = self._clock.monotonic() + (PROBE_EVERY_S if why.after_s is None else why.after_s)

    def was_open(self, why: Blocked) -> None:
        """As another process left it: looked into at once."""
        self.blocked(why)
        self._open_until = self._clock.monotonic()

    def passed(self) -> None:
        """A message got as far as its own fate, or there is none to try."""
        if not self.is_open:
            self.why = None

    def is_due(self) -> bool:
        """Whether something is to be done to shut it: a probe, or nothing but to try."""
        return self._open_until is not None and self._clock.monotonic() >= self._open_until

    @property
    def wants_probe(self) -> bool:
        return self._probes

    def probed(self, trouble: Blocked | None) -> None:
        if trouble is not None:
            self.blocked(trouble)
            return
        self._open_until = None

    def due_in_s(self) -> float | None:
        return None if self._open_until is None else max(0.0, self._open_until - self._clock.monotonic())
