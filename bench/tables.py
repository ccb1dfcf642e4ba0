"""28 buckets of 2,000 slots each: what a sweep over all of them costs, and what a hundred readers wait.

The reference of a sweep decodes the same pages, keeps one set of (venue, time) a bucket, and writes what changed in one
durable transaction a bucket. It makes no payloads of what is open already, so it does not see when one changes. That of
the readers is a bare ASGI application that sends the same bytes.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from bench.common import Child, Cost, Row, Stopwatch, child, copy_database, quiet_folder, typical
from bench.table_world import Pages, pages, resy
from bench.world import Claims, configure, new_store
from vacancy.app import spare_the_collector
from vacancy.clock import Dice
from vacancy.model.availability import Complete, Unchanged
from vacancy.model.state import TargetState
from vacancy.pipeline.settle import Came, settle_answer, settle_unchanged
from vacancy.sources.resy import Resy
from vacancy.sources.tables import slot_id
from vacancy.store.engine import Store, Tx

_CHANGED: Final = 4
_SAME: Final = 3
_CLIENTS: Final = 100
_ROUNDS: Final = 5
_PAGES: Final = {
    "just-opened": ("/api/just-opened?minutes=60", 2000),
    "still-open of a day": ("/api/still-open?date={day}", 1000),
    "still-open": ("/api/still-open", 200),
}


def run() -> list[Row]:
    with quiet_folder("tables") as folder:
        path = folder / "tables.db"
        store = new_store(path)
        source, provider = resy()
        configure(store, source)
        ours = Ours(store, source, provider)
        keys = [question.key for question in source.questions()]
        for _ in range(2):  # the baseline takes two
            ours.sweep(_bodies(keys, 0))
        ours.sweep(_bodies(keys, 1))
        store.close()
        rows = _sweeps(path, folder, source, provider, ours, keys)
        return [*rows, *_readers(path, folder, keys[0])]


Bodies = Mapping[str, Sequence[bytes]]


def _bodies(keys: Sequence[str], turn: int, guests: int = 100) -> Bodies:
    return {key: pages(key, turn, guests) for key in keys}


class Ours:
    def __init__(self, store: Store, source: Resy, provider: Pages) -> None:
        self.store, self._source, self._provider = store, source, provider
        self._dice = Dice(1)
        self._loop = asyncio.new_event_loop()
        self._known: dict[str, tuple[bytes | None, TargetState | None]] = {}

    def sweep(self, bodies: Bodies) -> tuple[Cost, set[Came]]:
        """Every bucket once; only reading and settling are timed."""
        left = dict(bodies)
        came, cpu, wall = set(), 0.0, 0.0
        claims = Claims(self.store, self._source)
        while left:
            claim = claims.next()
            self._provider.put(left.pop(claim.key))
            with Stopwatch() as watch:
                came.add(self._poll(claim))
            cpu, wall = cpu + watch.cost.cpu, wall + watch.cost.wall
        return Cost(cpu, wall), came

    def _poll(self, claim: Any) -> Came:
        mark, state = self._known.get(claim.key, (None, None))
        answer = self._loop.run_until_complete(self._source.ask(claim, mark))
        if isinstance(answer, Unchanged):
            assert state is not None
            settled = self.store.write_now(settle_unchanged, claim, self._source, state, self._dice)
        else:
            assert isinstance(answer, Complete)
            settled = self.store.write_now(settle_answer, claim, self._source, answer, state, self._dice)
            # As the poller: only what was believed is left out the next time.
            mark = answer.mark if settled.came in (Came.BELIEVED, Came.UNCHANGED) else None
        self._known[claim.key] = (mark, settled.state)
        return settled.came


class _Ids(msgspec.Struct):
    resy: int


class _Start(msgspec.Struct):
    start: str


class _Offer(msgspec.Struct):
    date: _Start


class _Offers(msgspec.Struct):
    slots: list[_Offer]


class _Hit(msgspec.Struct):
    id: _Ids
    name: str
    availability: _Offers


class _Search(msgspec.Struct):
    hits: list[_Hit]


class _Body(msgspec.Struct):
    search: _Search


_OPEN: Final = (
    "INSERT INTO availability (target_id, item_key, state, opened_at, last_seen_at, missed_polls, episode, group_key, "
    "payload, told_at) VALUES (?, ?, 'Open', ?, ?, 0, 1, ?, ?, ?) RETURNING snapshot_id"
)
_CLOSE: Final = (
    "UPDATE availability SET state = 'Closed', closed_at = ?, last_seen_at = ?, gone_since = 1 "
    "WHERE target_id = ? AND item_key = ?"
)
_EVENT: Final = (
    "INSERT INTO open_events (status_before, status_after, seat_delta, event_at, detected_by, snapshot_id, dedupe_key, "
    "trace_id, payload, source, target_key, item_key, group_key, episode, topics) "
    "VALUES ('Closed', 'Open', 1, ?, 'resy', ?, ?, ?, ?, 'resy', ?, ?, ?, 1, ?)"
)
_BEAT: Final = (
    "UPDATE targets SET version = version + 1, polls = polls + 1, wholes = wholes + 1, open_count = ?, "
    "last_complete_at = ?, next_poll_at = ?, lease_owner = NULL, lease_until = NULL WHERE target_id = ?"
)
Slots = set[tuple[str, str]]


class Bare:
    """The same rows from decoded pages, a set difference and sqlite3."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._db.execute(f"PRAGMA {pragma}")
        self._ids = dict(self._db.execute("SELECT key, target_id FROM targets").fetchall())
        self._decoder = msgspec.json.Decoder(_Body)
        self._before: dict[str, Slots] = {}

    def sweep(self, bodies: Bodies) -> tuple[Cost, int]:
        """What it cost, and how many rows were written."""
        written = self._db.total_changes
        with Stopwatch() as watch:
            for key in bodies:
                slots, names = self._read(bodies[key])
                before = self._before.get(key, slots)
                self._before[key] = slots
                self._write(key, slots - before, before - slots, names, len(slots))
        return watch.cost, self._db.total_changes - written

    def _read(self, bodies: Sequence[bytes]) -> tuple[Slots, dict[str, str]]:
        slots: Slots = set()
        names = {}
        for body in bodies:
            for hit in self._decoder.decode(body).search.hits:
                venue = str(hit.id.resy)
                names[venue] = hit.name
                slots.update((venue, offer.date.start) for offer in hit.availability.slots)
        return slots, names

    def _write(self, key: str, opened: Slots, closed: Slots, names: dict[str, str], count: int) -> None:
        db, target_id = self._db, self._ids[key]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
        db.execute("BEGIN IMMEDIATE")
        for venue, moment in sorted(opened):
            slot = slot_id("resy", venue, moment)
            said = msgspec.json.encode({"venueId": venue, "venueName": names[venue], "time": moment[11:16]}).decode()
            ((number,),) = db.execute(_OPEN, (target_id, slot, now, now, venue, said, now)).fetchall()
            topics = f'["resy:venue/{venue}@{key[:10]}","resy:venue/{venue}"]'
            dedupe = f"{key}|{slot}|{now[:16]}"
            db.execute(_EVENT, (now, number, dedupe, "0" * 32, said, key, slot, venue, topics))
        db.executemany(_CLOSE, [(now, now, target_id, slot_id("resy", *gone)) for gone in closed])
        db.execute(_BEAT, (count, now, now, target_id))
        db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


