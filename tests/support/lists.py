"""A source for tests of the engine: it answers what it is told to. Everything behind it is the real thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha1

from vacancy.clock import Clock, Dice
from vacancy.model.availability import Answer, Claim, Complete, Failed, Item, Policy, PollOutcome, Question
from vacancy.model.events import Description
from vacancy.model.state import TargetState
from vacancy.model.topics import ItemName, Topic
from vacancy.pipeline import pace
from vacancy.pipeline.settle import Settled, settle_answer, settle_failure
from vacancy.store import targets
from vacancy.store.engine import Store, Tx
from vacancy.store.targets import Limits

LIMITS = Limits(pace.IN_FLIGHT, pace.IN_FLIGHT_SLOWED, 10, 20.0, pace.longest_delay_s([]))


class Lists:
    """Courses' rules, and no upstream."""

    name = "soc"
    budget = "soc"
    detected_by = "open_sections"

    def __init__(
        self, *keys: str, known: frozenset[str] | None = None, jitter: float = 0.0, interval_s: float = 15.0
    ) -> None:
        self.keys = keys
        self.question = "as ever"
        self.known_keys = known
        self.policy = Policy(interval_s=interval_s, jitter=jitter, fetch_timeout_s=15.0)
        self.answers: dict[str, PollOutcome] = {}
        self.courses: dict[str, str] = {}

    def questions(self) -> Sequence[Question]:
        return [Question(self.name, key, self.question) for key in self.keys]

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        return self.answers[claim.key]

    def is_item_key(self, text: str) -> bool:
        return bool(text)

    def known(self, tx: Tx, key: str) -> frozenset[str] | None:
        return self.known_keys

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        return {
            item.key: Description(self._topics(key, item.key), {"index": item.key, **item.payload}) for item in items
        }

    def _topics(self, key: str, item_key: str) -> tuple[str, ...]:
        course = self.courses.get(item_key)
        return (f"soc:{key}:{item_key}", *([f"soc:{key}:course/{course}"] if course else []))

    def topic(self, name: str) -> Topic:
        _, key, rest = name.split(":", 2)
        return Topic(name, self.name, key, None if rest.startswith("course/") else rest)

    def section_of(self, tx: Tx, topic: Topic) -> int | None:
        return None

    def items_of(self, tx: Tx, topic: Topic) -> Sequence[ItemName]:
        assert topic.target_key is not None
        if topic.item_key:
            return [ItemName(topic.target_key, topic.item_key)]
        course = topic.name.partition("course/")[2]
        return [ItemName(topic.target_key, item) for item, belongs in self.courses.items() if belongs == course]

    def dedupe_key(
        self, key: str, item_key: str, status_after: str, episode: int, windows: int, *, at: datetime
    ) -> str:
        return sha1(f"{key}|{item_key}|{status_after}|{episode}:{windows}".encode(), usedforsecurity=False).hexdigest()


def some(*numbers: int) -> Complete:
    """A complete answer that lists these items."""
    return Complete(frozenset(f"{number:05d}" for number in numbers))


def listing(*keys: str) -> Complete:
    return Complete(frozenset(keys))


class Hand:
    """Polls one target by hand: a claim, then whatever answer, each in its own transaction as in the poller."""

    def __init__(self, store: Store, clock: Clock, source: Lists, name: str = "hand") -> None:
        self.store = store
        self.clock = clock
        self.source = source
        self.name = name
        self.state: TargetState | None = None
        self._turn = 0

    def configure(self) -> None:
        self.store.write_now(_configure, self.source)

    def claim(self, now: datetime | None = None) -> Claim | None:
        self._turn += 1
        token = (f"{self.name}#{self._turn}", f"{self.name}-{self._turn}")
        claimed = self.store.write_now(
            lambda tx: targets.claim(
                tx,
                now or tx.now(),
                self.source.budget,
                replace(LIMITS, here=1),
                {self.source.name: 20.0},
                lambda: token,
            )
        )
        return claimed.claims[0] if claimed.claims else None

    def settle(self, claim: Claim, answer: Answer | Failed) -> Settled:
        """The state that is remembered is taken, and put back only if the transaction was committed."""
        state, self.state = self.state, None
        if isinstance(answer, Failed):
            return self.store.write_now(settle_failure, claim, self.source, answer, Dice(1))
        settled = self.store.write_now(settle_answer, claim, self.source, answer, state, Dice(1))
        self.state = settled.state
        return settled

    def poll(self, answer: Answer | Failed) -> Settled:
        claim = self.claim()
        assert claim is not None, "the target is not due"
        return self.settle(claim, answer)


def _configure(tx: Tx, source: Lists) -> None:
    targets.configure(tx, tx.now(), source.budget, source.name, source.questions())
