"""The link that opens a chat with the bot, and carries a code along. The bot's name is asked for once."""

from __future__ import annotations

import asyncio
import re
from typing import Final

import structlog

from vacancy.channels.base import Kit
from vacancy.channels.telegram import bot_api
from vacancy.channels.telegram_api import Answer, BotApi, Ok, Refused
from vacancy.errors import UserError

_TIMEOUT_S: Final = 5.0
_NAME: Final = re.compile(r"[A-Za-z0-9_]{1,64}")
_log = structlog.stdlib.get_logger(__name__)


class DeepLinks:
    def __init__(self, api: BotApi) -> None:
        self._api = api
        self._name = ""
        self._asking: asyncio.Task[str] | None = None

    async def to(self, code: str) -> str:
        """UserError while Telegram does not say who the bot is."""
        name = await self.name()
        if not name:
            raise UserError("unavailable", "Telegram cannot be reached right now, so there is no link; try again soon")
        return f"https://t.me/{name}?start={code}"

    async def name(self) -> str:
        """The bot's; nothing while Telegram does not say it."""
        self._name = self._name or await self._ask()
        return self._name

    async def _ask(self) -> str:
        """One question for all who wait for its answer; whoever leaves meanwhile does not take it along."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_telegram())
        return await asyncio.shield(self._asking)

    async def _ask_telegram(self) -> str:
        answer = await self._api.call("getMe", {}, timeout_s=_TIMEOUT_S)
        if isinstance(answer, Ok):
            name = answer.result.get("username") if isinstance(answer.result, dict) else None
            if isinstance(name, str) and _NAME.fullmatch(name):
                return name
        _log.warning("no link to the telegram bot", reason=_why(answer))
        return ""


def _why(answer: Answer) -> str:
    if isinstance(answer, Ok):
        return "its answer names no bot"
    return answer.reason if isinstance(answer, Refused) else answer.message


def build(kit: Kit) -> DeepLinks:
    return DeepLinks(bot_api(kit))
