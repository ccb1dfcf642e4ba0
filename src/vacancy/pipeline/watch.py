"""Looks at the house every few seconds: what is wrong begins, what is right again ends, each once.

What is wrong is read from rows, so it does not matter which process polls or sends. A channel's breaker speaks for
itself, in `deliver`.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from vacancy.clock import Clock
from vacancy.errors import StoreError
from vacancy.model.availability import Trouble as Code
from vacancy.runner import Stop
from vacancy.store import notices, queue, target_overview, troubles
from vacancy.store.engine import Store, Tx
from vacancy.store.notices import Outage
from vacancy.store.target_overview import HELD, PAUSED, STALE, TargetView
from vacancy.store.troubles import OUTAGE, Trouble

EVERY_S: Final = 10.0
# A blip is no trouble: the next polls decide. What nobody but the operator can mend is told at once.
UNREACHABLE_AFTER: Final = timedelta(minutes=2)
HELD_AFTER: Final = timedelta(seconds=30)
MISCONFIGURED_AFTER: Final = timedelta(minutes=10)
NOT_POLLED_AFTER: Final = timedelta(minutes=10)
PEOPLE_HEAR_AFTER: Final = timedelta(minutes=30)
DEAD_LETTERS_OF: Final = timedelta(days=1)
LOW_SPACE: Final = 500 * 1024 * 1024
_MINE: Final = ("source ", "target ", "held ", "polling", "dead letters", "disk", OUTAGE)
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found. `watching_since` keeps us from blaming anybody for the time in which nothing of us ran."""

    now: datetime
    watching_since: datetime
    targets: Sequence[TargetView]
    dead_letters: int
    free_bytes: int | None


class Watch:
    def __init__(self, store: Store, clock: Clock, intervals: Mapping[str, float]) -> None:
        self._store = store
        self._clock = clock
        self._intervals = intervals

    async def run(self, stop: Stop) -> None:
        since = self._clock.now()
        while not stop.requested:
            try:
                await self.once(since)
            except StoreError as trouble:
                _log.warning("the watch waits for the database", trouble=str(trouble))
            await stop.wait(EVERY_S)

    async def once(self, watching_since: datetime) -> None:
        free = await asyncio.to_thread(_free_bytes, self._store)
        look = await self._store.read(_look, self._intervals, watching_since, free)
        found = {**dict(find_troubles(look)), **{_outage_name(view): "" for view in out_of_reach(look)}}
        running = await self._store.read(_running)
        # Almost always: nothing is written when nothing changed.
        if found.keys() != running.keys():
            await self._store.write(_settle, look, found)


def find_troubles(look: Look) -> Iterator[tuple[str, str]]:
    """(name, `what: detail`) of each thing that the operator should hear of. Pure."""
    yield from _source_troubles(look)
    for view in _polled(look):
        if view.state == HELD and view.held_since is not None and look.now - view.held_since >= HELD_AFTER:
            where = f"{view.source} {view.key}"
            advice = f"if it is right, `vacancy targets release {view.source} '{view.key}'` believes it now"
            yield f"held {where}", f"an answer of {where} is held back: it lacks or adds too much; {advice}"
    if look.dead_letters:
        what = "a message" if look.dead_letters == 1 else f"{look.dead_letters} messages"
        yield "dead letters", f"{what} failed for good: `vacancy queue list --status failed` shows why"
    if look.free_bytes is not None and look.free_bytes < LOW_SPACE:
        yield "disk", "the disk is nearly full: less than 500 MB are free beside the database"


def _source_troubles(look: Look) -> Iterator[tuple[str, str]]:
    """One for a source and a kind of trouble, however many of its targets have it."""
    said: set[str] = set()
    for view in _polled(look):
        name, message = _failure_of(look, view)
        if name and name not in said:
            said.add(name)
            yield name, message


