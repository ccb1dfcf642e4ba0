"""What counts as fresh is what the pace of its source allows."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.support.clock import START
from vacancy.app import engine
from vacancy.clock import Dice, later
from vacancy.pipeline import pace
from vacancy.settings import load
from vacancy.store import target_overview


def test_a_bucket_in_which_nothing_happens_is_fresh_between_two_polls(tmp_path: Path) -> None:
    given = {
        "database_url": f"sqlite:///{tmp_path}/vacancy.db", "secret_key": "a key for tests",
        "resy": {"enabled": True, "base_url": "http://127.0.0.1:1", "jitter": 0.5},
    }  # fmt: skip

    async def story() -> tuple[float, float]:
        async with engine(load(None, {}, given)) as parts:
            (tables,) = [source for source in parts.lists if source.name == "resy"]
            slowest = max(pace.next_delay(tables.policy, Dice(nth), START, None, held=False) for nth in range(200))
            return parts.intervals["resy"], slowest

    interval_s, slowest_s = asyncio.run(story())
    assert slowest_s > 75
    assert target_overview.state(
        later(START, slowest_s), interval_s, paused_at=None, held_since=None, baseline_at=START, failures=0,
        last_complete_at=START,
    ) == target_overview.FRESH  # fmt: skip
