"""What somebody waits for: one item, or a wider thing that many items belong to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Topic:
    """`name` is what events carry. `item_key` is set for a topic of one item; the address is that of seed 002."""

    name: str
    source: str
    target_key: str | None = None
    item_key: str | None = None
    term_id: str | None = None
    campus_code: str | None = None
    index_number: str | None = None
    link: str | None = None  # where to go when it is open
    ends_at: datetime | None = None  # from when on nothing of it can open any more


@dataclass(frozen=True, slots=True)
class ItemName:
    """One item of one target."""

    target_key: str
    item_key: str
