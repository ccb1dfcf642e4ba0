"""The whole house while its database is away: everything waits, nothing is lost, nothing is said twice."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import psycopg
import pytest
from sqlalchemy import select

from tests.simulator.harness import Rig, running
from tests.support.databases import OwnPostgres, own_postgres
from tests.support.houses import CAMPUS, PATIENCE_S, SERVE, TERM, Person, environment, house
from tests.support.mail_server import MailServer
from tests.support.subscribers import add_many
from vacancy.store.engine import Tx
from vacancy.store.schema import open_event_notifications, subscription_events, subscriptions

CROWD: Final = 60
_LISTENERS: Final = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN vacancy'"
_IMPATIENT: Final = ("-m", "tests.flow.impatient", "serve")


@pytest.fixture
def postgres_that_stops() -> Iterator[OwnPostgres]:
    with tempfile.TemporaryDirectory(prefix="vacancy-pg-") as folder, own_postgres(Path(folder) / "data") as server:
        yield server


def facts(tx: Tx) -> Any:
    n, s, e = open_event_notifications.c, subscriptions.c, subscription_events.c
    rows = tx.execute(select(n.fanout_status, n.fanout_attempts, n.locked_by.is_(None))).all()
    counts = set(tx.execute(select(s.notified_count)).scalars())
    notes = tx.execute(select(e.event_type).where(e.event_type == "notify_sent")).all()
    return Counter(tuple(row) for row in rows), counts, len(notes)


class Database(Protocol):
    url: str

    def go_away(self) -> None: ...

    def come_back(self) -> None: ...

    async def check_away(self, person: Person) -> None:
        """What a visitor sees meanwhile."""

    def check_back(self) -> None: ...


class StoppedPostgres:
    def __init__(self, server: OwnPostgres) -> None:
        self.url = server.url
        self.go_away, self.come_back = server.go_away, server.come_back
        self._dsn = server.dsn

    async def check_away(self, person: Person) -> None:
        unready = await person.until_ready(503)
        assert "the database does not answer" in unready["error"]["details"]["database"]
        status, answer = await person.try_to("GET", "/api/events")
        assert (status, answer["error"]["code"]) == (503, "unavailable")

    def check_back(self) -> None:
        """It is listened to again: the house's own listener, besides ours that ended."""
        with psycopg.connect(self._dsn) as connection:
            assert connection.execute(_LISTENERS).fetchone() == (1,)


class LockedSqlite:
    """Somebody else writes, and does not come to an end. What is there can be read."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._path = path
        self._other: sqlite3.Connection | None = None

    def go_away(self) -> None:
        self._other = sqlite3.connect(self._path, isolation_level=None, timeout=10, check_same_thread=False)
        self._other.execute("BEGIN IMMEDIATE")

    def come_back(self) -> None:
        assert self._other is not None
        self._other.rollback()
        self._other.close()

    async def check_away(self, person: Person) -> None:
        unready = await person.until_ready(503)
        assert " is restarting" in unready["error"]["details"]["loops"]
        assert (await person.try_to("GET", "/api/events"))[0] == 200

    def check_back(self) -> None:
        """Nothing was lost that would have to be taken up again."""


async def play(person: Person, rig: Rig, mails: MailServer, database: Database) -> None:
    """One seat opens just before it goes away, another meanwhile."""
    await person.fresh()
    world = await rig.control("GET", f"/world?term={TERM}&campus={CAMPUS}")
    before, meanwhile = [index for index in world["catalogue"] if index not in world["open"]][:2]
    for number, index in enumerate((before, meanwhile)):
        topic = f"soc:{TERM}:{CAMPUS}:{index}"
        await person.store.write(add_many, topic, CROWD, first=number * CROWD)
    await rig.control("POST", "/seats", {"term": TERM, "campus": CAMPUS, "open": [before]})
    await asyncio.wait_for(mails.has_taken(CROWD // 3), PATIENCE_S)

    await asyncio.to_thread(database.go_away)
    await rig.control("POST", "/seats", {"term": TERM, "campus": CAMPUS, "open": [meanwhile]})
    await database.check_away(person)
    async with asyncio.timeout(PATIENCE_S):
        while not person.log("the queue waits for its database"):
            await person.a_moment()
    await asyncio.to_thread(database.come_back)

    assert (await person.until_ready(200))["checks"]["loops"] == "ok"
    await asyncio.wait_for(mails.has_taken(2 * CROWD), PATIENCE_S)
    done = ({("sent", 1, True): 2 * CROWD}, {1}, 2 * CROWD)
    await person.until(lambda: person.store.read_now(facts) == done)
    await asyncio.to_thread(database.check_back)
    assert set(Counter(who for mail in mails.received for who in mail.recipients).values()) == {1}
    assert person.log("loop waits for the database")
    assert person.log("loop crashed") == []
    assert "Traceback" not in "\n".join(person.said)


def lives_through_it(database: Database, command: Sequence[str]) -> None:
    async def main() -> None:
        async with (
            running(scale=0.01, terms=[TERM], campuses=[CAMPUS]) as rig,
            MailServer() as mails,
        ):
            settings = environment(
                rig, database.url, email__provider="smtp", email__smtp_host="127.0.0.1", email__smtp_port=mails.port,
                email__smtp_tls="none", delivery__email_per_second=CROWD, email__smtp_connections=2,
            )  # fmt: skip
            async with house(settings, database.url, command) as person:
                await play(person, rig, mails, database)

    asyncio.run(main())


@pytest.mark.timeout(240)
def test_postgres_loses_its_power_and_comes_back(postgres_that_stops: OwnPostgres) -> None:
    lives_through_it(StoppedPostgres(postgres_that_stops), SERVE)


@pytest.mark.timeout(240)
def test_somebody_holds_sqlites_write_lock_longer_than_it_is_waited_for(tmp_path: Path) -> None:
    lives_through_it(LockedSqlite(tmp_path / "vacancy.db"), _IMPATIENT)
