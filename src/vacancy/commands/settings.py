"""`vacancy settings`"""

from __future__ import annotations

from pathlib import Path

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
        value: object = values
        for part in row.name.split("."):
            value = value[part] if isinstance(value, dict) else None
        shown.add_row(row.name, "" if value is None else str(value), row.help)
    OUT.print(shown)
    return 0
