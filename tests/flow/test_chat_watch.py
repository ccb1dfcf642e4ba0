"""A chat that says by itself what it waits for, over Telegram's HTTP and both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import pytest

from tests.support.catalogues import course, load, section, several
from tests.support.chat_rooms import ADA, EVE, Room, Sections, play
from tests.support.clock import ManualClock
from tests.support.desks import courses
from vacancy.model.subscriptions import Status
from vacancy.settings import Settings
from vacancy.settings_sections import ResySettings
from vacancy.sources import by_name
from vacancy.sources.base import Source
from vacancy.store.engine import Store

GROUP = -1001
Play = Callable[[Callable[[Room], Awaitable[None]]], None]


@pytest.fixture
def tell(store: Store, clock: ManualClock) -> Play:
    return lambda story: play(store, clock, story, Sections("12025|NB"))


async def says(room: Room, chat: int, text: str, language: str = "en") -> str:
    """What the bot answers."""
    room.fake.write(chat, text, language=language)
    before = len(room.texts(chat))
    await room.heard()
    assert len(room.texts(chat)) == before + 1
    return str(room.last(chat).text)


def with_sources(room: Room, **sources: Source | None) -> None:
    object.__setattr__(room.people.desk, "sources", sources.get)


def in_catalogue(room: Room, campus: str, *indexes: str) -> None:
    load(room.store, [course("01:198:111", *map(section, indexes), title="INTRO COMPUTER SCI"), *several(30)], campus)


def topics(room: Room, chat: int) -> Mapping[str, str]:
    return {row.topic: row.status for row in room.own(chat)}


def test_a_chat_watches_a_section_and_hears_of_it_once(tell: Play) -> None:
    async def story(room: Room) -> None:
        answer = await says(room, ADA, "/watch 00007")
        (row,) = room.own(ADA)
        number = row.subscription_id
        assert answer.splitlines() == [
            "You hear of it here: section 00007, New Brunswick, Spring 2025.",
            "It is closed right now. The moment it opens, a message comes.",
            f"/stop_{number} ends it.",
        ]
        assert (row.status, row.is_verified, row.contact_value) == (Status.ACTIVE, True, str(ADA))
        room.opens(7)
        await room.deliver()
        await room.deliver()
        assert len(room.texts(ADA)) == 2
        assert room.words(ADA) == ["Got it", "Snooze for 1 hour", "Stop"]
        room.fake.press(ADA, "Stop")
        await room.heard()
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED]

    tell(story)


def test_what_is_watched_already_says_so_and_what_rests_goes_on(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.opens(7)
        first = await says(room, ADA, "/watch 00007")
        assert first.splitlines()[1].startswith("It is open right now")
        assert (await says(room, ADA, "/watch 00007")).startswith(
            "This chat waits for it already: section 00007, New Brunswick, Spring 2025."
        )
        room.people.change(room.own(ADA)[0].subscription_id, Status.PAUSED)
        assert (await says(room, ADA, "/watch_00007")).startswith(
            "This chat waits for it again: section 00007, New Brunswick, Spring 2025."
        )
        assert room.statuses(ADA) == [Status.ACTIVE]

    tell(story)


def test_what_a_stranger_typed_for_the_chat_begins_with_its_own_word(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.subscribe(ADA, "00008")
        await says(room, ADA, "/watch 00007")
        assert room.statuses(ADA) == [Status.ACTIVE, Status.ACTIVE]

    tell(story)


# Which one is meant


def test_an_index_is_found_where_the_catalogue_has_it(tell: Play) -> None:
    async def story(room: Room) -> None:
        with_sources(room, soc=courses())
        in_catalogue(room, "NK", "12345", "12346")
        answer = await says(room, ADA, "/watch 12345")
        assert answer.startswith("You hear of it here: INTRO COMPUTER SCI, section 01 (12345).")
        await says(room, ADA, "/watch 01:198:111")
        assert list(topics(room, ADA)) == ["soc:12025:NK:12345", "soc:12025:NK:course/01:198:111"]

    tell(story)


def test_an_index_is_found_where_the_open_list_is_ahead_of_the_catalogue(tell: Play) -> None:
    async def story(room: Room) -> None:
        with_sources(room, soc=courses())
        room.opens(7)
        await says(room, ADA, "/watch 00007")
        assert list(topics(room, ADA)) == ["soc:12025:NB:00007"]

    tell(story)


def test_what_may_be_in_several_places_is_asked_back(tell: Play) -> None:
    async def story(room: Room) -> None:
        with_sources(room, soc=courses())
        question, *lines = (await says(room, ADA, "/watch 12345")).splitlines()
        assert question == "Which 12345 do you mean? Send the line with its term and campus:"
        assert lines == ["/watch 12025 NB 12345", "/watch 12025 NK 12345"]
        assert room.own(ADA) == []
        await says(room, ADA, lines[1])
        # In whatever spelling.
        await says(room, ADA, "/watch  SP2025\nnb 01:198:111")
        assert list(topics(room, ADA)) == ["soc:12025:NK:12345", "soc:12025:NB:course/01:198:111"]
        in_catalogue(room, "NK", "12399")
        assert await says(room, ADA, "/watch 12025 NB 12399") == (
            "This section is at another campus. Send: /watch 12025 NK 12399"
        )

    tell(story)


def test_any_topic_of_any_source_can_be_watched(tell: Play) -> None:
    async def story(room: Room) -> None:
        settings = Settings(resy=ResySettings(enabled=True, base_url="http://127.0.0.1:1"))
        with_sources(room, resy=by_name("resy", settings, room.client, room.store), soc=courses())
        assert (await says(room, ADA, "/watch resy:venue/834")).startswith("You hear of it here: ")
        await says(room, ADA, "/watch soc:12025:NB:12345")
        assert list(topics(room, ADA)) == ["resy:venue/834", "soc:12025:NB:12345"]
        over = await says(room, ADA, "/watch resy:venue/834@2020-01-01")
        assert over.startswith("2020-01-01 is over; today is ")
        assert (await says(room, ADA, "/unwatch resy:venue/834")).startswith("Stopped: ")

    tell(story)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "1234",
        "123456",
        "x:y",
        "soc:",
        "soc:12025:NB:1",
        "json:none:x",
        "12345 NB",
        "x\x00y",
        "\u0661" * 5,
        "9" * 301,
    ],
)
def test_what_cannot_be_watched_is_explained(tell: Play, words: str) -> None:
    async def story(room: Room) -> None:
        with_sources(room, soc=courses())
        assert "Write /watch and the five digits of a section" in await says(room, ADA, f"/watch {words}")
        assert room.own(ADA) == []

    tell(story)


def test_a_place_that_is_not_polled_and_a_house_that_polls_nothing_are_told(tell: Play) -> None:
    async def story(room: Room) -> None:
        with_sources(room, soc=courses())
        assert (await says(room, ADA, "/watch 12031 NB 12345")).startswith("That is not watched here.")
        with_sources(room, soc=by_name("soc", Settings(), room.client, room.store))
        assert (await says(room, ADA, "/watch 12345")).startswith("That is not watched here.")

    tell(story)


# Limits


def test_a_chat_has_as_many_as_anybody(tell: Play) -> None:
    async def story(room: Room) -> None:
        for number in range(3):
            await says(room, ADA, f"/watch {number:05d}")
        assert (await says(room, ADA, "/watch 00007")).startswith("There are too many subscriptions")
        assert len(room.own(ADA)) == 3

    tell(story)


def test_a_chat_that_asks_without_end_is_held_up_and_no_other(tell: Play) -> None:
    async def story(room: Room) -> None:
        for _ in range(10):
            await says(room, ADA, "/watch 00007")
        assert (await says(room, ADA, "/watch 00008")).startswith("This chat asks too often.")
        assert list(topics(room, ADA)) == ["soc:12025:NB:00007"]
        assert (await says(room, EVE, "/watch 00007")).startswith("You hear of it here")
        assert (await says(room, ADA, "/stop")).startswith("Stopped: 1.")

    tell(story)


# And no more


def test_it_is_left_by_its_number_or_by_its_name(tell: Play) -> None:
    async def story(room: Room) -> None:
        for words in ("00007", "00008"):
            await says(room, ADA, f"/watch {words}")
            await says(room, EVE, f"/watch {words}")
        assert await says(room, ADA, "/unwatch 00007") == (
            "Stopped: section 00007, New Brunswick, Spring 2025. You get no more alerts for it."
        )
        assert (
            await says(room, ADA, "/unwatch 00007") == "This chat has no number 00007. /list shows what it waits for."
        )
        number = room.own(ADA)[1].subscription_id
        assert (await says(room, ADA, "/unwatch")).startswith("Write /unwatch and a number of /list")
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED, Status.ACTIVE]
        assert (await says(room, ADA, f"/unwatch {number}")).startswith(
            "Stopped: section 00008, New Brunswick, Spring 2025."
        )
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED, Status.UNSUBSCRIBED]
        assert room.statuses(EVE) == [Status.ACTIVE, Status.ACTIVE]

    tell(story)


# Where, and in which language


def test_in_a_group_only_what_is_meant_for_this_bot(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.fake.write(GROUP, "/watch@another_bot 00007")
        room.fake.write(GROUP, "watch 00007")
        await room.heard()
        assert (room.texts(GROUP), room.own(GROUP)) == ([], [])
        await says(room, GROUP, "/watch@Vacancy_Bot 00007")
        assert room.statuses(GROUP) == [Status.ACTIVE]
        room.opens(7)
        await room.deliver()
        assert room.last(GROUP).text.startswith("Open: ")

    tell(story)


def test_a_chat_is_answered_in_the_language_of_its_telegram_and_then_of_its_subscriptions(tell: Play) -> None:
    async def story(room: Room) -> None:
        assert (await says(room, ADA, "/watch 00007", "zh-hans")).startswith("有空位时会在这里通知您")
        assert room.own(ADA)[0].locale == "zh-CN"
        assert (await says(room, ADA, "/watch x", "en")).endswith("/watch resy:venue/834。")
        for odd in ("", "xx", "zh\n", "z" * 99):
            assert "Write /watch" in await says(room, EVE, "/watch", odd)

    tell(story)
