"""From an answer in which something opened to the first mail that its server took, with 10,000 who wait for it."""

from __future__ import annotations

import asyncio
import time
from statistics import median
from typing import Final

from bench.common import Row, child, quiet_folder
from bench.mails import mail_channel
from bench.scene import SQLITE, Scene, opened
from bench.wake import working
from vacancy.app import spare_the_collector
from vacancy.channels.base import Channel
from vacancy.model.messages import Outcome, Parcel, Sent

PEOPLE: Final = 10_000
_TURNS: Final = 15


def run() -> list[Row]:
    with quiet_folder("opened") as folder, child("-m", "bench.sink") as sink, opened(SQLITE, folder) as store:
        port = int(sink.line())
        scene = Scene(store)
        scene.invite(PEOPLE)
        spare_the_collector()
        took = [asyncio.run(_first(scene, port)) * 1000 for _ in range(_TURNS)]
    return [
        Row("opened_to_sent, median", median(took), "ms", at_most=100.0),
        Row("opened_to_sent, longest of 15", max(took), "ms", at_most=100.0),
    ]


class _First:
    """The mail channel, which notes when its first mail was taken; what follows is no matter here."""

    def __init__(self, channel: Channel) -> None:
        self.name, self.verifies, self.pace = channel.name, channel.verifies, channel.pace
        self.contact, self.probe, self.close = channel.contact, channel.probe, channel.close
        self.taken_at: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._channel = channel

    async def send(self, parcel: Parcel) -> Outcome:
        if self.taken_at.done():
            return Sent("bench", "nothing")
        outcome = await self._channel.send(parcel)
        assert isinstance(outcome, Sent), outcome
        if not self.taken_at.done():
            self.taken_at.set_result(time.perf_counter())
        return outcome


async def _first(scene: Scene, port: int) -> float:
    channel = _First(mail_channel(port))
    async with working(scene, channel):
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        await asyncio.to_thread(scene.open)
        took = await asyncio.wait_for(channel.taken_at, 30) - began
    await channel.close()
    scene.forget()
    await asyncio.to_thread(scene.close)
    return took
