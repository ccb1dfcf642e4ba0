"""Who waits for what, in which state, and how they want to be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from vacancy.model.topics import Topic


class Status(StrEnum):
    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    SUPPRESSED = "suppressed"
    UNSUBSCRIBED = "unsubscribed"


LIVE: Final = (Status.PENDING, Status.ACTIVE, Status.PAUSED)
# Those who are told; a pending one once it is verified.
HEARING: Final = (Status.PENDING, Status.ACTIVE)

# Every legal move; a test draws the same table in docs/states.md.
MOVES: Final[Mapping[Status, frozenset[Status]]] = {
    Status.PENDING: frozenset({Status.ACTIVE, Status.SUPPRESSED, Status.UNSUBSCRIBED}),
    Status.ACTIVE: frozenset({Status.PAUSED, Status.SUPPRESSED, Status.UNSUBSCRIBED}),
    Status.PAUSED: frozenset({Status.ACTIVE, Status.UNSUBSCRIBED}),
    Status.SUPPRESSED: frozenset(),
    Status.UNSUBSCRIBED: frozenset(),
}

DAY_MINUTES: Final = 24 * 60
OPEN_WORD: Final = "open"


@dataclass(frozen=True, slots=True)
class Taste:
    """Which items of a wider topic are wanted, where their payload tells: at what time of day, and for how many people.
    A range whose start lies after its end goes over midnight."""

    time_range: tuple[str, str] | None = None  # HH:MM, both ends included
    party_size: int | None = None

    def __bool__(self) -> bool:
        return self.time_range is not None or self.party_size is not None

    def takes(self, payload: Mapping[str, Any]) -> bool:
        """What the payload does not tell is no reason to keep silent."""
        time, sizes = payload.get("time"), payload.get("partySizes")
        if self.time_range is not None and isinstance(time, str) and time:
            start, end = self.time_range
            if not (start <= time <= end if start <= end else time >= start or time <= end):
                return False
        return self.party_size is None or not sizes or self.party_size in sizes

    def shown(self) -> dict[str, Any]:
        """As the contract writes it: only what was asked for."""
        range_shown = {"startTime": self.time_range[0], "endTime": self.time_range[1]} if self.time_range else None
        named = {"timeRange": range_shown, "partySize": self.party_size}
        return {name: value for name, value in named.items() if value is not None}


def read_taste(kept: Mapping[str, Any]) -> Taste:
    """Of what `shown` wrote."""
    hours = kept.get("timeRange")
    return Taste((hours["startTime"], hours["endTime"]) if hours else None, kept.get("partySize"))


@dataclass(frozen=True, slots=True)
class Preferences:
    """The defaults are seed 002's. A window whose start lies after its end goes over midnight."""

    notify_on: tuple[str, ...] = (OPEN_WORD,)
    max_notifications: int = 3
    window_start: int = 0
    window_end: int = DAY_MINUTES
    snooze_until: datetime | None = None
    channel_metadata: Mapping[str, Any] = field(default_factory=dict)
    time_range: tuple[str, str] | None = None
    party_size: int | None = None

    @property
    def taste(self) -> Taste:
        return Taste(self.time_range, self.party_size)

    @property
    def window(self) -> tuple[int, int]:
        """Minutes of the day in which something may go."""
        return self.window_start, self.window_end


def read_preferences(
    metadata: Mapping[str, Any], max_notifications: int, snooze_until: datetime | None
) -> Preferences:  # fmt: skip
    """Of a row: what fan-out filters on has a column, the rest is in its metadata."""
    kept = metadata.get("preferences", {})
    window, taste = kept.get("deliveryWindow", {}), read_taste(kept)
    return Preferences(
        notify_on=tuple(kept.get("notifyOn", (OPEN_WORD,))),
        max_notifications=max_notifications,
        window_start=window.get("startMinutes", 0),
        window_end=window.get("endMinutes", DAY_MINUTES),
        snooze_until=snooze_until,
        channel_metadata=kept.get("channelMetadata", {}),
        time_range=taste.time_range,
        party_size=taste.party_size,
    )


@dataclass(frozen=True, slots=True)
class Contact:
    """A way to reach somebody, as its channel writes it down; the hash is what is compared."""

    channel: str
    value: str
    hash: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """A row. `metadata` holds what nothing filters on: preferences, the client's own context."""

    subscription_id: int
    topic: str
    source: str
    target_key: str | None
    item_key: str | None
    section_id: int | None
    term_id: str | None
    campus_code: str | None
    index_number: str | None
    contact_type: str
    contact_value: str | None
    contact_hash: str
    locale: str
    status: str
    is_verified: bool
    created_at: datetime
    updated_at: datetime
    last_notified_at: datetime | None
    last_known_section_status: str
    since_event_id: int
    ends_at: datetime | None
    max_notifications: int
    notified_count: int
    wants_open: bool
    snooze_until: datetime | None
    unsubscribe_token: str
    manage_token: str
    verification_nonce: str | None
    metadata: Mapping[str, Any]

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def waits_for(self) -> Topic:
        """As it was read when it began: a term that is not watched any more is no reason to refuse its owner."""
        return Topic(
            self.topic, self.source, self.target_key, self.item_key, self.term_id, self.campus_code, self.index_number
        )

    @property
    def preferences(self) -> Preferences:
        return read_preferences(self.metadata, self.max_notifications, self.snooze_until)
