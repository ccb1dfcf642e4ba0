"""Poll: claim a due target, ask the source, settle what it answered, always write the next time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

import structlog

from vacancy.clock import Clock, Dice
from vacancy.errors import VacancyError
from vacancy.logs import bind_trace
from vacancy.metrics import Metrics
from vacancy.model.availability import Claim, Complete, Failed, Partial, Question, Reference, Trouble, Unchanged
from vacancy.model.state import TargetState
from vacancy.pipeline import pace
from vacancy.pipeline.identity import Identity, is_dead
from vacancy.pipeline.settle import Came, Settled, settle_answer, settle_failure, settle_reference, settle_unchanged
from vacancy.runner import Stop
from vacancy.sources.base import Asked, ReferenceSource, Source
from vacancy.store import bells, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.targets import Claimed, Limits

_LONGEST_REST_S: Final = 5.0
# What a source asks for may change with the days.
_ASK_ANEW_S: Final = 60.0
_log = structlog.stdlib.get_logger(__name__)


@dataclass(slots=True)
class _Memory:
    """What this process last read of a target, and what was believed then."""

    answer: Complete | None = None  # None for a reference, which is not kept
    mark: bytes | None = None
    state: TargetState | None = None
    quiet: bool = False  # nothing waits: the same answer again changes nothing


@dataclass(frozen=True, slots=True)
class Polled:
    """One attempt, for whoever watches."""

    source: str
    key: str
    came: Came
    opened: int
    closed: int
    failed: Failed | None
    due_in_s: float


class Poller:
    def __init__(
        self,
        store: Store,
        lists: Sequence[Source],
        references: Sequence[ReferenceSource],
        clock: Clock,
        dice: Dice,
        metrics: Metrics,
    ) -> None:
        self._store = store
        self._lists: Mapping[str, Source] = {source.name: source for source in lists}
        self._references: Mapping[str, ReferenceSource] = {source.name: source for source in references}
        self._asked: Mapping[str, Asked] = {**self._lists, **self._references}
        self._clock = clock
        self._dice = dice
        self._metrics = metrics
        self._identity = Identity()
        self._memory: dict[int, _Memory] = {}
        self._running: dict[str, set[asyncio.Task[Polled]]] = {source.budget: set() for source in self._asked.values()}
        self._claims: dict[asyncio.Task[Polled], Claim] = {}
        self._leases_s = {
            name: source.policy.fetch_timeout_s + pace.LEASE_SLACK_S for name, source in self._asked.items()
        }
        self._longest_delay_s = pace.longest_delay_s(source.policy for source in self._asked.values())
        self._bell = store.bells[bells.TARGETS]
        # When the loop looks again by itself, and whether it waits for a worker to be free: who ends a poll rings
        # only if that is too late. A ring costs a transaction.
        self._wake_at = 0.0
        self._crowded = False
        self._questions: dict[str, Sequence[Question]] = {}
        self._configured_at = clock.monotonic()

    async def configure(self) -> None:
        """Make the targets what the settings say, and free what dead processes of this host still hold."""
        await self._store.write(targets.rest_all_but, list(self._asked))
        self._questions.clear()
        await self._keep_configured()
        taken = await self._store.write(_take_over_from_the_dead)
        if taken:
            _log.info("leases of dead processes taken over", leases=taken)

    async def _keep_configured(self) -> None:
        self._configured_at = self._clock.monotonic()
        for source in self._asked.values():
            questions = source.questions()
            if questions != self._questions.get(source.name):
                await self._store.write(_configure, source, questions)
                self._questions[source.name] = questions

    async def run(self, stop: Stop) -> None:
        """Poll what is due, as it falls due, until asked to stop; then finish what was asked already."""
        await self.configure()
        # What the database failed while it was away is why we begin anew: once, however many polls that were.
        await self._put_away()
        try:
            while not stop.requested:
                heard = self._bell.rings
                self._crowded = False
                if self._clock.monotonic() - self._configured_at >= _ASK_ANEW_S:
                    await self._keep_configured()
                rest_s = min([await self._start_due(budget) for budget in self._running] or [_LONGEST_REST_S])
                await self._rest(stop, heard, rest_s)
                await self._reap()
            await self._finish()
        except asyncio.CancelledError:
            # The drain took too long: what is still being asked is given up, and its lease is left to the next start.
            await self._give_up()
            raise

    async def poll_once(self, say: Callable[[Polled], None]) -> list[Polled]:
        """Every configured target once, now, at the usual pace towards the upstream."""
        await self.configure()
        wanted: int = await self._store.write(_want_all_now, list(self._asked))
        polled: list[Polled] = []
        while len(polled) < wanted:
            heard = self._bell.rings
            rests = [await self._start_due(budget) for budget in self._running]
            if not any(self._running.values()):
                await self._bell.wait(heard, self._clock, min(rests))
            for task in await self._first_to_end():
                polled.append(await self._ended(task))
                say(polled[-1])
        return polled

    async def _first_to_end(self) -> set[asyncio.Task[Polled]]:
        tasks = set().union(*self._running.values())
        if not tasks:
            return set()
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for running in self._running.values():
            running -= done
        return done

    async def _start_due(self, budget: str) -> float:
        """Claim what is due and begin to ask; answers how long there will be nothing to do."""
        here = pace.IN_FLIGHT - len(self._running[budget])
        if here <= 0:
            self._crowded = True
            return _LONGEST_REST_S
        limits = Limits(
            pace.IN_FLIGHT, pace.IN_FLIGHT_SLOWED, here, max(self._leases_s.values()), self._longest_delay_s
        )
        claimed, rest_s = await self._store.write(_claim, budget, limits, self._leases_s, self._new_token)
        self._crowded = self._crowded or claimed.is_full or len(claimed.claims) == here
        for claim in claimed.claims:
            task = asyncio.create_task(self._poll_and_rest(claim), name=f"poll {claim.source} {claim.key}")
            self._running[budget].add(task)
            self._claims[task] = claim
        return _LONGEST_REST_S if len(claimed.claims) == here else rest_s

    def _new_token(self) -> tuple[str, str]:
        return self._identity.new_lease(), self._dice.token()

    async def _rest(self, stop: Stop, heard: int, seconds: float) -> None:
        seconds = min(seconds, _LONGEST_REST_S)
        self._wake_at = self._clock.monotonic() + seconds
        await stop.wait_for(self._bell.wait(heard, self._clock, seconds))

    async def _reap(self) -> None:
        trouble = await self._put_away()
        if trouble is not None:
            raise trouble

    async def _put_away(self) -> VacancyError | None:
        """All that have ended; the last one's trouble, if the database failed any."""
        trouble: VacancyError | None = None
        for running in self._running.values():
            for task in [task for task in running if task.done()]:
                running.discard(task)
                try:
                    await self._ended(task)
                except VacancyError as error:
                    trouble = error
        return trouble

    async def _finish(self) -> None:
        if tasks := set().union(*self._running.values()):
            await asyncio.wait(tasks)
        await self._reap()

    async def _give_up(self) -> None:
        tasks = set().union(*self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _poll_and_rest(self, claim: Claim) -> Polled:
        """One worker's turn: the poll, then the gap that it leaves before its next request."""
        with bind_trace(claim.trace_id, source=claim.source, target=claim.key):
            polled = await self._poll(claim)
        await self._clock.sleep(pace.GAP_SLOWED_S if claim.slowed else pace.GAP_S)
        if self._crowded or self._clock.monotonic() + polled.due_in_s < self._wake_at:
            self._bell.ring()
        return polled

    async def _poll(self, claim: Claim) -> Polled:
        source = self._asked[claim.source]
        memory = self._memory.pop(claim.target_id, None) or _Memory()
        began = self._clock.monotonic()
        outcome = await source.ask(claim, memory.mark)
        settled = await self._settle(claim, source, memory, outcome)
        self._memory[claim.target_id] = memory
        self._tell(claim, settled, self._clock.monotonic() - began)
        return _polled(claim, settled)

    async def _ended(self, task: asyncio.Task[Polled]) -> Polled:
        """What a poll came to. A fault of our own costs its target one turn; one of the database's ends the loop, which
        starts again when it has rested."""
        claim, error = self._claims.pop(task), task.exception()
        if error is None:
            return task.result()
        if isinstance(error, VacancyError):
            raise error
        _log.error("a poll failed in our own code", source=claim.source, target=claim.key, exc_info=error)
        failed = Failed(Trouble.INTERNAL, f"{type(error).__name__} in our own code")
        return _polled(
            claim, await self._store.write(settle_failure, claim, self._asked[claim.source], failed, self._dice)
        )

    async def _settle(
        self, claim: Claim, source: Asked, memory: _Memory, outcome: Complete | Partial | Reference | Unchanged | Failed
    ) -> Settled:
        store, dice = self._store, self._dice
        if isinstance(outcome, Failed):
            return await store.write(settle_failure, claim, source, outcome, dice)
        if claim.source in self._references:
            told = cast("Reference | Unchanged", outcome)
            settled = await store.write(
                settle_reference, claim, self._references[claim.source], told, self._lists, dice
            )
            # A reference that was not taken in must be read again even if its bytes are the same.
            if isinstance(outcome, Reference):
                memory.mark = outcome.mark if settled.came is Came.BELIEVED else None
            return settled
        listed = cast("Complete | Partial | Unchanged", outcome)
        return await self._settle_list(claim, self._lists[claim.source], memory, listed)

    async def _settle_list(
        self, claim: Claim, source: Source, memory: _Memory, outcome: Complete | Partial | Unchanged
    ) -> Settled:
        state, memory.state = memory.state, None
        if isinstance(outcome, Unchanged) and memory.quiet and state and _is_current(state, claim):
            settled = await self._store.write(settle_unchanged, claim, source, state, self._dice)
            memory.quiet = settled.state is not None
        else:
            # Unchanged comes only in reply to the mark of the answer that we keep.
            answer = cast("Complete", memory.answer) if isinstance(outcome, Unchanged) else outcome
            settled = await self._store.write(settle_answer, claim, source, answer, state, self._dice)
            if isinstance(answer, Complete):
                memory.answer, memory.mark = answer, answer.mark
            memory.quiet = _is_quiet(settled.state, memory.answer)
        memory.state = settled.state
        return settled

    def _tell(self, claim: Claim, settled: Settled, seconds: float) -> None:
        outcome = settled.failed.trouble if settled.failed else settled.came
        self._metrics.polled(claim.source, outcome, seconds)
        emission = settled.emission
        for status, numbers in (("Open", emission.opened), ("Closed", emission.closed)):
            if numbers:
                self._metrics.raised(claim.source, status, len(numbers))
        facts = {"came": settled.came.value, "ms": round(seconds * 1000, 1)}
        if settled.failed:
            level = _log.error if settled.misconfigured else _log.warning
            level("poll failed", **facts, trouble=settled.failed.trouble.value, message=settled.failed.message)
        elif settled.came is Came.WAITING:
            _log.info("first answer waits for one like it", **facts)
        elif settled.came is Came.HELD:
            _log.warning("answer held back", **facts, reason=settled.reason.value if settled.reason else None)
        elif emission.opened or emission.closed:
            _log.info("edges", **facts, opened=len(emission.opened), closed=len(emission.closed))
        else:
            _log.debug("polled", **facts)


def _polled(claim: Claim, settled: Settled) -> Polled:
    opened, closed = len(settled.emission.opened), len(settled.emission.closed)
    return Polled(claim.source, claim.key, settled.came, opened, closed, settled.failed, settled.delay_s)


def _is_current(state: TargetState, claim: Claim) -> bool:
    return state.version == claim.version and state.known_version == claim.known_version


def _is_quiet(state: TargetState | None, answer: Complete | None) -> bool:
    if state is None or answer is None:
        return False
    waits = state.held is not None or state.missed or state.owed
    return state.believed and not waits and state.open == answer.keys


def _configure(tx: Tx, source: Asked, questions: Sequence[Question]) -> None:
    targets.configure(tx, tx.now(), source.budget, source.name, questions)


def _take_over_from_the_dead(tx: Tx) -> int:
    dead = {owner for _, owner in targets.held_leases(tx) if is_dead(owner)}
    return targets.take_over(tx, tx.now(), dead) if dead else 0


def _want_all_now(tx: Tx, sources: Sequence[str]) -> int:
    return targets.want_all_now(tx, tx.now(), sources)


def _claim(
    tx: Tx, budget: str, limits: Limits, leases_s: Mapping[str, float], new_token: Callable[[], tuple[str, str]]
) -> tuple[Claimed, float]:
    now = tx.now()
    claimed = targets.claim(tx, now, budget, limits, leases_s, new_token)
    return claimed, _seconds_until(now, claimed.look_again_at)


def _seconds_until(now: datetime, moment: datetime | None) -> float:
    return _LONGEST_REST_S if moment is None else max(0.0, (moment - now).total_seconds())
