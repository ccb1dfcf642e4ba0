"""A process that polls everything once and, if told to, is killed at a certain moment. Run by the tests of kills.

The moment is chosen here, around the product's own functions: nothing in the product knows of it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from vacancy import app
from vacancy.pipeline import emit
from vacancy.settings import load
from vacancy.sources.soc import Soc
from vacancy.store import events, unwanted
from vacancy.store.engine import Store


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after_the_fetch() -> None:
    ask = Soc.ask

    async def ask_and_die(self: Soc, *arguments: Any) -> Any:
        await ask(self, *arguments)
        die()

    Soc.ask = ask_and_die  # type: ignore[method-assign, assignment]


def inside_the_transaction() -> None:
    append = events.append

    def append_and_die(*arguments: Any) -> list[int]:
        numbers = append(*arguments)
        if numbers:
            die()
        return numbers

    emit.events.append = append_and_die  # type: ignore[attr-defined]


def after_the_commit() -> None:
    write_now = Store.write_now

    def write_and_die(self: Store, fn: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = write_now(self, fn, *arguments, **options)
        if getattr(result, "emission", None) and result.emission.opened:
            die()
        return result

    Store.write_now = write_and_die  # type: ignore[method-assign]


def inside_the_new_words() -> None:
    """The payload of an open item is written, and whoever did not want it is not looked at again yet."""
    emit.unwanted.look_at_again = die  # type: ignore[attr-defined]


def after_the_new_words() -> None:
    """Committed, and no courier was told."""
    look_at_again, ring = unwanted.look_at_again, Store.write_now
    revived = False

    def note(*arguments: Any) -> int:
        nonlocal revived
        found = look_at_again(*arguments)
        revived = revived or found > 0
        return found

    def write_and_die(self: Store, fn: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = ring(self, fn, *arguments, **options)
        if revived:
            die()
        return result

    emit.unwanted.look_at_again = note  # type: ignore[attr-defined]
    Store.write_now = write_and_die  # type: ignore[method-assign]


MOMENTS = {each.__name__: each for each in (after_the_fetch, inside_the_transaction, after_the_commit)}
MOMENTS_OF_WORDS = {each.__name__: each for each in (inside_the_new_words, after_the_new_words)}


async def poll_once() -> None:
    async with app.engine(load(None, os.environ)) as parts:
        await parts.poller.poll_once(lambda polled: print(polled.key, polled.came.value))  # noqa: T201


if __name__ == "__main__":
    if len(sys.argv) > 1:
        (MOMENTS | MOMENTS_OF_WORDS)[sys.argv[1]]()
    asyncio.run(poll_once())
