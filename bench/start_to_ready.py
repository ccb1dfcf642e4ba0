"""From the start of `vacancy serve`, on a database that exists, to the first 200 of /readyz; and of `vacancy --help`.

Seconds on the wall, since that is what is promised, and of the processor, since the machine may be busy.
"""

from __future__ import annotations

import resource
import socket
import sys
from pathlib import Path
from statistics import median
from typing import Final

from bench.common import Cost, Row, Stopwatch, answers, child, quiet_folder, until
from bench.world import new_store

_STARTS: Final = 5
_HELPS: Final = 7


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def serving(database: Path, port: int, upstream: str, **more: str) -> dict[str, str]:
    """The environment of a `vacancy serve` that polls three campuses."""
    return {
        "VACANCY_DATABASE_URL": f"sqlite:///{database}",
        "VACANCY_WEB__PORT": str(port),
        "VACANCY_SOC__TERMS": '["12025"]',
        "VACANCY_SOC__CAMPUSES": '["NB", "NK", "CM"]',
        "VACANCY_SOC__BASE_URL": upstream,
        **more,
    }


def run() -> list[Row]:
    with quiet_folder("start") as folder:
        new_store(folder / "start.db").close()
        compile_all(folder)
        starts = [_start(folder) for _ in range(_STARTS)]
    _help()
    helps = [_help() for _ in range(_HELPS)]
    return [
        Row("start_to_ready, wall", median(cost.wall for cost in starts), "s", at_most=2.0),
        Row("start_to_ready, CPU", median(cost.cpu for cost in starts), "s"),
        Row("vacancy --help, wall", median(cost.wall for cost in helps), "s", at_most=0.4),
        Row("vacancy --help, CPU", median(cost.cpu for cost in helps), "s"),
    ]


def compile_all(folder: Path) -> None:
    """The first start also compiles; it is neither timed nor weighed."""
    new_store(folder / "compile.db").close()
    _start(folder, "compile.db")


def _start(folder: Path, name: str = "start.db") -> Cost:
    port = free_port()
    # Nobody answers there: an upstream that is down does not make us unready.
    environment = serving(folder / name, port, "http://127.0.0.1:1/soc/api")
    with Stopwatch() as watch, child("-m", "vacancy", "serve", environment=environment, log=folder / "log") as started:
        until(lambda: answers(f"http://127.0.0.1:{port}/readyz"), "ready", 30, every_s=0.01)
        cpu = started.cpu_s()
        wall = watch.lap()
    return Cost(cpu, wall)


def _help() -> Cost:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Stopwatch() as watch, child(str(Path(sys.executable).with_name("vacancy")), "--help") as started:
        until(lambda: not started.running(), "the help", 30, every_s=0.005)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, watch.cost.wall)
