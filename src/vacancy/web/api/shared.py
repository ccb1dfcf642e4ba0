"""One works for all who wait for the same, and they are woken together.

Behind a lock each would be woken by the one before it, a turn of the event loop later; and in each turn the loop serves
everybody who need not wait. The last of a hundred waited for as long as the others went on asking.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}

    async def end_of(self, key: Hashable) -> bool:
        """Waits for what is under way, and says whether anything was. It began before it was asked for: if it is good
        enough is the caller's to find out."""
        task = self._running.get(key)
        if task is None:
            return False
        await asyncio.shield(task)
        return True

    async def get(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What is under way, or begun now. Whoever is cancelled leaves it to the others."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.get_running_loop().create_task(work())
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    def _ended(self, key: Hashable, task: asyncio.Task[T]) -> None:
        del self._running[key]
        if not task.cancelled():
            # Everybody who waited for it may be gone.
            task.exception()
