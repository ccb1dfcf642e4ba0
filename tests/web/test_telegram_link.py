"""The way to a chat: a deep link by the API and by the page, with a bot that answers and with one that does not."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from fastapi import FastAPI
from sqlalchemy import func, select
from tests.support.chat_rooms import bot_settings
from tests.support.clock import ManualClock
from tests.support.desks import SECRET
from tests.web.browsing import FORM, PATIENCE, Page, post, shown, the_form
from tests.web.calling import Answer, ask, begin, send
from tests.web.conftest import make_house
from tests.web.subscribing import SECTION, TOPIC, in_catalogue

from vacancy.channels import telegram, telegram_link
from vacancy.channels.base import Kit
from vacancy.clock import Dice, iso
from vacancy.model.subscriptions import Contact
from vacancy.net.client import Client
from vacancy.simulator.telegram import Telegram
from vacancy.store.engine import Store
from vacancy.store.schema import chat_links
from vacancy.subscriptions.chat_links import claim
from vacancy.subscriptions.contacts import read_contact
from vacancy.web.app import create_app
from vacancy.web.context import House

LINK = re.compile(r"https://t\.me/vacancy_bot\?start=([A-Za-z0-9_-]{22,64})")
PATH = "/api/telegram/link"


class Site:
    """An app with a bot. All requests of a story run in one loop, with the bot's."""

    def __init__(self, fake: Telegram, store: Store, clock: ManualClock, client: Client, **rules: Any) -> None:
        kit = Kit(bot_settings(fake.origin), clock, Dice(1), client, store, SECRET.derive)
        house = make_house(store, clock, **rules)
        channels = {**house.desk.channels, "telegram": telegram.build(kit)}
        self.fake, self.clock = fake, clock
        self.house: House = replace(
            house, desk=replace(house.desk, channels=channels), deep_links=telegram_link.build(kit)
        )
        self.app: FastAPI = create_app(self.house)

    async def ask(self, **body: Any) -> Answer:
        sent = {"content-type": "application/json"}
        return await begin(self.app, PATH, "POST", sent, json.dumps(body).encode()).answer()

    async def browse(self, method: str, path: str, fields: Mapping[str, str] | None = None, **headers: str) -> Answer:
        content = urlencode(fields or {}).encode()
        return await begin(self.app, path, method, {"content-type": FORM, **headers}, content).answer()

    async def form(self, **typed: str) -> dict[str, str]:
        page = Page((await self.browse("GET", f"/subscribe?topic={quote(TOPIC)}")).body.decode())
        (form,) = page.forms
        assert ("button", "/subscribe/telegram") in [(tag, found.get("formaction")) for tag, found in page.tags]
        self.clock.pass_time(PATIENCE)
        return {**form["fields"], **typed}

    def claimed(self, url: str) -> Any:
        """What the chat that opens it waits for."""
        found = LINK.fullmatch(url)
        assert found is not None
        return self.house.store.write_now(claim, self.house.desk, self.contact(), found[1]).subscription

    def contact(self) -> Contact:
        return read_contact(SECRET, self.house.desk.channel("telegram"), "42")

    def kept(self) -> int:
        query = select(func.count()).select_from(chat_links)
        return int(self.house.store.read_now(lambda tx: tx.execute(query).scalar_one()))


def play(store: Store, clock: ManualClock, story: Callable[[Site], Awaitable[None]], **rules: Any) -> None:
    async def main() -> None:
        fake, client = Telegram(), Client(clock, user_agent="test")
        await fake.start()
        try:
            site = Site(fake, store, clock, client, **rules)
            await asyncio.wait_for(story(site), 30)
            site.app.state.feed.close()
        finally:
            await client.close()
            await fake.stop()

    asyncio.run(main())


