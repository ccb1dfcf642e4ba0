"""What Telegram hands over, read. Pure: whatever comes in, something sensible or nothing comes out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vacancy.channels.telegram_api import whole

_COMMAND: Final = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s+(.*))?", re.DOTALL)
_PAYLOAD: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,2}", re.ASCII)
_LEFT: Final = ("left", "kicked")
_LONGEST_DATA: Final = 64


@dataclass(frozen=True, slots=True)
class Started:
    """Somebody pressed Start; `payload` is what the deep link carried, or empty."""

    chat: str
    payload: str


@dataclass(frozen=True, slots=True)
class Command:
    chat: str
    name: str  # in lower case, without its slash
    argument: str
    language: str = ""  # of whoever wrote it, as his Telegram is set; may be anything


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button under one of our messages. A strange client may send any `data`: it proves nothing but the chat."""

    chat: str
    data: str
    callback_id: str
    message_id: int


@dataclass(frozen=True, slots=True)
class Left:
    """The bot was blocked, or removed from a group."""

    chat: str


@dataclass(frozen=True, slots=True)
class Migrated:
    """A group became a supergroup, and has another number."""

    chat: str
    now: str


Update = Started | Command | Pressed | Left | Migrated


@dataclass(frozen=True, slots=True)
class Numbered:
    """`update` is None for what does not concern us; its number is confirmed all the same."""

    update_id: int
    update: Update | None


def batch(result: object, me: str) -> list[Numbered] | None:
    """None when this is no list of updates: nothing in it could be confirmed."""
    if not isinstance(result, list):
        return None
    numbered = [(whole(_member(raw, "update_id")), raw) for raw in result]
    found = [Numbered(number, parse(raw, me)) for number, raw in numbered if number is not None and number >= 0]
    return found if found or not result else None


def parse(raw: object, me: str) -> Update | None:
    """`me` is the bot's own name: in a group a command may be meant for another bot."""
    message, pressed = _mapping(raw, "message"), _mapping(raw, "callback_query")
    if message is not None:
        return _message(message, me.lower())
    if pressed is not None:
        return _pressed(pressed)
    member = _mapping(raw, "my_chat_member")
    return _membership(member) if member is not None else None


def _message(message: Mapping[str, Any], me: str) -> Update | None:
    chat = _chat(message)
    if chat is None:
        return None
    moved = whole(message.get("migrate_to_chat_id"))
    if moved:
        return Migrated(chat, str(moved))
    text = message.get("text")
    found = _COMMAND.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None or (found[2] or me).lower() != me:
        return None
    name, argument = found[1].lower(), (found[3] or "").strip()
    if name == "start":
        return Started(chat, argument if _PAYLOAD.fullmatch(argument) else "")
    return Command(chat, name, argument, _language(message))


def _pressed(query: Mapping[str, Any]) -> Pressed | None:
    message = _mapping(query, "message")
    callback_id, data = query.get("id"), query.get("data")
    if message is None or not isinstance(callback_id, str) or not isinstance(data, str):
        return None
    chat, message_id = _chat(message), whole(message.get("message_id"))
    if chat is None or message_id is None or not callback_id or len(data) > _LONGEST_DATA:
        return None
    return Pressed(chat, data, callback_id, message_id)


def _membership(change: Mapping[str, Any]) -> Left | None:
    chat, now = _chat(change), _mapping(change, "new_chat_member")
    return Left(chat) if chat is not None and now is not None and now.get("status") in _LEFT else None


def _chat(holder: Mapping[str, Any]) -> str | None:
    number = whole(_member(holder.get("chat"), "id"))
    return str(number) if number else None


def _language(message: Mapping[str, Any]) -> str:
    code = _member(message.get("from"), "language_code")
    return code if isinstance(code, str) and _LANGUAGE.fullmatch(code) else ""


def _mapping(raw: object, name: str) -> Mapping[str, Any] | None:
    found = _member(raw, name)
    return found if isinstance(found, dict) else None


def _member(raw: object, name: str) -> object:
    return raw.get(name) if isinstance(raw, dict) else None
