"""`vacancy events`: the last openings, as they come, or one recorded by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.markup import escape

from vacancy.app import engine
from vacancy.clock import Dice
from vacancy.commands.common import ERR, OUT, as_json, normal_key, opened, prepare
from vacancy.errors import UserError
from vacancy.pipeline.settle import Settled, open_by_hand
from vacancy.settings import Settings
from vacancy.sources.base import Source
from vacancy.store import bells, event_feed, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.event_feed import FeedEvent, Only
from vacancy.subscriptions.standing import title

_LOOK_EVERY_S: Final = 1.0
_PAGE: Final = 200


def show(config: Path | None, *, follow: bool, last: int, source: str | None, closed: bool, json: bool) -> int:
    only = Only(source=source, status=None if closed else "Open")
    with opened(prepare(config)) as store:
        try:
            return asyncio.run(_show(store, only, last, follow=follow, json=json))
        except KeyboardInterrupt:
            return 0


async def _show(store: Store, only: Only, last: int, *, follow: bool, json: bool) -> int:
    heard = store.bells[bells.EVENTS].rings
    cursor = await store.read(_newest_id)
    past, _ = await store.read(event_feed.newest, last, only) if last else ([], 0)
    for event in past:
        _say(event, json=json)
    if not follow:
        if not past and not json:
            ERR.print("Nothing has opened yet. `vacancy events --follow` waits for it.")
        return 0
    if not json:
        ERR.print("Waiting for openings; Ctrl+C ends it.")
    listening = asyncio.ensure_future(store.listen())
    try:
        while True:
            cursor = await _catch_up(store, only, max([cursor, *(event.id for event in past)]), json=json)
            past = []
            heard = await store.bells[bells.EVENTS].wait(heard, store.clock, _LOOK_EVERY_S)
    finally:
        listening.cancel()


async def _catch_up(store: Store, only: Only, cursor: int, *, json: bool) -> int:
    while True:
        page, _ = await store.read(event_feed.after, cursor, _PAGE, only)
        for event in page:
            _say(event, json=json)
            cursor = event.id
        if len(page) < _PAGE:
            return cursor


def _say(event: FeedEvent, *, json: bool) -> None:
    fields: dict[str, Any] = msgspec.json.decode(event.encoded)
    if json:
        as_json(fields)
        return
    payload, is_section = fields["payload"], fields["indexNumber"] is not None
    name = _section(fields) if is_section else title(payload, fields["itemKey"])
    place = fields["targetKey"] if is_section else fields["source"]
    when = datetime.fromisoformat(fields["eventAt"]).astimezone().strftime("%H:%M:%S")
    sign = "[bold green]VACANCY   [/]" if fields["statusAfter"] == "Open" else "[dim]NO VACANCY[/]"
    rest = " · ".join(filter(None, (place, payload.get("meetingSummary"), payload.get("link"))))
    OUT.print(f"{when}  {sign}  {escape(name)}  [dim]{escape(rest)}[/]", soft_wrap=True)


def _section(fields: Mapping[str, Any]) -> str:
    payload = fields["payload"]
    known = (payload.get(name) for name in ("courseString", "sectionNumber", "courseTitle"))
    return " ".join(filter(None, (fields["itemKey"], *known)))


def _newest_id(tx: Tx) -> int:
    page, pruned_to = event_feed.newest(tx, 1)
    return page[-1].id if page else pruned_to


def add(config: Path | None, source: str, key: str, item: str, *, json: bool) -> int:
    key = normal_key(source, key)
    settled = asyncio.run(_add(prepare(config), source, key, item))
    number = settled.emission.opened[0] if settled else None
    if json:
        as_json({"openEventId": number, "alreadyOpen": settled is None})
    elif settled is None:
        OUT.print(f"{item} is open already in {key}: nothing was recorded, and nobody is told twice.", markup=False)
    else:
        OUT.print(f"Recorded as event {number}: {item} in {key} is open.", markup=False)
    return 0


async def _add(settings: Settings, source: str, key: str, item: str) -> Settled | None:
    async with engine(settings) as parts:
        row = await parts.store.read(targets.find, source, key)
        if row is None:
            raise UserError("target_not_found", f"no target {source} {key}; see `vacancy targets list`")
        return await parts.store.write(_add_checked, parts.source(source), row.target_id, key, item)


def _add_checked(tx: Tx, source: Source, target_id: int, key: str, item: str) -> Settled | None:
    known = source.known(tx, key)
    if not source.is_item_key(item):
        raise UserError("section_not_found", f"{item!r} cannot be an item of {source.name}; an index has five digits")
    if known and item not in known:
        ERR.print(f"Note: {item} is not in the catalogue of {key}.", markup=False)
    return open_by_hand(tx, source, target_id, item, Dice().token())
