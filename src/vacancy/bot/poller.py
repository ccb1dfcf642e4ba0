"""Looks for new events, user by user, and hands them to the user's chats.

A page is asked for once, from the smallest cursor of those chats of a user that are free; each chat then goes at its
own pace. Nobody waits for anybody else: not a user for a slow one, not a chat for one that lags behind.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

import structlog

from vacancy.bot.backend import Backend, Lost, Said
from vacancy.bot.clerk import Clerk
from vacancy.bot.delivery import Delivery
from vacancy.bot.feed import Unreadable
from vacancy.bot.pace import Pace
from vacancy.bot.telegram import Telegram
from vacancy.bot.trouble import Troubles
from vacancy.clock import Clock, Dice
from vacancy.errors import StoreError
from vacancy.model.bot import Move, Page, Seat
from vacancy.runner import Stop
from vacancy.store import bot_chats
from vacancy.store.engine import Store

MOST_PAGES: Final = 5  # of one user in one cycle
_AT_ONCE: Final = 32
_SLOW_AT_ONCE: Final = 8
_JITTER: Final = 0.2
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Tools:
    """What the bot works with."""

    store: Store
    clock: Clock
    dice: Dice
    backend: Backend
    telegram: Telegram
    pace: Pace
    clerk: Clerk
    interval_s: float


class Poller:
    """A loop for the runner; it is started only when the backend passed the check."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._troubles = Troubles(tools.clock, tools.dice, tools.interval_s)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._slow_places = asyncio.Semaphore(_SLOW_AT_ONCE)
        self._seats: dict[int, list[Seat]] = {}
        self._pages: Counter[int] = Counter()
        self._reading: dict[int, asyncio.Task[bool]] = {}
        self._busy: dict[int, asyncio.Task[bool]] = {}
        self._stop = Stop(tools.clock)
        self._delivery = Delivery(tools.store, tools.telegram, tools.pace, tools.clerk, self._stop)

    async def run(self, stop: Stop) -> None:
        self._stop = stop
        self._delivery.stop = stop
        try:
            while not stop.requested:
                await self.begin_cycle()
                await stop.wait(self._tools.dice.jitter(self._tools.interval_s, _JITTER))
            await self.idle()
        except asyncio.CancelledError:
            # After any other fault we are called again, and what is in hand goes on: a message that is cut off on its
            # way would be sent twice.
            for task in (*self._reading.values(), *self._busy.values()):
                task.cancel()
            raise

    async def begin_cycle(self) -> None:
        """Ask for everybody who is not in hand already."""
        self._pages.clear()
        await self._look_up()
        for user_id in self._seats:
            self._read_on(user_id)

    async def idle(self) -> None:
        """Until nothing is in hand any more."""
        while self._reading or self._busy:
            await asyncio.wait((*self._reading.values(), *self._busy.values()), return_when=asyncio.FIRST_COMPLETED)

    async def _look_up(self) -> None:
        seats: defaultdict[int, list[Seat]] = defaultdict(list)
        for seat in await self._tools.store.read(bot_chats.seats):
            seats[seat.user_id].append(seat)
        self._seats = seats
        self._tools.clerk.keep(seat for group in seats.values() for seat in group)

    def _read_on(self, user_id: int) -> None:
        if user_id not in self._reading and not self._stop.requested and self._free(user_id):
            self._start(self._reading, user_id, self._read(user_id), user_id)

    def _free(self, user_id: int) -> list[Seat]:
        """Chats that could take more, without those that Telegram told to rest."""
        return [
            self._tools.clerk.at(seat)
            for seat in self._seats.get(user_id, ())
            if seat.chat_id not in self._busy and not self._tools.pace.rest_s(seat.chat_id)
        ]

    async def _read(self, user_id: int) -> bool:
        """Pages, as long as there are any and somebody is free to take them."""
        may_be_more = True
        while may_be_more:
            may_be_more = False
            # What is told first: history that nobody is told of must not keep it waiting.
            for is_reading_up in (False, True):
                group = [seat for seat in self._free(user_id) if seat.is_reading_up is is_reading_up]
                page = await self._page(user_id, group) if group and self._may_go_on(user_id) else None
                if page is not None:
                    may_be_more |= page.is_full
                    for seat in group:
                        self._hand_out(seat, page)
        return False

    def _may_go_on(self, user_id: int) -> bool:
        return self._pages[user_id] < MOST_PAGES and not self._stop.requested

    async def _page(self, user_id: int, group: Sequence[Seat]) -> Page | None:
        async with self._place(user_id):
            if not self._troubles.may_ask(user_id):
                return None
            self._pages[user_id] += 1
            began, answers_before = self._tools.clock.monotonic(), self._troubles.answers
            try:
                answer = await self._ask(user_id, min(seat.cursor for seat in group))
            finally:
                self._troubles.gave_up(user_id)
        if isinstance(answer, Page):
            self._troubles.answered(user_id, self._tools.clock.monotonic() - began)
            return answer
        if answer is not None:
            self._note_failure(user_id, answer, answers_before)
        return None

    async def _ask(self, user_id: int, after_id: int) -> Page | Unreadable | Said | Lost | None:
        """None when asked to stop meanwhile."""
        asking = asyncio.ensure_future(self._tools.backend.events(user_id, after_id))
        await self._stop.wait_for(asking)
        await asyncio.wait((asking,))
        return None if asking.cancelled() else asking.result()

    def _place(self, user_id: int) -> AbstractAsyncContextManager[None]:
        """Those whose last question went wrong have few places of their own: a dozen that never answer must not keep
        all others waiting."""
        return self._slow_places if self._troubles.is_slow(user_id) else self._places

    def _note_failure(self, user_id: int, answer: Unreadable | Said | Lost, answers_before: int) -> None:
        if isinstance(answer, Said):
            why, is_backend = f"the backend answered {answer.status}", answer.status >= 500
        else:
            why, is_backend = answer.why, isinstance(answer, Lost)
        self._troubles.failed(user_id, why, is_backend=is_backend, answers_before=answers_before)

    def _hand_out(self, seat: Seat, page: Page) -> None:
        if seat.chat_id in self._busy:
            return  # meanwhile it was bound to somebody else, whose events it takes
        if seat.is_reading_up:
            self._start(self._busy, seat.chat_id, self._read_up(seat, page), seat.user_id)
        elif page.garbled or any(event.event_id > seat.cursor for event in page.events):
            self._start(self._busy, seat.chat_id, self._deliver(seat, page), seat.user_id)

    async def _read_up(self, seat: Seat, page: Page) -> bool:
        """What was there before the chat was bound. Only where nothing more comes is its end: a page that is not full
        may be all that a backend gives at once."""
        last = page.events[-1].event_id if page.events else seat.cursor
        return await self._tools.clerk.save(Move(seat, seat.cursor, last, not page.events)) and bool(page.events)

    async def _deliver(self, seat: Seat, page: Page) -> bool:
        settled = await self._tools.clerk.settle(seat)
        if settled is None:
            return False
        await self._delivery.note(settled, page.garbled)
        new = [event for event in page.events if event.event_id > settled.cursor]
        return await self._delivery.deliver(settled, new) and page.is_full

    def _start(
        self, running: dict[int, asyncio.Task[bool]], key: int, work: Coroutine[Any, Any, bool], user_id: int
    ) -> None:
        task = running[key] = asyncio.create_task(work)
        task.add_done_callback(lambda done: self._ended(running, key, user_id, done))

    def _ended(self, running: dict[int, asyncio.Task[bool]], key: int, user_id: int, done: asyncio.Task[bool]) -> None:
        """A turn says whether there may be more: then it is asked for at once."""
        del running[key]
        if done.cancelled():
            return
        fault = done.exception()
        if fault is None:
            if done.result() and self._may_go_on(user_id):
                self._read_on(user_id)
        elif isinstance(fault, StoreError):
            _log.warning("events wait for the database", user_id=user_id, trouble=str(fault))
        else:
            _log.error("a turn crashed; it comes again", user_id=user_id, exc_info=fault)
