"""`vacancy bot`: runs it, or binds chats by hand."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.table import Table

from vacancy.clock import SystemClock, iso
from vacancy.commands.common import ERR, OUT, as_json, opened, prepare
from vacancy.errors import SettingsError
from vacancy.model.bot import Record
from vacancy.net.client import make_client
from vacancy.settings import Settings
from vacancy.store import bot_chats
from vacancy.store.engine import Store
from vacancy.store.start import open_store

_LOCALE = "en-US"


def run(config: Path | None) -> int:
    if importlib.util.find_spec("aiogram") is None:
        ERR.print("The bot needs the extra `bot`: .venv/bin/pip install '.[bot]', in the checkout",
                  markup=False, soft_wrap=True)  # fmt: skip
        return 1
    settings = prepare(config, quiet=False)
    if settings.telegram.token is None:
        raise SettingsError("telegram.token is not set (VACANCY_TELEGRAM__TOKEN); @BotFather makes one")
    return asyncio.run(_run(settings))


async def _run(settings: Settings) -> int:
    clock = SystemClock()
    # Imported on use: aiogram costs seconds and 170 MB, which only this verb is worth.
    start = importlib.import_module("vacancy.bot.run").run
    store = open_store(settings.bot.database_url, clock)
    client = make_client(settings.base_url, clock)
    try:
        code: int = await start(settings, store, client, clock, lambda line: ERR.print(line, soft_wrap=True))
        return code
    finally:
        await client.close()
        store.close()


def bind(config: Path | None, chat: int, user: int, *, json: bool) -> int:
    with _opened(config) as store:
        seat = store.write_now(bot_chats.bind, chat, user, "", _LOCALE)
    if json:
        as_json({"chatId": chat, "userId": user, "cursor": seat.cursor, "isReadingUp": seat.is_reading_up})
    else:
        OUT.print(f"Chat {chat} is bound to user {user}. A running `vacancy bot` tells it what happens from now on.",
                  soft_wrap=True)  # fmt: skip
    return 0


def unbind(config: Path | None, chat: int, *, json: bool) -> int:
    with _opened(config) as store:
        done = store.write_now(bot_chats.unbind, chat, "unbound by hand")
    if json:
        as_json({"chatId": chat, "changed": done})
    else:
        OUT.print(f"Chat {chat} is unbound." if done else f"Chat {chat} was not bound; nothing was changed.")
    return 0


def chats(config: Path | None, *, json: bool) -> int:
    with _opened(config) as store:
        found = store.read_now(bot_chats.records)
    if json:
        as_json([_shown(each) for each in found])
    elif not found:
        OUT.print("No chat was ever bound. Write /bind CODE to the bot, or `vacancy bot bind --chat N --user N`.",
                  markup=False, soft_wrap=True)  # fmt: skip
    else:
        OUT.print(_table(found))
    return 0


def _table(found: list[Record]) -> Table:
    table = Table("Chat", "User", "Cursor", "Standing", "Passed over", box=None, pad_edge=False)
    for each in found:
        standing = "reads up to now" if each.is_reading_up else each.status
        reason = f": {each.reason}" if each.reason else ""
        cursor = "" if each.cursor is None else str(each.cursor)
        user = f"{each.user_id} {each.name}".strip()
        table.add_row(str(each.chat_id), user, cursor, f"{standing}{reason}", str(each.passed_over))
    return table


def _shown(each: Record) -> dict[str, Any]:
    return {
        "chatId": each.chat_id, "userId": each.user_id, "name": each.name, "status": each.status,
        "reason": each.reason, "cursor": each.cursor, "isReadingUp": each.is_reading_up,
        "boundAt": iso(each.bound_at), "changedAt": iso(each.changed_at), "passedOver": each.passed_over,
    }  # fmt: skip


def _its_own(settings: Settings) -> Settings:
    return settings.model_copy(update={"database_url": settings.bot.database_url})


@contextmanager
def _opened(config: Path | None) -> Iterator[Store]:
    with opened(_its_own(prepare(config))) as store:
        yield store
