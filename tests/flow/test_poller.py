"""The poller itself: what becomes of a poll whose own code fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import select

from tests.support.clock import ManualClock
from tests.support.lists import Lists, some
from vacancy.clock import Dice
from vacancy.errors import StoreError
from vacancy.metrics import Metrics
from vacancy.model.availability import Claim, PollOutcome, Trouble
from vacancy.pipeline.poll import Polled, Poller
from vacancy.pipeline.settle import Came
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import targets


class Restless(ManualClock):
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Broken(Lists):
    """It has a fault that shows at one of its targets."""

    fault: Exception = KeyError("nobody thought of this")

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        if claim.key == "12025|NK":
            raise self.fault
        return some(1, 2, 3)


def poll_once(store: Store, source: Lists) -> list[Polled]:
    return asyncio.run(Poller(store, [source], [], Restless(), Dice(1), Metrics()).poll_once(lambda _: None))


def rows(tx: Tx) -> dict[str, Any]:
    return {row.key: row for row in tx.execute(select(targets)).all()}


def test_a_fault_of_our_own_costs_its_target_one_turn_and_no_other(store: Store) -> None:
    polled = {each.key: each for each in poll_once(store, Broken("12025|NB", "12025|NK"))}
    assert polled["12025|NB"].came is Came.WAITING
    assert polled["12025|NK"].failed is not None
    assert polled["12025|NK"].failed.trouble is Trouble.INTERNAL
    broken = store.read_now(rows)["12025|NK"]
    assert broken.lease_owner is None
    assert (broken.failures, broken.last_error["code"]) == (1, "internal")
    assert broken.next_poll_at > store.clock.now()


def test_a_database_that_is_away_ends_the_loop_for_its_supervisor_to_start_again(store: Store) -> None:
    source = Broken("12025|NK")
    source.fault = StoreError("the database does not answer")
    with pytest.raises(StoreError):
        poll_once(store, source)
