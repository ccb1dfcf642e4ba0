"""Threads that run what the event loop must not. An executor's futures cost more than most of our transactions do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple["asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """They start with the first work, take it in order, and end when closed, once what was asked for is done."""

    def __init__(self, number: int, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(number)]
        self._started = False
        self._closed = False

    def run(self, work: Callable[[], T]) -> Awaitable[T]:
        """To be called in an event loop. Work that was begun ends, even if nobody waits for it any more."""
        if self._closed:
            raise RuntimeError("nobody works here any more: the store is closed")
        if not self._started:
            self._started = True
            for thread in self._threads:
                thread.start()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((future, work))
        return future

    def close(self) -> None:
        self._closed = True
        if self._started:
            for _ in self._threads:
                self._jobs.put(None)
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, work = job
            try:
                answer = work()
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits, whatever it is
                _hand_over(future, _fail, error)
            else:
                _hand_over(future, _answer, answer)
            # Or the last answer would be kept alive until the next work comes.
            del job, future, work


def _hand_over(future: asyncio.Future[Any], how: Callable[[asyncio.Future[Any], Any], None], what: Any) -> None:
    # A loop that was closed meanwhile has nobody left who waits.
    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(how, future, what)


def _answer(future: asyncio.Future[Any], answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
