"""Somebody waits for an item of a JSON endpoint over the API, and reads of it in a mail: all in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from fastapi import FastAPI

from tests.simulator.harness import Rig, running
from tests.support.boards import documented
from tests.web.calling import Answer, begin
from vacancy.app import Engine, engine
from vacancy.pipeline.fanout import FanOut
from vacancy.runner import Stop
from vacancy.settings import load
from vacancy.store import outbox
from vacancy.web.app import create_app
from vacancy.web.context import House

ITEM = "json:tickets:gala-sat"


class Home:
    def __init__(self, parts: Engine, app: FastAPI, rig: Rig) -> None:
        self._parts, self._app = parts, app
        self.board = rig.simulator.json.boards.board("tickets")
        self.origin = rig.simulator.json_url.removesuffix("/json")

    async def subscribe(self, topic: str, name: str) -> Answer:
        wish = {"topic": topic, "contactType": "email", "contactValue": f"{name}@example.com"}
        said = {"content-type": "application/json"}
        return await begin(self._app, "/api/subscribe", "POST", said, msgspec.json.encode(wish)).answer()

    async def poll(self) -> None:
        await self._parts.poller.poll_once(lambda _: None)

    async def deliver(self) -> dict[str, Any]:
        """The mails that lie in the outbox then, by whom they are to."""
        stop = Stop(self._parts.clock)
        await FanOut(self._parts.store, self._parts.clock, self._parts.metrics).once(stop)
        await asyncio.gather(*(courier.once(stop) for courier in self._parts.couriers()))
        mails = await self._parts.store.read(outbox.latest, 20)
        return {kept.mail.to_address: kept.mail for kept in mails}


def at_home(database_url: str, story: Callable[[Home], Awaitable[None]]) -> None:
    async def run() -> None:
        async with running() as rig:
            table = {**documented()["tickets"], "url": f"{rig.simulator.json_url}/tickets"}
            rig.simulator.json.boards.board("tickets").close("gala-fri", "gala-sat")
            settings = load(None, {}, {
                "database_url": database_url, "secret_key": "a key for tests", "json": [table],
                "subscriptions.verify": False,
            })  # fmt: skip
            async with engine(settings) as parts:
                house = House(parts.store, settings, parts.clock, parts.desk(), dict, intervals=parts.intervals)
                app = create_app(house)
                try:
                    await story(Home(parts, app, rig))
                finally:
                    app.state.feed.close()

    asyncio.run(run())


def test_an_item_all_of_them_and_one_that_nobody_ever_saw_may_be_waited_for(database_url: str) -> None:
    async def story(home: Home) -> None:
        await home.poll()
        await home.poll()
        open_already = sorted(home.board.open_keys)[0]
        answers = [
            await home.subscribe(topic, name)
            for topic, name in (
                (ITEM, "ada"), ("json:tickets", "bob"), ("json:tickets:encore", "eve"),
                (f"json:tickets:{open_already}", "kay"),
            )
        ]  # fmt: skip
        assert [answer.status for answer in answers] == [201] * 4
        said = [answer.json() for answer in answers]
        assert [each["topic"] for each in said[:3]] == [ITEM, "json:tickets", "json:tickets:encore"]
        assert [each["sectionStatus"] for each in said] == ["Closed", "Open", "Closed", "Open"]
        home.board.open("gala-fri", "gala-sat")
        await home.poll()
        mails = await home.deliver()
        assert set(mails) == {"ada@example.com", "bob@example.com"}
        ada, bob = mails["ada@example.com"], mails["bob@example.com"]
        assert ada.subject == "Open: Gala, Sat"
        for words in ("Gala, Sat", "Great Hall", f"{home.origin}/shows/gala-sat"):
            assert words in ada.text, ada.text
        assert "Gala, Fri" not in ada.text
        # Both are in one hall: one mail names both.
        assert "Gala, Fri" in bob.text
        assert "Gala, Sat" in bob.text
        home.board.open("encore")
        await home.poll()
        assert (await home.deliver())["eve@example.com"].subject == "Open: encore"

    at_home(database_url, story)


def test_what_could_never_come_is_refused(database_url: str) -> None:
    async def story(home: Home) -> None:
        for topic, said in (
            ("json:tickets:", "topic: must be json:tickets or json:tickets:ITEM"),
            ("json:nothing:x", "topic: there is no source 'json:nothing' here"),
            ("json", "topic: there is no source 'json' here"),
        ):
            answer = await home.subscribe(topic, "ada")
            assert answer.status == 400
            assert said in str(answer.error)

    at_home(database_url, story)
