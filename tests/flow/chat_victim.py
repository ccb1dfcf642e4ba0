"""A process that listens to the bot and is killed at a certain moment. Run by the tests of chats.

The moment is chosen here, around the product's own functions: nothing in the product knows of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from vacancy import app
from vacancy.channels.telegram_hearing import Hearing
from vacancy.pipeline.switchboard import Switchboard
from vacancy.runner import Stop
from vacancy.settings import load
from vacancy.store import chat_links


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def inside_the_transaction() -> None:
    use = chat_links.use

    def use_and_die(*arguments: Any) -> bool:
        use(*arguments)
        die()
        return True

    chat_links.use = use_and_die  # type: ignore[assignment]


def before_the_reply() -> None:
    async def die_before(*_: object) -> None:
        die()

    Hearing._say = die_before  # type: ignore[method-assign, assignment]


def before_the_confirmation() -> None:
    async def die_before(*_: object) -> None:
        die()

    Switchboard._save = die_before  # type: ignore[method-assign, assignment]


MOMENTS = {each.__name__: each for each in (inside_the_transaction, before_the_reply, before_the_confirmation)}


async def listen() -> None:
    async with app.engine(load(None, os.environ)) as parts:
        await parts.switchboard().run(Stop(parts.clock))


if __name__ == "__main__":
    MOMENTS[sys.argv[1]]()
    asyncio.run(listen())
