"""Telegram's Bot API with the people behind it: they write, press buttons, block the bot, turn groups into others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

from aiohttp import web

from vacancy.simulator.provider import Provider
from vacancy.simulator.telegram_rules import Refusal, check_keyboard, visible_text

TOKEN: Final = "123456:made-up-for-the-simulator"  # noqa: S105 - nobody's
MOST_UPDATES: Final = 100
_DATE: Final = 1_767_614_400
_TEXTS: Final = ("text", "parse_mode", "callback_query_id")

Parameters = Mapping[str, Any]


@dataclass(slots=True)
class Message:
    message_id: int
    text: str  # as people see it
    keyboard: list[list[dict[str, str]]]
    raw: Parameters


@dataclass(slots=True)
class Chat:
    number: int
    messages: list[Message] = field(default_factory=list)
    shut: str = ""  # why the bot cannot write there, in Telegram's words
    moved_to: int | None = None


class Telegram(Provider):
    def __init__(self, token: str = TOKEN, username: str = "vacancy_bot") -> None:
        super().__init__()
        self.token = token
        self.username = username
        self.chats: dict[int, Chat] = {}
        self.toasts: list[tuple[str, str]] = []  # what was answered to presses: their number, the text
        self.next_update_id = 500_000_001
        self._next_message_id = 1
        self._updates: list[dict[str, Any]] = []
        self._queries: set[str] = set()
        self._changed = asyncio.Event()
        self._poller = 0
        self.conflicts = 0  # how many polls were cut off by another one

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.post("/bot{token}/{method}", self._call)]

    def path(self, method: str = "") -> str:
        """Where a method is; for a fault that only it shall meet."""
        return f"/bot{self.token}/{method}"

    def refuse(self, code: int, description: str, method: str = "", *, times: int = 1, **parameters: int) -> None:
        """The next calls of a method are answered with this no."""
        self.fault(status=code, body=_no(Refusal(code, description, parameters)), path=self.path(method), times=times)

    def join(self, number: int) -> Chat:
        return self.chats.setdefault(number, Chat(number))

    def block(self, number: int, why: str = "Forbidden: bot was blocked by the user") -> None:
        self.join(number).shut = why
        was = {"user": self._me(), "status": "member"}
        kicked = {"user": self._me(), "status": "kicked", "until_date": 0}
        self._happened("my_chat_member", self._in(number) | {"old_chat_member": was, "new_chat_member": kicked})

    def migrate(self, number: int, to: int, *, is_told: bool = True) -> None:
        """A group becomes a supergroup; sometimes the bot hears of it only when it writes to the old number."""
        self.join(number).moved_to = to
        self.join(to)
        if is_told:
            self._happened("message", self._in(number) | {"message_id": 0, "migrate_to_chat_id": to})

    def write(self, number: int, text: str, *, person: int | None = None, language: str = "") -> None:
        """Somebody writes to the bot, in a chat that he opened thereby."""
        self.join(number)
        self._happened("message", self._in(number, person, language) | {"message_id": 0, "text": text})

    def happened(self, update: Mapping[str, Any]) -> None:
        """Whatever a Telegram of tomorrow may send."""
        self._updates.append({"update_id": self.next_update_id, **update})
        self.next_update_id += 1
        self._changed.set()

    def follow(self, number: int, link: str) -> None:
        """Somebody opens a deep link to this bot and presses Start, after having blocked it, perhaps."""
        parts = urlsplit(link)
        if (parts.scheme, parts.netloc, parts.path) != ("https", "t.me", f"/{self.username}"):
            raise LookupError(f"{link} leads to another bot")
        self.join(number).shut = ""
        self.write(number, f"/start {parse_qs(parts.query, strict_parsing=True)['start'][0]}")

    def press(self, number: int, word: str) -> str:
        """Somebody presses the button that bears this word, on the last message that has one; the press's number."""
        for message in reversed(self.chats[number].messages):
            for button in (button for row in message.keyboard for button in row):
                if button["text"] == word and "callback_data" in button:
                    return self.press_data(number, message.message_id, button["callback_data"])
        raise LookupError(f"no button {word!r} there")

    def press_data(self, number: int, message_id: int, data: str) -> str:
        query = f"q{self.next_update_id}"
        self._queries.add(query)
        message = {"message_id": message_id, "date": _DATE, "chat": _chat(number)}
        person = self._in(number)["from"]
        pressed = {"id": query, "from": person, "chat_instance": "1", "data": data, "message": message}
        self._happened("callback_query", pressed)
        return query

    @property
    def unconfirmed(self) -> int:
        return len(self._updates)

    @property
    def pending(self) -> Sequence[Mapping[str, Any]]:
        """What is not confirmed yet, as getUpdates has it."""
        return tuple(self._updates)

    def _happened(self, kind: str, what: object) -> None:
        self.happened({kind: what})

    def _in(self, number: int, person: int | None = None, language: str = "") -> dict[str, Any]:
        """Where and when something happened, and who did it: in a chat of two, whose number it is."""
        who: dict[str, Any] = {"id": person or abs(number), "is_bot": False, "first_name": "Somebody"}
        if language:
            who["language_code"] = language
        return {"date": _DATE, "chat": _chat(number), "from": who}

    def _me(self) -> dict[str, Any]:
        number = int(self.token.partition(":")[0])
        return {"id": number, "is_bot": True, "first_name": "Vacancy", "username": self.username}

    async def _call(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != self.token:
            return web.json_response(_no(Refusal(401, "Unauthorized")), status=401)
        methods: Mapping[str, Callable[[Parameters], Awaitable[object]]] = {
            "getMe": self._get_me,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "editMessageReplyMarkup": self._edit_message_reply_markup,
            "answerCallbackQuery": self._answer_callback_query,
        }
        method = methods.get(request.match_info["method"])
        body = await request.read()
        try:
            if method is None:
                raise Refusal(404, "Not Found")
            return web.json_response({"ok": True, "result": await method(_parameters(request, body))})
        except Refusal as refusal:
            return web.json_response(_no(refusal), status=refusal.code)

    async def _get_me(self, _: Parameters) -> object:
        return self._me()

    async def _get_updates(self, given: Parameters) -> object:
        """The first poller is cut off by the second. An offset beyond what there is confirms nothing, as after a week
        of silence, when the numbers begin anew."""
        self._poller += 1
        own = self._poller
        offset = given.get("offset", 0)
        self._changed.set()
        if offset <= self.next_update_id:
            self._updates = [update for update in self._updates if update["update_id"] >= offset]
        try:
            async with asyncio.timeout(given.get("timeout", 0)):
                while not self._updates and own == self._poller:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return []
        if own != self._poller:
            self.conflicts += 1
            raise Refusal(409, "Conflict: terminated by other getUpdates request; make sure that only one bot"
                               " instance is running")  # fmt: skip
        return self._updates[:MOST_UPDATES]

    async def _send_message(self, given: Parameters) -> object:
        chat = self._open_chat(given)
        message = Message(self._next_message_id, visible_text(given), check_keyboard(given), given)
        self._next_message_id += 1
        chat.messages.append(message)
        return {"message_id": message.message_id, "date": _DATE, "chat": _chat(chat.number), "text": message.text}

    async def _edit_message_text(self, given: Parameters) -> object:
        return self._edit(given, visible_text(given))

    async def _edit_message_reply_markup(self, given: Parameters) -> object:
        return self._edit(given, None)

    def _edit(self, given: Parameters, text: str | None) -> object:
        """Buttons that are not given are taken away."""
        for message in self._open_chat(given).messages:
            if message.message_id == given.get("message_id"):
                changed = (message.text if text is None else text, check_keyboard(given))
                if changed == (message.text, message.keyboard):
                    raise Refusal(400, "Bad Request: message is not modified")
                message.text, message.keyboard = changed
                return {"message_id": message.message_id}
        raise Refusal(400, "Bad Request: message to edit not found")

    async def _answer_callback_query(self, given: Parameters) -> object:
        query, text = given.get("callback_query_id"), given.get("text", "")
        if query not in self._queries:
            raise Refusal(400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
        if len(text) > 200:
            raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
        self._queries.remove(query)
        self.toasts.append((query, text))
        return True

    def _open_chat(self, given: Parameters) -> Chat:
        chat = self.chats.get(given.get("chat_id", 0))
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        if chat.moved_to is not None:
            raise Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat",
                          {"migrate_to_chat_id": chat.moved_to})  # fmt: skip
        if chat.shut:
            raise Refusal(403, chat.shut)
        return chat


def _parameters(request: web.Request, body: bytes) -> Parameters:
    """As JSON, or as a form whose members are JSON where they are no text."""
    if request.content_type != "application/x-www-form-urlencoded":
        return json.loads(body or b"{}") or {}
    return {name: _member(name, value) for name, value in parse_qsl(body.decode(), keep_blank_values=True)}


def _member(name: str, value: str) -> Any:
    return value if name in _TEXTS else json.loads(value)


def _chat(number: int) -> dict[str, Any]:
    return {"id": number, "type": "private"} if number > 0 else {"id": number, "type": "group", "title": "A group"}


def _no(refusal: Refusal) -> dict[str, Any]:
    said: dict[str, Any] = {"ok": False, "error_code": refusal.code, "description": refusal.description}
    return said | {"parameters": dict(refusal.parameters)} if refusal.parameters else said
