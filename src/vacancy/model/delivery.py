"""A row of the queue on its way out: what is known of it at the moment of sending, and what is decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import msgspec

from vacancy.model.messages import Outcome
from vacancy.model.subscriptions import Preferences, read_preferences

NOT_WANTED: Final = "not_wanted"
SNOOZED: Final = "snoozed"
QUIET: Final = "quiet_hours"
# For its owner's sake: another subscription of the same contact may hear now.
RESTING: Final = (SNOOZED, QUIET)


class Due(NamedTuple):
    """A row that may go now, with its subscription as it is this moment. The order is that of the query.

    A tuple, as the rows that it is made of: a frozen dataclass of as many fields takes longer to make than to send.
    """

    notification_id: int
    kind: str
    open_event_id: int | None
    dedupe_key: str
    attempts: int
    # Whoever had it let its lock lapse. The place under the cap was taken then, and is not taken again.
    is_taken_over: bool
    payload: Mapping[str, Any] | None
    subscription_id: int
    topic: str
    source: str
    item_key: str | None
    contact_type: str
    contact_value: str | None
    contact_hash: str
    locale: str
    status: str
    is_verified: bool
    last_known_section_status: str
    max_notifications: int
    notified_count: int
    snooze_until: datetime | None
    unsubscribe_token: str
    manage_token: str
    verification_nonce: str | None
    metadata: str  # JSON, as it was written down

    @property
    def preferences(self) -> Preferences:
        return preferences_of(self.metadata, self.max_notifications, self.snooze_until)


@lru_cache(maxsize=1024)
def preferences_of(metadata: str, max_notifications: int, snooze_until: datetime | None) -> Preferences:
    """Most people want to be told in the same way: what one wrote need not be read for each."""
    return read_preferences(msgspec.json.decode(metadata), max_notifications, snooze_until)


class Truth(NamedTuple):
    """Whether what an alert tells is so, and when that was last seen."""

    source: str
    is_open: bool
    seen_at: datetime | None
    is_wanted: bool = True  # something of what is open is to its owner's taste


@dataclass(frozen=True, slots=True)
class Go:
    """Send it now."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Not yet. It counts as no attempt."""

    until: datetime
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Not at all: `skipped` for its subscription's sake, `expired` because what it tells is not so any more."""

    status: Literal["skipped", "expired"]
    code: str
    message: str


Decision = Go | Wait | Drop


class Finished(NamedTuple):
    """What became of a message that was handed to its channel."""

    due: Due
    outcome: Outcome
