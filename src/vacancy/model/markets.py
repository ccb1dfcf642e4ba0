"""The cities whose tables can be watched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

Box = tuple[float, float, float, float]  # south, west, north, east


@dataclass(frozen=True, slots=True)
class Market:
    """`city` is its name in addresses of pages. Days begin, and quiet hours go, by its time zone."""

    name: str
    city: str
    time_zone: str
    box: Box


MARKETS: Final[Mapping[str, Market]] = MappingProxyType(
    {
        market.name: market
        for market in (
            Market("nyc", "new-york-ny", "America/New_York", (40.691, -74.030, 40.882, -73.910)),
            Market("miami", "miami-fl", "America/New_York", (25.709, -80.320, 25.874, -80.118)),
            Market("chicago", "chicago-il", "America/Chicago", (41.840, -87.720, 41.970, -87.590)),
            Market("la", "los-angeles-ca", "America/Los_Angeles", (33.980, -118.500, 34.120, -118.200)),
        )
    }
)
