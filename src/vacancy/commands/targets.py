"""`vacancy targets …`: what an operator sees and does about what is polled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from vacancy.app import Engine, engine
from vacancy.clock import Dice, iso
from vacancy.commands.common import NAME_SOMETHING, OUT, as_json, normal_key, prepare
from vacancy.errors import UserError
from vacancy.pipeline.settle import release
from vacancy.settings import Settings
from vacancy.store import target_overview, targets
from vacancy.store.engine import Tx
from vacancy.store.target_overview import TargetView

_COLOURS: Final = {"fresh": "green", "stale": "red", "held": "yellow", "paused": "dim", "new": "cyan"}
_TROUBLE_SHOWN: Final = 60
_Change = Callable[[Engine, str, int], str]


def show(config: Path | None, *, everything: bool, json: bool) -> int:
    views, now = asyncio.run(_views(prepare(config), everything))
    if json:
        as_json({"items": [_facts(view) for view in views]})
        return 0
    if not views:
        OUT.print(f"Nothing is polled yet: {NAME_SOMETHING}, and run `vacancy serve`.", soft_wrap=True)
        return 0
    table = Table("Source", "Target", "State", "Open", "Polls", "Last answer", "Trouble", box=None, pad_edge=False)
    for view in views:
        state = f"[{_COLOURS[view.state]}]{view.state}[/]"
        trouble = f"{view.last_error['code']}: {view.last_error['message'][:_TROUBLE_SHOWN]}" if view.last_error else ""
        if view.state == "held" and view.held_since:
            trouble = f"an answer is held back since {_ago(view.held_since, now)}; `targets release` believes it"
        table.add_row(
            view.source, escape(view.key), state, str(view.open_count), str(view.polls),
            _ago(view.last_complete_at, now), escape(trouble),
        )  # fmt: skip
    OUT.print(table)
    return 0


def change(config: Path | None, verb: str, source: str, key: str, *, json: bool) -> int:
    key = normal_key(source, key)
    said = asyncio.run(_change(prepare(config), verb, source, key))
    if json:
        as_json({"source": source, "key": key, "done": verb, "message": said})
    else:
        OUT.print(said, markup=False)
    return 0


async def _views(settings: Settings, everything: bool) -> tuple[list[TargetView], datetime]:
    async with engine(settings) as parts:
        now, views = await parts.store.read(_overview, parts.intervals, everything)
        return views, now


def _overview(tx: Tx, intervals: Mapping[str, float], everything: bool) -> tuple[datetime, list[TargetView]]:
    return tx.now(), list(target_overview.overview(tx, intervals, everything=everything))


async def _change(settings: Settings, verb: str, source: str, key: str) -> str:
    async with engine(settings) as parts:
        row = await parts.store.read(targets.find, source, key)
        if row is None:
            raise UserError("target_not_found", f"no target {source} {key}; see `vacancy targets list`")
        if verb == "release":
            return await _release(parts, source, key, row.target_id)
        write, said = _VERBS[verb]
        await parts.store.write(write, row.target_id)
        return said.format(key=key)


async def _release(parts: Engine, source: str, key: str, target_id: int) -> str:
    settled = await parts.store.write(release, parts.source(source), target_id, Dice().token())
    if settled is None:
        raise UserError("not_held", f"no answer of {key} is held back")
    emission = settled.emission
    return f"The held answer of {key} is believed: {len(emission.opened)} opened, {len(emission.closed)} closed."


def _pause(tx: Tx, target_id: int) -> None:
    targets.set_paused(tx, tx.now(), target_id, paused=True)


def _resume(tx: Tx, target_id: int) -> None:
    targets.set_paused(tx, tx.now(), target_id, paused=False)


def _poll(tx: Tx, target_id: int) -> None:
    targets.want_now(tx, tx.now(), target_id)


def _rebaseline(tx: Tx, target_id: int) -> None:
    targets.start_over(tx, tx.now(), target_id)


_VERBS: Final[dict[str, tuple[Callable[[Tx, int], None], str]]] = {
    "pause": (_pause, "{key} is paused; what is known of it stays."),
    "resume": (_resume, "{key} is polled again, at once."),
    "poll": (_poll, "{key} is due now; a running service asks within a second."),
    "rebaseline": (_rebaseline, "{key} starts over: its next like answers are a baseline that tells nobody."),
}


def _facts(view: TargetView) -> dict[str, Any]:
    def text(moment: datetime | None) -> str | None:
        return iso(moment) if moment else None

    return {
        "source": view.source,
        "key": view.key,
        "state": view.state,
        "polls": view.polls,
        "openCount": view.open_count,
        "lastCompleteAt": text(view.last_complete_at),
        "nextPollAt": text(view.next_poll_at),
        "heldSince": text(view.held_since),
        "lastError": view.last_error,
    }


def _ago(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return "never"
    seconds = max(0, round((now - moment).total_seconds()))
    return f"{seconds} s ago" if seconds < 120 else f"{seconds // 60} min ago"
