"""What people do in a chat, from the deep link to the last word, over Telegram's HTTP and both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from sqlalchemy import select

from tests.support.chat_rooms import ADA, EIGHT, EVE, SEVEN, Room, play
from tests.support.clock import ManualClock
from vacancy.model.subscriptions import Preferences, Status
from vacancy.store.engine import Store
from vacancy.store.schema import chat_links
from vacancy.subscriptions import chat_links as links

DAY_S = 86_400
Play = Callable[[Callable[[Room], Awaitable[None]]], None]


@pytest.fixture
def tell(store: Store, clock: ManualClock) -> Play:
    return lambda story: play(store, clock, story)


def test_the_whole_way_from_the_link_to_the_stop(tell: Play) -> None:
    async def story(room: Room) -> None:
        number = await room.waits(ADA, SEVEN)
        assert room.texts(ADA) == [
            "You hear of it here: 12025|NB:00007.\nIt is closed right now. The moment it opens, a message comes."
        ]
        (row,) = room.own(ADA)
        assert (row.status, row.is_verified, row.contact_value) == (Status.ACTIVE, True, str(ADA))
        room.opens(7)
        await room.deliver()
        assert len(room.texts(ADA)) == 2
        assert room.words(ADA) == ["Got it", "Snooze for 1 hour", "Stop"]

        room.fake.press(ADA, "Snooze for 1 hour")
        await room.heard()
        assert room.fake.toasts[-1][1].startswith("Silence until Mon, Jan 5, ")
        room.closes()
        room.opens(7)
        await room.deliver()
        assert len(room.texts(ADA)) == 2
        room.clock.jump(3600)
        room.opens(7)
        await room.deliver()
        assert len(room.texts(ADA)) == 3

        before = room.last(ADA).text
        room.fake.press(ADA, "Got it")
        await room.heard()
        assert (room.last(ADA).text, room.last(ADA).keyboard) == (before, [])
        assert room.fake.toasts[-1][1] == "Good. You hear no more of this opening."

        room.fake.press(ADA, "Stop")
        await room.heard()
        assert room.texts(ADA)[1] == "Stopped: 12025|NB:00007. You get no more alerts for it."
        assert [(row.subscription_id, row.status, row.contact_value) for row in room.own(ADA)] == [
            (number, Status.UNSUBSCRIBED, None)
        ]
        room.closes()
        room.opens(7)
        await room.deliver()
        assert len(room.texts(ADA)) == 3

    tell(story)


def test_what_is_open_right_now_is_said_and_not_told_again(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.opens(7)
        await room.waits(ADA, SEVEN)
        assert "It is open right now" in room.last(ADA).text
        await room.deliver()
        assert len(room.texts(ADA)) == 1

    tell(story)


def test_the_chat_is_spoken_to_in_the_language_of_the_wish_and_as_it_wished(tell: Play) -> None:
    async def story(room: Room) -> None:
        await room.waits(ADA, SEVEN, locale="zh-CN", preferences=Preferences(max_notifications=7, window_start=60))
        assert room.last(ADA).text.startswith("有空位时会在这里通知您：")
        (row,) = room.own(ADA)
        assert (row.max_notifications, row.preferences.window_start, row.locale) == (7, 60, "zh-CN")
        for word in ("/help", "/nonsense"):
            room.fake.write(ADA, word)
        await room.heard()
        assert all("本说明" in text for text in room.texts(ADA)[1:])

    tell(story)


# A link


def test_a_link_is_good_for_one_chat_once(tell: Play) -> None:
    async def story(room: Room) -> None:
        url = await room.link(SEVEN, locale="zh-CN")
        room.fake.follow(ADA, url)
        room.fake.follow(EVE, url)
        await room.heard()
        assert room.statuses(ADA) == [Status.ACTIVE]
        assert room.own(EVE) == []
        assert room.texts(EVE) == ["此链接已过期或已被使用。请重新获取：https://vacancy.example/subscribe"]

    tell(story)


def test_the_same_update_again_has_the_same_answer_and_makes_nothing(tell: Play) -> None:
    async def story(room: Room) -> None:
        url = await room.link(SEVEN)
        for _ in range(3):
            room.fake.follow(ADA, url)
        await room.heard()
        first, *others = room.texts(ADA)
        assert first.startswith("You hear of it here")
        assert others == [first, first]
        assert room.statuses(ADA) == [Status.ACTIVE]
        # Whoever left is not brought back by an old link.
        room.fake.write(ADA, "/stop")
        room.fake.follow(ADA, url)
        await room.heard()
        assert room.last(ADA).text.startswith("This link is too old, or was used already.")
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED]

    tell(story)


def test_a_link_ends_after_a_day_and_is_pruned(tell: Play) -> None:
    async def story(room: Room) -> None:
        late, in_time = await room.link(SEVEN), await room.link(EIGHT)
        room.clock.jump(DAY_S)
        room.fake.follow(ADA, in_time)
        await room.heard()
        assert room.statuses(ADA) == [Status.ACTIVE]
        room.clock.jump(1)
        room.fake.follow(ADA, late)
        await room.heard()
        assert room.last(ADA).text.startswith("This link is too old, or was used already.")
        assert room.store.write_now(links.prune, 10) == 0
        room.clock.jump(7 * DAY_S)
        assert room.store.write_now(links.prune, 10) == 2

    tell(story)


def test_only_a_hash_of_the_code_is_kept(tell: Play) -> None:
    async def story(room: Room) -> None:
        code = (await room.link(SEVEN)).partition("=")[2]
        assert len(code) >= 22
        (row,) = room.store.read_now(lambda tx: tx.execute(select(chat_links)).all())
        assert code not in repr(row)

    tell(story)


def test_a_chat_that_has_too_many_keeps_its_link_for_later(tell: Play) -> None:
    async def story(room: Room) -> None:
        for number in range(3):
            await room.waits(ADA, f"{number:05d}")
        url = await room.link(SEVEN)
        room.fake.follow(ADA, url)
        await room.heard()
        assert room.last(ADA).text.startswith("There are too many subscriptions")
        room.fake.write(ADA, f"/stop {room.own(ADA)[0].subscription_id}")
        room.fake.follow(ADA, url)
        await room.heard()
        assert room.last(ADA).text.startswith("You hear of it here")

    tell(story)


def test_a_garbled_code_and_a_source_that_went_away_are_answered(tell: Play) -> None:
    async def story(room: Room) -> None:
        url = await room.link(SEVEN)
        object.__setattr__(room.people.desk, "sources", lambda _name: None)
        room.fake.write(ADA, "/start nobody-made-this")
        room.fake.follow(ADA, url)
        await room.heard()
        assert room.texts(ADA)[0].startswith("This link is too old, or was used already.")
        assert room.texts(ADA)[1].startswith("What this link asks for is not watched here any more.")
        assert room.own(ADA) == []

    tell(story)


def test_opening_a_link_confirms_what_the_chat_was_asked_to_confirm(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.subscribe(ADA, EIGHT)
        assert room.statuses(ADA) == [Status.PENDING]
        await room.waits(ADA, SEVEN)
        assert room.statuses(ADA) == [Status.ACTIVE, Status.ACTIVE]
        await room.deliver()
        assert len(room.texts(ADA)) == 1  # nobody is asked to confirm what is confirmed

    tell(story)


# Commands


def test_a_plain_start_names_the_chat_and_the_way(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.fake.write(ADA, "/start")
        await room.heard()
        assert f"This chat's number is {ADA}." in room.last(ADA).text
        assert "https://vacancy.example/subscribe" in room.last(ADA).text
        assert "/snooze 1h" in room.last(ADA).text

    tell(story)


def test_what_a_chat_waits_for_is_listed_and_each_can_be_stopped(tell: Play) -> None:
    async def story(room: Room) -> None:
        one, two = await room.waits(ADA, SEVEN), await room.waits(ADA, EIGHT)
        await room.waits(EVE, SEVEN)
        room.opens(8)
        room.fake.write(ADA, "/list")
        await room.heard()
        assert room.last(ADA).text.splitlines() == [
            "This chat waits for:",
            f"{one}: 12025|NB:00007 (closed now) /stop_{one}",
            f"{two}: 12025|NB:00008 (open now) /stop_{two}",
            "",
            "/stop with a number ends one, /stop alone ends all.",
        ]
        room.fake.write(ADA, f"/stop_{two}")
        room.fake.write(ADA, f"/stop {two}")
        await room.heard()
        assert room.statuses(ADA) == [Status.ACTIVE, Status.UNSUBSCRIBED]
        room.fake.write(ADA, "/stop")
        room.fake.write(ADA, "/stop")
        room.fake.write(ADA, "/list")
        await room.heard()
        assert room.texts(ADA)[-3:] == [
            "Stopped: 1. You get no more alerts here.",
            "This chat waits for nothing, so there is nothing to stop.",
            "This chat waits for nothing. Choose something: https://vacancy.example/subscribe",
        ]
        assert room.statuses(EVE) == [Status.ACTIVE]

    tell(story)


def test_a_chat_is_silent_for_as_long_as_it_says(tell: Play) -> None:
    spans = {"": 60, " 1h": 60, " 30m": 30, " 8 H": 480, " 2d": 2880, " 30d": 43_200}

    async def story(room: Room) -> None:
        await room.waits(ADA, SEVEN)
        await room.waits(ADA, EIGHT)
        for said, minutes in spans.items():
            room.fake.write(ADA, f"/snooze{said}")
            await room.heard()
            until = room.clock.now() + timedelta(minutes=minutes)
            assert [row.snooze_until for row in room.own(ADA)] == [until, until]
            assert room.last(ADA).text.startswith("Silence until ")
        room.fake.write(ADA, "/snooze off")
        await room.heard()
        assert [row.snooze_until for row in room.own(ADA)] == [None, None]

    tell(story)


def test_a_silence_that_cannot_be_read_is_explained(tell: Play) -> None:
    spans = ["0h", "-1h", "1y", "31d", "99999999h", "1h1h", "soon", "\u0663h", "1h\x00"]

    async def story(room: Room) -> None:
        await room.waits(ADA, SEVEN)
        for said in spans:
            room.fake.write(ADA, f"/snooze {said}")
        await room.heard()
        assert [text.startswith("Write a time such as /snooze 30m") for text in room.texts(ADA)[1:]] == [True] * 9
        assert [row.snooze_until for row in room.own(ADA)] == [None]

    tell(story)


def test_silence_holds_back_what_is_queued_already_and_waking_lets_it_go(tell: Play) -> None:
    async def story(room: Room) -> None:
        await room.waits(ADA, SEVEN)
        room.opens(7)
        room.fake.write(ADA, "/snooze 8h")
        await room.heard()
        await room.deliver()
        assert len(room.texts(ADA)) == 2
        room.fake.write(ADA, "/snooze off")
        await room.heard()
        await room.deliver()
        assert room.texts(ADA)[-1].startswith("Open: ")

    tell(story)


def test_in_a_group_what_is_meant_for_others_is_left_alone(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.fake.write(-500, "/weather")
        room.fake.write(-500, "/help")
        await room.heard()
        assert len(room.texts(-500)) == 1

    tell(story)


# Buttons


def test_a_button_proves_nothing_but_the_chat(tell: Play) -> None:
    async def story(room: Room) -> None:
        number = await room.waits(ADA, SEVEN)
        room.fake.write(EVE, "/start")
        for word in "gzsv":
            room.fake.press_data(EVE, 1, f"{word}:{number}")
        await room.heard()
        assert [toast for _, toast in room.fake.toasts] == ["This button belongs to somebody else."] * 4
        (row,) = room.own(ADA)
        assert (row.status, row.snooze_until) == (Status.ACTIVE, None)
        assert room.own(EVE) == []

    tell(story)


def test_garbage_on_a_button_changes_nothing(tell: Play) -> None:
    garbage = ["", "g", "s:", "s:0", "s:-1", "s:1e3", "S:1", "s:1 ", "s:9999999999999999999", "x:1", "s:\u0661", "\x00"]

    async def story(room: Room) -> None:
        await room.waits(ADA, SEVEN)
        for data in garbage:
            room.fake.press_data(ADA, 1, data)
        room.fake.press_data(ADA, 1, "s:999999999999999999")
        await room.heard()
        *others, last = [toast for _, toast in room.fake.toasts]
        assert others == ["This button is not known any more."] * len(garbage)
        assert last == "This button belongs to somebody else."
        assert room.statuses(ADA) == [Status.ACTIVE]

    tell(story)


def test_an_old_button_of_what_has_ended_says_so(tell: Play) -> None:
    async def story(room: Room) -> None:
        number = await room.waits(ADA, SEVEN)
        room.fake.write(ADA, "/stop")
        room.fake.press_data(ADA, 1, f"z:{number}")
        room.fake.press_data(ADA, 1, f"v:{number}")
        await room.heard()
        assert room.fake.toasts[0][1] == "This has ended already. Subscribe anew to hear of it."
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED]

    tell(story)


def test_a_number_that_anybody_typed_is_confirmed_by_a_press(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.fake.join(ADA)
        room.subscribe(ADA, SEVEN)
        room.subscribe(ADA, EIGHT)
        room.opens(7)
        await room.deliver()
        assert room.words(ADA) == ["Confirm"]
        assert room.statuses(ADA) == [Status.PENDING, Status.PENDING]
        room.fake.press(ADA, "Confirm")
        await room.heard()
        assert room.statuses(ADA) == [Status.ACTIVE, Status.ACTIVE]
        assert room.last(ADA).text == "Confirmed. You hear the moment it opens: 12025|NB:00007."
        room.clock.pass_time(2)
        await room.deliver()
        assert room.last(ADA).text.startswith("Open: ")

    tell(story)
