"""The queue drained through a channel that takes everything at once, so that nothing but the queue is measured.

Every message costs three durable writes: its row, its subscription, an audit row. The bare loop does these three and
nothing else, as many to a commit as the product may have in flight. The peers do less for each job (nobody else
learns of it, no subscription, no audit), and each is given the batch that suits it best.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import msgspec
import psycopg
from sqlalchemy import insert, literal, select, text

from bench import queue_peers
from bench.common import Cost, Row, Stopwatch, quiet_folder, typical
from bench.scene import POSTGRES, SQLITE, AtOnce, Scene, drain, opened, plain_dsn
from vacancy.app import spare_the_collector
from vacancy.pipeline.deliver import IN_FLIGHT
from vacancy.store.engine import Store, Tx, connect_sqlite
from vacancy.store.schema import open_events

_MESSAGES: Final = {SQLITE: 10_000, POSTGRES: 6_000}
_TURNS: Final = 3
_FINISHED: Final = 1_000_000
_NOW: Final = "2026-11-05T12:00:00.000Z"
_TOLD: Final = (
    "UPDATE subscriptions SET last_notified_at = ?, last_known_section_status = 'Open', "
    "notified_count = notified_count + 1 WHERE subscription_id = ?"
)
_SENT: Final = (
    "UPDATE open_event_notifications SET fanout_status = 'sent', fanout_attempts = 1, last_attempt_at = ?, "
    "provider_message_id = ?, error = ? WHERE notification_id = ?"
)
_NOTE: Final = (
    "INSERT INTO subscription_events (subscription_id, event_type, section_status_snapshot, payload, created_at) "
    "VALUES (?, 'notify_sent', 'Open', ?, ?)"
)
_ALL_IN_ONE: Final = """
    WITH told AS (
      UPDATE subscriptions SET last_notified_at = %(now)s, last_known_section_status = 'Open',
        notified_count = notified_count + 1
      WHERE subscription_id = ANY(%(whom)s)
    ), sent AS (
      UPDATE open_event_notifications AS row SET fanout_status = 'sent', fanout_attempts = 1,
        last_attempt_at = %(now)s, provider_message_id = given.message, error = given.why
      FROM unnest(%(rows)s::bigint[], %(messages)s::text[], %(whys)s::text[]) AS given (row, message, why)
      WHERE row.notification_id = given.row
    )
    INSERT INTO subscription_events (subscription_id, event_type, section_status_snapshot, payload, created_at)
    SELECT who, 'notify_sent', 'Open', about, %(now)s
    FROM unnest(%(whom)s::bigint[], %(abouts)s::text[]) AS noted (who, about)
