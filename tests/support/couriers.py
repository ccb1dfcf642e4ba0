"""A channel that does as it is told, and a courier for it, for tests of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.support.lists import Lists
from tests.support.waiting import People
from vacancy.channels.base import Channel, Pace
from vacancy.metrics import Metrics
from vacancy.model.messages import Blocked, Outcome, Parcel, Sent
from vacancy.pipeline.deliver import Courier, Office
from vacancy.pipeline.judge import Rules
from vacancy.runner import Stop
from vacancy.store.engine import Store
from vacancy.store.queue_results import Tries
from vacancy.subscriptions.parcels import Parcels
from vacancy.subscriptions.verification import Links

BASE = "https://vacancy.example"


class Script:
    """Answers with what stands next in `answers`, then takes everything. `held` keeps every answer back."""

    name = "email"
    verifies = True

    def __init__(self, *answers: Outcome | Exception, pace: Pace | None = None) -> None:
        self.answers = list(answers)
        self.parcels: list[Parcel] = []
        self.pace = pace or Pace(1_000_000, 1_000_000)
        self.trouble: Blocked | None = None
        self.probes = 0
        self.free = asyncio.Event()
        self.free.set()
        self.began = asyncio.Event()

    def contact(self, text: str) -> str:
        return text

    async def send(self, parcel: Parcel) -> Outcome:
        self.parcels.append(parcel)
        answer = self.answers.pop(0) if self.answers else Sent("script", f"id-{parcel.notification_id}")
        self.began.set()
        await self.free.wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def probe(self) -> Blocked | None:
        self.probes += 1
        return self.trouble

    async def close(self) -> None:
        """Nothing is kept."""

    @property
    def told(self) -> list[str]:
        return [parcel.person.contact.partition("@")[0] for parcel in self.parcels]


def make_courier(store: Store, source: Lists, people: People, channel: Channel, **tries: Any) -> Courier:
    policy = replace(source.policy, time_zone="America/New_York")
    office = Office(
        store, store.clock, Metrics(), people.desk, Parcels(BASE, Links(people.desk.secret, store.clock)),
        Rules({source.name: policy}), Tries(**tries),
    )  # fmt: skip
    return Courier(office, channel)


def deliver(courier: Courier) -> Sequence[Parcel]:
    """All that may go now; what was handed over in this run."""
    channel: Any = courier.channel
    before = len(channel.parcels)

    async def once() -> None:
        await asyncio.wait_for(courier.once(Stop(courier._clock)), 30)

    asyncio.run(once())
    return list(channel.parcels[before:])
