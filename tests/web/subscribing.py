"""What tests of subscriptions share: people who ask over HTTP, courses that open, and a look at the rows."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from sqlalchemy import func, select
from tests.support.catalogues import course, load, section, several
from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.web.calling import Answer, send
from tests.web.conftest import make_house

from vacancy.clock import SystemClock
from vacancy.net.client import Client
from vacancy.settings_sections import SocSettings
from vacancy.sources.soc import Soc
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_event_notifications, subscription_events, subscriptions
from vacancy.web.app import create_app
from vacancy.web.context import House

INDEX = "12345"
TOPIC = f"soc:12025:NB:{INDEX}"
SECTION = {"term": "12025", "campus": "NB", "sectionIndex": INDEX}
MAIL = {"contactType": "email", "contactValue": "Ada Lovelace <Ada@Example.com>"}
ADA = "ada@example.com"


def subscribe(
    app: FastAPI, *, headers: dict[str, str] | None = None, client: str = "127.0.0.1", **fields: Any
) -> Answer:
    """Fields that are None are left out."""
    body = {name: value for name, value in {**SECTION, **MAIL, **fields}.items() if value is not None}
    return send(app, "POST", "/api/subscribe", body, headers, client)


def site(store: Store, clock: ManualClock, **settings: Any) -> tuple[FastAPI, House]:
    """With rules of its own."""
    house = make_house(store, clock, **settings)
    return create_app(house), house


def in_catalogue(house: House, *indexes: str, campus: str = "NB") -> None:
    sections = [section(index) for index in indexes]
    load(house.store, [course("01:198:111", *sections, title="INTRO COMPUTER SCI"), *several(30)], campus)


class Registrar:
    """Polls a list of NB by hand: what is in it is open."""

    def __init__(self, house: House, clock: ManualClock) -> None:
        self._clock = clock
        settings = SocSettings(base_url="http://127.0.0.1:1", terms=("12025",), campuses=("NB",), jitter=0)
        source = Soc(settings, Client(SystemClock(), user_agent="test"))
        self._hand = Hand(house.store, clock, cast("Lists", source))
        self._hand.configure()
        self.shows()
        # The first answers are a baseline, which takes two.
        self.shows()

    def shows(self, *indexes: int) -> None:
        self._hand.poll(some(1, *indexes))
        self._clock.pass_time(16)


def link_token(house: House, subscription_id: int) -> str:
    """As the mail carries it."""
    return house.links.sign(house.store.write_now(lambda tx: rows.read(tx, subscription_id)))


def verify(app: FastAPI, house: House, subscription_id: int) -> Answer:
    return send(app, "POST", "/api/verify", {"token": link_token(house, subscription_id)})


def row(house: House, subscription_id: int) -> Any:
    query = select(subscriptions).where(subscriptions.c.subscription_id == subscription_id)
    return house.store.read_now(lambda tx: tx.execute(query).one())


def count(house: House) -> int:
    query = select(func.count()).select_from(subscriptions)
    return int(house.store.read_now(lambda tx: tx.execute(query).scalar_one()))


def audit(house: House, subscription_id: int) -> list[str]:
    e = subscription_events.c
    query = select(e.event_type).where(e.subscription_id == subscription_id).order_by(e.event_id)
    return list(house.store.read_now(lambda tx: tx.execute(query).scalars()))


def queued(house: House, kind: str) -> int:
    """Rows that a sender would still take."""
    n = open_event_notifications.c
    query = select(func.count()).where(n.kind == kind, n.fanout_status == "pending")
    return int(house.store.read_now(lambda tx: tx.execute(query).scalar_one()))


def everything(house: House) -> list[Any]:
    """All that a request could have changed."""

    def read(tx: Tx) -> list[Any]:
        n, e = open_event_notifications.c, subscription_events.c
        queries = (
            select(subscriptions).order_by(subscriptions.c.subscription_id),
            select(e.event_id, e.subscription_id, e.event_type).order_by(e.event_id),
            select(n.notification_id, n.kind, n.fanout_status, n.not_before).order_by(n.notification_id),
        )
        return [tx.execute(query).all() for query in queries]

    return house.store.read_now(read)
