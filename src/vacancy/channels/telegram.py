"""Telegram: a message from the bot to a chat."""

from __future__ import annotations

import inspect
import re
from typing import Final

from vacancy.channels.base import Kit, OnMigrated, Pace
from vacancy.channels.telegram_api import Answer, BotApi, Ok, Refused, Unheard, whole
from vacancy.channels.telegram_text import Draft, drafted
from vacancy.errors import SettingsError
from vacancy.model.messages import Blocked, Dead, Outcome, Parcel, Retry, Sent
from vacancy.settings import Settings

NAME: Final = "telegram"
BURST: Final = 30
CONTACT_GAP_S: Final = 1.0
UNTOLD_RATE_S: Final = 30.0  # how long to wait when Telegram does not say
_LARGEST_ID: Final = 1 << 52  # Telegram promises to stay below
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_UNAUTHORIZED: Final = (401, 404)  # a revoked token, and one that never was
# What it says, with a 400, of chats that nobody can write to any more; and of those where the bot may not speak.
_GONE: Final = ("chat not found", "peer_id_invalid", "user not found", "deactivated", "user_is_blocked", "was deleted")
_SILENCED: Final = ("not enough rights", "no rights", "administrator rights", "write_forbidden", "topic_closed")


class Telegram:
    name = NAME
    verifies = True  # anybody can type the number of a chat

    def __init__(self, api: BotApi, *, per_second: float, on_migrated: OnMigrated | None = None) -> None:
        self.pace = Pace(per_second=per_second, burst=BURST, contact_gap_s=CONTACT_GAP_S)
        self._api = api
        self._on_migrated = on_migrated

    def contact(self, text: str) -> str:
        text = text.strip()
        number = int(text) if _NUMBER.fullmatch(text) else 0
        if not number or abs(number) >= _LARGEST_ID:
            raise ValueError("must be the number of a chat, such as 123456789; write /start to the bot to link yours")
        return str(number)

    async def send(self, parcel: Parcel) -> Outcome:
        try:
            chat = int(self.contact(parcel.person.contact))
        except ValueError:
            return Dead("invalid_recipient", "the contact is not the number of a chat", alarm=True, provider=NAME)
        draft = drafted(parcel)
        return outcome(await self._deliver(chat, draft))

    async def probe(self) -> Blocked | None:
        answer = await self._api.call("getMe", {})
        if isinstance(answer, Ok):
            return None
        found = outcome(answer)
        if isinstance(found, Blocked):
            return found
        why = answer.message if isinstance(answer, Unheard) else f"Telegram answered {answer.code}"
        return Blocked("provider_error", why, provider=NAME)

    async def close(self) -> None:
        """The client is everybody's; whoever made it closes it."""

    async def _deliver(self, chat: int, draft: Draft) -> Answer:
        chat, answer = await self._try(chat, draft, plain=False)
        if _is_misread(answer):
            _, answer = await self._try(chat, draft, plain=True)
        return answer

    async def _try(self, chat: int, draft: Draft, *, plain: bool) -> tuple[int, Answer]:
        """A group that became a supergroup has a new number, and is written to there within the same try."""
        message = draft.plain() if plain else draft.formatted()
        answer = await self._api.call("sendMessage", {"chat_id": chat, **message})
        moved = answer.migrate_to if isinstance(answer, Refused) else None
        if moved is None or moved == chat:
            return chat, answer
        # Before the message: what goes wrong in telling it must not look as if the message had not been sent.
        await self._rebind(chat, moved)
        return moved, await self._api.call("sendMessage", {"chat_id": moved, **message})

    async def _rebind(self, before: int, after: int) -> None:
        if self._on_migrated is not None:
            told = self._on_migrated(str(before), str(after))
            if inspect.isawaitable(told):
                await told


def outcome(answer: Answer) -> Outcome:
    if isinstance(answer, Ok):
        number = whole(answer.result.get("message_id")) if isinstance(answer.result, dict) else None
        return Sent(NAME, "" if number is None else str(number))
    if isinstance(answer, Refused):
        return _refused(answer)
    if answer.begun:
        return Retry(answer.code, answer.message, provider=NAME)
    return Blocked(answer.code, answer.message, provider=NAME)


def _refused(answer: Refused) -> Outcome:
    if answer.code in _UNAUTHORIZED:
        return Blocked("unauthorized", "Telegram does not know the bot's token", provider=NAME)
    if answer.code == 429:
        wait = UNTOLD_RATE_S if answer.retry_after_s is None else answer.retry_after_s
        return Blocked("rate_limited", "Telegram asks us to wait", wait, NAME)
    if answer.code == 403 or _is_gone(answer):
        return Dead("recipient_gone", f"the chat takes no messages: {answer.reason}", contact_is="gone", provider=NAME)
    if _is_silenced(answer):
        return Dead("recipient_refuses", f"the bot may not write there: {answer.reason}", provider=NAME)
    if answer.code == 400 and answer.migrate_to is None:
        why = f"Telegram does not take the message: {answer.reason}"
        return Dead("provider_error", why, alarm=True, provider=NAME)
    return Retry("provider_error", f"Telegram answered {answer.code}", answer.retry_after_s, provider=NAME)


def _is_gone(answer: Refused) -> bool:
    return answer.code == 400 and any(words in answer.description.lower() for words in _GONE)


def _is_silenced(answer: Refused) -> bool:
    return answer.code == 400 and any(words in answer.description.lower() for words in _SILENCED)


def _is_misread(answer: Answer) -> bool:
    """A 400 for what the message is, not for whom it is to: something in it was not to Telegram's liking."""
    if not isinstance(answer, Refused) or answer.code != 400 or answer.migrate_to is not None:
        return False
    return not _is_gone(answer) and not _is_silenced(answer)


def bot_api(kit: Kit) -> BotApi:
    token = kit.settings.telegram.token
    if token is None:
        raise SettingsError("telegram.token is not set; without it there is no such channel")
    return BotApi(kit.client, kit.settings.telegram.api_base, token.get_secret_value())


def build(kit: Kit) -> Telegram:
    settings: Settings = kit.settings
    return Telegram(bot_api(kit), per_second=settings.delivery.telegram_per_second, on_migrated=kit.on_migrated)
