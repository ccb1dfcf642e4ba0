"""What another process read from the bot and hands on: heard by the same code, and let in by a token or from this very
machine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from tests.support.chat_rooms import ADA, EVE, Room, Sections, open_room
from tests.support.clock import ManualClock
from tests.web.calling import Answer, begin, send
from tests.web.conftest import make_house

from vacancy.channels import telegram_relay
from vacancy.errors import StoreError
from vacancy.model.subscriptions import Status
from vacancy.settings_sections import TaskSettings
from vacancy.store.engine import Store
from vacancy.web.app import create_app

PATH = "/api/telegram/update"
TOKEN = "what the bot proves itself by"
JSON = {"content-type": "application/json"}
LOCAL = {**JSON, "host": "127.0.0.1:8000"}
BEARER = {**JSON, "authorization": f"Bearer {TOKEN}"}


@dataclass
class Post:
    """An app with a bot that another process listens to."""

    room: Room
    app: FastAPI
    number: int = 100
    taken: int = field(default=0)

    async def hand_on(self, update: Mapping[str, Any] | bytes, headers: Mapping[str, str] = BEARER) -> Answer:
        body = update if isinstance(update, bytes) else json.dumps(update).encode()
        return await begin(self.app, PATH, "POST", headers, body, "192.0.2.1").answer()

    def message(self, chat: int, text: str) -> dict[str, Any]:
        self.number += 1
        self.room.fake.join(chat)
        return {"update_id": self.number, "message": {"message_id": 1, "chat": {"id": chat}, "text": text}}

    async def write(self, chat: int, text: str) -> str:
        assert (await self.hand_on(self.message(chat, text))).status == 204
        return str(self.room.last(chat).text)

    async def relay_all(self) -> list[int]:
        """As the other process does it: everything that Telegram has."""
        self.taken, before = self.room.fake.next_update_id, self.taken
        updates = [each for each in self.room.fake.pending if each["update_id"] >= before]
        return [(await self.hand_on(each)).status for each in updates]


def play(store: Store, clock: ManualClock, story: Callable[[Post], Awaitable[None]]) -> None:
    async def main() -> None:
        async with open_room(store, clock, Sections("12025|NB")) as room:
            house = make_house(store, clock, settings={"tasks": TaskSettings(service_token=SecretStr(TOKEN))})
            relay = telegram_relay.build(room.kit, room.chat.hear, room.links)
            app = create_app(replace(house, relay=relay))
            await asyncio.wait_for(story(Post(room, app)), 30)
            app.state.feed.close()

    asyncio.run(main())


def test_what_is_handed_on_is_done_and_answered(store: Store, clock: ManualClock) -> None:
    async def story(post: Post) -> None:
        room = post.room
        assert (await post.write(ADA, "/watch 00007")).startswith(
            "You hear of it here: section 00007, New Brunswick, Spring 2025."
        )
        room.fake.follow(EVE, await room.link("00008"))
        assert await post.relay_all() == [204]
        assert room.last(EVE).text.startswith("You hear of it here: section 00008, New Brunswick, Spring 2025.")
        room.opens(7)
        await room.deliver()
        room.fake.press(ADA, "Snooze for 1 hour")
        room.fake.press(ADA, "Stop")
        assert await post.relay_all() == [204, 204]
        assert room.fake.toasts[0][1].startswith("Silence until ")
        assert room.statuses(ADA) == [Status.UNSUBSCRIBED]
        assert room.last(ADA).text.startswith("Stopped: ")
        room.fake.block(EVE)
        assert await post.relay_all() == [204]
        assert room.statuses(EVE) == [Status.UNSUBSCRIBED]

    play(store, clock, story)


def test_a_group_that_moved_takes_along_what_it_waits_for(store: Store, clock: ManualClock) -> None:
    async def story(post: Post) -> None:
        await post.write(-500, "/watch@vacancy_bot 00007")
        post.room.fake.migrate(-500, -1_000_500)
        assert await post.relay_all() == [204]
        assert post.room.own(-500) == []
        assert post.room.statuses(-1_000_500) == [Status.ACTIVE]

    play(store, clock, story)


def test_the_same_update_again_does_nothing_more(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(post: Post) -> None:
        watch, stop = post.message(ADA, "/watch 00007"), post.message(ADA, "/stop")
        answers = await asyncio.gather(*(post.hand_on(watch) for _ in range(5)))
        assert {answer.status for answer in answers} == {204}
        assert (await post.hand_on(stop)).status == 204
        for update in (watch, stop, watch):
            assert (await post.hand_on(update)).status == 204
        assert [text.split(":")[0] for text in post.room.texts(ADA)] == ["You hear of it here", "Stopped"]
        assert post.room.statuses(ADA) == [Status.UNSUBSCRIBED]

    play(sqlite_store, clock, story)


def test_what_failed_is_heard_anew(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(post: Post) -> None:
        update, room = post.message(ADA, "/watch 00007"), post.room
        hear, fails = room.chat.hear, [StoreError("the database is away")]

        async def hear_once_it_is_back(update: Any) -> Any:
            if fails:
                raise fails.pop()
            return await hear(update)

        post.app.state.house.relay._hearing._handler = hear_once_it_is_back
        answer = await post.hand_on(update)
        assert (answer.status, answer.error["code"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
        assert (await post.hand_on(update)).status == 204
        assert len(room.texts(ADA)) == 1

    play(sqlite_store, clock, story)


def test_while_telegram_does_not_say_who_the_bot_is_it_is_to_come_again(
    sqlite_store: Store, clock: ManualClock
) -> None:
    async def story(post: Post) -> None:
        update = post.message(ADA, "/watch 00007")
        post.room.fake.fault(drop=True)
        answer = await post.hand_on(update)
        assert (answer.status, answer.error["code"]) == (503, "unavailable")
        assert (await post.hand_on(update)).status == 204
        assert post.room.statuses(ADA) == [Status.ACTIVE]

    play(sqlite_store, clock, story)


def test_what_does_not_concern_us_is_taken_all_the_same(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(post: Post) -> None:
        others: list[dict[str, Any]] = [
            {}, {"poll": {}}, {"message": None}, {"message": {"chat": {"id": "x"}, "text": "/list"}},
            {"message": {"chat": {"id": 1 << 60}, "text": "/list"}},
        ]  # fmt: skip
        for more in others:
            post.number += 1
            assert (await post.hand_on({"update_id": post.number, **more})).status == 204
        assert [record.path for record in post.room.fake.records] == [post.room.fake.path("getMe")]

    play(sqlite_store, clock, story)


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{", b"{}", b'{"update_id": "1"}', b'{"update_id": true}', b'{"update_id": -1}',
     b'{"update_id": 9223372036854775808}', b"[" * 100_000, b"\xff", b'{"update_id": 1, "x": "' + b"x" * (1 << 20)],
    ids=range(12),
)  # fmt: skip
def test_what_is_no_update_is_refused(sqlite_store: Store, clock: ManualClock, body: bytes) -> None:
    async def story(post: Post) -> None:
        answer = await post.hand_on(body)
        assert (answer.status, answer.error["code"]) == (422, "validation_failed")

    play(sqlite_store, clock, story)


def test_a_page_that_makes_a_browser_post_is_refused(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(post: Post) -> None:
        update = post.message(ADA, "/watch 00007")
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            assert (await post.hand_on(update, {**BEARER, "content-type": kind})).status == 422
        assert post.room.own(ADA) == []

    play(sqlite_store, clock, story)


@pytest.mark.parametrize(
    "headers", [JSON, LOCAL, {**JSON, "authorization": "Bearer x"}, {**JSON, "authorization": TOKEN}]
)
def test_without_the_token_nothing_is_heard(
    sqlite_store: Store, clock: ManualClock, headers: Mapping[str, str]
) -> None:
    async def story(post: Post) -> None:
        for body in (post.message(ADA, "/watch 00007"), b"no update"):
            answer = await post.hand_on(body, headers)
            assert (answer.status, answer.error["code"]) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert post.room.own(ADA) == []

    play(sqlite_store, clock, story)


def test_where_no_token_is_set_only_this_machine_itself_may(sqlite_app: FastAPI) -> None:
    def status(client: str, headers: Mapping[str, str]) -> int:
        return send(sqlite_app, "POST", PATH, {"update_id": 1}, headers, client).status

    # There is no bot here: whoever is let in is told so.
    assert status("127.0.0.1", LOCAL) == status("::1", {**LOCAL, "host": "localhost"}) == 400
    assert status("192.0.2.1", LOCAL) == 401
    for header in ("x-forwarded-for", "forwarded", "x-real-ip"):
        assert status("127.0.0.1", {**LOCAL, header: "127.0.0.1"}) == 401
    assert status("127.0.0.1", {**LOCAL, "host": "rebound.example"}) == 401


def test_a_house_without_a_bot_says_so(sqlite_store: Store, clock: ManualClock) -> None:
    house = make_house(sqlite_store, clock, settings={"tasks": TaskSettings(service_token=SecretStr(TOKEN))})
    app = create_app(house)
    answer = send(app, "POST", PATH, {"update_id": 1}, BEARER)
    assert (answer.status, answer.error["code"]) == (400, "channel_unavailable")
    app.state.feed.close()
