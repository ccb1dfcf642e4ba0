"""Couriers in processes of their own that are killed, if told to by themselves, at a certain moment.

This process does nothing but fork them: tests/support/nursery.py speaks with it, a line of JSON for each wish. The
moments are chosen here, around the product's own functions: nothing in the product knows of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from vacancy import app, logs
from vacancy.channels import CONTACT_TYPES, letters
from vacancy.pipeline.deliver import Courier
from vacancy.pipeline.dispatch import Errand, Taken, run_errand
from vacancy.runner import Stop
from vacancy.settings import load
from vacancy.store import queue_results
from vacancy.store.engine import Store
from vacancy.store.queue_results import Written

# What a courier would import only when it is made.
_AHEAD: Final = ("psycopg", "sqlalchemy.dialects.postgresql.psycopg",
                 *(f"vacancy.channels.{name}" for name in CONTACT_TYPES))  # fmt: skip


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _after_an_errand(is_it: Callable[[Errand, Taken], bool]) -> None:
    write_now = Store.write_now

    def write_and_die(self: Store, fn: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = write_now(self, fn, *arguments, **options)
        if fn is run_errand and is_it(arguments[0], result):
            die()
        return result

    Store.write_now = write_and_die  # type: ignore[method-assign]


def after_the_claim() -> None:
    _after_an_errand(lambda _, taken: bool(taken.rows))


def after_the_answer() -> None:
    collect = Courier._collect

    def collect_and_die(self: Courier) -> None:
        collect(self)
        if self._done:
            die()

    Courier._collect = collect_and_die  # type: ignore[method-assign]


def inside_the_ack() -> None:
    write_down = queue_results.write_down

    def write_and_die(*arguments: Any) -> Written:
        written = write_down(*arguments)
        if arguments[3]:
            written.note()
            die()
        return written

    queue_results.write_down = write_and_die  # type: ignore[assignment]


def after_the_ack() -> None:
    _after_an_errand(lambda errand, _: bool(errand.done))


MOMENTS = {each.__name__: each for each in (after_the_claim, after_the_answer, inside_the_ack, after_the_ack)}


async def deliver(settings: Mapping[str, str], channel: str) -> None:
    async with app.engine(load(None, settings)) as parts:
        (courier,) = [each for each in parts.couriers() if each.name == channel]
        await courier.once(Stop(parts.clock))


def live(wish: Mapping[str, Any]) -> int:
    try:
        os.dup2(2, 1)  # the line to whoever wished for us is our parent's
        if wish["moment"]:
            MOMENTS[wish["moment"]]()
        asyncio.run(deliver(wish["settings"], wish["channel"]))
    except BaseException:  # noqa: BLE001 - nothing of it may reach the loop that forks
        traceback.print_exc()
        return 1
    return 0


def prepare() -> None:
    """Whatever each of them would do anew, and could have from us: a hundred of them are started in one test."""
    for name in _AHEAD:
        importlib.import_module(name)
    letters.MailTemplates = functools.cache(letters.MailTemplates)  # type: ignore[assignment, attr-defined]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(deliver({"VACANCY_DATABASE_URL": f"sqlite:///{folder}/rehearsal.db"}, "email"))


def main() -> None:
    logs.configure("json", "warning", sys.stderr)
    prepare()
    children: set[int] = set()
    for line in sys.stdin:
        wish = json.loads(line)
        if "wait" in wish:
            _, status = os.waitpid(wish["wait"], 0)
            children.discard(wish["wait"])
            print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201
        elif child := os.fork():
            children.add(child)
            print(child, flush=True)  # noqa: T201
        else:
            os._exit(live(wish))
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
