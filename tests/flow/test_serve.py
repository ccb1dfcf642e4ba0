"""The whole house in one process, as `vacancy serve` starts it: real loops, real HTTP, the simulated upstream."""

from __future__ import annotations

import asyncio
from datetime import datetime

import pytest
from sqlalchemy import select

from tests.simulator.harness import Rig, running
from tests.support.houses import CAMPUS, TERM, Person, environment, house, link_in
from vacancy.clock import SystemClock
from vacancy.store.engine import Store
from vacancy.store.schema import open_event_notifications


@pytest.mark.timeout(120)
def test_subscribe_confirm_a_seat_opens_the_mail_is_there_within_a_second_and_its_link_ends_it(
    database_url: str,
) -> None:
    async def story(person: Person, rig: Rig) -> None:
        await person.fresh()
        world = await rig.control("GET", f"/world?term={TERM}&campus={CAMPUS}")
        index = next(index for index in world["catalogue"] if index not in world["open"])
        wish = {"term": TERM, "campus": CAMPUS, "sectionIndex": index, "contactType": "email",
                "contactValue": "ada@example.com"}  # fmt: skip
        answer = await person.ask("POST", "/api/subscribe", json=wish)
        person.secrets += [wish["contactValue"], answer["manageToken"], answer["unsubscribeToken"]]
        asked = await person.until(lambda: person.mail("verification"))
        link = link_in(asked, "/verify").partition("=")[2]
        person.secrets.append(link)
        await person.ask("POST", "/verify", data={"token": link})
        await rig.control("POST", "/seats", {"term": TERM, "campus": CAMPUS, "open": [index]})
        told = await person.until(lambda: person.mail("open-seat"))
        assert index in told.mail.text
        (event,) = [each for each in (await person.ask("GET", "/api/events"))["items"] if each["itemKey"] == index]
        assert (told.created_at - datetime.fromisoformat(event["eventAt"])).total_seconds() < 1
        await person.ask("POST", link_in(told, "/unsubscribe"), data={"List-Unsubscribe": "One-Click"})
        path = f"/api/subscriptions/{answer['subscriptionId']}"
        left = await person.ask("GET", path, headers={"Authorization": f"Bearer {answer['manageToken']}"})
        assert left["status"] == "unsubscribed"

    async def play() -> None:
        async with (
            running(scale=0.01, terms=[TERM], campuses=[CAMPUS]) as rig,
            house(environment(rig, database_url, log_level="debug"), database_url) as person,
        ):
            await story(person, rig)
            said = person.said
        assert any("vacancy.pipeline.fanout" in line for line in said)
        assert [secret for secret in person.secrets if any(secret in line for line in said)] == []

    asyncio.run(play())
    store = Store(database_url, SystemClock())
    n = open_event_notifications.c
    rows = store.read_now(lambda tx: tx.execute(select(n.kind, n.fanout_status, n.fanout_attempts)).all())
    store.close()
    assert sorted(rows) == [("alert", "sent", 1), ("verification", "sent", 1)]
