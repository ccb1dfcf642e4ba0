"""One event to 100,000 subscriptions, in chunks that survive a crash, beside one bare INSERT ... SELECT."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import text
from tests.support.databases import postgres_database
from tests.support.lists import Hand, Lists, some
from tests.support.subscribers import add_many

from bench.common import Cost, Row, Stopwatch, quiet_folder, typical
from vacancy.app import spare_the_collector
from vacancy.clock import SystemClock
from vacancy.pipeline.fanout import fan_out_some
from vacancy.store import migrate
from vacancy.store.engine import Store, Tx

SUBSCRIBERS: Final = 100_000
_OTHERS: Final = 20_000
_TURNS: Final = 5
_KEY: Final = "12025|NB"
_TOPIC: Final = f"soc:{_KEY}:00007"
_BARE: Final = text(
    "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key, channel, contact_hash, "
    "created_at) "
    "SELECT 1, subscription_id, 'key', contact_type, contact_hash, created_at FROM subscriptions "
    "WHERE topic = :topic AND status IN ('active', 'pending') AND last_known_section_status <> 'Open'"
)
_FORGET: Final = (
    "DELETE FROM open_event_notifications",
    "UPDATE open_events SET fanned_out_at = NULL, fanout_topic = 0, fanout_after = 0",
)


def run() -> list[Row]:
    return [*_run("SQLite", 0.55), *_run("PostgreSQL", 0.75)]


def _run(kind: str, bar: float) -> list[Row]:
    with quiet_folder("fanout") as folder, _store(kind, folder) as store:
        _prepare(store)
        ours, bare = [], []
        for turn in range(_TURNS + 1):
            if turn == 1:
                spare_the_collector()
            one, other = _fan_out(store), _insert(store)
            if turn:
                ours.append(one)
                bare.append(other)
    mine, least = typical(ours).wall, typical(bare).wall
    return [Row(f"fanout, {kind}", SUBSCRIBERS / mine, "/s", SUBSCRIBERS / least, at_least=bar)]


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[Store]:
    if kind == "SQLite":
        store = Store(f"sqlite:///{folder}/fanout.db", SystemClock())
        migrate.upgrade(store)
        yield store
        store.close()
        return
    with postgres_database(folder / f"pg{os.getpid()}", "fanout") as database:
        store = Store(database.url, SystemClock())
        # The tests' server does not wait for the disk; here it is what is measured.
        store.write_now(lambda tx: tx.execute(text("ALTER DATABASE fanout SET synchronous_commit = on")))
        store.close()
        store = Store(database.url, SystemClock())
        yield store
        store.close()


def _prepare(store: Store) -> None:
    """An item that was closed, is waited for, and opens."""
    hand = Hand(store, SystemClock(), Lists(_KEY, interval_s=0.0))
    hand.configure()
    for _ in range(2):
        hand.poll(some(1, 2, 3))
    store.write_now(add_many, _TOPIC, SUBSCRIBERS)
    store.write_now(add_many, f"soc:{_KEY}:00008", _OTHERS, first=SUBSCRIBERS)
    hand.poll(some(1, 2, 3, 7))
    if not store.is_sqlite:
        store.write_now(lambda tx: tx.execute(text("ANALYZE")))


def _fan_out(store: Store) -> Cost:
    store.write_now(_forget)
    with Stopwatch() as watch:
        while store.write_now(fan_out_some).more:
            pass
    assert store.read_now(_queued) == SUBSCRIBERS
    return watch.cost


def _insert(store: Store) -> Cost:
    store.write_now(_forget)
    with Stopwatch() as watch:
        store.write_now(lambda tx: tx.execute(_BARE, {"topic": _TOPIC}))
    assert store.read_now(_queued) == SUBSCRIBERS
    return watch.cost


def _forget(tx: Tx) -> None:
    for statement in _FORGET:
        tx.execute(text(statement))


def _queued(tx: Tx) -> int:
    return int(tx.execute(text("SELECT count(*) FROM open_event_notifications")).scalar_one())
