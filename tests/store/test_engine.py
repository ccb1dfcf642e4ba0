"""Transactions, bells and connections, on both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from tests.store.test_commit_order import append
from tests.support.clock import ManualClock
from tests.support.databases import PostgresDatabase
from vacancy.clock import SystemClock
from vacancy.errors import StoreError
from vacancy.pipeline.identity import Identity, is_dead
from vacancy.store import bells, engine, house
from vacancy.store.engine import Store, Tx


def test_what_raises_is_rolled_back_and_rings_no_bell(store: Store) -> None:
    def fail(tx: Tx) -> None:
        house.remember(tx, "name", "value")
        tx.ring(bells.EVENTS)
        raise KeyError("fails")

    with pytest.raises(KeyError):
        store.write_now(fail)
    assert store.read_now(house.recall, "name") is None
    assert store.bells[bells.EVENTS].rings == 0


def test_concurrent_read_modify_write_loses_nothing(store: Store) -> None:
    store.write_now(house.remember, "count", "0")

    def add_one(tx: Tx) -> None:
        lock = "" if tx.dialect == "sqlite" else " FOR UPDATE"
        (count,) = tx.execute(text("SELECT value FROM house WHERE name = 'count'" + lock)).one()
        house.remember(tx, "count", str(int(count) + 1))

    async def story() -> None:
        await asyncio.gather(*(store.write(add_one) for _ in range(100)))

    asyncio.run(story())
    assert store.read_now(house.recall, "count") == "100"


def test_a_reader_cannot_write(sqlite_store: Store) -> None:
    with pytest.raises(StoreError, match="readonly"):
        sqlite_store.read_now(house.remember, "name", "value")


def test_a_reader_sees_one_moment(store: Store) -> None:
    def look_twice(tx: Tx) -> tuple[str | None, str | None]:
        before = house.recall(tx, "name")
        store.write_now(house.remember, "name", "later")
        return before, house.recall(tx, "name")

    assert store.read_now(look_twice) == (None, None)


def test_a_commit_of_another_process_rings_here(store: Store) -> None:
    other = Store(store.url, SystemClock())

    async def story() -> int:
        listener = asyncio.ensure_future(store.listen())
        bell, clock = store.bells[bells.EVENTS], SystemClock()
        store.clock = clock
        heard = 0
        try:
            for attempt in range(50):
                await other.write(append, f"from elsewhere {attempt}")
                if (heard := await bell.wait(heard, clock, 0.5)) > 1:
                    return heard
        finally:
            listener.cancel()
        return heard

    try:
        assert asyncio.run(story()) > 1
    finally:
        other.close()


def test_what_we_commit_rings_here_once_and_not_again_as_a_notice(postgres_store: Store) -> None:
    store, other = postgres_store, Store(postgres_store.url, SystemClock())
    events, targets = store.bells[bells.EVENTS], store.bells[bells.TARGETS]

    async def rings_again(bell: bells.Bell, heard: int) -> int:
        return await asyncio.wait_for(bell.wait(heard, SystemClock(), 30), 30)

    async def story() -> int:
        listener = asyncio.ensure_future(store.listen())
        try:
            for bell in (events, targets):
                await rings_again(bell, 0)  # as it does once when the listening begins
            before, fence = events.rings, targets.rings
            await store.write(lambda tx: tx.ring(bells.EVENTS))
            # Notices come in the order of commits: after this one, none of ours is on its way any more.
            await other.write(lambda tx: tx.ring(bells.TARGETS))
            await rings_again(targets, fence)
            return events.rings - before
        finally:
            listener.cancel()

    try:
        assert asyncio.run(story()) == 1
    finally:
        other.close()


def test_a_ring_between_looking_and_waiting_is_heard() -> None:
    async def story() -> int:
        bell = bells.Bell()
        heard = bell.rings
        bell.ring()
        return await bell.wait(heard, ManualClock(), 1_000_000)

    assert asyncio.run(story()) == 1


def test_a_database_in_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/no/such/folder.db", ManualClock())
    with pytest.raises(StoreError, match="does its folder exist"):
        store.read_now(house.recall, "name")
    store.close()


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are no pages of a database, whatever the settings say.\n" * 20)
    store = Store(f"sqlite:///{path}", ManualClock())
    for ask in (store.read_now, store.write_now):
        with pytest.raises(StoreError, match=r"cannot read .*notes\.txt: file is not a database; name another file"):
            ask(house.recall, "name")
    store.close()


def test_a_fault_of_ours_stays_one(store: Store) -> None:
    with pytest.raises(IntegrityError):
        store.write_now(lambda tx: tx.execute(text("INSERT INTO house (name, value) VALUES (NULL, NULL)")))


def _hang_up_on_all(postgres: PostgresDatabase) -> None:
    with psycopg.connect(postgres.dsn, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )


def test_a_connection_that_rested_is_asked_whether_it_lives(
    postgres_store: Store, postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_TRUSTED_FOR_S", 0.0)
    postgres_store.write_now(house.remember, "name", "value")
    _hang_up_on_all(postgres)
    assert postgres_store.read_now(house.recall, "name") == "value"


def test_one_that_broke_a_moment_ago_fails_once(
    postgres_store: Store, postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_TRUSTED_FOR_S", 1000.0)
    postgres_store.write_now(house.remember, "name", "value")
    _hang_up_on_all(postgres)
    with pytest.raises(StoreError):
        postgres_store.read_now(house.recall, "name")
    assert postgres_store.read_now(house.recall, "name") == "value"


def test_sqlalchemy_is_kept_out_of_what_runs_together(postgres_store: Store) -> None:
    def mix(tx: Tx) -> None:
        with tx.together():
            tx.execute(text("SELECT 1"))

    with pytest.raises(RuntimeError, match="prepared"):
        postgres_store.write_now(mix)


def test_a_live_process_is_not_taken_for_dead() -> None:
    mine = Identity().new_lease()
    assert not is_dead(mine)
    host, _, started = mine.split("#")[0].split("|")
    assert is_dead(f"{host}|{2**22 + 1}|{started}#1")
    assert is_dead(mine.replace(f"|{started}#", "|1#"))
    assert not is_dead(f"another host|{2**22 + 1}|{started}#1")
    assert not is_dead("anything else")
