"""Who a chat belongs to: codes, taken at the backend's word, and a new chat read up to now before anything is told."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal

import structlog

from vacancy.bot.answers import mapping
from vacancy.bot.backend import Answer, Backend, Lost
from vacancy.bot.clerk import Clerk
from vacancy.channels.telegram_api import whole
from vacancy.channels.words import one_line
from vacancy.clock import Clock
from vacancy.model.bot import LARGEST, Move, Page, Seat
from vacancy.store import bot_chats
from vacancy.store.engine import Store

MOST_GUESSES: Final = 5
GUESSES_IN_S: Final = 600.0
_MOST_PAGES: Final = 50
_READ_UP_FOR_S: Final = 10.0
_MANY: Final = 10_000
_CONFLICT: Final = 409
_ASKED_FOR: Final = "asked for in the chat"
_log = structlog.stdlib.get_logger(__name__)


@dataclass(slots=True)
class Guesses:
    """How often somebody may be wrong, counted for the chat and for the person: who has many chats is one person."""

    clock: Clock
    _wrong: dict[int, deque[float]] = field(default_factory=dict)

    def wait_s(self, *whose: int) -> float:
        now = self.clock.monotonic()
        waits = [self._wrong[each][0] + GUESSES_IN_S - now for each in whose if self._is_full(each)]
        return max(waits, default=0.0)

    def wrong(self, *whose: int) -> None:
        now = self.clock.monotonic()
        if len(self._wrong) > _MANY:
            self._wrong = {each: at for each, at in self._wrong.items() if at[-1] > now - GUESSES_IN_S}
        for each in set(whose):
            self._wrong.setdefault(each, deque(maxlen=MOST_GUESSES)).append(now)

    def _is_full(self, each: int) -> bool:
        return len(self._wrong.get(each, ())) == MOST_GUESSES


@dataclass(frozen=True, slots=True)
class Bound:
    seat: Seat


@dataclass(frozen=True, slots=True)
class NotBound:
    why: Literal["invalid", "often", "answer"]
    wait_s: float = 0.0
    answer: Answer | None = None


class Registrar:
    def __init__(self, store: Store, backend: Backend, clerk: Clerk, clock: Clock) -> None:
        self._store = store
        self._backend = backend
        self._clerk = clerk
        self._clock = clock
        self._guesses = Guesses(clock)

    async def bind(self, chat_id: int, person_id: int, code: str, locale: str) -> Bound | NotBound:
        wait = self._guesses.wait_s(chat_id, person_id)
        if wait > 0:
            return NotBound("often", wait)
        answer = await self._backend.consume(code)
        said = mapping(answer)
        user_id = whole(said.get("user_id")) if said is not None else None
        if said is None or user_id is None or not 1 <= user_id <= LARGEST:
            if not isinstance(answer, Lost) and answer.status == _CONFLICT:
                self._guesses.wrong(chat_id, person_id)
                return NotBound("invalid")
            return NotBound("answer", answer=answer)
        name = one_line(said["name"]) if isinstance(said.get("name"), str) else ""
        seat = await self._store.write(bot_chats.bind, chat_id, user_id, name, locale)
        _log.info("chat bound", user_id=user_id)
        return Bound(await self.read_up(seat))

    async def read_up(self, seat: Seat) -> Seat:
        """Before the reply that says "from now on": whatever happens after it is told. What this cannot finish, the
        poller does: other people's commands wait for this one."""
        until = self._clock.monotonic() + _READ_UP_FOR_S
        for _ in range(_MOST_PAGES):
            if not seat.is_reading_up or self._clock.monotonic() >= until:
                break
            page = await self._backend.events(seat.user_id, seat.cursor)
            if not isinstance(page, Page):
                break
            last = page.events[-1].event_id if page.events else seat.cursor
            # Not made, when the poller was quicker.
            await self._clerk.save(Move(seat, seat.cursor, last, is_read_up=not page.events))
            found = await self._store.read(bot_chats.seat, seat.chat_id)
            if found is None or found.binding != seat.binding:
                break
            seat = found
        return seat

    async def unbind(self, chat_id: int) -> Seat | None:
        """Whose it was; None if nobody's."""
        seat = await self._store.read(bot_chats.seat, chat_id)
        if seat is None or not await self._store.write(
            bot_chats.unbind, chat_id, "asked for in the chat", seat.binding
        ):
            return None
        _log.info("chat unbound", user_id=seat.user_id, reason="asked for in the chat")
        return seat
