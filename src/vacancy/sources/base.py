"""What the engine asks of a source. A new source is one module that keeps this protocol, and one registry line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from vacancy.model.availability import (
    Claim,
    Failed,
    Flips,
    Item,
    Policy,
    PollOutcome,
    Question,
    Reference,
    ReferenceOutcome,
    Taken,
)
from vacancy.model.events import Description
from vacancy.model.topics import ItemName, Topic
from vacancy.store.engine import Tx


class Asked(Protocol):
    """Anything that is polled. `budget` names the upstream whose limits are shared."""

    name: str
    budget: str
    policy: Policy

    def questions(self) -> Sequence[Question]:
        """Every target that the settings ask for."""

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome | ReferenceOutcome:
        """One question to the upstream. Every operating condition is a value, never an exception."""


class Source(Asked, Protocol):
    """A source of openings. `detected_by` is what its events say saw the edge."""

    detected_by: str

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome: ...

    def is_item_key(self, text: str) -> bool:
        """Whether this can name an item at all."""

    def known(self, tx: Tx, key: str) -> frozenset[str] | None:
        """Every item key that can exist in the target, where the source can tell: an answer that shares none is
        another target's. Asked again only when the target's `known_version` has moved."""

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        """Topics, payload and address of these items, for all of them in one query."""

    def topic(self, name: str) -> Topic:
        """What a subscription to this name waits for, in its one spelling. UserError if nothing could ever come."""

    def section_of(self, tx: Tx, topic: Topic) -> int | None:
        """The catalogue's row of the topic's section, if there is one yet; UserError if it is somewhere else."""

    def items_of(self, tx: Tx, topic: Topic) -> Sequence[ItemName]:
        """The items that the topic takes in, as far as they are known now."""

    def dedupe_key(
        self, key: str, item_key: str, status_after: str, episode: int, windows: int, *, at: datetime
    ) -> str:
        """What makes this edge itself: `windows` are whole 3-minute spans since the item's last recorded close, `at`
        is when it was seen."""


class ReferenceSource(Asked, Protocol):
    """A source of what the items are: of those that the source `describes` lists, in targets of the same keys."""

    describes: str

    async def ask(self, claim: Claim, last_mark: bytes | None) -> ReferenceOutcome: ...

    def take_in(self, tx: Tx, key: str, reference: Reference, *, anew: bool) -> Taken | Failed:
        """Swap it in, in the caller's transaction, or say why not and change nothing. `anew`: whatever was there
        before is no yardstick, for an operator started the target over."""

    def flips_since(self, tx: Tx, key: str, since: datetime) -> Flips:
        """The items that were recorded to change state after that, each in the last state it was seen in."""
