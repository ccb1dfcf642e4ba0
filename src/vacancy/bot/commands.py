"""What people write to the bot, and who answers it: we do, or those who look after alerts."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from aiogram import Bot, Dispatcher, F, Router
from aiogram.filters import Command, CommandObject
from aiogram.types import CallbackQuery, Message, Update
from pydantic import ValidationError

from vacancy.bot.answers import explain, mapping, reading
from vacancy.bot.backend import Backend, Lost
from vacancy.bot.binding import Bound, NotBound, Registrar
from vacancy.bot.events_desk import EventsDesk
from vacancy.bot.mouth import Mouth
from vacancy.bot.render import clip
from vacancy.bot.task_desk import TaskDesk
from vacancy.bot.words import say
from vacancy.channels.words import locale_of
from vacancy.model.bot import Seat
from vacancy.store import bot_chats
from vacancy.store.engine import Store

WANTED: Final = ("message", "callback_query", "my_chat_member")
# `/stop_12` is what Telegram makes a link of.
_OTHERS: Final = re.compile(r"(?:watch|unwatch|list|snooze|stop)(?:_[0-9]{1,18})?$", re.ASCII | re.IGNORECASE)
_LONGEST_NAME: Final = 64
_LONGEST_CODE: Final = 64
Raw = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """`person` is who wrote; in a group that is not the chat."""

    chat_id: int
    person_id: int
    is_group: bool
    locale: str
    text: str  # what stands behind the command
    raw: Raw


class Commands:
    """`standing` says whether events are looked for: the interval, or None."""

    def __init__(
        self,
        store: Store,
        backend: Backend,
        alerts: Backend,
        registrar: Registrar,
        mouth: Mouth,
        standing: Callable[[], float | None],
    ) -> None:
        self._store = store
        self._backend = backend
        self._alerts = alerts
        self._registrar = registrar
        self._mouth = mouth
        self._standing = standing
        self._tasks = TaskDesk(backend)
        self._events = EventsDesk(backend)
        self._dispatcher = Dispatcher(disable_fsm=True)
        self._dispatcher.include_router(self._router())

    async def hear(self, bot: Bot, raw: Raw) -> None:
        """One update of Telegram's. One that aiogram cannot read goes on as it came: somebody else may."""
        try:
            update = Update.model_validate(raw, context={"bot": bot})
        except ValidationError:
            await self._alerts.hand_on(msgspec.json.encode(raw))
            return
        await self._dispatcher.feed_update(bot, update, raw=raw)

    def _router(self) -> Router:
        router = Router()
        router.message.register(self._moved, F.migrate_to_chat_id)
        handlers: Mapping[str, Callable[[Asked], Awaitable[str | None]]] = {
            "start": self._start, "bind": self._bind, "unbind": self._unbind, "whoami": self._whoami,
            "tasks": self._do_tasks, "events": self._show_events, "help": self._help, "ping": self._ping,
        }  # fmt: skip
        for name, handler in handlers.items():
            router.message.register(self._answering(handler), Command(name, ignore_case=True))
        router.message.register(self._answering(self._for_others), Command(_OTHERS))
        router.message.register(self._other)
        router.callback_query.register(self._pressed)
        router.my_chat_member.register(self._handed_on)
        return router

    def _answering(self, handler: Callable[[Asked], Awaitable[str | None]]) -> Callable[..., Awaitable[None]]:
        async def answer(message: Message, command: CommandObject, raw: Raw) -> None:
            asked = _asked(message, raw, command.args or "")
            reply = await handler(asked)
            if reply is not None:
                await self._mouth.reply(asked.chat_id, reply)

        return answer

    async def _start(self, asked: Asked) -> str | None:
        if asked.text:
            return await self._for_others(asked)
        return f"{say(asked.locale, 'welcome')}\n\n{say(asked.locale, 'help')}"

    async def _help(self, asked: Asked) -> str:
        return say(asked.locale, "help")

    async def _ping(self, asked: Asked) -> str:
        interval = self._standing()
        events = "not_polling" if interval is None else "polling"
        seat = await self._store.read(bot_chats.seat, asked.chat_id)
        chat = (
            say(asked.locale, "still_bound", who=_who(seat, asked.locale)) if seat else say(asked.locale, "not_bound")
        )
        return say(asked.locale, "pong", events=say(asked.locale, events, seconds=f"{interval or 0:g}"), chat=chat)

    async def _bind(self, asked: Asked) -> str:
        code = asked.text.strip()
        if not code or len(code) > _LONGEST_CODE:
            return say(asked.locale, "bind_how")
        made = await self._registrar.bind(asked.chat_id, asked.person_id, code, asked.locale)
        lines = [await self._unmade(asked, made) if isinstance(made, NotBound) else self._made(asked, made)]
        if asked.is_group:
            who = _who(made.seat, asked.locale) if isinstance(made, Bound) else ""
            lines.append(say(asked.locale, "bound_group" if isinstance(made, Bound) else "code_group", who=who))
        return "\n".join(lines)

    def _made(self, asked: Asked, made: Bound) -> str:
        is_later = made.seat.is_reading_up
        lines = [say(asked.locale, "bound_later" if is_later else "bound", who=_who(made.seat, asked.locale))]
        if self._standing() is None:
            lines.append(say(asked.locale, "not_polling"))
        return "\n".join(lines)

    async def _unmade(self, asked: Asked, made: NotBound) -> str:
        if made.why == "often":
            return say(asked.locale, "code_often", minutes=int(made.wait_s // 60) + 1)
        if made.answer is not None:
            is_unsure = isinstance(made.answer, Lost) and made.answer.begun
            return say(asked.locale, "unsure_code") if is_unsure else explain(made.answer, asked.locale)
        seat = await self._store.read(bot_chats.seat, asked.chat_id)
        lines = [say(asked.locale, "code_invalid")]
        if seat is not None:
            lines.append(say(asked.locale, "still_bound", who=_who(seat, asked.locale)))
        return "\n".join(lines)

    async def _unbind(self, asked: Asked) -> str:
        seat = await self._registrar.unbind(asked.chat_id)
        if seat is None:
            return say(asked.locale, "not_bound")
        return say(asked.locale, "unbound", who=_who(seat, asked.locale))

    async def _whoami(self, asked: Asked) -> str:
        return await self._as_user(asked, lambda seat: self._introduce(asked, seat))

    async def _introduce(self, asked: Asked, seat: Seat) -> str:
        answer = await self._backend.me(seat.user_id)
        me = mapping(answer)
        if me is None:
            said = explain(reading(answer), asked.locale)
            return f"{said}\n{say(asked.locale, 'still_bound', who=_who(seat, asked.locale))}"
        role = me.get("role")
        name = clip(role if isinstance(role, str) else _member(role, "name"), _LONGEST_NAME)
        who = _named(clip(me.get("name"), _LONGEST_NAME), seat.user_id, asked.locale)
        return say(asked.locale, "whoami" if name else "whoami_short", who=who, role=name)

    async def _do_tasks(self, asked: Asked) -> str:
        return await self._as_user(asked, lambda seat: self._tasks.reply(seat.user_id, asked.text, asked.locale))

    async def _show_events(self, asked: Asked) -> str:
        return await self._as_user(asked, lambda seat: self._events.reply(seat, asked.text, asked.locale))

    async def _as_user(self, asked: Asked, do: Callable[[Seat], Awaitable[str]]) -> str:
        """Looked up each time: whoever was unbound a moment ago is nobody here."""
        seat = await self._store.read(bot_chats.seat, asked.chat_id)
        return say(asked.locale, "not_bound") if seat is None else await do(seat)

    async def _moved(self, message: Message, raw: Raw) -> None:
        if message.migrate_to_chat_id is not None:
            await self._store.write(bot_chats.move, message.chat.id, message.migrate_to_chat_id)
        await self._hand_on(raw)

    async def _other(self, message: Message, raw: Raw) -> None:
        asked = _asked(message, raw, message.text or "")
        if asked.is_group or not asked.text:
            return  # it may be another bot's, or talk among people
        name = clip(asked.text.split()[0], _LONGEST_NAME) if asked.text.startswith("/") else ""
        lines = [say(asked.locale, "unknown", name=name)] if name else []
        await self._mouth.reply(asked.chat_id, "\n".join((*lines, say(asked.locale, "help"))))

    async def _pressed(self, query: CallbackQuery, raw: Raw) -> None:
        trouble = await self._hand_on(raw)
        if trouble:
            await self._mouth.toast(query.id, say(locale_of(query.from_user.language_code or ""), trouble))

    async def _handed_on(self, _: object, raw: Raw) -> None:
        await self._hand_on(raw)

    async def _for_others(self, asked: Asked) -> str | None:
        trouble = await self._hand_on(asked.raw)
        return say(asked.locale, trouble) if trouble else None

    async def _hand_on(self, raw: Raw) -> str:
        """The word for what went wrong; empty if it was taken, and answered there."""
        answer = await self._alerts.hand_on(msgspec.json.encode(raw))
        if isinstance(answer, Lost):
            return "alerts_away"
        return "" if answer.is_good else "alerts_none" if answer.status == 404 else "alerts_away"


def _asked(message: Message, raw: Raw, text: str) -> Asked:
    person = message.from_user
    language = person.language_code if person else None
    return Asked(
        message.chat.id,
        person.id if person else message.chat.id,
        message.chat.id < 0,
        locale_of(language or ""),
        text,
        raw,
    )


def _who(seat: Seat, locale: str) -> str:
    return _named(seat.name, seat.user_id, locale)


def _named(name: str, user_id: int, locale: str) -> str:
    user = say(locale, "user", number=user_id)
    return f"{name} ({user})" if name else user


def _member(holder: object, name: str) -> object:
    return holder.get(name) if isinstance(holder, dict) else None
