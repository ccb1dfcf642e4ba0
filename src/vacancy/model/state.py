"""What we believe of a target, and what an answer changes in it. Pure: loaded from rows, turned into rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import inf
from typing import Any

import msgspec

from vacancy.model.availability import Answer, Group, Item


class ItemState(msgspec.Struct, frozen=True, gc=False):
    """There are tens of thousands, and none refers to anything: the garbage collector need not look at them."""

    snapshot_id: int
    is_open: bool
    episode: int
    missed: int = 0
    closed_at: datetime | None = None
    group: str | None = None
    says: int = 0  # a digest of its payload
    # Where the policy goes by more than open and closed:
    gone_since: int = 0  # the number of the first whole answer without it
    told_at: datetime | None = None  # its last event
    owed_from: datetime | None = None  # it is open, and its event waits until then


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
    owed: set[str] = field(default_factory=set)
    held: Held | None = None
    known_version: int = -1
    known: frozenset[str] | None = None
    wholes: int = 0  # how many whole answers were believed
    groups: Mapping[str, Group] = field(default_factory=dict)  # as the last believed answer listed them
    said: Mapping[str, Item] = field(default_factory=dict)  # by the last believed answer; what it was is no news
    _open_in: Counter[str] = field(default_factory=Counter)
    _gone_from: dict[str, int] = field(default_factory=dict)

    def put(self, key: str, item: ItemState) -> None:
        before = self.items.get(key)
        self.items[key] = item
        (self.open.add if item.is_open else self.open.discard)(key)
        (self.missed.add if item.is_open and item.missed else self.missed.discard)(key)
        (self.owed.add if item.owed_from else self.owed.discard)(key)
        if item.group is not None:
            self._open_in[item.group] += item.is_open - (before is not None and before.is_open)
            self._gone_from[item.group] = max(self._gone_from.get(item.group, 0), item.gone_since)

    def group_empty_for(self, group: str) -> float:
        """For how many whole answers before the present one nothing of the group was open."""
        if self._open_in[group]:
            return 0
        gone_from = self._gone_from.get(group)
        return inf if gone_from is None else self.wholes + 1 - gone_from


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
    """What a believed answer changes. `raises` is false for a baseline: it tells nobody.

    Of what opened, `silent` is no news, since its group had something open lately; `put_off` is told at the moment that
    it names. `due` was open already, and what was put off for it is told now.
    """

    opened: tuple[Item, ...] = ()
    closed: tuple[str, ...] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    seen_again: tuple[str, ...] = ()
    said_anew: tuple[Item, ...] = ()
    silent: frozenset[str] = frozenset()
    put_off: Mapping[str, datetime] = field(default_factory=dict)
    due: tuple[Item, ...] = ()
    raises: bool = True

    def __bool__(self) -> bool:
        return bool(self.opened or self.closed or self.missed or self.seen_again or self.said_anew or self.due)

    @property
    def news(self) -> tuple[Item, ...]:
        """What is told of now."""
        opened = (item for item in self.opened if item.key not in self.silent and item.key not in self.put_off)
        return (*opened, *self.due) if self.raises else ()


def item_of(answer: Answer | Held, key: str) -> Item:
    return answer.items.get(key) or Item(key)


def digest(payload: Mapping[str, Any]) -> int:
    """Tells a payload from another one, within this process."""
    return hash(msgspec.json.encode(payload, order="deterministic")) if payload else 0
