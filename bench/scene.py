"""An item that many wait for has opened: what the benchmarks of delivery begin with, on either database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from sqlalchemy import text
from sqlalchemy.engine import make_url
from tests.support.databases import postgres_database
from tests.support.desks import make_desk
from tests.support.lists import Hand, Lists, some
from tests.support.subscribers import add_many

from bench.common import Cost, Stopwatch
from vacancy.channels.base import Channel, Pace
from vacancy.clock import SystemClock
from vacancy.metrics import Metrics
from vacancy.model.availability import Policy
from vacancy.model.messages import Outcome, Parcel, Sent
from vacancy.pipeline.deliver import Courier, Office
from vacancy.pipeline.fanout import fan_out_some
from vacancy.pipeline.judge import Rules
from vacancy.runner import Stop
from vacancy.store import migrate
from vacancy.store.engine import Store, Tx
from vacancy.store.queue_results import Tries
from vacancy.subscriptions.parcels import Parcels
from vacancy.subscriptions.verification import Links

SQLITE: Final = "SQLite"
POSTGRES: Final = "PostgreSQL"
KEY: Final = "12025|NB"
TOPIC: Final = f"soc:{KEY}:00007"
CLOSED: Final = some(1, 2, 3)
OPENED: Final = some(1, 2, 3, 7)
_BASE: Final = "http://127.0.0.1:8000"
# What was seen when the scene was set stays believable for as long as a benchmark runs.
_ALWAYS_FRESH: Final = Rules({"soc": Policy(interval_s=3600.0, jitter=0.0, fetch_timeout_s=15.0)})
_TOKENS: Final = text(
    "UPDATE subscriptions SET unsubscribe_token = substr('t' || subscription_id || '" + "k" * 43 + "', 1, 43)"
)
_FORGET: Final = (
    "DELETE FROM open_event_notifications WHERE open_event_id = :event",
    "DELETE FROM subscription_events",
    "UPDATE open_events SET fanned_out_at = NULL, fanout_topic = 0, fanout_after = 0 WHERE open_event_id = :event",
    "UPDATE subscriptions SET notified_count = 0, last_known_section_status = 'Closed' WHERE notified_count > 0",
)


class AtOnce:
    """A channel that takes everything at once."""

    name = "email"
    verifies = True
    pace = Pace(1e9, 10**9)

    def contact(self, text: str) -> str:
        return text

    async def send(self, parcel: Parcel) -> Outcome:
        return Sent("bench", f"message-{parcel.notification_id}")

    async def probe(self) -> None:
        return

    async def close(self) -> None:
        """Nothing is kept."""


class Scene:
    event: int  # the opening that everybody is to hear of

    def __init__(self, store: Store, *, is_new: bool = True) -> None:
        self.store = store
        self.source = Lists(KEY, interval_s=0.0)
        self.hand = Hand(store, store.clock, self.source)
        if is_new:
            self.hand.configure()
            self.close()

    def invite(self, people: int, topic: str = TOPIC, *, first: int = 0, **columns: Any) -> None:
        """So many wait for the topic."""
        self.store.write_now(add_many, topic, people, first=first, **{"max_notifications": 1000, **columns})
        # As a token is: it stands in the address of every mail.
        self.store.write_now(lambda tx: tx.execute(_TOKENS))

    def open(self) -> None:
        self.hand.poll(OPENED)
        self.event = self.store.read_now(_newest)

    def close(self) -> None:
        """Twice missed is closed."""
        for _ in range(2):
            self.hand.poll(CLOSED)

    def fan_out(self) -> int:
        queued, more = 0, True
        while more:
            fanned = self.store.write_now(fan_out_some)
            queued, more = queued + fanned.queued, fanned.more
        return queued

    def again(self) -> int:
        """As if it had opened this moment: what was told of it is forgotten, and everybody waits to be told anew."""
        self.forget()
        queued = self.fan_out()
        self.tidy()
        return queued

    def forget(self) -> None:
        self.store.write_now(_forget, self.event)
        self.tidy()

    def tidy(self) -> None:
        """What PostgreSQL does by itself, a minute later."""
        if not self.store.is_sqlite:
            with psycopg.connect(plain_dsn(self.store.url), autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")

    def courier(self, channel: Channel) -> Courier:
        desk = make_desk(self.source)
        parcels = Parcels(_BASE, Links(desk.secret, self.store.clock))
        office = Office(self.store, self.store.clock, Metrics(), desk, parcels, _ALWAYS_FRESH, Tries())
        return Courier(office, channel)

    def count(self, which: str = "fanout_status = 'pending'") -> int:
        query = text(f"SELECT count(*) FROM open_event_notifications WHERE {which}")
        return self.store.read_now(lambda tx: int(tx.execute(query).scalar_one()))


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Store]:
    """A database as the product has it: durable, with the defaults of its kind."""
    with database(kind, folder) as url:
        store = Store(url, SystemClock())
        migrate.upgrade(store)
        try:
            yield store
        finally:
            store.close()


@contextmanager
def database(kind: str, folder: Path) -> Iterator[str]:
    if kind == SQLITE:
        yield f"sqlite:///{folder}/bench.db"
        return
    with postgres_database(folder / f"pg{os.getpid()}", "bench") as made:
        # The tests' server does not wait for the disk; here that is what is measured.
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET synchronous_commit")
            connection.execute("SELECT pg_reload_conf()")
        yield made.url


def drain(scene: Scene, channel: Channel) -> Cost:
    """Until nothing is left to be told."""
    courier = scene.courier(channel)
    with Stopwatch() as watch:
        asyncio.run(courier.once(Stop(scene.store.clock)))
    return watch.cost


def plain_dsn(url: str) -> str:
    """For psycopg itself."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _forget(tx: Tx, event: int) -> None:
    for statement in _FORGET:
        tx.execute(text(statement), {"event": event} if ":event" in statement else None)


def _newest(tx: Tx) -> int:
    return int(tx.execute(text("SELECT max(open_event_id) FROM open_events")).scalar_one())
