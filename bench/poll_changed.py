"""Applying a poll of 15,000 open items of which 1 % changed, beside the least that must be done for it.

Each list has 75 items that the one before had not, and lacks 75 that it had: 150 items, 1 %. Since an item is closed by
its second miss in a row, each poll opens 75, counts the first miss of 75 and closes the 75 that the one before missed:
225 rows of availability, 150 events, one target. The reference writes the same rows to a copy of the same database.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path
from typing import Any, Final

import msgspec

from bench.common import Cost, Row, Stopwatch, copy_database, quiet_folder, typical
from bench.world import TERM, Claims, catalogue_body, configure, load_catalogue, new_store, soc
from vacancy.app import spare_the_collector
from vacancy.clock import Dice
from vacancy.model.availability import Complete
from vacancy.model.state import TargetState
from vacancy.pipeline.settle import Came, settle_answer
from vacancy.sources.soc import Soc, read_open_list
from vacancy.store.engine import Store

OPEN_ITEMS: Final = 15_000
IN_AND_OUT: Final = 75
_ITEMS: Final = 16_800
_CATALOGUE_SCALE: Final = 1.4  # NB has 12,000 sections in it at 1
_POLLS: Final = 80
_WARM_UP: Final = 5


class Ring:
    """All items in a circle, and a window of open ones that moves on with each list."""

    def __init__(self, items: Sequence[str]) -> None:
        shuffled = list(items)
        random.Random(1).shuffle(shuffled)
        self.items = shuffled[:_ITEMS]

    def body(self, turn: int) -> bytes:
        first = turn * IN_AND_OUT % _ITEMS
        twice = self.items + self.items
        return msgspec.json.encode(twice[first : first + OPEN_ITEMS])


class Ours:
    def __init__(self, store: Store, source: Soc) -> None:
        self._store = store
        self._source = source
        self._claims = Claims(store, source)
        self._dice = Dice(1)
        self._state: TargetState | None = None

    def apply(self, body: bytes) -> tuple[Cost, Came, int]:
        claim = self._claims.next()
        with Stopwatch() as watch:
            answer = read_open_list(body)
            assert isinstance(answer, Complete)
            settled = self._store.write_now(settle_answer, claim, self._source, answer, self._state, self._dice)
        self._state = settled.state
        return watch.cost, settled.came, len(settled.emission.opened) + len(settled.emission.closed)

    def begin(self, ring: Ring) -> None:
        """Every item has been open once, and those outside the first window were closed again."""
        everything = ring.items
        for end in (_ITEMS, _ITEMS - 900, OPEN_ITEMS):
            for _ in range(2):
                self.apply(msgspec.json.encode(everything[:end]))


_REOPEN: Final = (
    "UPDATE availability SET state = 'Open', opened_at = ?, last_seen_at = ?, closed_at = NULL, missed_polls = 0, "
    "episode = ? WHERE snapshot_id = ?"
)
_MISS: Final = "UPDATE availability SET missed_polls = 1, last_seen_at = ? WHERE snapshot_id = ?"
_CLOSE: Final = (
    "UPDATE availability SET state = 'Closed', closed_at = ?, missed_polls = 0, last_seen_at = ? WHERE snapshot_id = ?"
)
_EVENT: Final = (
    "INSERT INTO open_events (section_id, term_id, campus_code, index_number, status_before, status_after, "
    "seat_delta, event_at, detected_by, snapshot_id, dedupe_key, trace_id, payload, source, target_key, item_key, "
    "episode, lead_event_id, topics) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'open_sections', ?, ?, ?, ?, 'soc', ?, ?, ?, ?, ?)"
)
_TARGET: Final = (
    "UPDATE targets SET version = version + 1, polls = polls + 1, open_count = ?, last_complete_at = ?, "
    "source_hash = ?, next_poll_at = ?, scheduled_at = ?, lease_owner = NULL, lease_until = NULL WHERE target_id = 1"
)
_FACTS: Final = (
    "SELECT s.index_number, s.section_id, s.section_number, c.course_string, c.title, c.subject_code, "
    "s.meeting_summary, s.instructors, c.credits FROM sections s JOIN courses c ON s.course_id = c.course_id "
    "WHERE s.term_id = ? AND s.campus_code = ? AND s.index_number IN ({})"
)


class Bare:
    """The same rows from a parsed set and sqlite3; nothing is judged, checked or explained."""

    def __init__(self, path: Path, *, describes: bool) -> None:
        self._describes = describes
        self._db = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            self._db.execute(f"PRAGMA {pragma}")
        rows = self._db.execute("SELECT item_key, snapshot_id, episode, state, missed_polls FROM availability")
        self._ids: dict[str, int] = {}
        self._episodes: dict[str, int] = {}
        self._before: set[str] = set()
        self._missed: set[str] = set()
        for key, number, episode, state, missed in rows:
            self._ids[key], self._episodes[key] = number, episode
            if state == "Open":
                (self._missed if missed else self._before).add(key)
        self._decoder = msgspec.json.Decoder(list[str])
        self._lead: int = self._db.execute("SELECT max(open_event_id) FROM open_events").fetchone()[0] or 0

    def apply(self, body: bytes) -> Cost:
        with Stopwatch() as watch:
            keys = set(self._decoder.decode(body))  # faster than decoding into a set
            opened, gone = keys - self._before, self._before - keys
            closed = self._missed - keys
            self._before, self._missed = keys, gone
            self._write(body, len(keys), opened, gone, closed)
        return watch.cost

    def _write(self, body: bytes, count: int, opened: set[str], gone: set[str], closed: set[str]) -> None:
        ids, episodes, db = self._ids, self._episodes, self._db
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
        digest = sha1(body, usedforsecurity=False).hexdigest()
        for key in opened:
            episodes[key] += 1
        db.execute("BEGIN IMMEDIATE")
        db.executemany(_REOPEN, [(now, now, episodes[key], ids[key]) for key in opened])
        db.executemany(_MISS, [(now, ids[key]) for key in gone])
        db.executemany(_CLOSE, [(now, now, ids[key]) for key in closed])
        facts = self._facts([*opened, *closed]) if self._describes else {}
        events = [
            *[self._event(key, "Closed", "Open", 1, now, digest, facts) for key in opened],
            *[self._event(key, "Open", "Closed", -1, now, digest, facts) for key in closed],
        ]
        db.executemany(_EVENT, events)
        db.execute(_TARGET, (count, now, digest, now, now))
        db.execute("COMMIT")

    def _facts(self, keys: list[str]) -> dict[str, tuple[Any, ...]]:
        query = _FACTS.format(",".join("?" * len(keys)))
        return {row[0]: row for row in self._db.execute(query, (TERM, "NB", *keys))}

    def _event(
        self, key: str, before: str, after: str, seats: int, now: str, digest: str, facts: dict[str, tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        episode, fact = self._episodes[key], facts.get(key)
        self._lead += 1
        topics = f'["soc:{TERM}:NB:{key}"]'
        link = f"https://sis.rutgers.edu/soc/#keyword={key}&semester={TERM}"
        payload = (
            f'{{"term":"{TERM}","campus":"NB","index":"{key}","link":"{link}","detectedAt":"{now}",'
            f'"snapshotHash":"{digest}"}}'
        )
        if fact:
            topics = f'["soc:{TERM}:NB:{key}","soc:{TERM}:NB:course/{fact[3]}"]'
            more = msgspec.json.encode(
                dict(zip(("sectionNumber", "courseString", "courseTitle", "subject", "meetingSummary", "instructors",
                          "credits"), fact[2:], strict=True))
            ).decode()  # fmt: skip
            payload = f"{payload[:-1]},{more[1:]}"
        dedupe = sha1(f"{TERM}|NB|{key}|{after}|{episode}:0".encode(), usedforsecurity=False).hexdigest()
        return (
            fact[1] if fact else None, TERM, "NB", key, before, after, seats, now, self._ids[key], dedupe,
            "0" * 32, payload, f"{TERM}|NB", key, episode, self._lead, topics,
        )  # fmt: skip

    def close(self) -> None:
        self._db.close()


def prepare(folder: Path, *, with_catalogue: bool) -> tuple[Path, Ring]:
    """A database after its baseline, with nothing open on it."""
    path = folder / "begun.db"
    store = new_store(path)
    if with_catalogue:
        body, items = catalogue_body("NB", _CATALOGUE_SCALE)
        load_catalogue(store, "NB", body)
        ring = Ring(items)
    else:
        ring = Ring([f"{number:05d}" for number in range(100, 100 + 2 * _ITEMS)])
    source, _ = soc()
    configure(store, source)
    Ours(store, source).begin(ring)
    store.close()
    return path, ring


def run() -> list[Row]:
    return [*_run("poll_changed", with_catalogue=False), *_run("poll_changed, with catalogue", with_catalogue=True)]


def _run(name: str, *, with_catalogue: bool) -> list[Row]:
    ours, bare = [], []
    with quiet_folder("changed") as folder:
        path, ring = prepare(folder, with_catalogue=with_catalogue)
        reference = Bare(copy_database(path, folder / "bare.db"), describes=with_catalogue)
        store = new_store(path)
        product = Ours(store, soc()[0])
        for turn in range(1, _POLLS + _WARM_UP + 1):
            body = ring.body(turn)
            cost, came, raised = product.apply(body)
            assert came is Came.BELIEVED
            least = reference.apply(body)
            if turn == _WARM_UP:
                spare_the_collector()  # as `serve` does once it has started
            if turn > _WARM_UP:
                assert raised == 2 * IN_AND_OUT
                ours.append(cost)
                bare.append(least)
        store.close()
        reference.close()
        _compare_databases(path, folder / "bare.db")
    one, other = typical(ours), typical(bare)
    return [
        Row(f"{name}, CPU", one.cpu * 1e3, "ms", other.cpu * 1e3, at_most=1.5),
        Row(f"{name}, wall", one.wall * 1e3, "ms", other.wall * 1e3),
    ]


def _compare_databases(ours: Path, bare: Path) -> None:
    """The reference is only one if it wrote the same."""
    asked = (
        "SELECT item_key, state, missed_polls, episode FROM availability ORDER BY 1",
        "SELECT item_key, status_after, episode, section_id, topics, dedupe_key FROM open_events ORDER BY 6",
    )
    for query in asked:
        one, other = sqlite3.connect(ours), sqlite3.connect(bare)
        assert one.execute(query).fetchall() == other.execute(query).fetchall(), query
        one.close()
        other.close()
