"""Events on their way into chats: in order, none lost, none to the wrong chat, whoever else is in trouble."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from tests.support.bot_rooms import ADA, EVE, EVES_CHAT, GROUP, HER_CHAT, HER_OTHER_CHAT, Room, play
from tests.support.chat_rooms import until
from tests.support.clock import ManualClock
from vacancy.bot import poller
from vacancy.bot.backend import PAGE
from vacancy.bot.pace import Pace
from vacancy.errors import StoreError
from vacancy.runner import Stop
from vacancy.store import bot_chats
from vacancy.store.engine import Store

Play = Callable[..., None]


@pytest.fixture
def tell(store: Store, clock: ManualClock) -> Play:
    return lambda story, **more: play(store, clock, story, **more)


@pytest.fixture
def tell_quickly(sqlite_store: Store, clock: ManualClock) -> Play:
    """Where nothing depends on the kind of database."""
    return lambda story, **more: play(sqlite_store, clock, story, **more)


def test_five_pages_come_in_order_whatever_goes_wrong_and_once(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.sits(EVES_CHAT, EVE)
        hers, eves = [], []
        for _ in range(100):
            hers += room.happen(9, ADA)
            eves += room.happen(1, EVE)
        chance = random.Random(7)
        for turn in range(200):
            if room.told(HER_CHAT) == hers and room.told(EVES_CHAT) == eves:
                break
            break_something(room, chance)
            await room.later(1000)
            if turn == 3:
                room.begin()  # as after a restart
        assert room.told(HER_CHAT) == hers
        assert room.told(EVES_CHAT) == eves
        assert room.seat(HER_CHAT).cursor == hers[-1]

    tell(story)


def break_something(room: Room, chance: random.Random) -> None:
    """What neither side has answered yet, so that nothing can come twice."""
    feed, send = "/tasks/me/events", room.fake.path("sendMessage")
    match chance.randrange(8):
        case 0:
            room.backend.fault(status=chance.choice([401, 403, 404, 500, 503]), path=feed)
        case 1:
            room.backend.fault(drop=True, path=feed)
        case 2:
            room.backend.fault(status=200, body={"items": []}, path=feed)
        case 3:
            room.backend.fault(status=200, body='[{"event_id": 1', path=feed)
        case 4:
            room.fake.refuse(429, "Too Many Requests: retry after 3", "sendMessage", retry_after=3)
        case 5:
            room.fake.fault(status=502, body="<html>", path=send)
        case 6:
            room.fake.fault(drop=True, path=send)
        case _:
            pass


def test_a_new_chat_hears_of_nothing_that_was_before_however_much_that_is(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.happen(450, ADA)
        room.fake.join(HER_CHAT)
        room.store.write_now(bot_chats.bind, HER_CHAT, ADA, "", "en-US")
        room.backend.fault(status=503, path="/tasks/me/events")
        await room.cycle()
        assert room.seat(HER_CHAT).is_reading_up
        await room.later(1000)
        assert not room.seat(HER_CHAT).is_reading_up
        new = room.happen(3, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == new

    tell(story)


def test_a_restart_while_a_new_chat_reads_up_pushes_no_history(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.happen(450, ADA)
        room.fake.join(HER_CHAT)
        room.store.write_now(bot_chats.bind, HER_CHAT, ADA, "", "en-US")
        person = room.backend.person(ADA)
        person.faults = []
        room.backend.fault(delay_s=0, path="/tasks/me/events")  # the first is answered
        room.backend.fault(status=500, path="/tasks/me/events", times=9)
        await room.cycle()
        assert 0 < room.seat(HER_CHAT).cursor < 450
        room.backend.clear()
        room.begin()
        await room.cycle()
        new = room.happen(1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == new

    tell_quickly(story)


def test_a_backend_that_gives_little_at_once_does_not_end_the_reading_up(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.happen(2, ADA)
        room.fake.join(HER_CHAT)
        room.store.write_now(bot_chats.bind, HER_CHAT, ADA, "", "en-US")
        first = room.backend.person(ADA).events[:1]
        room.backend.person(ADA).faults = [(200, first)]
        await room.cycle(3)
        assert room.told(HER_CHAT) == []
        assert not room.seat(HER_CHAT).is_reading_up

    tell_quickly(story)


def test_two_chats_of_one_user_share_a_page_and_each_gets_all(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.sits(HER_OTHER_CHAT, ADA)
        made = room.happen(3, ADA)
        room.backend.records.clear()
        await room.cycle()
        assert room.told(HER_CHAT) == room.told(HER_OTHER_CHAT) == made
        assert len(room.backend.asks_for_events()) == 1

    tell(story)


def test_a_chat_that_lags_gets_what_it_lacks_and_the_other_nothing_twice(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(5, ADA)
        room.sits(HER_OTHER_CHAT, ADA, cursor=made[3])
        await room.cycle(2)
        assert room.told(HER_CHAT) == made
        assert room.told(HER_OTHER_CHAT) == made[4:]

    tell_quickly(story)


def test_a_chat_that_telegram_holds_up_delays_no_other_of_the_same_user(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.sits(HER_OTHER_CHAT, ADA)
        first = room.happen(1, ADA)
        room.fake.refuse(429, "Too Many Requests: retry after 60", "sendMessage", retry_after=60)
        await room.cycle()
        held, other = sorted((HER_CHAT, HER_OTHER_CHAT), key=lambda chat: len(room.told(chat)))
        assert (room.told(held), room.told(other)) == ([], first)
        second = room.happen(1, ADA)
        await room.later(30)
        assert (room.told(held), room.told(other)) == ([], first + second)
        await room.later(31)
        assert room.told(held) == first + second

    tell_quickly(story)


def test_while_a_chat_rests_its_user_is_not_asked_for(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(1, ADA)
        room.fake.refuse(429, "Too Many Requests: retry after 60", "sendMessage", retry_after=60)
        await room.cycle()
        room.backend.records.clear()
        for _ in range(5):
            await room.later(10)
        assert room.backend.asks_for_events() == []
        await room.later(11)
        assert room.told(HER_CHAT) == made

    tell_quickly(story)


def test_a_chat_that_is_bound_to_another_meanwhile_gets_that_one_s_events_alone(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.happen(2, ADA)
        held = room.backend.person(ADA).held = asyncio.Event()
        await room.house.poller.begin_cycle()
        await until(lambda: room.backend.person(ADA).asked)
        room.sits(HER_CHAT, EVE)
        eves = room.happen(2, EVE)
        await room.house.poller.begin_cycle()
        held.set()
        await room.house.poller.idle()
        await room.cycle()
        assert room.told(HER_CHAT) == eves
        assert room.seat(HER_CHAT).user_id == EVE

    tell_quickly(story)


def test_a_user_whose_feed_never_answers_delays_nobody(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        slow = range(50, 62)
        for user in slow:
            room.sits(1000 + user, user)
            room.backend.person(user).held = asyncio.Event()
        room.sits(HER_CHAT, ADA)
        made = room.happen(2, ADA)
        await room.house.poller.begin_cycle()
        await until(lambda: room.told(HER_CHAT) == made)
        for _ in range(3):
            await again(room, room.happen(1, ADA)[0])
        for user in slow:
            person = room.backend.person(user)
            assert person.asked == 1
            assert person.held is not None
            person.held.set()
        await room.house.poller.idle()

    tell_quickly(story)


async def again(room: Room, number: int) -> None:
    """Cycle after cycle, without waiting for whoever is still in hand, until she was told of this event."""

    async def turn() -> None:
        while number not in room.told(HER_CHAT):
            await room.house.poller.begin_cycle()
            await asyncio.sleep(0)

    await asyncio.wait_for(turn(), 30)


def test_a_chat_that_blocked_the_bot_is_unbound_and_it_is_said_why(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.sits(HER_OTHER_CHAT, ADA)
        room.fake.chats[HER_CHAT].shut = "Forbidden: bot was blocked by the user"
        made = room.happen(2, ADA)
        with structlog.testing.capture_logs() as lines:
            await room.cycle()
        record = room.record(HER_CHAT)
        assert (record.status, record.reason) == ("unbound", "Telegram refuses: Forbidden: bot was blocked by the user")
        assert [line["reason"] for line in lines if line["event"] == "chat unbound"] == [
            "Forbidden: bot was blocked by the user"
        ]
        assert room.told(HER_OTHER_CHAT) == made
        room.fake.chats[HER_CHAT].shut = ""
        room.happen(1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == []

    tell(story)


def test_a_migrated_chat_keeps_its_place(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(GROUP, ADA)
        first = room.happen(1, ADA)
        await room.cycle()
        room.fake.migrate(GROUP, -100_300, is_told=False)
        second = room.happen(2, ADA)
        await room.cycle(2)
        assert room.told(GROUP) == first
        assert room.told(-100_300) == second
        assert room.record(GROUP).reason == "the chat is number -100300 now"

    tell(story)


def test_what_telegram_does_not_take_is_tried_as_plain_text_then_passed_over(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        first, second, third = room.happen(3, ADA)
        room.fake.refuse(400, "Bad Request: can't parse entities", "sendMessage")
        with structlog.testing.capture_logs() as lines:
            await room.cycle()
            assert room.told(HER_CHAT) == [first, second, third]
            plain = room.fake.chats[HER_CHAT].messages[0].raw
            assert "parse_mode" not in plain
            fourth, fifth = room.happen(2, ADA)
            room.fake.refuse(400, "Bad Request: wrong somehow", "sendMessage", times=2)
            await room.cycle()
        assert room.told(HER_CHAT)[3:] == [fifth]
        assert room.record(HER_CHAT).passed_over == 1
        (told,) = [line for line in lines if line["event"] == "event passed over"]
        assert (told["event_id"], told["reason"]) == (fourth, "Telegram does not take it: Bad Request: wrong somehow")

    tell(story)


def test_two_chats_that_are_told_to_wait_mean_everybody(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        for chat, user in ((HER_CHAT, ADA), (EVES_CHAT, EVE), (999, 3)):
            room.sits(chat, user)
        room.happen(1, ADA, EVE)
        room.fake.refuse(429, "Too Many Requests: retry after 60", "sendMessage", times=2, retry_after=60)
        await room.cycle()
        room.happen(1, 3)
        await room.later(20)
        assert room.texts(999) == []
        await room.later(41)
        assert len(room.texts(999)) == len(room.texts(HER_CHAT)) == len(room.texts(EVES_CHAT)) == 1

    tell_quickly(story)


def test_whatever_a_backend_sends_stops_nobody_and_nothing_is_lost_in_silence(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.sits(EVES_CHAT, EVE)
        feed = room.backend.person(ADA).events
        good = room.happen(1, ADA)
        feed.append({"event_id": "x", "payload": 1})
        feed.append(7)
        bare = {"event_id": room.backend.happens(), "task_id": [], "event_type": 5, "payload": "z", "created_at": {}}
        feed.append(bare)
        good += room.happen(1, ADA)
        eves = room.happen(1, EVE)
        with structlog.testing.capture_logs() as lines:
            await room.cycle(3)
        assert room.told(HER_CHAT) == good
        assert "Update" in room.texts(HER_CHAT)
        assert room.told(EVES_CHAT) == eves
        assert room.record(HER_CHAT).passed_over == 2
        assert [line["count"] for line in lines if line["event"] == "events passed over"] == [2]

    tell(story)


@pytest.mark.parametrize(
    "body", ['{"items": []}', "null", "[", '[{"event_id": 9}, {"event_id": 8}]', "[" * 5000, '"\\ud800"']
)
def test_a_page_that_is_none_moves_no_cursor_and_is_told_once(tell_quickly: Play, body: str) -> None:
    async def story(room: Room) -> None:
        seat = room.sits(HER_CHAT, ADA)
        room.backend.person(ADA).faults = [(200, body)] * 3
        made = room.happen(1, ADA)
        with structlog.testing.capture_logs() as lines:
            for _ in range(4):
                await room.later(1000)
        assert room.told(HER_CHAT) == made
        warned = [line["event"] for line in lines]
        assert warned == ["no events for a user; trying again later", "events of a user again"]
        assert room.seat(HER_CHAT).binding == seat.binding

    tell_quickly(story)


def test_a_backend_that_is_away_is_not_stormed(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        for user in range(10, 60):
            room.sits(1000 + user, user)
        room.backend.fault(status=503, times=10_000, path="/tasks/me/events")
        with structlog.testing.capture_logs() as lines:
            await room.cycle()
            room.backend.records.clear()
            for _ in range(60):  # five minutes
                await room.later(5)
            assert len(room.backend.records) < 20
            room.backend.clear()
            made = room.happen(1, *range(10, 60))
            await room.later(1000)
            await room.later(1000)
        assert all(room.told(1000 + user) == made for user in range(10, 60))
        told = [line["event"] for line in lines]
        assert told.count("the backend does not answer; it is asked for one user now and then") == 1
        assert told.count("the backend answers again") == 1

    tell_quickly(story)


def test_a_message_that_was_sent_while_the_database_was_away_is_not_sent_again(
    sqlite_store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance = bot_chats.advance

    def away(*_: Any) -> list[bool]:
        raise StoreError("away")

    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(3, ADA)
        monkeypatch.setattr(bot_chats, "advance", away)
        await room.cycle(2)
        assert room.told(HER_CHAT) == made[:1]
        monkeypatch.setattr(bot_chats, "advance", advance)
        await room.cycle()
        assert room.told(HER_CHAT) == made

    play(sqlite_store, clock, story)


def test_one_message_a_second_to_a_chat(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(3, ADA)
        await room.house.poller.begin_cycle()
        await until(lambda: room.seat(HER_CHAT).cursor == made[0] and clock.sleepers)
        assert room.told(HER_CHAT) == made[:1]
        await clock.advance(0.9)
        assert room.told(HER_CHAT) == made[:1]
        await clock.advance(0.1)
        await until(lambda: room.seat(HER_CHAT).cursor == made[1] and clock.sleepers)
        await clock.advance(1.0)
        await room.house.poller.idle()
        assert room.told(HER_CHAT) == made

    play(sqlite_store, clock, story, pace=Pace(clock))


def test_a_stop_lets_the_message_in_hand_be_written_down(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(50, ADA)
        house = room.house
        house.is_polling = True
        stop = Stop(room.clock)
        running = asyncio.create_task(house.poller.run(stop))
        await until(lambda: room.told(HER_CHAT))
        stop.request()
        await running
        told = room.told(HER_CHAT)
        assert told == made[: len(told)]
        assert room.seat(HER_CHAT).cursor == told[-1]
        assert len(told) < 50

    tell_quickly(story)


def test_who_was_unbound_gets_nothing_more_at_once(store: Store, clock: ManualClock) -> None:
    """By another process as well, and though the next message waited for its turn already."""

    async def story(room: Room) -> None:
        seat = room.sits(HER_CHAT, ADA)
        made = room.happen(20, ADA)
        await room.house.poller.begin_cycle()
        await until(lambda: room.seat(HER_CHAT).cursor == made[0] and clock.sleepers)
        assert room.store.write_now(bot_chats.unbind, HER_CHAT, "by hand", seat.binding)
        await clock.advance(5)
        await room.house.poller.idle()
        assert room.told(HER_CHAT) == made[:1]

    play(store, clock, story, pace=Pace(clock))


def test_who_is_behind_gets_several_pages_in_a_cycle_but_not_without_end(
    tell_quickly: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poller, "MOST_PAGES", 2)

    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        made = room.happen(PAGE * 2 + 1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == made[:-1]
        assert len(room.backend.asks_for_events()) == 2
        await room.cycle()
        assert room.told(HER_CHAT) == made

    tell_quickly(story)