"""

Pending = Sequence[tuple[int, int]]  # (row, subscription)


def run() -> list[Row]:
    return [*_run(SQLITE), *_run(POSTGRES)]


def _run(kind: str) -> list[Row]:
    messages = _MESSAGES[kind]
    with quiet_folder("queue") as folder, ExitStack() as stack:
        scene, full = (_scene(stack, kind, _made(folder / name), messages) for name in ("empty", "full"))
        full.store.write_now(_fill, full.event)
        full.tidy()
        spare_the_collector()
        ours, bare, crowded = [], [], []
        for _ in range(_TURNS):
            ours.append(_drain(scene))
            bare.append(_bare(scene))
            crowded.append(_drain(full))
        peers = queue_peers.rates(kind, folder, scene.store.url)
    rate, least, slower = (messages / typical(costs).wall for costs in (ours, bare, crowded))
    return [
        Row(f"queue_drain, {kind}, beside a bare loop", rate, "/s", least, at_least=0.4),
        *(Row(f"queue_drain, {kind}, beside {peer.name}", rate, "/s", peer.rate, at_least=peer.bar) for peer in peers),
        Row(f"queue_drain, {kind}, a million finished rows", slower, "/s", rate, at_least=0.9),
        Row(f"queue_drain, {kind}, CPU of ours per message", typical(ours).cpu / messages * 1e6, "us"),
    ]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _scene(stack: ExitStack, kind: str, folder: Path, people: int) -> Scene:
    scene = Scene(stack.enter_context(opened(kind, folder)))
    scene.invite(people)
    scene.open()
    return scene


def _drain(scene: Scene) -> Cost:
    queued = scene.again()
    cost = drain(scene, AtOnce())
    assert scene.count(f"fanout_status = 'sent' AND open_event_id = {scene.event}") == queued
    return cost


def _bare(scene: Scene) -> Cost:
    queued = scene.again()
    rows = scene.store.read_now(_pending)
    cost = _bare_sqlite(scene.store, rows) if scene.store.is_sqlite else _bare_postgres(scene.store, rows)
    assert scene.count(f"fanout_status = 'sent' AND open_event_id = {scene.event}") == queued
    return cost


def _pending(tx: Tx) -> Pending:
    query = "SELECT notification_id, subscription_id FROM open_event_notifications WHERE fanout_status = 'pending'"
    return [(row, who) for row, who in tx.execute(text(f"{query} ORDER BY notification_id"))]


def _groups(rows: Pending) -> Iterator[Pending]:
    for at in range(0, len(rows), IN_FLIGHT):
        yield rows[at : at + IN_FLIGHT]


def _bare_sqlite(store: Store, rows: Pending) -> Cost:
    assert store.path
    database = connect_sqlite(store.path, read_only=False)
    with Stopwatch() as watch:
        for group in _groups(rows):
            _write_three(database, group)
    database.close()
    return watch.cost


def _write_three(database: sqlite3.Connection, group: Pending) -> None:
    database.execute("BEGIN IMMEDIATE")
    database.executemany(_TOLD, [(_NOW, who) for _, who in group])
    database.executemany(_SENT, [(_NOW, f"message-{row}", _why(row), row) for row, _ in group])
    database.executemany(_NOTE, [(who, _about(row), _NOW) for row, who in group])
    database.execute("COMMIT")


def _bare_postgres(store: Store, rows: Pending) -> Cost:
    with psycopg.connect(plain_dsn(store.url), autocommit=True) as connection, Stopwatch() as watch:
        for group in _groups(rows):
            numbers = [row for row, _ in group]
            connection.execute(_ALL_IN_ONE, {
                "now": _NOW, "whom": [who for _, who in group], "rows": numbers,
                "messages": [f"message-{row}" for row in numbers], "whys": [_why(row) for row in numbers],
                "abouts": [_about(row) for row in numbers],
            }, prepare=True)  # fmt: skip
    return watch.cost


def _why(row: int) -> str:
    return msgspec.json.encode(
        {"code": "sent", "message": "bench took it", "provider": "bench", "providerMessageId": f"message-{row}",
         "status": "sent", "attempt": 1}
    ).decode()  # fmt: skip


def _about(row: int) -> str:
    return msgspec.json.encode({"notificationId": row, "channel": "email", "openEventId": 1}).decode()


def _fill(tx: Tx, event: int) -> None:
    """A million rows that are finished, of openings long past."""
    subscribers = int(tx.execute(text("SELECT count(*) FROM subscriptions")).scalar_one())
    past = -(-_FINISHED // subscribers)
    columns = [each for each in open_events.c if each.name not in ("open_event_id", "dedupe_key")]
    for number in range(past):
        key = literal(f"past {number}").label("dedupe_key")
        old = select(*columns, key).where(open_events.c.open_event_id == event)
        tx.execute(insert(open_events).from_select([*(each.name for each in columns), "dedupe_key"], old))
    tx.execute(text(
        "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key, channel, contact_hash, "
        "fanout_status, fanout_attempts, created_at) "
        "SELECT open_event_id, subscriptions.subscription_id, dedupe_key, contact_type, contact_hash, 'sent', 1, "
        "event_at FROM open_events CROSS JOIN subscriptions WHERE dedupe_key LIKE 'past %'"
    ))  # fmt: skip
    tx.execute(text("UPDATE open_events SET fanned_out_at = event_at WHERE dedupe_key LIKE 'past %'"))
