"""Tables, whoever lists them: what a provider is asked and what it answers, in words that are no provider's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Final, Protocol

from vacancy.model.availability import Failed, Group, Item, Unchanged

SLOT_ID_DIGITS: Final = 32


@dataclass(frozen=True, slots=True)
class Bucket:
    """One day and one time of day: what is polled."""

    day: date
    time_slot: str  # HH:MM

    @property
    def key(self) -> str:
        return f"{self.day.isoformat()}_{self.time_slot}"

    @property
    def hours(self) -> tuple[int, int]:
        """The hour of its time slot and those before and after, whole, within the day."""
        hour = int(self.time_slot[:2])
        return max(hour - 1, 0), min(hour + 1, 23)

    @property
    def span(self) -> tuple[str, str]:
        """Its first and last moment. A slot may lie in two buckets: its id is the same in both."""
        first, last = self.hours
        return f"{self.day.isoformat()} {first:02d}:00:00", f"{self.day.isoformat()} {last:02d}:59:59"


def read_bucket(key: str) -> Bucket:
    day, _, time_slot = key.partition("_")
    return Bucket(date.fromisoformat(day), time_slot)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search showed: slots by their ids, each a venue at a time. For how many people is said in the payload and
    never in the id. `venues` are all that are listed, whether or not a table is free there."""

    slots: Mapping[str, Item]
    venues: Mapping[str, Group]
    mark: bytes | None = None  # of its bytes
    lacking: str | None = None  # why this may not be all


class Provider(Protocol):
    """Somebody who lists tables. `asks` is all that shapes an answer beside the bucket and the party sizes."""

    name: str
    asks: str

    async def search(
        self, bucket: Bucket, party_sizes: Sequence[int], last_mark: bytes | None, *, gap_s: float
    ) -> Found | Unchanged | Failed:
        """All that is free in the bucket, with a gap between two requests; Unchanged for the bytes that `last_mark` is
        of. Nothing is raised."""


def slot_id(provider: str, venue_id: str, moment: str) -> str:
    """`moment` is written YYYY-MM-DD HH:MM:SS, whatever the provider writes: another spelling is no other slot."""
    return sha256(f"{provider}|{venue_id}|{moment}".encode()).hexdigest()[:SLOT_ID_DIGITS]
