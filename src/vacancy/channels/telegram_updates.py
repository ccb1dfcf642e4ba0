"""What people answer to the bot: read by a long poll, handed on one by one, and each confirmed once it was handled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import structlog

from vacancy.channels.base import Kit
from vacancy.channels.telegram import bot_api
from vacancy.channels.telegram_api import Answer, BotApi, Ok, Refused, Unheard
from vacancy.channels.telegram_hearing import Handler, Hearing, Reply
from vacancy.channels.telegram_parse import Command, Left, Migrated, Numbered, Pressed, Started, Update, batch
from vacancy.clock import Clock, Dice
from vacancy.runner import Stop

__all__ = ["Command", "Handler", "Left", "Migrated", "Pressed", "Reply", "Started", "Update", "Updates", "build"]

POLL_S: Final = 25
CONFLICT_REST_S: Final = 30.0
FIRST_REST_S: Final = 1.0
LONGEST_REST_S: Final = 60.0
REST_JITTER: Final = 0.3
MOST_TRIES: Final = 3
WANTED: Final = ("message", "callback_query", "my_chat_member")
_ANSWER_WITHIN_S: Final = 10
_LARGEST_BATCH: Final = 8 << 20
_UNAUTHORIZED: Final = (401, 404)

_log = structlog.stdlib.get_logger(__name__)


Load = Callable[[], Awaitable[int]]  # the number of the first update that was not handled; 0 at first
Save = Callable[[int], Awaitable[None]]


class Updates:
    """A loop for the runner. There must be no second one with the same bot: Telegram cuts one of them off."""

    def __init__(self, api: BotApi, clock: Clock, dice: Dice, handler: Handler, *, load: Load, save: Save) -> None:
        self._api = api
        self._trouble = Trouble(clock, dice)
        self._hearing = Hearing(api, handler)
        self._load = load
        self._save = save
        self._me = ""
        self._in_hand = (-1, 0)

    async def run(self, stop: Stop) -> None:
        """Until asked to stop, or until Telegram says that the token is not its own."""
        offset = await self._load()
        while not stop.requested and self._trouble.curable:
            method, parameters = self._question(offset)
            answer = await self._ask(stop, method, parameters)
            if answer is None:
                return
            after = await self._take(stop, offset, answer)
            if after is None:
                await stop.wait(self._trouble.rest_s(answer))
            else:
                self._trouble.over()
                offset = after

    def _question(self, offset: int) -> tuple[str, Mapping[str, Any]]:
        if not self._me:
            return "getMe", {}
        return "getUpdates", {"offset": offset, "timeout": POLL_S, "allowed_updates": WANTED}

    async def _ask(self, stop: Stop, method: str, parameters: Mapping[str, Any]) -> Answer | None:
        """None when asked to stop: a poll that was given up confirms nothing."""
        timeout_s = POLL_S + _ANSWER_WITHIN_S
        call = self._api.call(method, parameters, timeout_s=timeout_s, max_bytes=_LARGEST_BATCH)
        asking = asyncio.ensure_future(call)
        await stop.wait_for(asking)
        await asyncio.wait((asking,))
        return None if asking.cancelled() else asking.result()

    async def _take(self, stop: Stop, offset: int, answer: Answer) -> int | None:
        """The next offset; None when the answer is of no use."""
        if not isinstance(answer, Ok):
            return None
        if not self._me:
            name = answer.result.get("username") if isinstance(answer.result, dict) else None
            self._me = name if isinstance(name, str) else ""
            return offset if self._me else None
        updates = batch(answer.result, self._me)
        if updates is None:
            return None
        for numbered in updates:
            await self._handle(numbered)
            # The last one's number, not the highest: after a quiet week Telegram counts on from anywhere.
            offset = numbered.update_id + 1
            await self._save(offset)
            if stop.requested:
                break
        return offset

    async def _handle(self, numbered: Numbered) -> None:
        update = numbered.update
        if update is None:
            return
        if self._is_hopeless(numbered.update_id):
            _log.error("telegram update passed over", tries=MOST_TRIES, kind=type(update).__name__)
            return
        await self._hearing.hear(update)

    def _is_hopeless(self, update_id: int) -> bool:
        """One that made the loop crash comes again when it is started again: not for ever, for others wait behind."""
        before, tries = self._in_hand
        self._in_hand = (update_id, tries + 1 if before == update_id else 1)
        return self._in_hand[1] > MOST_TRIES


class Trouble:
    """How long to rest after an answer that was none. Each kind is told once, and its end."""

    def __init__(self, clock: Clock, dice: Dice) -> None:
        self._clock = clock
        self._dice = dice
        self._told = ""
        self._since = 0.0
        self._delay_s = FIRST_REST_S
        self.curable = True

    def over(self) -> None:
        if self._told:
            _log.info("telegram updates again", after_s=round(self._clock.monotonic() - self._since, 1))
        self._told, self._delay_s = "", FIRST_REST_S

    def rest_s(self, answer: Answer) -> float:
        if isinstance(answer, Refused):
            if answer.code in _UNAUTHORIZED:
                self.curable = False
                _log.error("telegram does not know the bot's token; buttons and commands are not read")
                return 0
            self._tell(f"refused with {answer.code}: {answer.reason}")
            if answer.code == 409:
                return CONFLICT_REST_S
            if answer.code == 429 and answer.retry_after_s is not None:
                return max(answer.retry_after_s, FIRST_REST_S)
        else:
            self._tell(answer.message if isinstance(answer, Unheard) else "the answer cannot be read")
        delay, self._delay_s = self._delay_s, min(self._delay_s * 2, LONGEST_REST_S)
        return self._dice.jitter(delay, REST_JITTER)

    def _tell(self, what: str) -> None:
        if not self._told:
            self._since = self._clock.monotonic()
        if self._told != what:
            self._told = what
            _log.warning("no telegram updates", reason=what)


def build(kit: Kit, handler: Handler, *, load: Load, save: Save) -> Updates:
    return Updates(bot_api(kit), kit.clock, kit.dice, handler, load=load, save=save)
