"""What people write and press, by a long poll: chats beside each other, each in its order, confirmed when all is done.

What was handled is not handled again when it comes again, for the number up to which all was is kept in the database.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from vacancy.bot.commands import WANTED, Commands
from vacancy.bot.telegram import Telegram
from vacancy.channels.telegram_api import Answer, Ok, Refused, whole
from vacancy.channels.telegram_updates import CONFLICT_REST_S, Trouble
from vacancy.clock import Clock, Dice
from vacancy.errors import StoreError
from vacancy.runner import Stop
from vacancy.store import house
from vacancy.store.engine import Store

_AT_ONCE: Final = 16
_CONFLICT: Final = 409
_log = structlog.stdlib.get_logger(__name__)

Raw = Mapping[str, Any]


class Listener:
    """A loop for the runner."""

    def __init__(self, telegram: Telegram, commands: Commands, store: Store, clock: Clock, dice: Dice) -> None:
        self._telegram = telegram
        self._commands = commands
        self._store = store
        self._trouble = Trouble(clock, dice)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._offset = f"bot:heard:{telegram.mark}"
        self._is_known = False
        self._has_rival = False
        # Of a batch that is not confirmed yet.
        self._handled: set[int] = set()

    async def run(self, stop: Stop) -> None:
        """Until asked to stop, or until Telegram says that the token is not its own."""
        offset = int(await self._store.read(house.recall, self._offset) or 0)
        while not stop.requested and self._trouble.curable:
            answer = await self._ask(stop, offset)
            if answer is None:
                return
            if isinstance(answer, Ok):
                offset = await self._take(offset, answer.result)
            else:
                await stop.wait(self._rest_s(answer))

    async def _ask(self, stop: Stop, offset: int) -> Answer | None:
        """None when asked to stop: a poll that was given up confirms nothing."""
        asking = asyncio.ensure_future(
            self._telegram.updates(offset, WANTED) if self._is_known else self._telegram.me()
        )  # fmt: skip
        await stop.wait_for(asking)
        await asyncio.wait((asking,))
        return None if asking.cancelled() else asking.result()

    async def _take(self, offset: int, result: object) -> int:
        """The next offset."""
        self._trouble.over()
        self._has_rival = False
        if not self._is_known:
            self._is_known = True
            _log.info("listening to the bot")
            return offset
        updates = [each for each in result if isinstance(each, dict)] if isinstance(result, list) else []
        if not updates:
            return offset
        await self._handle_all(updates)
        # The last one's number, not the highest: after a quiet week Telegram counts on from anywhere.
        number = whole(updates[-1].get("update_id"))
        if number is None:
            return offset
        await self._store.write(house.remember, self._offset, str(number + 1))
        self._handled.clear()
        return number + 1

    async def _handle_all(self, updates: Sequence[Raw]) -> None:
        by_chat: defaultdict[object, list[Raw]] = defaultdict(list)
        for raw in updates:
            by_chat[_chat_of(raw)].append(raw)
        done = await asyncio.gather(*(self._in_order(group) for group in by_chat.values()), return_exceptions=True)
        for fault in done:
            if isinstance(fault, StoreError):
                raise fault  # the batch comes again, when the database does
            if isinstance(fault, BaseException):
                _log.error("an update made its handler crash and is passed over", exc_info=fault)

    async def _in_order(self, group: Sequence[Raw]) -> None:
        async with self._places:
            for raw in group:
                number = whole(raw.get("update_id")) or 0
                if number not in self._handled:
                    await self._commands.hear(self._telegram.bot, raw)
                    self._handled.add(number)

    def _rest_s(self, answer: Answer) -> float:
        if not isinstance(answer, Refused) or answer.code != _CONFLICT:
            return self._trouble.rest_s(answer)
        if not self._has_rival:
            self._has_rival = True
            _log.warning(
                "another process listens to this bot, so commands may go there: end it; if it is `vacancy serve`, set"
                " `[telegram] listen = false` there"
            )
        return CONFLICT_REST_S


def _chat_of(raw: Raw) -> object:
    for name in WANTED:
        found = raw.get(name)
        if isinstance(found, dict):
            holder = found.get("message") if name == "callback_query" else found
            chat = holder.get("chat") if isinstance(holder, dict) else None
            return chat.get("id") if isinstance(chat, dict) else None
    return None
