"""Waiting for a bell on behalf of a client: for no longer than it stays, and than the service runs."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from starlette.types import Receive

from vacancy.store.bells import Bell
from vacancy.web.context import House


class Patience:
    def __init__(self, house: House, receive: Receive) -> None:
        self._house = house
        self._receive = receive
        self._ends: set[asyncio.Future[Any]] = set()

    async def __aenter__(self) -> Self:
        self._ends = {
            asyncio.ensure_future(_gone(self._receive)),
            asyncio.ensure_future(self._house.stopping.wait()),
        }
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in self._ends:
            end.cancel()
        await asyncio.gather(*self._ends, return_exceptions=True)

    @property
    def over(self) -> bool:
        return self._house.stopping.is_set() or any(end.done() for end in self._ends)

    async def wait(self, bell: Bell, heard: int, seconds: float) -> None:
        """Until the bell rang more than `heard` times, the seconds are over, or nobody waits any more."""
        ring = asyncio.ensure_future(bell.wait(heard, self._house.clock, seconds))
        try:
            await asyncio.wait({ring, *self._ends}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ring.cancel()
        if ring.done():
            ring.result()


async def _gone(receive: Receive) -> None:
    # A GET's body is of no interest; after it there is only the word that the client has left.
    while (await receive())["type"] != "http.disconnect":
        pass
