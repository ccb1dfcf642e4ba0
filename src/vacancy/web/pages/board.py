"""`/`: the sign in the window, what is watched, and what has opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from vacancy.channels.told import target_title
from vacancy.channels.words import DEFAULT_LOCALE
from vacancy.clock import iso
from vacancy.model.availability import OPEN
from vacancy.store import event_feed, target_overview
from vacancy.store.engine import Tx
from vacancy.store.event_feed import FeedEvent, Only
from vacancy.store.target_overview import TargetView
from vacancy.web.context import house
from vacancy.web.operators import may_look
from vacancy.web.pages.ago import ago
from vacancy.web.pages.facts import campus_of, facts_of, title_of, verb_of, web_address
from vacancy.web.pages.render import page

_SHOWN: Final = 30
_STATES: Final = {
    target_overview.NEW: ("◌", "new"),
    target_overview.FRESH: ("●", "fresh"),
    target_overview.STALE: ("▲", "stale"),
    target_overview.HELD: ("◆", "being checked"),
    target_overview.PAUSED: ("❚❚", "paused"),
}


@dataclass(frozen=True, slots=True)
class Opening:
    id: int
    title: str
    facts: Sequence[str]
    at: str
    ago: str
    link: str | None
    verb: str
    topic: str | None


@dataclass(frozen=True, slots=True)
class Watched:
    source: str
    key: str
    name: str
    state: str
    icon: str
    word: str
    open_count: int
    checked_at: str | None
    checked: str
    trouble: str | None


async def board(request: Request) -> Response:
    home = house(request)
    now = home.clock.now()
    views, events, newest = await home.store.read(_look, home.intervals)
    return page(
        request,
        "board.html",
        watched=[_watched(view, now) for view in views],
        open_now=sum(view.open_count for view in views),
        openings=[opening(event, now) for event in reversed(events)],
        most=_SHOWN,
        newest=newest,
        outbox=may_look(request, home),
    )


def _look(tx: Tx, intervals: Mapping[str, float]) -> tuple[Sequence[TargetView], Sequence[FeedEvent], int]:
    # The place where the live stream takes over is read first: an event in between is shown twice rather than never.
    last, pruned_to = event_feed.newest(tx, 1)
    events, _ = event_feed.newest(tx, _SHOWN, Only(status=OPEN))
    return target_overview.overview(tx, intervals), events, last[-1].id if last else pruned_to


def opening(event: FeedEvent, now: datetime) -> Opening:
    columns = msgspec.json.decode(event.encoded)
    payload = columns["payload"] if isinstance(columns["payload"], dict) else {}
    at = datetime.fromisoformat(columns["eventAt"])
    return Opening(
        event.id,
        title_of(payload, columns["indexNumber"], str(columns["itemKey"])),
        _facts(columns, payload),
        iso(at),
        ago(now, at),
        web_address(payload.get("link")),
        verb_of(columns["source"]),
        next(iter(columns["topics"]), None),
    )


def _facts(columns: Mapping[str, Any], payload: Mapping[str, Any]) -> list[str]:
    index, campus = columns["indexNumber"], campus_of(columns["campusCode"])
    return [*facts_of(payload, index), *([campus] if campus else []), *([] if index else [columns["source"]])]


def _watched(view: TargetView, now: datetime) -> Watched:
    icon, word = _STATES[view.state]
    checked = view.last_complete_at
    return Watched(
        view.source,
        view.key,
        _name(view),
        view.state,
        icon,
        word,
        view.open_count,
        iso(checked) if checked else None,
        f"checked {ago(now, checked)}" if checked else "not checked yet",
        str(view.last_error.get("message", "")) if view.last_error and view.failures else None,
    )


def _name(view: TargetView) -> str:
    name = target_title(view.source, view.key, DEFAULT_LOCALE)
    return name[:1].upper() + name[1:]
