"""What a source answers and what a target is. Pure words: no I/O, nothing of ours imported but the clock's types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

OPEN: Final = "Open"
CLOSED: Final = "Closed"
# Of the interval: between the two lies a factor of four.
HOT_FACTOR: Final = 0.5
COLD_FACTOR: Final = 2.0


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that can be open or closed, as a source described it."""

    key: str
    group: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """What items belong to, by its own name: listed also while nothing of it is open."""

    name: str
    place: str | None = None
    image_url: str | None = None
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Complete:
    """Everything that is open in the target. `items` says more of keys where the source knows more than the key.

    `mark` tells its body from any other: the bytes, or a digest of them. The next question hands it back, and the same
    body is answered with Unchanged. `listed` is how much the upstream showed at all, open or not, where it shows both:
    an answer is empty if that is nothing. `groups` are those it showed, where the source keeps them.
    """

    keys: frozenset[str]
    items: Mapping[str, Item] = field(default_factory=dict)
    mark: bytes | None = None
    listed: int | None = None
    groups: Mapping[str, Group] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.keys if self.listed is None else self.listed == 0


@dataclass(frozen=True, slots=True)
class Partial:
    """Some of what is open: it may add, it never removes."""

    keys: frozenset[str]
    items: Mapping[str, Item] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The same bytes as this process parsed last: it has the effect of that answer."""


class Trouble(StrEnum):
    """Why an attempt failed. The value is the stable code in `targets.last_error`, logs and metrics."""

    TIMEOUT = "timeout"
    NETWORK = "network"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    MISCONFIGURED = "misconfigured"  # 400 and 404: a fault of this target alone
    UNAUTHORIZED = "unauthorized"
    REFUSED = "refused"  # redirects, other 4xx, addresses we do not connect to
    UNREADABLE = "unreadable"  # not JSON, wrong type, too large, a malformed member
    IMPLAUSIBLE = "implausible"  # well-formed, but cannot be this target's answer
    INTERNAL = "internal"  # our own fault


@dataclass(frozen=True, slots=True)
class Failed:
    trouble: Trouble
    message: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """Not what is open, but what the items are: a catalogue. Its source knows how to take it in."""

    content: Any
    mark: bytes | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A reference that is believed now, and how many items it describes."""

    size: int


@dataclass(frozen=True, slots=True)
class Flips:
    """What a reference saw of the items that it describes: which changed state, and when the newest of them did."""

    opened: frozenset[str]
    closed: frozenset[str]
    observed_at: datetime


Answer = Complete | Partial
PollOutcome = Complete | Partial | Unchanged | Failed
ReferenceOutcome = Reference | Unchanged | Failed


@dataclass(frozen=True, slots=True)
class Question:
    """What a source is configured to ask: a target's key, and a hash of all that shapes the answer."""

    source: str
    key: str
    hash: str


@dataclass(frozen=True, slots=True)
class Policy:
    """How the engine treats a source. The engine knows sources by these values alone."""

    interval_s: float
    jitter: float
    fetch_timeout_s: float
    misses_to_close: int = 2
    ratio_gate: bool = True
    records_close: bool = True  # a close writes a Closed event as well as the state
    time_zone: str = "UTC"  # where its items are: quiet hours go by it
    group_empty_after: int | None = None  # only items of a group that was empty for so many whole answers raise events
    event_gap_s: float = 0  # no second event of an item within it; what opened meanwhile is raised when it ends
    adaptive: bool = False  # targets where much happens are asked sooner, quiet ones later
    least_s: float = 0  # between two polls of a target, however hot it is and whatever the dice say

    @property
    def slowest_s(self) -> float:
        """The longest that a target is left alone when nothing is wrong, jitter aside."""
        return self.interval_s * COLD_FACTOR if self.adaptive else self.interval_s


@dataclass(frozen=True, slots=True)
class Claim:
    """A target this process may ask until the lease ends. `lease_owner` is the fencing token of every later write."""

    target_id: int
    source: str
    key: str
    version: int
    known_version: int
    lease_owner: str
    trace_id: str
    believed: bool  # has a baseline
    counts: tuple[int, ...]  # sizes of the last believed answers, newest last
    last_complete_at: datetime | None
    failures: int
    last_error: Mapping[str, Any] | None
    slowed: bool  # the source's budget is reduced
    wholes: int = 0  # how many whole answers were believed so far
    last_edge_at: datetime | None = None  # when something here last opened or closed
