"""The demo, as somebody meets it who has just installed it: subscribe, confirm, a seat opens, leave."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from sqlalchemy import select

from tests.support.houses import CAMPUS, TERM, Person, house, link_in
from vacancy.store.engine import Tx
from vacancy.store.schema import open_event_notifications, open_events, outbox


class University:
    """The make-believe one behind the demo, by its control addresses."""

    def __init__(self, session: aiohttp.ClientSession, said: list[str]) -> None:
        found = re.search(r"answers on (http://[^/\s]+)/", "\n".join(said))
        assert found is not None, said
        self._session, self._control = session, f"{found[1]}/control"

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        async with self._session.request(method, self._control + path, json=body) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def keeps_still(self) -> None:
        await self.ask("POST", "/churn", {"enabled": False})

    async def closed_section(self) -> str:
        world = await self.ask("GET", f"/world?term={TERM}&campus={CAMPUS}")
        return str(next(index for index in world["catalogue"] if index not in world["open"]))

    async def set_seat(self, **seats: list[str]) -> None:
        await self.ask("POST", "/seats", {"term": TERM, "campus": CAMPUS, **seats})


def edges(tx: Tx, index: str, status: str) -> list[Any]:
    e = open_events.c
    of_it = (e.item_key == index, e.status_after == status)
    return list(tx.execute(select(e.event_at, e.fanned_out_at).where(*of_it).order_by(e.open_event_id)))


def alerts(tx: Tx) -> list[str]:
    n = open_event_notifications.c
    return list(tx.execute(select(n.fanout_status).where(n.kind == "alert")).scalars())


@pytest.mark.timeout(180)
def test_the_mail_of_an_opening_is_there_within_a_second_and_its_link_ends_the_subscription(tmp_path: Path) -> None:
    database = tmp_path / "demo.db"
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    command = ("-m", "vacancy", "demo", "--port", "0", "--keep", str(database))

    async def story(person: Person, university: University) -> None:
        def read(fn: Any, *arguments: Any) -> Any:
            return person.store.read_now(fn, *arguments)

        await university.keeps_still()
        await person.fresh()
        index = await university.closed_section()
        wish = {"term": TERM, "campus": CAMPUS, "sectionIndex": index, "contactType": "email",
                "contactValue": "ada@example.com"}  # fmt: skip
        answer = await person.ask("POST", "/api/subscribe", json=wish)
        asked = await person.until(lambda: person.mail("verification"))
        await person.ask("POST", "/verify", data={"token": link_in(asked, "/verify").partition("=")[2]})

        await university.set_seat(open=[index])
        told = await person.until(lambda: person.mail("open-seat"))
        assert index in told.mail.text
        ((event_at, _),) = read(edges, index, "Open")
        assert (told.created_at - event_at).total_seconds() < 1

        await person.ask("POST", link_in(told, "/unsubscribe"), data={"List-Unsubscribe": "One-Click"})
        path = f"/api/subscriptions/{answer['subscriptionId']}"
        left = await person.ask("GET", path, headers={"Authorization": f"Bearer {answer['manageToken']}"})
        assert left["status"] == "unsubscribed"

        await university.set_seat(close=[index])
        await person.until(lambda: read(edges, index, "Closed"))
        await university.set_seat(open=[index])
        await person.until(lambda: any(fanned_out for _, fanned_out in read(edges, index, "Open")[1:]))
        assert read(alerts) == ["sent"]
        templates = person.store.read_now(lambda tx: tx.execute(select(outbox.c.template_id)).scalars().all())
        assert sorted(templates) == ["open-seat", "verification"]

    async def play() -> None:
        async with (
            house(own | {"VACANCY_LOG_FORMAT": "json"}, f"sqlite:///{database}", command) as person,
            aiohttp.ClientSession() as session,
        ):
            # The line after the one that names our own address.
            await person.until(lambda: any("answers on" in line for line in person.said))
            await story(person, University(session, person.said))

    asyncio.run(play())
