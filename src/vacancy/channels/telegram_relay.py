"""Updates that another process reads with the bot's token, and hands on: heard as if they had been read here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from vacancy.channels.base import Kit
from vacancy.channels.telegram import bot_api
from vacancy.channels.telegram_api import whole
from vacancy.channels.telegram_hearing import Handler, Hearing
from vacancy.channels.telegram_link import DeepLinks
from vacancy.channels.telegram_parse import Update, parse
from vacancy.errors import UserError

_REMEMBERED: Final = 1000


class Relay:
    """Whoever hands on gets no answer for lost, and hands on again: what was heard already is not heard twice."""

    def __init__(self, hearing: Hearing, bot: DeepLinks) -> None:
        self._hearing = hearing
        self._bot = bot
        self._heard: dict[int, asyncio.Future[None]] = {}

    async def take(self, raw: Mapping[str, Any]) -> None:
        """UserError for what is no update, and while Telegram does not say who the bot is."""
        number = whole(raw.get("update_id"))
        if number is None or number < 0:
            line = "update_id: must be the number that Telegram gave the update"
            raise UserError("validation_failed", line, [line])
        me = await self._bot.name()
        if not me:
            raise UserError("unavailable", "Telegram does not say who the bot is right now; hand it on again soon")
        update = parse(raw, me)
        if update is not None:
            await self._once(number, update)

    async def _once(self, number: int, update: Update) -> None:
        """One that comes again while it is being heard waits for the same end; one that failed is heard anew."""
        hearing = self._heard.get(number)
        if hearing is None or _failed(hearing):
            hearing = asyncio.ensure_future(self._hearing.hear(update))
            self._heard.pop(number, None)
            self._heard[number] = hearing
            self._forget()
        await asyncio.shield(hearing)

    def _forget(self) -> None:
        oldest = next(iter(self._heard))
        if len(self._heard) > _REMEMBERED and self._heard[oldest].done():
            del self._heard[oldest]


def _failed(hearing: asyncio.Future[None]) -> bool:
    return hearing.done() and (hearing.cancelled() or hearing.exception() is not None)


def build(kit: Kit, handler: Handler, bot: DeepLinks) -> Relay:
    return Relay(Hearing(bot_api(kit), handler), bot)
