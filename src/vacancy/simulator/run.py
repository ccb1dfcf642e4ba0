"""The simulator as a process of its own, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from typing import Final

from vacancy.clock import SystemClock
from vacancy.simulator.server import Simulator

# A board has a few dozen things, a campus thousands.
_FEWER: Final = 10
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


async def serve_simulator(
    host: str,
    port: int,
    *,
    seed: int,
    scale: float,
    terms: Sequence[str],
    campuses: Sequence[str],
    openings_per_minute: float,
    closings_per_minute: float,
    say: Callable[[str], None],
) -> None:
    simulator = Simulator(
        SystemClock(),
        seed=seed,
        scale=scale,
        terms=terms,
        campuses=campuses,
        openings_per_minute=openings_per_minute,
        closings_per_minute=closings_per_minute,
        table_changes_per_minute=openings_per_minute + closings_per_minute,
        board_changes_per_minute=openings_per_minute / _FEWER + closings_per_minute / _FEWER,
    )
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    try:
        await simulator.start(host, port)
        for line in greeting(simulator, terms[0], campuses[0]):
            say(line)
        await stopped.wait()
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
        await simulator.stop()


def greeting(simulator: Simulator, term: str, campus: str) -> list[str]:
    control = simulator.control_url
    where = f"year={term[1:]}&term={term[0]}&campus={campus}"
    partial = f'{{"kind": "partial", "keep": 0.7, "campus": "{campus}", "times": 5}}'
    limited = '{"kind": "rate_limited", "retry_after": "30", "times": 1}'
    return [
        f"Schedule of Classes: {simulator.base_url}/openSections.json?{where}",
        f"Tables: {simulator.resy_url}/3/venuesearch/search",
        f"JSON: {' '.join(f'{simulator.json_url}/{name}' for name in simulator.json.boards.every)}",
        f"Control: {control}, {control}/resy and {control}/json",
        f"Try: curl -X POST {control}/faults -d '{partial}'",
        f"Try: curl -X POST {control}/faults -d '{limited}'",
        f"Clear: curl -X DELETE {control}/faults",
    ]