def _sweeps(
    path: Path, folder: Path, source: Resy, provider: Pages, known: Ours, keys: Sequence[str]
) -> list[Row]:  # fmt: skip
    bare = Bare(copy_database(path, folder / "bare.db"))
    store = new_store(path)
    ours = Ours(store, source, provider)
    ours._known = known._known
    bare.sweep(_bodies(keys, 1))
    spare_the_collector()
    last = 1 + _CHANGED
    changed = [_both(ours, bare, _bodies(keys, turn), {Came.BELIEVED}) for turn in range(2, last + 1)]
    same = [_both(ours, bare, _bodies(keys, last), {Came.UNCHANGED}) for _ in range(_SAME)]
    rated = [_both(ours, bare, _bodies(keys, last, 200 + nth), {Came.UNCHANGED}) for nth in range(_SAME)]
    _compare(store, folder / "bare.db")
    store.close()
    bare.close()
    return [
        *_sweep_rows("tables, sweep with 1 % changed", changed),
        *_sweep_rows("tables, sweep unchanged", same),
        *_sweep_rows("tables, sweep of other bytes that say the same", rated),
    ]


Both = tuple[Cost, int, Cost, int]


def _both(ours: Ours, bare: Bare, bodies: Bodies, expected: set[Came]) -> Both:
    before = ours.store.write_now(_written)
    cost, came = ours.sweep(bodies)
    assert came == expected, came
    # Each claim writes a lease and counts here, as it does in the product; the reference needs none.
    written = ours.store.write_now(_written) - before
    return (cost, written, *bare.sweep(bodies))


