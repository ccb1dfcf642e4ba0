"""One, two and four processes that deliver from one queue on PostgreSQL, a channel of 20 ms."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench.common import Row, child, quiet_folder
from bench.scene import POSTGRES, AtOnce, Scene, opened
from vacancy.clock import SystemClock
from vacancy.model.messages import Outcome, Parcel
from vacancy.runner import Stop
from vacancy.store.engine import Store

PEOPLE: Final = 4_000
_PROCESSES: Final = (1, 2, 4)
_TAKES_S: Final = 0.02


def run() -> list[Row]:
    with quiet_folder("scale") as folder, opened(POSTGRES, folder) as store:
        scene = Scene(store)
        scene.invite(PEOPLE)
        scene.open()
        one, two, four = (_rate(scene, folder, count) for count in _PROCESSES)
    return [
        Row("deliver_scale, one process", one, "/s"),
        Row("deliver_scale, two processes", two, "/s", one, at_least=1.8),
        Row("deliver_scale, four processes", four, "/s", one),
    ]


def _rate(scene: Scene, folder: Path, processes: int) -> float:
    """Messages a second; none was sent twice, and none was not."""
    scene.again()
    files = [folder / f"told-{processes}-{number}" for number in range(processes)]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(child("-m", "bench.deliver_scale", scene.store.url, str(file))) for file in files
        ]
        for worker in workers:
            assert worker.line() == "ready"
        began = time.perf_counter()
        for worker in workers:
            worker.say("go")
        for worker in workers:
            assert worker.line() == "done"
        took = time.perf_counter() - began
    told = Counter(line for file in files for line in file.read_text().split())
    assert len(told) == PEOPLE, f"{PEOPLE - len(told)} were lost"
    assert set(told.values()) == {1}, "some were told twice"
    assert scene.count("fanout_status = 'sent'") == PEOPLE
    return PEOPLE / took


class _Slow(AtOnce):
    def __init__(self, file: Path) -> None:
        self.told: list[int] = []
        self._file = file

    async def send(self, parcel: Parcel) -> Outcome:
        self.told.append(parcel.person.subscription_id)
        await asyncio.sleep(_TAKES_S)
        return await super().send(parcel)

    async def close(self) -> None:
        self._file.write_text("\n".join(map(str, self.told)))


async def _work(url: str, file: Path) -> None:
    store, channel = Store(url, SystemClock()), _Slow(file)
    courier = Scene(store, is_new=False).courier(channel)
    # Connected before the race begins.
    await store.read(lambda tx: tx.now())
    _say("ready")
    sys.stdin.readline()
    await courier.once(Stop(store.clock))
    await channel.close()
    _say("done")
    store.close()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], Path(sys.argv[2])))
