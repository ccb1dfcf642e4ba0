"""One thing that people wrote or pressed: what it asks for is done, and they are answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from vacancy.channels.telegram_api import BotApi, Refused, Unheard
from vacancy.channels.telegram_parse import Command, Pressed, Started, Update
from vacancy.channels.telegram_text import LONGEST, cut

_LONGEST_TOAST: Final = 200
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """`edit` puts the text in place of the message whose button was pressed, buttons and all; otherwise a press is
    answered with a word that passes, and a command with a message. `strip` leaves the message and takes its buttons
    away."""

    text: str
    edit: bool = False
    strip: bool = False


Handler = Callable[[Update], Awaitable[Reply | None]]


class Hearing:
    """`handler` does what an update asks for; it may be called twice with the same one."""

    def __init__(self, api: BotApi, handler: Handler) -> None:
        self._api = api
        self._handler = handler

    async def hear(self, update: Update) -> None:
        reply = await self._handler(update)
        if isinstance(update, Pressed):
            await self._answer_press(update, reply)
        elif reply is not None and isinstance(update, Started | Command):
            await self._say("sendMessage", {"chat_id": int(update.chat), **_text(reply)})

    async def _answer_press(self, pressed: Pressed, reply: Reply | None) -> None:
        """Always answered: until then the button keeps turning."""
        toast = cut(reply.text, _LONGEST_TOAST) if reply is not None and not reply.edit else ""
        await self._say("answerCallbackQuery", {"callback_query_id": pressed.callback_id, "text": toast})
        where = {"chat_id": int(pressed.chat), "message_id": pressed.message_id}
        if reply is not None and reply.edit:
            await self._say("editMessageText", {**where, **_text(reply)})
        elif reply is not None and reply.strip:
            await self._say("editMessageReplyMarkup", {**where, "reply_markup": {"inline_keyboard": []}})

    async def _say(self, method: str, parameters: Mapping[str, Any]) -> None:
        """Once: what was asked for is done already, and who misses the word for it can ask again."""
        answer = await self._api.call(method, parameters)
        if isinstance(answer, Refused):
            _log.info("telegram reply refused", method=method, status=answer.code, reason=answer.reason)
        elif isinstance(answer, Unheard):
            _log.info("telegram reply lost", method=method, reason=answer.message)


def _text(reply: Reply) -> dict[str, Any]:
    return {"text": cut(reply.text, LONGEST), "link_preview_options": {"is_disabled": True}}
