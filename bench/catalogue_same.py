"""A catalogue of full size in which nothing is new, beside msgspec's typed decode of the same bytes; and how long the
event loop waits for its turn meanwhile.

The body is the stored one and a line break more: other bytes, so that it must be read, and not one course that changed.
`read` is what the source does with it; `read and swap` goes on through the transaction that finds nothing to write.
A stall is how much later than asked for a sleeping task is woken; the worst of a run, and of the runs the median.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

import msgspec
from multidict import CIMultiDict

from bench.common import Cost, Row, Stopwatch, quiet_folder, typical
from bench.world import AT_ONCE_S, TERM, Claims, catalogue_body, configure, new_store
from vacancy.clock import Dice, SystemClock
from vacancy.model.availability import Claim, Reference, Unchanged
from vacancy.net.client import Client, Response
from vacancy.pipeline.settle import Came, settle_reference
from vacancy.sources.soc import Catalogues
from vacancy.sources.soc_catalogue import SocCatalogue
from vacancy.sources.soc_courses import CourseRow
from vacancy.store.engine import Store

_RUNS: Final = 7
_TICK_S: Final = 0.001


class Canned(Client):
    """The answer, without the network."""

    body = b""

    async def get(self, url: str, **_: Any) -> Response:  # noqa: ARG002
        headers = CIMultiDict({"Content-Type": "application/json"})
        return Response(200, headers, self.body, 0.0, datetime.now(UTC))


class Bench:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.client = Canned(SystemClock(), user_agent="vacancy-bench")
        reader = SocCatalogue(
            store, self.client, base_url="http://127.0.0.1:1", terms=[TERM], campuses=["NB"], interval_s=AT_ONCE_S,
            jitter=0.0,
        )  # fmt: skip
        self.source = Catalogues(reader)
        self.claims = Claims(store, self.source)
        configure(store, self.source)

    async def read(self, claim: Claim, body: bytes) -> Reference:
        self.client.body = body
        answer = await self.source.ask(claim, None)
        assert isinstance(answer, Reference), answer
        return answer

    async def settle(self, claim: Claim, answer: Reference) -> None:
        settled = await self.store.write(settle_reference, claim, self.source, answer, {}, Dice(1))
        assert settled.came is Came.BELIEVED, settled


async def stalls(work: Callable[[], Awaitable[object]]) -> tuple[Cost, float]:
    """What it costs, and the longest that the loop kept another task waiting, in seconds."""
    worst = 0.0
    loop = asyncio.get_running_loop()

    async def tick() -> None:
        nonlocal worst
        while True:
            began = loop.time()
            await asyncio.sleep(_TICK_S)
            worst = max(worst, loop.time() - began - _TICK_S)

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0)
    with Stopwatch() as watch:
        await work()
    await asyncio.sleep(0)
    ticking.cancel()
    with suppress(asyncio.CancelledError):
        await ticking
    return watch.cost, worst


def run() -> list[Row]:
    with quiet_folder("catalogue") as folder:
        store = new_store(folder / "catalogue.db")
        rows = asyncio.run(_measure(Bench(store), catalogue_body("NB")[0]))
        store.close()
        return rows


async def _measure(bench: Bench, body: bytes) -> list[Row]:
    claim = bench.claims.next()

    async def first_load() -> None:
        await bench.settle(claim, await bench.read(claim, body))

    loading, load_stall = await stalls(first_load)
    typed = msgspec.json.Decoder(list[CourseRow])
    ours, settling, bare, stall, idle, same = [], [], [], [], [], []
    for turn in range(_RUNS):
        again = body + b"\n" * (turn + 1)
        cost, answer, worst = await _read_again(bench, again)
        ours.append(cost)
        settling.append(answer)
        stall.append(worst)
        with Stopwatch() as watch:
            typed.decode(again)
        bare.append(watch.cost)
        with Stopwatch() as watch:
            assert isinstance(await bench.source.ask(claim, None), Unchanged)
        same.append(watch.cost)
        idle.append((await stalls(lambda: asyncio.sleep(0.05)))[1])
    least, one = typical(bare).cpu * 1e3, typical(ours).cpu * 1e3
    name = f"catalogue_same, {len(body) / 1e6:.0f} MB"
    return [
        Row(f"{name}, read", one, "ms", least, at_most=2.0),
        Row(f"{name}, read and swap", one + typical(settling).cpu * 1e3, "ms", least),
        Row(f"{name}, the same bytes", typical(same).cpu * 1e3, "ms", least),
        Row(f"{name}, worst stall", median(stall) * 1e3, "ms", at_most=50.0),
        Row("worst stall of an idle loop", median(idle) * 1e3, "ms"),
        Row("catalogue first load, CPU", loading.cpu, "s"),
        Row("catalogue first load, wall", loading.wall, "s"),
        Row("catalogue first load, worst stall", load_stall * 1e3, "ms"),
    ]


async def _read_again(bench: Bench, body: bytes) -> tuple[Cost, Cost, float]:
    """The cost of reading, the cost of settling, and the worst stall during both."""
    claim = bench.claims.next()
    answers: list[Reference] = []

    async def read() -> None:
        answers.append(await bench.read(claim, body))

    reading, while_reading = await stalls(read)
    settling, while_settling = await stalls(lambda: bench.settle(claim, answers[0]))
    return reading, settling, max(while_reading, while_settling)
