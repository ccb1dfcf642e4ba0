"""`python -m bench [NAME...]`: measure, and print one table. Never a test: the exit code says nothing of the bars."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from bench.common import Row

NAMES: Final = (
    "poll_changed",
    "poll_unchanged",
    "events_feed",
    "catalogue_same",
    "catalogue_search",
    "fanout",
    "queue_drain",
    "wake",
    "mails",
    "opened_to_sent",
    "webhooks",
    "bot_cycle",
    "deliver_scale",
    "tables",
    "start_to_ready",
    "idle_memory",
)
_LONGEST_S: Final = 600
_ALONE: Final = "--alone"
_COLOURS: Final = {"ok": "[green]ok[/green]", "MISSED": "[bold red]MISSED[/bold red]"}


def main(wanted: list[str]) -> int:
    console, progress = Console(highlight=False), Console(stderr=True, highlight=False)
    if unknown := set(wanted) - set(NAMES):
        progress.print(f"There is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}.")
        return 2
    rows: list[Row] = []
    for name in wanted or NAMES:
        began = time.perf_counter()
        rows += _measured_apart(name)
        progress.print(f"{name}: {time.perf_counter() - began:.0f} s")
    console.print(_table(rows))
    return 0


def _measured_apart(name: str) -> list[Row]:
    """In a process of its own: what one benchmark leaves in memory must not slow the next."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", _ALONE, name], stdout=subprocess.PIPE, timeout=_LONGEST_S, check=True
    )
    return msgspec.json.decode(done.stdout, type=list[Row])


def _measure(name: str) -> int:
    run: Callable[[], list[Row]] = importlib.import_module(f"bench.{name}").run
    sys.stdout.write(msgspec.json.encode(run()).decode())
    return 0


def _table(rows: list[Row]) -> Table:
    table = Table("name", box=None, pad_edge=False)
    for heading in ("ours", "reference", "ratio", "bar"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in rows:
        reference = "" if row.reference is None else f"{_figure(row.reference)} {row.unit}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(
            row.name, f"{_figure(row.ours)} {row.unit}", reference, ratio, row.bar, _COLOURS.get(row.verdict, "")
        )
    return table


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    sys.exit(_measure(sys.argv[2]) if sys.argv[1:2] == [_ALONE] else main(sys.argv[1:]))
