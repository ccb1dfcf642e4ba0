"""What we believe of a target, and what an answer changes in it. Pure: loaded from rows, turned into rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

import msgspec

from vacancy.model.availability import Answer, Item


class ItemState(msgspec.Struct, frozen=True, gc=False):
    """There are tens of thousands, and none refers to anything: the garbage collector need not look at them."""

    snapshot_id: int
    is_open: bool
    episode: int
    missed: int = 0
    closed_at: datetime | None = None
    group: str | None = None


class Reason(StrEnum):
    """Why an answer waits to be believed."""

    BASELINE = "baseline"
    EMPTY = "empty"
    SHORT = "short"
    GROWTH = "growth"


@dataclass(frozen=True, slots=True)
class Held:
    """An answer that waits for answers like it; `keys` is the one that the others are likened to."""

    reason: Reason
    samples: int
    first_at: datetime
    last_at: datetime
    keys: frozenset[str]
    items: Mapping[str, Item] = field(default_factory=dict)


@dataclass(slots=True)
class TargetState:
    """Held in memory while `version` stays what it is in the row. Changed in place, but only after the commit."""

    version: int
    believed: bool = False
    episode_floor: int = 0
    items: dict[str, ItemState] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)
    held: Held | None = None
    known_version: int = -1
    known: frozenset[str] | None = None

    def put(self, key: str, item: ItemState) -> None:
        self.items[key] = item
        (self.open.add if item.is_open else self.open.discard)(key)
        (self.missed.add if item.is_open and item.missed else self.missed.discard)(key)


@dataclass(frozen=True, slots=True)
class Believe:
    baseline: bool = False
    # A list that was confirmed in spite of the counts starts them anew, or the very next one would be held again.
    recount: bool = False


@dataclass(frozen=True, slots=True)
class Hold:
    held: Held


@dataclass(frozen=True, slots=True)
class Ignore:
    """Of no use right now, and no trouble either: a partial answer before there is a baseline, or during a hold."""


@dataclass(frozen=True, slots=True)
class Reject:
    message: str


Verdict = Believe | Hold | Ignore | Reject


@dataclass(frozen=True, slots=True)
class Changes:
    """What a believed answer changes. `raises` is false for a baseline: it tells nobody."""

    opened: tuple[Item, ...] = ()
    closed: tuple[str, ...] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    seen_again: tuple[str, ...] = ()
    raises: bool = True

    def __bool__(self) -> bool:
        return bool(self.opened or self.closed or self.missed or self.seen_again)


def item_of(answer: Answer | Held, key: str) -> Item:
    return answer.items.get(key) or Item(key)
