"""Chats that are left, that become others, and what happens to them while something else is amiss."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from tests.support.chat_rooms import ADA, EVE, SEVEN, Room, play, until
from tests.support.clock import ManualClock
from vacancy.channels.telegram import bot_api
from vacancy.errors import StoreError
from vacancy.model.subscriptions import Status
from vacancy.pipeline.switchboard import LEASE_S, LOOK_EVERY_S, RENEW_EVERY_S
from vacancy.runner import Stop
from vacancy.store import listening
from vacancy.store.engine import Store
from vacancy.store.schema import open_event_notifications
from vacancy.subscriptions import chat_links as links
from vacancy.subscriptions import chats

Play = Callable[[Callable[[Room], Awaitable[None]]], None]
GROUP, SUPERGROUP = -700, -1_000_000_000_700


@pytest.fixture
def tell(store: Store, clock: ManualClock) -> Play:
    return lambda story: play(store, clock, story)


def test_whoever_blocks_the_bot_waits_for_nothing_any_more_and_may_come_back(tell: Play) -> None:
    async def story(room: Room) -> None:
        await room.waits(ADA, SEVEN)
        await room.waits(EVE, SEVEN)
        room.opens(7)
        room.fake.block(ADA)
        await room.heard()
        (row,) = room.own(ADA)
        assert (row.status, row.contact_value) == (Status.UNSUBSCRIBED, None)
        await room.deliver()
        assert [len(room.texts(chat)) for chat in (ADA, EVE)] == [1, 2]
        await room.waits(ADA, SEVEN)
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED, Status.ACTIVE]

    tell(story)


@pytest.mark.parametrize("told_by", ["an update", "the channel"])
def test_a_group_that_becomes_a_supergroup_takes_all_along(tell: Play, told_by: str) -> None:
    async def story(room: Room) -> None:
        await room.waits(GROUP, SEVEN)
        room.opens(7)
        room.fake.migrate(GROUP, SUPERGROUP)
        if told_by == "an update":
            await room.heard()
        await room.deliver()
        assert len(room.texts(SUPERGROUP)) == 1
        assert room.own(GROUP) == []
        (row,) = room.own(SUPERGROUP)
        assert (row.status, row.is_verified, row.contact_value) == (Status.ACTIVE, True, str(SUPERGROUP))
        assert hashes(room) == {room.contact(SUPERGROUP).hash}
        # Told by both, and again: once is enough.
        await room.heard()
        await room.chat.moved(str(GROUP), str(SUPERGROUP))
        await room.deliver()
        room.fake.press(SUPERGROUP, "Stop")
        await room.heard()
        assert room.statuses(SUPERGROUP) == [Status.UNSUBSCRIBED]
        assert len(room.texts(SUPERGROUP)) == 1

    tell(story)


def hashes(room: Room) -> set[str]:
    return set(room.store.read_now(lambda tx: tx.execute(select(open_event_notifications.c.contact_hash)).scalars()))


def test_both_wait_for_the_same_and_one_goes_on_and_is_told_once(tell: Play) -> None:
    async def story(room: Room) -> None:
        await room.waits(GROUP, SEVEN)
        await room.waits(SUPERGROUP, SEVEN)
        room.opens(7)
        room.fake.migrate(GROUP, SUPERGROUP)
        await room.heard()
        await room.deliver()
        assert room.statuses(GROUP) == [Status.UNSUBSCRIBED]
        assert room.statuses(SUPERGROUP) == [Status.ACTIVE]
        assert [text.startswith("Open: ") for text in room.texts(SUPERGROUP)] == [False, True]

    tell(story)


@pytest.mark.parametrize(("told", "silent"), [(GROUP, SUPERGROUP), (SUPERGROUP, GROUP)])
def test_what_was_told_to_either_before_the_move_is_not_told_again_after_it(tell: Play, told: int, silent: int) -> None:
    async def story(room: Room) -> None:
        await room.waits(GROUP, SEVEN)
        await room.waits(SUPERGROUP, "course/01:198:111")
        room.store.write_now(_silence, room, silent)
        room.opens(7)
        await room.deliver()
        assert [alerts(room, chat) for chat in (told, silent)] == [1, 0]
        room.fake.migrate(GROUP, SUPERGROUP)
        await room.heard()
        before = alerts(room, SUPERGROUP)
        room.fake.write(SUPERGROUP, "/snooze off")
        await room.heard()
        room.clock.pass_time(2)
        await room.deliver()
        assert alerts(room, SUPERGROUP) == before
        room.closes()
        room.opens(7)
        await room.deliver()
        assert alerts(room, SUPERGROUP) == before + 1

    tell(story)


def alerts(room: Room, chat: int) -> int:
    return len([text for text in room.texts(chat) if text.startswith("Open: ")])


def _silence(tx: Any, room: Room, chat: int) -> None:
    chats.snooze_all(tx, room.people.desk, room.contact(chat), timedelta(hours=1))


def test_a_number_that_waited_for_its_confirmation_is_confirmed_by_the_group_that_it_was(tell: Play) -> None:
    async def story(room: Room) -> None:
        await room.waits(GROUP, SEVEN)
        room.subscribe(SUPERGROUP, SEVEN)
        room.fake.migrate(GROUP, SUPERGROUP)
        await room.heard()
        assert (room.statuses(GROUP), room.statuses(SUPERGROUP)) == ([Status.UNSUBSCRIBED], [Status.ACTIVE])

    tell(story)


# Trouble


def test_a_database_that_is_away_costs_no_update(tell: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(room: Room) -> None:
        url = await room.link(SEVEN)
        room.fake.follow(ADA, url)
        failures = iter(range(6))
        write = room.store.write

        def write_or_fail(fn: Any, *args: Any, **kwargs: Any) -> Any:
            if fn is links.claim and next(failures, None) is not None:
                return _fail()
            return write(fn, *args, **kwargs)

        monkeypatch.setattr(room.store, "write", write_or_fail)
        stop = Stop(room.clock)
        running = asyncio.create_task(room.switchboard().run(stop))
        async with asyncio.timeout(30):
            while room.fake.unconfirmed:
                await room.clock.advance(0.5)
        stop.request()
        await running
        assert room.statuses(ADA) == [Status.ACTIVE]

    tell(story)


async def _fail() -> None:
    raise StoreError("the database does not answer: it is away")


def test_whoever_lost_the_lease_hangs_up_and_stands_by_until_it_is_free(tell: Play) -> None:
    async def story(room: Room) -> None:
        bot = bot_api(room.kit).mark
        stop = Stop(room.clock)
        running = asyncio.create_task(room.switchboard().run(stop))
        room.fake.write(ADA, "/start")
        await until(lambda: room.fake.unconfirmed == 0)
        room.clock.jump(LEASE_S)
        assert room.store.write_now(listening.take, bot, "another", LEASE_S, lambda _holder: False)
        polls = len(room.fake.records)
        await room.clock.advance(RENEW_EVERY_S)
        await until(lambda: room.clock.sleepers == 1)
        room.fake.write(ADA, "/help")
        await room.clock.advance(LOOK_EVERY_S)
        await until(lambda: room.clock.sleepers == 1)
        assert (room.fake.unconfirmed, len(room.fake.records)) == (1, polls)
        room.store.write_now(listening.give_up, bot, "another")
        await room.clock.advance(LOOK_EVERY_S)
        await until(lambda: room.fake.unconfirmed == 0)
        assert len(room.texts(ADA)) == 2
        stop.request()
        await running

    tell(story)
