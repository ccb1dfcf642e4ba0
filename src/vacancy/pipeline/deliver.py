"""Deliver: claim, still true?, send, ack. A courier for each channel, so that no channel's trouble delays another."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from vacancy.channels.base import Channel
from vacancy.clock import Clock
from vacancy.errors import StoreError
from vacancy.logs import bind_task
from vacancy.metrics import Metrics
from vacancy.model.delivery import Finished
from vacancy.model.messages import Blocked, Dead, Opening, Outcome, Parcel, Retry, Sent
from vacancy.pipeline.allowance import Allowance
from vacancy.pipeline.breaker import Breaker
from vacancy.pipeline.dispatch import Errand, InHand, Taken, clear_up, run_errand
from vacancy.pipeline.identity import Identity, is_dead
from vacancy.pipeline.judge import Rules
from vacancy.runner import Stop
from vacancy.store import bells, queue, troubles
from vacancy.store.engine import Store
from vacancy.store.openings import OpeningFacts
from vacancy.store.queue_results import Tries
from vacancy.subscriptions.parcels import Parcels, open_part
from vacancy.subscriptions.rules import Desk

# Sent and not yet written down: as many as a kill may repeat.
IN_FLIGHT: Final = 20
_LONGEST_REST_S: Final = 5.0
_AFTER_TROUBLE_S: Final = 1.0
_FACTS_KEPT: Final = 1000
# Answers that come this close to each other are written down together.
_GATHERED_FOR_S: Final = 0.002
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True)
class Office:
    """What all couriers share."""

    store: Store
    clock: Clock
    metrics: Metrics
    desk: Desk
    parcels: Parcels
    rules: Rules
    tries: Tries


class Courier:
    def __init__(self, office: Office, channel: Channel) -> None:
        self._office = office
        self._store, self._clock, self._tries = office.store, office.clock, office.tries
        self.channel = channel
        self.name = channel.name
        self.breaker = Breaker(office.clock)
        # No other courier's, in this process or after it: a late word must not pass for its successor's.
        self._worker = f"{Identity().new_lease()}{secrets.token_hex(4)}"
        self._allowance = Allowance(office.clock, channel.pace)
        self._bell = office.store.bells[bells.NOTIFICATIONS]
        self._out: dict[asyncio.Task[Outcome], tuple[InHand, Parcel]] = {}
        self._done: list[Finished] = []
        self._facts: dict[int, Sequence[OpeningFacts]] = {}
        self._openings: dict[tuple[object, ...], Opening | None] = {}
        self._last_told: dict[str, datetime] = {}
        self._renewed_at = office.clock.monotonic()
        self._in_trouble: bool | None = None  # not known before the table was asked
        self._lost_touch = True

    async def run(self, stop: Stop) -> None:
        """Until asked to stop; then what is in hand is seen to its end, and nothing more is taken."""
        try:
            while not stop.requested or self._out or self._done:
                heard = self._bell.rings
                taken = await self._turn(stop)
                if not self._goes_on(taken):
                    await self._rest(stop, heard, taken)
        finally:
            for task in self._out:
                task.cancel()

    async def once(self, stop: Stop) -> None:
        """Until nothing may go any more."""
        while not stop.requested:
            heard = self._bell.rings
            taken = await self._turn(stop)
            idle = self.breaker.is_open or (taken is not None and taken.found_nothing)
            if idle and not self._out and not self._done:
                await self._mind_the_breaker()  # nobody comes after us who would say that the trouble is over
                return
            if not self._goes_on(taken):
                await self._rest(stop, heard, taken)

    async def _turn(self, stop: Stop) -> Taken | None:
        """One transaction, if there is anything to do. None if the database did not answer: nothing is lost by that."""
        try:
            if self._in_trouble is None:
                await self._take_up_trouble()
        except StoreError as trouble:
            self._not_in_touch(trouble)
            return None
        await self._mind_the_breaker()
        self._forget_the_old()
        room = 0 if stop.requested else self._room()
        done, self._done = self._done, []
        errand = Errand(
            self.name, self._worker, room, done, self.channel.pace.contact_gap_s, self._last_told, self._facts
        )
        try:
            await self._keep_in_touch()
            if not done and not room:
                return Taken()
            taken = await self._store.write(run_errand, errand, self._office.rules, self._tries)
        except StoreError as trouble:
            self._done = [*done, *self._done]
            self._not_in_touch(trouble)
            return None
        self._count(done, taken)
        if taken.found_nothing and not taken.stopped:
            self.breaker.passed()
        for each in taken.rows:
            self._send(each)
        # Whoever answers at once has done so by then, and need not be waited for.
        await asyncio.sleep(0)
        if taken.aftermath.paused or taken.aftermath.lost:
            await self._clear_up(taken)
            # Somebody else may hear of it now.
            return replace(taken, found_nothing=False, looked_at=taken.looked_at + 1)
        return taken

    def _room(self) -> int:
        """What is done is written down in the transaction that takes more, so it counts no longer."""
        most = self.breaker.room(IN_FLIGHT) - len(self._out)
        return max(0, min(most, self._allowance.free()))

    def _goes_on(self, taken: Taken | None) -> bool:
        """Whether there is surely more to do at once."""
        if taken is None:
            return False
        self._collect()
        return bool(self._done) or (taken.looked_at > 0 and self._room() > 0)

    def _send(self, each: InHand) -> None:
        parcel = self._office.parcels.pack(each.due, self._opening(each), is_last=each.is_last)
        self._allowance.take(1)
        if self.channel.pace.contact_gap_s:
            self._last_told[each.due.contact_hash] = self._clock.now()
        self._out[asyncio.create_task(self._hand_over(parcel))] = (each, parcel)

    async def _hand_over(self, parcel: Parcel) -> Outcome:
        bind_task(parcel.trace_id, notification=parcel.notification_id)
        return await self.channel.send(parcel)

    def _opening(self, each: InHand) -> Opening | None:
        if each.still is None or each.due.open_event_id is None:
            return None
        # One for all who hear the same: channels lay it out once, and know it again by being the same.
        key = (each.due.open_event_id, each.still.events, each.still.words, each.due.topic)
        if key not in self._openings:
            zone = self._office.rules.time_zone(each.still.source)
            facts = self._facts[each.due.open_event_id]
            self._openings[key] = open_part(facts, each.still, each.due.topic, zone)
        return self._openings[key]

    def _collect(self) -> None:
        """What has ended since the last look."""
        now = self._clock.now()
        for task in [task for task in self._out if task.done()]:
            each, parcel = self._out.pop(task)
            outcome = self._outcome_of(task)
            self._done.append(Finished(each.due, outcome))
            if isinstance(outcome, Blocked):
                self.breaker.blocked(outcome)
            else:
                self.breaker.passed()
            if isinstance(outcome, Sent) and parcel.opening is not None:
                waited = now - parcel.opening.event_at
                self._office.metrics.told_after(self.name, max(0.0, waited.total_seconds()))

    def _outcome_of(self, task: asyncio.Task[Outcome]) -> Outcome:
        fault = task.exception()
        if fault is None:
            return task.result()
        _log.error("a channel failed by a fault of ours", channel=self.name, exc_info=fault)
        return Retry("internal", "something went wrong on our side; the log has more")

    async def _rest(self, stop: Stop, heard: int, taken: Taken | None) -> None:
        """Until a message ended, the bell rang, or something comes due by itself."""
        if stop.requested and not self._out:
            return
        ringing = asyncio.ensure_future(self._bell.wait(heard, self._clock, self._rest_s(taken)))
        stopping = asyncio.ensure_future(stop.wait(None))
        try:
            waited = {ringing, *self._out} if stop.requested else {ringing, stopping, *self._out}
            ended, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ringing.cancel()
            stopping.cancel()
        if self._out and not self._out.keys().isdisjoint(ended):
            # A transaction for each would cost more than most messages do.
            await asyncio.sleep(_GATHERED_FOR_S)
        self._collect()

    def _rest_s(self, taken: Taken | None) -> float:
        if taken is None:
            return _AFTER_TROUBLE_S
        rests = [_LONGEST_REST_S]
        if taken.next_due_at is not None:
            rests.append((taken.next_due_at - self._clock.now()).total_seconds())
        if taken.looked_at and not self.breaker.is_open:
            rests.append(self._allowance.free_in_s())
        if (due_in_s := self.breaker.due_in_s()) is not None:
            rests.append(due_in_s)
        return max(0.001, min(rests))

    async def _keep_in_touch(self) -> None:
        """Our locks are renewed in good time; after the database was away, what we took without knowing is let go."""
        now = self._clock.monotonic()
        if self._lost_touch:
            in_hand = [each.due.notification_id for each, _ in self._out.values()]
            in_hand += [each.due.notification_id for each in self._done]
            await self._store.write(queue.let_go_of_others, self._worker, in_hand, is_dead)
            self._lost_touch = False
        if self._out and now - self._renewed_at > self._tries.lock_ttl_s / 3:
            held = [each.due.notification_id for each, _ in self._out.values()]
            await self._store.write(lambda tx: queue.renew(tx, tx.now(), self._worker, held))
        elif self._out:
            return
        self._renewed_at = now

    def _not_in_touch(self, trouble: StoreError) -> None:
        if not self._lost_touch:
            _log.warning("the queue waits for its database", channel=self.name, trouble=str(trouble))
        self._lost_touch = True

    async def _clear_up(self, taken: Taken) -> None:
        try:
            await self._store.write(clear_up, self._office.desk, taken.aftermath)
        except StoreError as trouble:
            # Whoever looks at the queue as a whole, once a minute, does the same.
            _log.warning("what follows from it waits for the database", channel=self.name, trouble=str(trouble))

    async def _take_up_trouble(self) -> None:
        """What a process before us could not end."""
        found = await self._store.read(troubles.running, self._trouble_name)
        if found:
            self.breaker.was_open(Blocked("broken", found[0].message))
        self._in_trouble = bool(found)

    @property
    def _trouble_name(self) -> str:
        return f"channel:{self.name}"

    async def _mind_the_breaker(self) -> None:
        breaker = self.breaker
        if breaker.is_due():
            found = await self.channel.probe() if breaker.wants_probe else None
            breaker.probed(found)
        if self._in_trouble is not None and breaker.is_trouble != self._in_trouble:
            await self._say_trouble()

    async def _say_trouble(self) -> None:
        why = self.breaker.why
        name = self._trouble_name
        try:
            if why is not None:
                what = f"{self.name} does not work: {why.message}"
                await self._store.write(lambda tx: troubles.begin(tx, tx.now(), name, what))
                _log.warning("channel broken", channel=self.name, code=why.code, why=why.message)
            else:
                await self._store.write(lambda tx: troubles.end(tx, tx.now(), name))
                _log.info("channel works again", channel=self.name)
        except StoreError as trouble:
            self._not_in_touch(trouble)
            return
        self._in_trouble = why is not None
        self._office.metrics.broken(self.name, self._in_trouble)

    def _forget_the_old(self) -> None:
        """Only between two transactions: what one of them brought is used right after it."""
        for kept in (self._facts, self._openings):
            if len(kept) > _FACTS_KEPT:
                kept.clear()
        if self._last_told:
            old = self._clock.now() - timedelta(seconds=self.channel.pace.contact_gap_s)
            self._last_told = {who: when for who, when in self._last_told.items() if when > old}

    def _count(self, done: Sequence[Finished], taken: Taken) -> None:
        if sent := sum([isinstance(each.outcome, Sent) for each in done]):
            self._office.metrics.delivered(self.name, "sent", sent)
        for each in done:
            outcome = each.outcome
            if isinstance(outcome, Sent):
                continue
            self._office.metrics.delivered(self.name, type(outcome).__name__.lower())
            if isinstance(outcome, Retry | Dead):
                _log.info("a message was not taken", channel=self.name, notification=each.due.notification_id,
                          code=outcome.code, why=outcome.message, attempt=each.due.attempts + 1)  # fmt: skip
        for status, count in taken.dropped.items():
            self._office.metrics.delivered(self.name, status, count)
