"""What every benchmark uses: a row of the table, interleaved measuring, and children that always end."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Final

import psutil

from vacancy import logs

_END_S: Final = 15.0
_ROOT: Final = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. The bar holds the ratio to the reference, or our figure where there is no reference."""

    name: str
    ours: float
    unit: str
    reference: float | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.reference if self.reference else None

    @property
    def bar(self) -> str:
        unit = "x" if self.reference else f" {self.unit}"
        if self.at_most is not None:
            return f"<= {self.at_most:g}{unit}"
        return f">= {self.at_least:g}{unit}" if self.at_least is not None else ""

    @property
    def verdict(self) -> str:
        held = self.ours if self.ratio is None else self.ratio
        if self.at_most is not None:
            return "ok" if held <= self.at_most else "MISSED"
        if self.at_least is not None:
            return "ok" if held >= self.at_least else "MISSED"
        return ""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the processor, all threads of this process together, and seconds on the wall."""

    cpu: float
    wall: float


class Stopwatch:
    """`with Stopwatch() as watch: ...; watch.cost`"""

    cost: Cost

    def __enter__(self) -> Stopwatch:
        self._wall = time.perf_counter()
        self._cpu = time.process_time()
        return self

    def lap(self) -> float:
        return time.perf_counter() - self._wall

    def __exit__(self, *_: object) -> None:
        cpu = time.process_time() - self._cpu
        self.cost = Cost(cpu, time.perf_counter() - self._wall)


def typical(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))


@contextmanager
def quiet_folder(name: str) -> Iterator[Path]:
    """A folder for one benchmark's files, and a log that only says what went wrong."""
    logs.configure("json", "error", sys.stderr)
    with tempfile.TemporaryDirectory(prefix=f"vacancy-bench-{name}-") as folder:
        yield Path(folder)


def copy_database(path: Path, to: Path) -> Path:
    """The file and its log; nobody may have it open."""
    for suffix in ("", "-wal"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            shutil.copyfile(part, to.with_name(to.name + suffix))
    return to


class Child:
    """A process that we started: its first line of output says where it is to be found."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._info = psutil.Process(process.pid)

    def line(self, timeout_s: float = 60.0) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        said = self._process.stdout.readline() if ready else ""
        if not said:
            raise RuntimeError(f"{self._process.args!r} said nothing within {timeout_s:g} s")
        return said.strip()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def cpu_s(self) -> float:
        used = self._info.cpu_times()
        return float(used.user + used.system)

    def rss_mb(self) -> float:
        return float(self._info.memory_info().rss) / 2**20

    def peak_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def running(self) -> bool:
        return self._process.poll() is None


@cache
def compiled_modules() -> str:
    """Where children keep compiled modules. An installed program has them; a checkout's environment may not."""
    folder = tempfile.TemporaryDirectory(prefix="vacancy-bench-compiled-")
    atexit.register(folder.cleanup)
    return folder.name


@contextmanager
def child(*arguments: str, environment: dict[str, str] | None = None, log: Path | None = None) -> Iterator[Child]:
    """`python ARGUMENTS`, ended when the block is left, by force if it does not heed."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("VACANCY_", "PYTHONDONT"))}
    own["PYTHONPYCACHEPREFIX"] = compiled_modules()
    said = log.open("w") if log else None
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**own, **(environment or {})},
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=said or subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Child(process)
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_END_S)
        for stream in (process.stdin, process.stdout, said):
            if stream is not None:
                stream.close()


def until(holds: Callable[[], bool], what: str, timeout_s: float, every_s: float = 0.05) -> float:
    """Wait for it; answers how long it took."""
    began = time.perf_counter()
    while not holds():
        if time.perf_counter() - began > timeout_s:
            raise RuntimeError(f"{what}: not within {timeout_s:g} s")
        time.sleep(every_s)
    return time.perf_counter() - began


def answers(url: str) -> bool:
    """Whether a 200 comes from this address of loopback."""
    assert url.startswith("http://127.0.0.1:")
    try:
        with urllib.request.urlopen(url, timeout=1) as response:  # noqa: S310
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False
