"""`vacancy check …`: what a source would see this moment, and why. Asks once, writes nothing, needs no database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from vacancy.clock import SystemClock
from vacancy.commands.common import OUT, as_json, prepare
from vacancy.errors import UserError
from vacancy.model.availability import Failed
from vacancy.net.client import make_client
from vacancy.settings import Settings
from vacancy.settings_json import JsonSettings
from vacancy.sources.json_endpoint import NAME, ask_endpoint
from vacancy.sources.json_plan import Plan, make_plan
from vacancy.sources.json_reader import Entry, read
from vacancy.sources.json_rules import explain
from vacancy.sources.json_topics import item_topic

_ROWS_SHOWN: Final = 200


def check_json(config: Path | None, name: str, *, json: bool) -> int:
    settings = prepare(config)
    plan = make_plan(_endpoint(settings, name))
    seen = asyncio.run(_look(settings, plan))
    if json:
        as_json(_facts(plan, seen))
    elif isinstance(seen, Failed):
        OUT.print(f"{NAME}:{name} cannot be used: {seen.trouble}: {seen.message}", markup=False, soft_wrap=True)
    else:
        _show(plan, seen)
    return 1 if isinstance(seen, Failed) else 0


def _endpoint(settings: Settings, name: str) -> JsonSettings:
    found = next((each for each in settings.json_endpoints if each.name == name), None)
    if found is None:
        known = ", ".join(each.name for each in settings.json_endpoints) or "none"
        raise UserError("target_not_found", f"the settings have no [[json]] called {name}; there are: {known}")
    return found


async def _look(settings: Settings, plan: Plan) -> Sequence[Entry] | Failed:
    client = make_client(settings.base_url, SystemClock())
    try:
        body = await ask_endpoint(plan, client)
        return body if isinstance(body, Failed) else read(plan, body)
    finally:
        await client.close()


def _show(plan: Plan, entries: Sequence[Entry]) -> None:
    table = Table("Key", "Label", "State", "Link", "Why", box=None, pad_edge=False)
    for entry in entries[:_ROWS_SHOWN]:
        state = "[green]open[/]" if entry.is_open else "[dim]closed[/]"
        cells = (entry.label or "", entry.link or "", "; ".join(_why(plan, entry)))
        label, link, why = map(escape, cells)
        table.add_row(escape(entry.key), label, state, link, why)
    if entries:
        OUT.print(table)
    if len(entries) > _ROWS_SHOWN:
        OUT.print(f"… and {len(entries) - _ROWS_SHOWN} more; --json shows all.")
    count = sum(entry.is_open for entry in entries)
    OUT.print(f"{len(entries)} listed, {count} open, {len(entries) - count} closed.")
    for remark in _remarks(plan, entries):
        OUT.print(remark, markup=False, soft_wrap=True)


def _why(plan: Plan, entry: Entry) -> list[str]:
    if plan.rule is None:
        return ["it is listed"]
    return [explain(leaf, entry.content) for leaf in entry.verdict.because]


def _remarks(plan: Plan, entries: Sequence[Entry]) -> Iterator[str]:
    if not entries:
        what = "believed" if plan.empty_is_valid else "doubted, and held back at first, if it listed something before"
        yield f"An answer that lists nothing is {what} (empty_is_valid = {str(plan.empty_is_valid).lower()})."
        return
    for name, path in (("label", plan.label), ("link", plan.link), ("group", plan.group)):
        if path is not None and not any(getattr(entry, name) for entry in entries):
            yield f"{name}: no item has one there that can be used."


def _facts(plan: Plan, seen: Sequence[Entry] | Failed) -> Mapping[str, Any]:
    source = f"{NAME}:{plan.name}"
    if isinstance(seen, Failed):
        problem = {"code": seen.trouble.value, "message": seen.message}
        return {"source": source, "error": problem, "listed": None, "open": None, "remarks": [], "items": []}
    items = [
        {
            "key": entry.key,
            "label": entry.label,
            "group": entry.group,
            "link": entry.link,
            "open": entry.is_open,
            "why": _why(plan, entry),
            "topic": item_topic(source, entry.key),
        }
        for entry in seen
    ]
    count = sum(entry.is_open for entry in seen)
    remarks = list(_remarks(plan, seen))
    return {
        "source": source, "error": None, "listed": len(seen), "open": count, "remarks": remarks, "items": items,
    }  # fmt: skip
