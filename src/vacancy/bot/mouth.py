"""Replies: out of turn, for somebody waits; once more only if Telegram asked for a moment's patience."""

from __future__ import annotations

from typing import Final

import structlog

from vacancy.bot.pace import Pace
from vacancy.bot.telegram import Telegram
from vacancy.channels.telegram_api import Ok, Refused
from vacancy.channels.telegram_text import LONGEST, cut
from vacancy.clock import Clock
from vacancy.store import bot_chats
from vacancy.store.engine import Store

_LONGEST_PATIENCE_S: Final = 10.0
_LONGEST_TOAST: Final = 200
_log = structlog.stdlib.get_logger(__name__)


class Mouth:
    def __init__(self, telegram: Telegram, pace: Pace, clock: Clock, store: Store) -> None:
        self._telegram = telegram
        self._pace = pace
        self._clock = clock
        self._store = store

    async def reply(self, chat_id: int, text: str) -> None:
        text = cut(text, LONGEST)
        self._pace.note(chat_id)
        answer = await self._telegram.say(chat_id, text)
        if isinstance(answer, Refused) and answer.migrate_to is not None:
            await self._store.write(bot_chats.move, chat_id, answer.migrate_to)
            answer = await self._telegram.say(answer.migrate_to, text)
        elif isinstance(answer, Refused) and answer.code == 429:
            wait = self._pace.refused(chat_id, answer.retry_after_s)
            if wait <= _LONGEST_PATIENCE_S:
                await self._clock.sleep(wait)
                answer = await self._telegram.say(chat_id, text)
        if not isinstance(answer, Ok):
            why = answer.reason if isinstance(answer, Refused) else answer.message
            _log.info("reply lost", reason=why)

    async def toast(self, query_id: str, text: str) -> None:
        await self._telegram.answer_press(query_id, cut(text, _LONGEST_TOAST))
