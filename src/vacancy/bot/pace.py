"""How fast Telegram may be written to: so often to a chat, so often altogether, and not while it asked us to wait."""

from __future__ import annotations

from typing import Final

from vacancy.clock import Clock
from vacancy.runner import Stop

PER_SECOND: Final = 30.0
CHAT_GAP_S: Final = 1.0
BURST: Final = 30
UNTOLD_RATE_S: Final = 30.0  # how long to wait when Telegram does not say
_MANY: Final = 10_000


class Pace:
    """A rate of 0 means no limit."""

    def __init__(self, clock: Clock, *, per_second: float = PER_SECOND, chat_gap_s: float = CHAT_GAP_S) -> None:
        self._clock = clock
        self._gap_s = 1 / per_second if per_second else 0.0
        self._chat_gap_s = chat_gap_s
        self._free_at = 0.0
        self._chat_free_at: dict[int, float] = {}
        self._rests_until: dict[int, float] = {}
        self._asked_until: dict[int, float] = {}
        self._all_rest_until = 0.0

    async def turn(self, chat_id: int, stop: Stop) -> bool:
        """Until a message may go to this chat. False if it shall not any more: asked to stop, or told to rest."""
        await self._nap(self._chat_free_at.get(chat_id, 0.0), stop)
        # A place is taken, then waited for: a thousand that wait for the same one would wake each other.
        await self._nap(self._take_place(), stop)
        if stop.requested or self.rest_s(chat_id) > 0:
            return False
        self._note_chat(chat_id)
        return True

    def note(self, chat_id: int) -> None:
        """A message goes out of turn: an answer to somebody who waits does not wait itself."""
        self._take_place()
        self._note_chat(chat_id)

    async def _nap(self, until: float, stop: Stop) -> None:
        wait = until - self._clock.monotonic()
        if wait > 0:
            await stop.wait(wait)

    def _take_place(self) -> float:
        """When it is."""
        now = self._clock.monotonic()
        if not self._gap_s:
            return now
        at = max(self._free_at, now - BURST * self._gap_s)
        self._free_at = at + self._gap_s
        return at

    def _note_chat(self, chat_id: int) -> None:
        now = self._clock.monotonic()
        if not self._chat_gap_s:
            return
        if len(self._chat_free_at) > _MANY:
            self._chat_free_at = {chat: at for chat, at in self._chat_free_at.items() if at > now}
        self._chat_free_at[chat_id] = now + self._chat_gap_s

    def refused(self, chat_id: int, retry_after_s: float | None) -> float:
        """Telegram asked us to wait. It does not say whether it means the chat or everybody: if a second chat hears it
        while a first one waits, everybody."""
        now = self._clock.monotonic()
        wait = UNTOLD_RATE_S if retry_after_s is None else max(retry_after_s, 1.0)
        self._asked_until = {chat: until for chat, until in self._asked_until.items() if until > now}
        if any(chat != chat_id for chat in self._asked_until):
            self.rest_all(wait)
        self._asked_until[chat_id] = now + wait
        self.rest(chat_id, wait)
        return wait

    def rest(self, chat_id: int, wait_s: float) -> None:
        now = self._clock.monotonic()
        self._rests_until = {chat: until for chat, until in self._rests_until.items() if until > now}
        self._rests_until[chat_id] = now + wait_s

    def rest_all(self, wait_s: float) -> None:
        self._all_rest_until = max(self._all_rest_until, self._clock.monotonic() + wait_s)

    def rest_s(self, chat_id: int) -> float:
        """How long nothing may go there, because Telegram said so."""
        until = max(self._all_rest_until, self._rests_until.get(chat_id, 0.0))
        return max(0.0, until - self._clock.monotonic())
