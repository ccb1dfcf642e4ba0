"""What an event says beyond the edge itself, written down when the edge is seen so that no later join is stale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Description:
    """One item in the words of its source. The address columns are the ones that seed 000 names; others leave them."""

    topics: tuple[str, ...]
    payload: Mapping[str, Any] = field(default_factory=dict)
    section_id: int | None = None
    term_id: str | None = None
    campus_code: str | None = None
    index_number: str | None = None
