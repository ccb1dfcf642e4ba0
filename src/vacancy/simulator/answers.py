"""An answer on its way out: what it says, and the manner in which it reaches the client, or does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import msgspec

from vacancy.simulator.world import World

JSON_TYPE: Final = "application/json"
HTML_TYPE: Final = "text/html"
OPEN_SECTIONS: Final = "openSections"
COURSES: Final = "courses"
ENDPOINTS: Final = (OPEN_SECTIONS, COURSES)


class Manner(Enum):
    WHOLE = "whole"
    RESET = "reset"
    HANG = "hang"
    MIDWAY = "midway"
    DRIP = "drip"
    FLOOD = "flood"


@dataclass(slots=True)
class Answer:
    body: bytes
    status: int = 200
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner = Manner.WHOLE
    delay: float = 0.0
    pieces: int = 1
    piece_delay: float = 0.0
    flood_bytes: int = 0

    def members(self) -> list[Any]:
        """The JSON array as it stands; what an earlier fault made unreadable counts as empty."""
        try:
            decoded = msgspec.json.decode(self.body)
        except msgspec.DecodeError:
            return []
        return decoded if isinstance(decoded, list) else []

    def say(self, value: object) -> None:
        self.body = msgspec.json.encode(value)


@dataclass(frozen=True, slots=True)
class Scene:
    """What was asked for, for faults that need to know."""

    endpoint: str
    world: World
    other_world: Callable[[str | None], World]

    def body_of(self, world: World) -> bytes:
        return world.list_body() if self.endpoint == OPEN_SECTIONS else world.catalogue_body()
