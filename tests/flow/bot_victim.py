"""Bots that are killed at a certain moment, forked from a process that has everything imported, for aiogram alone takes
seconds. Run by the tests of kills; a line of JSON in, a line out.

The moment is chosen here, around the product's own functions: nothing in the product knows of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

from vacancy import logs
from vacancy.bot.clerk import Clerk
from vacancy.bot.pace import Pace
from vacancy.bot.run import run
from vacancy.clock import SystemClock
from vacancy.net.client import make_client
from vacancy.settings import load
from vacancy.store.start import open_store


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before_the_save(count: int) -> None:
    """Of the message of that number: Telegram has it, and nobody wrote it down."""
    save, saved = Clerk.save, iter(range(1, count + 1))

    async def save_or_die(self: Clerk, move: Any) -> bool:
        if next(saved, count) >= count:
            die()
        return await save(self, move)

    Clerk.save = save_or_die  # type: ignore[method-assign]


async def work(environment: Mapping[str, str]) -> int:
    settings, clock = load(None, environment), SystemClock()
    store = open_store(settings.bot.database_url, clock)
    client = make_client(settings.base_url, clock)
    code = await run(settings, store, client, clock, lambda _: None, Pace(clock, per_second=0, chat_gap_s=0))
    await client.close()
    store.close()
    return code


def start(asked: Mapping[str, Any]) -> int:
    number = os.fork()
    if number:
        return number
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    if asked["after"]:
        before_the_save(asked["after"])
    logs.configure("json", "warning", sys.stderr)
    os._exit(asyncio.run(work(asked["environment"])))


def serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = start(asked)
        print(answer, flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
