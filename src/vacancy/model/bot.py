"""What the bot knows of a chat, of an event, and of what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

LARGEST: Final = 2**63 - 1
NO_PAYLOAD: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Seat:
    """A chat that is bound to a user. `binding` tells this time from earlier ones."""

    chat_id: int
    user_id: int
    binding: int
    name: str
    locale: str
    cursor: int
    is_reading_up: bool


@dataclass(frozen=True, slots=True)
class Record:
    """A chat as the operator sees it, bound or not."""

    chat_id: int
    user_id: int
    name: str
    status: str
    reason: str | None
    cursor: int | None
    is_reading_up: bool
    bound_at: datetime
    changed_at: datetime
    passed_over: int


@dataclass(frozen=True, slots=True)
class Event:
    """Only its number is sure to be there."""

    event_id: int
    event_type: str = ""
    task_id: int | None = None
    created_at: datetime | None = None
    payload: Mapping[str, Any] = field(default_factory=lambda: NO_PAYLOAD)


@dataclass(frozen=True, slots=True)
class Garbled:
    """A member of a page whose number cannot be read. `digest` tells it from another one."""

    digest: str


@dataclass(frozen=True, slots=True)
class Page:
    """What came after a cursor, ascending. A full one may have a successor."""

    events: Sequence[Event]
    garbled: Sequence[Garbled]
    is_full: bool


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Something that the chat did not get, and will not."""

    event_id: int | None
    digest: str
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """A cursor on its way: `after` is never less than `before`."""

    seat: Seat
    before: int
    after: int
    is_read_up: bool = False
    passed_over: Sequence[PassedOver] = ()
