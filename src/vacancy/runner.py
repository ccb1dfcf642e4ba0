"""Supervised loops: a crashed one is started again, and on SIGTERM each finishes what it holds."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal

import structlog

from vacancy.clock import Clock
from vacancy.errors import StoreError

FIRST_RESTART_S: Final = 1.0
LONGEST_RESTART_S: Final = 60.0
RAN_WELL_S: Final = 60.0

State = Literal["running", "restarting", "stopped"]
_log = structlog.stdlib.get_logger(__name__)


class Stop:
    """Says "finish what you hold and return". A loop looks at it between two pieces of work, and naps on it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked = asyncio.Event()

    @property
    def requested(self) -> bool:
        return self._asked.is_set()

    def request(self) -> None:
        self._asked.set()

    async def wait(self, timeout: float | None = None) -> bool:
        """Until asked to stop, or for that long on the clock. True when asked."""
        if self.requested or timeout is None:
            return await self._asked.wait()
        await self.wait_for(self._clock.sleep(timeout))
        return self.requested

    async def wait_for(self, other: Awaitable[object]) -> None:
        """Until this happens, or until asked to stop."""
        either = (asyncio.ensure_future(other), asyncio.ensure_future(self._asked.wait()))
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in either:
                each.cancel()


@dataclass(frozen=True)
class Loop:
    """One endless piece of work. Returning before being asked to means that it has nothing left to do."""

    name: str
    run: Callable[[Stop], Awaitable[None]]


class Runner:
    def __init__(self, clock: Clock, loops: Sequence[Loop], *, drain_s: float = 20.0) -> None:
        self._clock = clock
        self._loops = tuple(loops)
        self._drain_s = drain_s
        self._states: dict[str, State] = {loop.name: "stopped" for loop in loops}
        self._hurry = asyncio.Event()
        self.stop: Final = Stop(clock)
        if len(self._states) < len(self._loops):
            raise ValueError("two loops have the same name")

    def health(self) -> dict[str, str]:
        return dict(self._states)

    async def run(self) -> int:
        """Until every loop has ended. 0 when all ended by themselves, 1 when some had to be cut off."""
        tasks = {asyncio.create_task(self._supervise(loop), name=loop.name) for loop in self._loops}
        with self._signals():
            try:
                return await self._see_out(tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _see_out(self, tasks: set[asyncio.Task[None]]) -> int:
        if not tasks:
            return 0
        await self._either(tasks, self.stop.wait(None))
        running = {task for task in tasks if not task.done()}
        if running:
            _log.info("stopping", loops=sorted(task.get_name() for task in running), drain_s=self._drain_s)
            await self._either(running, self._hurry.wait(), self._clock.sleep(self._drain_s))
        cut_off = sorted(task.get_name() for task in running if not task.done())
        if cut_off:
            _log.warning("loops cut off", loops=cut_off)
        return 1 if cut_off else 0

    async def _either(self, tasks: set[asyncio.Task[None]], *others: Awaitable[object]) -> None:
        """Until all of the tasks have ended, or one of the others has."""
        all_ended = asyncio.ensure_future(asyncio.wait(tasks))
        watched = [all_ended, *(asyncio.ensure_future(other) for other in others)]
        try:
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for watcher in watched:
                watcher.cancel()

    async def _supervise(self, loop: Loop) -> None:
        delay, waits = FIRST_RESTART_S, False
        try:
            while not self.stop.requested:
                self._states[loop.name] = "running"
                began = self._clock.monotonic()
                fault = await self._fault_of(loop)
                if fault is None:
                    return
                if self._clock.monotonic() - began >= RAN_WELL_S:
                    delay, waits = FIRST_RESTART_S, False
                self._states[loop.name] = "restarting"
                if isinstance(fault, StoreError):
                    # No fault of the loop's: its database is away, and will not come back later for being asked again.
                    if not waits:
                        _log.warning("loop waits for the database", loop=loop.name, trouble=str(fault))
                    waits = True
                    await self.stop.wait(FIRST_RESTART_S)
                    continue
                _log.error("loop crashed", loop=loop.name, exc_info=fault)
                _log.info("loop starts again", loop=loop.name, in_s=delay)
                await self.stop.wait(delay)
                delay, waits = min(delay * 2, LONGEST_RESTART_S), False
        finally:
            self._states[loop.name] = "stopped"

    async def _fault_of(self, loop: Loop) -> BaseException | None:
        """What ended it before its time; None if it has nothing left to do."""
        try:
            await loop.run(self.stop)
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Something inside the loop was cancelled, not the loop: to end here would be to end in silence.
            return cancelled
        except Exception as fault:  # noqa: BLE001 - the one boundary: whatever a loop raises, it starts again
            return fault
        return None

    def _on_signal(self) -> None:
        if self.stop.requested:
            self._hurry.set()
        self.stop.request()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # elsewhere Python delivers none; whoever embeds us calls stop.request()
            return
        loop = asyncio.get_running_loop()
        both = (signal.SIGTERM, signal.SIGINT)
        for number in both:
            loop.add_signal_handler(number, self._on_signal)
        try:
            yield
        finally:
            for number in both:
                loop.remove_signal_handler(number)
