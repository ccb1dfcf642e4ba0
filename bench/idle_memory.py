"""Resident memory of `vacancy serve` against a simulated university of full size, three campuses, polled every second.

Measured right after the start, and again when all three catalogues were loaded and the lists were polled for a while.
The peak is the kernel's own mark, and is set by the loading of the catalogues.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Final

from bench.common import Child, Row, answers, child, quiet_folder, until
from bench.start_to_ready import compile_all, free_port, serving
from bench.world import CAMPUSES, new_store

_POLLING_S: Final = 20.0


def run() -> list[Row]:
    there = free_port()
    with quiet_folder("memory") as folder, child("-m", "vacancy", "simulate", "--port", str(there)) as upstream:
        upstream.line()
        compile_all(folder)
        port, path = free_port(), folder / "memory.db"
        # Made before: the start that makes it also loads Alembic, and keeps it.
        new_store(path).close()
        fast = {"VACANCY_SOC__INTERVAL_S": "1", "VACANCY_LOG_LEVEL": "warning"}
        environment = serving(path, port, f"http://127.0.0.1:{there}/soc/api", **fast)
        with child("-m", "vacancy", "serve", environment=environment, log=folder / "log") as served:
            until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "ready", 30)
            begun = served.rss_mb()
            loading = until(lambda: _catalogues(path) == len(CAMPUSES), "the catalogues", 90, every_s=0.5)
            loaded = served.rss_mb()
            polls, idle = _polls(path), _watch(served, _POLLING_S)
            cpu, peak = served.cpu_s(), served.peak_mb()
            assert _polls(path) - polls > _POLLING_S
        with child("-m", "vacancy", "serve", environment=environment, log=folder / "log") as served:
            until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "ready", 30)
            again = _watch(served, _POLLING_S / 2)
    return [
        Row("memory, right after the start", begun, "MB"),
        Row("memory, catalogues just loaded", loaded, "MB"),
        Row("idle_memory", idle, "MB", at_most=110.0),
        Row("memory, peak while loading", peak, "MB"),
        Row("memory, started again, nothing to load", again, "MB"),
        Row("three catalogues loaded after", loading, "s"),
        Row("CPU of serve in all this", cpu, "s"),
    ]


def _watch(served: Child, seconds: float) -> float:
    """The highest of the last quarter: what it settles at, not what a load leaves for a moment."""
    seen = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(0.5)
        seen.append(served.rss_mb())
    return max(seen[len(seen) * 3 // 4 :])


def _catalogues(path: Path) -> int:
    return _count(path, "SELECT count(*) FROM catalogues")


def _polls(path: Path) -> int:
    return _count(path, "SELECT sum(polls) FROM targets WHERE source = 'soc'")


def _count(path: Path, query: str) -> int:
    db = sqlite3.connect(path)
    try:
        found: int = db.execute(query).fetchone()[0]
        return found
    finally:
        db.close()
