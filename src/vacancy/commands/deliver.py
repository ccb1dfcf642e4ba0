"""`vacancy deliver --once`"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vacancy.app import Engine, engine
from vacancy.commands.common import ERR, OUT, as_json, prepare
from vacancy.errors import UserError
from vacancy.pipeline.deliver import Courier
from vacancy.pipeline.fanout import FanOut
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.store import queue, sending
from vacancy.store.sending import Halt


@dataclass(frozen=True, slots=True)
class Round:
    """What one channel did: how its messages ended, and how many wait yet."""

    channel: str
    outcomes: Mapping[str, int]
    waiting: int
    trouble: str


def deliver(config: Path | None, *, once: bool, json: bool) -> int:
    if not once:
        raise UserError("validation_failed", "`deliver` takes --once; for steady work, `vacancy serve --only deliver`")
    rounds, stopped = asyncio.run(_deliver(prepare(config)))
    if json:
        as_json({"stopped": stopped.reason if stopped else None, "items": [_facts(each) for each in rounds]})
    else:
        _say(rounds, stopped)
    return 1 if any(each.trouble for each in rounds) else 0


async def _deliver(settings: Settings) -> tuple[list[Round], Halt | None]:
    async with engine(settings) as parts:
        stop = Stop(parts.clock)
        await FanOut(parts.store, parts.clock, parts.metrics).once(stop)
        couriers = parts.couriers()
        await asyncio.gather(*(courier.once(stop) for courier in couriers))
        return await _rounds(parts, couriers), await parts.store.read(sending.halt)


async def _rounds(parts: Engine, couriers: Sequence[Courier]) -> list[Round]:
    facts = await parts.store.read(queue.facts)
    return [
        Round(
            courier.name,
            parts.metrics.deliveries_of(courier.name),
            facts[courier.name][0] if courier.name in facts else 0,
            courier.breaker.why.message if courier.breaker.why is not None else "",
        )
        for courier in couriers
    ]


def _say(rounds: list[Round], stopped: Halt | None) -> None:
    if stopped is not None:
        ERR.print(f"Sending is stopped: {stopped.reason}. `vacancy sending resume` lets it go on.", markup=False)
    busy = [each for each in rounds if each.outcomes or each.waiting or each.trouble]
    for each in busy:
        done = ", ".join(f"{count} {outcome}" for outcome, count in sorted(each.outcomes.items())) or "nothing sent"
        waiting = f"; {each.waiting} wait" if each.waiting else ""
        trouble = f"; {each.trouble}" if each.trouble else ""
        OUT.print(f"{each.channel}  {done}{waiting}{trouble}", markup=False)
    if not busy and stopped is None:
        OUT.print("Nothing waits to be sent.")


def _facts(each: Round) -> dict[str, object]:
    return {"channel": each.channel, "outcomes": dict(each.outcomes), "waiting": each.waiting, "trouble": each.trouble}
