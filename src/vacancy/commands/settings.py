"""`vacancy settings`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from vacancy.commands.common import OUT, as_json, prepare
from vacancy.settings import masked, table


def settings(config: Path | None, *, json: bool) -> int:
    values = masked(prepare(config))
    if json:
        as_json(values)
        return 0
    shown = Table("Setting", "Value", "What it is for", box=None, pad_edge=False)
    for row in table():
        shown.add_row(escape(row.name), escape(_told(values, row.name)), escape(row.help))
    OUT.print(shown)
    return 0


def _told(values: Any, name: str) -> str:
    """Of a list of tables how many there are, and of each of their members what every table has, a line each."""
    tables, is_member, member = name.partition("[].")
    if is_member:
        return "\n".join(_text(each[member]) for each in values[tables])
    for part in name.split("."):
        values = values[part]
    is_tables = isinstance(values, list) and any(isinstance(each, dict) for each in values)
    return str(len(values)) if is_tables else _text(values)


def _text(value: object) -> str:
    return "" if value is None else str(value)
