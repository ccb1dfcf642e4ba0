"""Fan out: events times subscriptions, turned into rows of the queue, in chunks that survive a crash.

How far an event came is kept with it, so whoever comes next goes on from there, in whatever process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog

from vacancy.clock import Clock
from vacancy.metrics import Metrics
from vacancy.runner import Stop
from vacancy.store import bells, ids, notifications
from vacancy.store.engine import Store, Tx
from vacancy.store.notifications import Lead

# Large enough that the commit costs little beside it, small enough that nobody waits long for the writer.
CHUNK: Final = 2000
_LEADS: Final = 100
_LONGEST_REST_S: Final = 5.0
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Fanned:
    """What one transaction did. `more` means that there is more to do at once."""

    events: int
    queued: int
    more: bool


class FanOut:
    def __init__(self, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._bell = store.bells[bells.EVENTS]

    async def run(self, stop: Stop) -> None:
        """As events come, until asked to stop. The bell saves time; the table is the truth."""
        while not stop.requested:
            heard = self._bell.rings
            await self.once(stop)
            await stop.wait_for(self._bell.wait(heard, self._clock, _LONGEST_REST_S))

    async def once(self, stop: Stop) -> None:
        while not stop.requested:
            fanned = await self._store.write(fan_out_some)
            self._metrics.queued(fanned.queued)
            if fanned.queued:
                _log.info("queued", events=fanned.events, notifications=fanned.queued)
            if not fanned.more:
                return


def fan_out_some(tx: Tx, chunk: int = CHUNK) -> Fanned:
    """One chunk's worth: the rest of a large event, or many that few wait for."""
    # An item that closes meanwhile would leave rows behind that say what is not so any more.
    with tx.together():
        ids.hold_edges_off(tx)
        leads = notifications.leads_to_fan_out(tx, _LEADS)
        tx.now()
    done: list[int] = []
    room, queued = chunk, 0
    for lead in leads:
        looked_at, added, finished = _fan_out(tx, lead, room)
        room, queued = room - looked_at, queued + added
        if finished:
            done.append(lead.open_event_id)
        if room <= 0:
            break
    if done:
        notifications.note_fanned_out(tx, tx.now(), done)
    return Fanned(len(done), queued, more=len(done) < len(leads) or len(leads) == _LEADS)


def _fan_out(tx: Tx, lead: Lead, room: int) -> tuple[int, int, bool]:
    """Topic by topic, in order of subscriptions: (looked at, queued, whether that was all of it)."""
    topics = list(notifications.topics_of(tx, lead).items())
    at, after, left, queued = lead.topic_at, lead.after, room, 0
    while at < len(topics) and left > 0:
        topic, still_open = topics[at]
        chunk = notifications.next_chunk(tx, topic, after, left) if still_open else None
        if chunk is None:
            at, after = at + 1, 0
            continue
        queued += notifications.queue_chunk(tx, tx.now(), lead, topic, after, chunk)
        # Fewer than were asked for: there are no more of them.
        at, after = (at, chunk.last) if chunk.size == left else (at + 1, 0)
        left -= chunk.size
    finished = at == len(topics)
    if not finished:
        notifications.note_progress(tx, lead, at, after)
    return room - left, queued, finished
