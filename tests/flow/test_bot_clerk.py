"""How far chats have read, written down many at a time: whatever happens, nobody waits for ever."""

from __future__ import annotations

import asyncio

import pytest

from vacancy.bot.clerk import Clerk
from vacancy.errors import StoreError
from vacancy.model.bot import Move, Seat
from vacancy.store import bot_chats
from vacancy.store.engine import Store, Tx


def test_a_fault_of_ours_fails_those_who_wait_for_the_next_turn_too(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    async def story() -> list[BaseException | bool]:
        clerk = Clerk(sqlite_store)
        seats = [sqlite_store.write_now(bind, chat) for chat in range(1, 301)]
        monkeypatch.setattr(bot_chats, "advance", fail)
        moves = (clerk.save(Move(seat, seat.cursor, seat.cursor + 1)) for seat in seats)
        async with asyncio.timeout(30):
            return await asyncio.gather(*moves, return_exceptions=True)

    def bind(tx: Tx, chat: int) -> Seat:
        return bot_chats.bind(tx, chat, 7, "Ada", "en-US")

    ended = asyncio.run(story())
    assert len(ended) == 300
    assert all(isinstance(each, StoreError | RuntimeError) for each in ended)
