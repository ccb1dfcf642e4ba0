"""A chat with the bot: what people press and write is read, done in one transaction, and answered.

Everything here may come twice, for whatever was not confirmed is read again: the second time changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import structlog

from vacancy.channels import telegram
from vacancy.channels.telegram_text import CONFIRM, GOT_IT, SNOOZE, STOP
from vacancy.channels.telegram_updates import Command, Left, Migrated, Pressed, Reply, Started, Update
from vacancy.channels.words import locale_of
from vacancy.errors import UserError
from vacancy.model.subscriptions import Contact
from vacancy.pipeline.chat_replies import Replies
from vacancy.store.engine import Store
from vacancy.subscriptions import chat_links, chat_watch, chats
from vacancy.subscriptions.attempts import Attempts
from vacancy.subscriptions.chat_watch import Choices
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.migrated import contact_moved
from vacancy.subscriptions.rules import Desk

_PRESS_SNOOZE: Final = timedelta(hours=1)
_LONGEST_SNOOZE: Final = timedelta(days=30)
_SPAN: Final = re.compile(r"([1-9][0-9]{0,4}) ?(m|h|d)", re.ASCII)
_UNITS: Final = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_DATA: Final = re.compile(rf"([{GOT_IT}{SNOOZE}{STOP}{CONFIRM}]):([1-9][0-9]{{0,17}})", re.ASCII)
_log = structlog.stdlib.get_logger(__name__)


class Chat:
    def __init__(self, store: Store, desk: Desk, base_url: str) -> None:
        self._store = store
        self._desk = desk
        # Of one chat, as of one address: whoever writes is told no before anything is looked up.
        self._attempts = Attempts(desk.settings.per_ip, desk.settings.per_ip_window_s)
        self._page = f"{base_url.rstrip('/')}/subscribe"
        self._commands: Mapping[str, Callable[[Contact, str, Replies], Any]] = {
            "watch": self._watch, "unwatch": self._unwatch,
            "stop": self._stop, "snooze": self._snooze, "list": self._list, "help": self._help,
        }  # fmt: skip

    async def hear(self, update: Update) -> Reply | None:
        try:
            chat = read_contact(self._desk.secret, self._desk.channel(telegram.NAME), update.chat)
        except UserError:
            return None  # no number that a chat could have
        match update:
            case Started(payload=code):
                return await self._start(chat, code)
            case Command():
                return await self._command(chat, update)
            case Pressed(data=data):
                return await self._press(chat, data)
            case Left():
                ended = await self._store.write(chats.gone, chat)
                _log.info("a chat is gone", subscriptions=ended)
            case Migrated(now=now):
                await self.moved(update.chat, now)
        return None

    async def moved(self, before: str, after: str) -> None:
        try:
            moved = await self._store.write(contact_moved, self._desk, telegram.NAME, before, after)
        except UserError:
            return
        _log.info("a chat has another number", subscriptions=moved)

    async def _start(self, chat: Contact, code: str) -> Reply:
        if not code:
            return (await self._replies(chat)).welcome(chat.value)
        try:
            claimed = await self._store.write(chat_links.claim, self._desk, chat, code)
        except UserError as error:
            asked_in = await self._store.write(chat_links.locale_of, code)
            replies = self._in(asked_in) if asked_in else await self._replies(chat)
            return replies.refused(error.code)
        return self._in(claimed.subscription.locale).linked(claimed)

    async def _command(self, chat: Contact, command: Command) -> Reply | None:
        # `/stop_12` is what Telegram makes a link of.
        name, _, number = command.name.partition("_")
        do = self._commands.get(name)
        if do is None and _is_group(chat):
            return None  # it may be another bot's
        replies = await self._replies(chat, command.language)
        reply: Reply = await (do or self._help)(chat, command.argument or number, replies)
        return reply

    async def _watch(self, chat: Contact, argument: str, replies: Replies) -> Reply:
        words = " ".join(argument.split())
        if not words:
            return Reply(replies.say("watch_how"))
        try:
            self._attempts.count(chat.value)
        except UserError:
            return Reply(replies.say("watch_too_often"))
        try:
            found = await self._store.write(chat_watch.watch, self._desk, chat, words, locale_of(replies.locale))
        except UserError as error:
            return replies.not_watched(error, words)
        return replies.choices(found) if isinstance(found, Choices) else replies.watched(found)

    async def _unwatch(self, chat: Contact, argument: str, replies: Replies) -> Reply:
        """By the name of what it waits for, or as `/stop`; but never all of it, for nobody says so by this word."""
        words = " ".join(argument.split())
        if not words:
            return Reply(replies.say("unwatch_how"))
        ended = await self._store.write(chat_watch.unwatch, self._desk, chat, words)
        return replies.unwatched(ended) if ended else await self._stop(chat, words, replies)

    async def _stop(self, chat: Contact, argument: str, replies: Replies) -> Reply:
        if not argument:
            return replies.stopped_all(await self._store.write(chats.stop_all, self._desk, chat))
        own = await self._store.write(chats.stop, self._desk, chat, int(argument)) if _is_number(argument) else None
        return replies.stopped(own) if own else Reply(replies.say("no_number", number=argument[:18]))

    async def _snooze(self, chat: Contact, argument: str, replies: Replies) -> Reply:
        if argument.lower() == "off":
            return replies.quiet(await self._store.write(chats.snooze_all, self._desk, chat, None))
        span = _span(argument) if argument else _PRESS_SNOOZE
        if span is None:
            return Reply(replies.say("snooze_how"))
        return replies.quiet(await self._store.write(chats.snooze_all, self._desk, chat, span))

    async def _list(self, chat: Contact, _argument: str, replies: Replies) -> Reply:
        own, now = await self._store.write(lambda tx: (chats.show(tx, self._desk, chat), tx.now()))
        return replies.listed(own, now)

    async def _help(self, _chat: Contact, _argument: str, replies: Replies) -> Reply:
        return Reply(replies.say("help"))

    async def _press(self, chat: Contact, data: str) -> Reply:
        replies = await self._replies(chat)
        found = _DATA.fullmatch(data)
        if found is None:
            return Reply(replies.say("no_button"))
        own = await self._store.write(chats.find, self._desk, chat, int(found[2]))
        if own is None:
            _log.info("a button that is not the chat's own")
            return Reply(replies.say("not_yours"))
        return await self._answer(chat, found[1], own, self._in(own.subscription.locale))

    async def _answer(self, chat: Contact, word: str, own: chats.Own, replies: Replies) -> Reply:
        number = own.subscription.subscription_id
        if word == GOT_IT:
            return Reply(replies.say("got_it"), strip=True)
        if word == STOP:
            await self._store.write(chats.stop, self._desk, chat, number)
            return replies.stopped(own, edit=True)
        if word == CONFIRM:
            begun = await self._store.write(chats.confirm_own, self._desk, chat, number)
            return replies.confirmed(own if begun is None else begun)
        quiet = await self._store.write(chats.snooze, self._desk, chat, number, _PRESS_SNOOZE)
        return Reply(replies.say("has_ended")) if quiet is None or not quiet.whose else replies.quiet(quiet)

    async def _replies(self, chat: Contact, language: str = "") -> Replies:
        """In that of its subscriptions; where it has none, in that of whoever writes."""
        own: str | None = await self._store.write(chats.locale, chat)
        return self._in(own or language)

    def _in(self, locale: str) -> Replies:
        return Replies(locale, self._page, self._zone_of)

    def _zone_of(self, source: str) -> str:
        found = self._desk.sources(source)
        return found.policy.time_zone if found else "UTC"


def _is_group(chat: Contact) -> bool:
    return chat.value.startswith("-")


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _span(text: str) -> timedelta | None:
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        return None
    span = int(found[1]) * _UNITS[found[2]]
    return span if span <= _LONGEST_SNOOZE else None
