"""Knows how far each chat has read, and writes it down: whoever asks while a transaction runs shares the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from vacancy.errors import StoreError
from vacancy.model.bot import Move, Seat
from vacancy.store import bot_chats
from vacancy.store.engine import Store

_MOST: Final = 200
_NOT_WRITTEN: Final = "how far chats have read could not be written down"
_Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Wanted:
    move: Move
    done: asyncio.Future[bool]


class Clerk:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Wanted] = []
        self._writing: asyncio.Task[None] | None = None
        self._reached: dict[_Key, Seat] = {}
        # Done, and not yet written down, for the database was away: not done again for that.
        self._unsaved: dict[_Key, Move] = {}

    def at(self, seat: Seat) -> Seat:
        """What a look at the database found may be older than what was written since."""
        reached = self._reached.get(_key(seat))
        if reached is None or reached.cursor < seat.cursor:
            return seat
        return replace(seat, cursor=reached.cursor, is_reading_up=seat.is_reading_up and reached.is_reading_up)

    def keep(self, seats: Iterable[Seat]) -> None:
        """Forget all others."""
        bound = {_key(seat) for seat in seats}
        self._reached = {key: seat for key, seat in self._reached.items() if key in bound}
        self._unsaved = {key: move for key, move in self._unsaved.items() if key in bound}

    async def settle(self, seat: Seat) -> Seat | None:
        """The seat as it truly is, before anything is sent to it; None if it is not bound so any more."""
        seat, unsaved = self.at(seat), self._unsaved.get(_key(seat))
        if unsaved is None or unsaved.after <= seat.cursor:
            self._unsaved.pop(_key(seat), None)
            return seat
        return self.at(seat) if await self.save(unsaved) else None

    async def save(self, move: Move) -> bool:
        """True when it stands in the database, durably; False when the chat is not bound as it was."""
        key = _key(move.seat)
        self._unsaved[key] = move
        made = await self._written(move)
        self._unsaved.pop(key, None)
        if made:
            is_reading_up = move.seat.is_reading_up and not move.is_read_up
            self._reached[key] = replace(move.seat, cursor=move.after, is_reading_up=is_reading_up)
        return made

    async def _written(self, move: Move) -> bool:
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Wanted(move, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write(), name="bot-clerk")
        return await done

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                await self._write_some(batch)
        finally:
            self._writing = None
            # Empty, unless a fault of ours ended it early.
            stranded, self._waiting = self._waiting, []
            _fail(stranded, _NOT_WRITTEN)

    async def _write_some(self, batch: list[_Wanted]) -> None:
        try:
            made = await self._store.write(bot_chats.advance, [each.move for each in batch])
            for each, is_made in zip(batch, made, strict=True):
                if not each.done.done():
                    each.done.set_result(is_made)
        except StoreError as trouble:
            _fail(batch, str(trouble))
        finally:
            # Whatever happened, nobody waits for ever.
            _fail(batch, _NOT_WRITTEN)


def _fail(batch: list[_Wanted], trouble: str) -> None:
    for each in batch:
        if not each.done.done():
            each.done.set_exception(StoreError(trouble))


def _key(seat: Seat) -> _Key:
    return seat.chat_id, seat.binding
