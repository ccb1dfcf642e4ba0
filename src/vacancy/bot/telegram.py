"""Telegram through aiogram, over the house's own client. What goes wrong comes back as a value, not as an exception."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from aiogram import Bot
from aiogram.client.session.base import BaseSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    AiogramError,
    TelegramAPIError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)
from aiogram.methods import AnswerCallbackQuery, GetUpdates, SendMessage, TelegramMethod
from aiogram.utils.token import TokenValidationError

from vacancy.channels.telegram_api import Answer, Ok, Refused, Unheard, harmless, may_have_arrived
from vacancy.errors import SettingsError
from vacancy.net.client import Client, NetTrouble, Reach
from vacancy.net.headers import LONGEST_RETRY_S

TIMEOUT_S: Final = 10.0
POLL_S: Final = 25
_LARGEST: Final = 8 << 20
_FORM: Final = "application/x-www-form-urlencoded"
_TOO_MANY: Final = 429
_CODES: Final[Mapping[type[AiogramError], int]] = {
    TelegramRetryAfter: _TOO_MANY,
    TelegramMigrateToChat: 400,
    TelegramBadRequest: 400,
    TelegramEntityTooLarge: 400,
    TelegramUnauthorizedError: 401,
    TelegramForbiddenError: 403,
    TelegramNotFound: 404,
    TelegramConflictError: 409,
}


# What comes back is not read as aiogram's own types: a message that was sent must not look lost because Telegram said
# something new about it, and an update goes on to others exactly as it came.
class _RawUpdates(GetUpdates):
    __returning__ = list[dict[str, Any]]


class _RawSend(SendMessage):
    __returning__ = dict[str, Any]


class _Session(BaseSession):
    """Kept connections, the address guard and the cap on sizes that all our requests have."""

    def __init__(self, client: Client, api_base: str) -> None:
        super().__init__(api=TelegramAPIServer.from_base(api_base), timeout=TIMEOUT_S)
        self._client = client

    async def make_request(self, bot: Bot, method: TelegramMethod[Any], timeout: int | None = None) -> Any:
        given = {
            name: prepared
            for name, value in method.model_dump(warnings=False).items()
            if (prepared := self.prepare_value(value, bot=bot, files={}))
        }
        try:
            response = await self._client.post(
                self.api.api_url(token=bot.token, method=method.__api_method__),
                reach=Reach.UPSTREAM,
                timeout_s=self.timeout if timeout is None else timeout,
                max_bytes=_LARGEST,
                body=urlencode(given).encode(),
                content_type=_FORM,
            )
        except NetTrouble as trouble:
            raise _UnheardError(method, trouble) from None
        text = response.body.decode("utf-8", "replace")
        return self.check_response(bot=bot, method=method, status_code=response.status, content=text).result

    async def close(self) -> None:
        """The client is the house's; whoever made it closes it."""

    def stream_content(self, *_: Any, **__: Any) -> AsyncGenerator[bytes, None]:
        raise NotImplementedError("the bot reads no files")


class _UnheardError(TelegramNetworkError):
    def __init__(self, method: TelegramMethod[Any], trouble: NetTrouble) -> None:
        super().__init__(method=method, message=trouble.message)
        self.begun = may_have_arrived(trouble)


class Telegram:
    def __init__(self, client: Client, api_base: str, token: str) -> None:
        self._token = token.strip()
        try:
            self.bot: Final = Bot(self._token, session=_Session(client, api_base))
        except TokenValidationError:
            raise SettingsError("telegram.token is no token: one looks like 123456789:AAF…; ask @BotFather") from None

    def __repr__(self) -> str:
        return "Telegram()"

    @property
    def mark(self) -> str:
        """Tells this bot from another one, and nothing of its token."""
        return hashlib.sha256(self._token.encode()).hexdigest()[:16]

    async def me(self) -> Answer:
        """Asked before anything else: it is also by its name that the bot knows commands that are meant for it."""
        return await self._answered(self.bot.me())

    async def updates(self, offset: int, wanted: Sequence[str]) -> Answer:
        question = _RawUpdates(offset=offset, timeout=POLL_S, allowed_updates=list(wanted))
        return await self._ask(question, int(POLL_S + TIMEOUT_S))

    async def say(self, chat_id: int, text: str, *, is_html: bool = False) -> Answer:
        # Not aiogram's own type for the preview: this is one dictionary less for each of many messages.
        message: dict[str, Any] = {"chat_id": chat_id, "text": text, "link_preview_options": {"is_disabled": True}}
        return await self._ask(_RawSend(**message, parse_mode="HTML" if is_html else None))

    async def answer_press(self, query_id: str, text: str) -> Answer:
        return await self._ask(AnswerCallbackQuery(callback_query_id=query_id, text=text))

    async def _ask(self, method: TelegramMethod[Any], timeout_s: int | None = None) -> Answer:
        return await self._answered(self.bot(method, request_timeout=timeout_s))

    async def _answered(self, asked: Awaitable[object]) -> Answer:
        try:
            return Ok(await asked)
        except AiogramError as trouble:
            return self._read(trouble)

    def _read(self, trouble: AiogramError) -> Answer:
        if isinstance(trouble, _UnheardError):
            return Unheard("network_error", trouble.message, trouble.begun)
        code = _code(trouble)
        if code is None or not isinstance(trouble, TelegramAPIError):
            what = (
                "Telegram has a fault of its own"
                if isinstance(trouble, TelegramServerError)
                else "no answer of Telegram"
            )
            return Unheard("provider_error", what, begun=True)
        retry_after = trouble.retry_after if isinstance(trouble, TelegramRetryAfter) else None
        return Refused(
            code,
            trouble.message,
            harmless(trouble.message, self._token),
            None if retry_after is None else min(float(retry_after), LONGEST_RETRY_S),
            trouble.migrate_to_chat_id if isinstance(trouble, TelegramMigrateToChat) else None,
        )


def _code(trouble: AiogramError) -> int | None:
    """None for what is no answer about this request."""
    known = _CODES.get(type(trouble))
    if known is None and isinstance(trouble, TelegramAPIError) and trouble.message.startswith("Too Many Requests"):
        return _TOO_MANY
    return known