def test_a_wish_becomes_a_link_and_the_link_a_subscription(store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        answer = await site.ask(**SECTION, locale="zh_CN", preferences={"maxNotifications": 5})
        assert answer.status == 201
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert set(body) == {"url", "expiresAt", "traceId"}
        assert body["expiresAt"] == iso(clock.now() + timedelta(hours=24))
        found = site.claimed(body["url"])
        assert (found.topic, found.contact_type, found.contact_value) == (TOPIC, "telegram", "42")
        assert (found.status, found.is_verified, found.locale, found.max_notifications) == ("active", True, "zh-CN", 5)

    play(store, clock, story)


def test_the_bot_is_asked_for_its_name_once(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        answers = await asyncio.gather(*(site.ask(**SECTION) for _ in range(5)))
        assert [answer.status for answer in answers] == [201] * 5
        assert len({answer.json()["url"] for answer in answers}) == 5
        assert [record.path for record in site.fake.records] == [site.fake.path("getMe")]

    play(sqlite_store, clock, story)


def test_what_can_be_waited_for_by_mail_can_be_by_a_chat(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        for wish in ({"topic": TOPIC}, {"term": "SP2025", "campus": "NB", "courseString": "01:198:111"}):
            assert (await site.ask(**wish)).status == 201
        in_catalogue(site.house, "12345", campus="NK")
        refused = [
            ({**SECTION, "term": "12031"}, 404, "section_not_found"),
            (SECTION, 409, "section_conflict"),
            ({"topic": "soc:no"}, 400, "validation_failed"),
            ({**SECTION, "contactType": "telegram"}, 400, "validation_failed"),
            ({}, 400, "validation_failed"),
        ]
        for wish, status, code in refused:
            answer = await site.ask(**wish)
            assert (answer.status, answer.error["code"]) == (status, code), wish
        assert site.kept() == 2

    play(sqlite_store, clock, story)


@pytest.mark.parametrize("spoil", ["hangs up", "is not Telegram", "knows no such bot", "has no name"])
def test_no_link_is_made_while_telegram_does_not_say_who_the_bot_is(
    sqlite_store: Store, clock: ManualClock, spoil: str
) -> None:
    async def story(site: Site) -> None:
        if spoil == "hangs up":
            site.fake.fault(drop=True)
        elif spoil == "is not Telegram":
            site.fake.fault(status=200, body="<html>")
        elif spoil == "knows no such bot":
            site.fake.refuse(401, "Unauthorized")
        else:
            site.fake.fault(status=200, body={"ok": True, "result": {"username": "a b"}})
        answer = await site.ask(**SECTION)
        assert (answer.status, answer.error["code"]) == (503, "unavailable")
        assert "Telegram cannot be reached right now" in answer.error["message"]
        assert answer.headers["retry-after"]
        assert site.kept() == 0
        assert (await site.ask(**SECTION)).status == 201

    play(sqlite_store, clock, story)


def test_a_link_counts_as_an_attempt(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        assert [(await site.ask(**SECTION)).status for _ in range(3)] == [201, 201, 429]
        refused = await site.browse("POST", "/subscribe/telegram", await site.form())
        assert refused.status == 429
        assert site.kept() == 2

    play(sqlite_store, clock, story, per_ip=2)


def test_without_a_bot_there_is_no_such_way(sqlite_app: FastAPI, clock: ManualClock) -> None:
    answer = send(sqlite_app, "POST", PATH, SECTION)
    assert (answer.status, answer.error["code"]) == (400, "channel_unavailable")
    form = the_form(sqlite_app, clock)
    assert b"elegram" not in ask(sqlite_app, f"/subscribe?topic={quote(TOPIC)}").body
    page = shown(post(sqlite_app, "/subscribe/telegram", form), 400)
    assert "Nobody can be told in this way here." in page.text


# The page


def test_the_form_leads_to_a_page_with_the_link(store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        fields = await site.form(alerts="4", quietFrom="22:00", quietTo="07:00")
        page = shown(await site.browse("POST", "/subscribe/telegram", fields))
        (url,) = [link for link in page.links if link.startswith("https://t.me/")]
        assert "press Start" in page.text
        assert url in page.text
        found = site.claimed(url)
        assert (found.topic, found.locale, found.max_notifications) == (TOPIC, "en-US", 4)
        assert (found.preferences.window_start, found.preferences.window_end) == (420, 1320)

    play(store, clock, story)


def test_a_browser_that_speaks_chinese_gets_chinese_and_so_does_the_chat(
    sqlite_store: Store, clock: ManualClock
) -> None:
    async def story(site: Site) -> None:
        chinese = {"accept-language": "zh-TW,zh;q=0.9,en;q=0.1"}
        form = shown(await site.browse("GET", f"/subscribe?topic={quote(TOPIC)}", None, **chinese))
        assert "或通过 Telegram 通知我" in form.text
        page = shown(await site.browse("POST", "/subscribe/telegram", await site.form(), **chinese))
        assert "打开 Telegram" in page.text
        (url,) = [link for link in page.links if link.startswith("https://t.me/")]
        assert site.claimed(url).locale == "zh-CN"

    play(sqlite_store, clock, story)


def test_what_is_wrong_with_the_form_is_shown_and_no_link_is_made(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        good = await site.form(email="half an address")
        wrong: list[tuple[dict[str, str], str]] = [
            ({"alerts": "11"}, "Choose a whole number"),
            ({"quietFrom": "22:00"}, "Fill in both times"),
            ({"website": "spam"}, "quicker than people usually are"),
            ({"stamp": "forged"}, "open for a long time"),
            ({"topic": "soc:12025:ZZ:12345"}, "Nobody watches that here"),
        ]
        for typed, words in wrong:
            answer = await site.browse("POST", "/subscribe/telegram", {**good, **typed})
            assert answer.status in (400, 404)
            assert words in Page(answer.body.decode()).text
        assert site.kept() == 0
        # The address in the form is for the other button.
        assert (await site.browse("POST", "/subscribe/telegram", good)).status == 200

    play(sqlite_store, clock, story)


def test_while_telegram_is_away_the_page_asks_for_patience(sqlite_store: Store, clock: ManualClock) -> None:
    async def story(site: Site) -> None:
        site.fake.fault(drop=True)
        page = shown(await site.browse("POST", "/subscribe/telegram", await site.form()), 503)
        assert "One moment, please" in page.text
        assert site.kept() == 0

    play(sqlite_store, clock, story)