def _written(tx: Tx) -> int:
    raw: Any = tx.connection.connection.dbapi_connection
    return int(raw.total_changes)


def _sweep_rows(name: str, measured: Sequence[Both]) -> list[Row]:
    ours, bare = typical([each[0] for each in measured]), typical([each[2] for each in measured])
    return [
        Row(f"{name}, CPU", ours.cpu * 1e3, "ms", bare.cpu * 1e3),
        Row(f"{name}, wall", ours.wall * 1e3, "ms", bare.wall * 1e3),
        Row(f"{name}, rows", median(each[1] for each in measured), "rows", median(each[3] for each in measured)),
    ]


def _compare(store: Store, bare: Path) -> None:
    """The reference is only one if it found the same."""
    other = sqlite3.connect(bare)
    path = store.path
    assert path is not None
    mine = sqlite3.connect(path)
    for query in (
        "SELECT target_id, item_key, state FROM availability ORDER BY 1, 2",
        "SELECT target_key, item_key, group_key, topics FROM open_events ORDER BY 1, 2",
    ):
        assert mine.execute(query).fetchall() == other.execute(query).fetchall(), query
    mine.close()
    other.close()


def _readers(path: Path, folder: Path, key: str) -> list[Row]:
    rows = []
    with (
        child("-m", "bench.peer", "feed", "ours", str(path)) as ours,
        child("-m", "bench.peer", "readers") as readers,
    ):
        address = ours.line()
        for name, (page, count) in _PAGES.items():
            kept = folder / f"{name}.json"
            question = page.format(day=key[:10])
            readers.say(f"keep {address}{question} {kept}")
            size = int(readers.line())
            with child("-m", "bench.peer", "feed", "bytes", str(kept)) as bare:
                rows += _latencies(f"tables, {name}, {size / 1e3:.0f} kB", ours, bare, readers,
                                   (address + question, bare.line() + question), count)  # fmt: skip
    return rows


def _latencies(
    name: str, ours: Child, bare: Child, readers: Child, addresses: tuple[str, str], count: int
) -> list[Row]:  # fmt: skip
    seen: tuple[list[tuple[float, float, float]], ...] = ([], [])
    for turn in range(_ROUNDS + 1):
        for nth, server in enumerate((ours, bare)):
            before = server.cpu_s()
            readers.say(f"ask {addresses[nth]} {count} {_CLIENTS}")
            p50, p99 = (float(figure) * 1e3 for figure in readers.line().split())
            if turn:
                seen[nth].append((p50, p99, (server.cpu_s() - before) / count * 1e3))
    mine, least = ([median(column) for column in zip(*rounds, strict=True)] for rounds in seen)
    kinds = (f"{_CLIENTS} clients, p50", f"{_CLIENTS} clients, p99", "CPU each")
    return [Row(f"{name}, {kind}", mine[nth], "ms", least[nth]) for nth, kind in enumerate(kinds)]