def _failure_of(look: Look, view: TargetView) -> tuple[str, str]:
    code, why = (str(view.last_error["code"]), view.last_error["message"]) if view.last_error else ("", "")
    where = f"{view.source} {view.key}"
    if view.failing_since is None:
        seen = max(view.last_attempt_at or look.watching_since, look.watching_since)
        if look.now - seen >= NOT_POLLED_AFTER:
            return "polling", f"nothing polls {where}: is `vacancy serve --only poll` running?"
        return "", ""
    if code == Code.MISCONFIGURED and _is_lasting(look, view):
        return f"target {where}", f"{where} is not answered: {why}; look at its settings"
    if code == Code.UNAUTHORIZED:
        return f"source {view.source} unauthorized", f"{view.source} refuses us: {why}"
    if look.now - view.failing_since >= UNREACHABLE_AFTER:
        return f"source {view.source} unreachable", f"{view.source} cannot be read: {code}: {why}"
    return "", ""


def _is_lasting(look: Look, view: TargetView) -> bool:
    """A target that was believed may be missing upstream for a deployment; one that never answered is set wrong."""
    since = datetime.fromisoformat((view.last_error or {})["since"])
    return view.baseline_at is None or look.now - since >= MISCONFIGURED_AFTER


def out_of_reach(look: Look) -> Iterator[TargetView]:
    """Targets that gave no answer for so long that whoever waits should look for himself. Pure."""
    for view in _polled(look):
        # One that never answered was never watched; nobody could have relied on it.
        since = _silent_since(look, view)
        if view.baseline_at is not None and since is not None and look.now - since >= PEOPLE_HEAR_AFTER:
            yield view


def _silent_since(look: Look, view: TargetView) -> datetime | None:
    if view.failing_since is not None:
        return view.failing_since
    if view.state != STALE or view.last_complete_at is None:
        return None
    return max(view.last_complete_at, look.watching_since)


def _polled(look: Look) -> Iterator[TargetView]:
    return (view for view in look.targets if view.state != PAUSED)


def _look(tx: Tx, intervals: Mapping[str, float], watching_since: datetime, free_bytes: int | None) -> Look:
    views = target_overview.overview(tx, intervals)
    return Look(tx.now(), watching_since, views, queue.dead_letters_since(tx, tx.now() - DEAD_LETTERS_OF), free_bytes)


def _running(tx: Tx) -> Mapping[str, Trouble]:
    return {each.name: each for each in troubles.running(tx) if each.name.startswith(_MINE)}


def _settle(tx: Tx, look: Look, found: Mapping[str, str]) -> None:
    """Whoever waits hears in the transaction that begins or ends the outage: a kill between the two is none."""
    running = _running(tx)
    now = tx.now()
    outages = [_outage(each) for each in running.values() if each.name.startswith(OUTAGE)]
    for view in out_of_reach(look):
        if troubles.begin(tx, now, _outage_name(view), "who waits for it was told"):
            outage = Outage(view.source, view.key, now, _silent_since(look, view) or now)
            told = notices.tell_unreadable(tx, now, outage, outages)
            outages.append(outage)
            _log.warning("those who wait are told that it cannot be read", source=view.source, key=view.key, told=told)
    for name, message in found.items():
        if not name.startswith(OUTAGE) and troubles.begin(tx, now, name, message):
            _log.warning("trouble", name=name, what=message)
    for name, trouble in running.items():
        if name not in found and troubles.end(tx, now, name):
            _log.info("trouble over", name=name)
            if name.startswith(OUTAGE):
                notices.tell_readable(tx, now, _outage(trouble))


def _outage_name(view: TargetView) -> str:
    return f"{OUTAGE}{view.source} {view.key}"


def _outage(trouble: Trouble) -> Outage:
    source, _, key = trouble.name.removeprefix(OUTAGE).partition(" ")
    return Outage(source, key, trouble.since, trouble.since)


def _free_bytes(store: Store) -> int | None:
    return shutil.disk_usage(store.path.absolute().parent).free if store.path else None
