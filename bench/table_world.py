"""Buckets of tables: what the upstream would answer for each of them, sweep after sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vacancy.clock import SystemClock
from vacancy.model.markets import MARKETS
from vacancy.settings_sections import ResySettings
from vacancy.sources.resy import Resy
from vacancy.sources.resy_page import Page, read_page
from vacancy.sources.resy_slots import Venue, gather
from vacancy.sources.tables import Bucket, Found, read_bucket

VENUES: Final = 400
TIMES: Final = 5
MOVED: Final = 2  # venues that come and go with each sweep: 20 of 2,000 slots, 1 %
SIZES: Final = (2, 4)
PER_PAGE: Final = 100
_NIGHT: Final = 2_000  # venues in the ring: none comes back while the bench runs


def settings() -> ResySettings:
    return ResySettings(enabled=True, base_url="http://127.0.0.1:1", interval_s=0.001, jitter=0.0, party_sizes=SIZES)


def pages(key: str, turn: int) -> list[tuple[int, bytes]]:
    """For each party size the pages of one bucket; the same turn gives the same bytes."""
    bucket = read_bucket(key)
    first = turn * MOVED
    hits = [_hit(bucket, (first + nth) % _NIGHT) for nth in range(VENUES)]
    bodies = [
        msgspec.json.encode({"search": {"hits": hits[start : start + PER_PAGE], "total_pages": VENUES // PER_PAGE}})
        for start in range(0, VENUES, PER_PAGE)
    ]
    return [(size, body) for size in SIZES for body in bodies]


def _hit(bucket: Bucket, number: int) -> dict[str, object]:
    hour = bucket.hours[0]
    moments = [f"{bucket.day} {hour + nth // 4:02d}:{nth % 4 * 15:02d}:00" for nth in range(TIMES)]
    return {
        "id": {"resy": 1000 + number},
        "name": f"Restaurant number {number}",
        "neighborhood": f"Quarter {number % 20}",
        "location": {"url_slug": "new-york-ny"},
        "url_slug": f"restaurant-{number}",
        "price_range": 2,
        "rating": {"average": 4.5, "count": 100},
        "images": [f"https://image.resy.com/{number}.jpg"],
        "availability": {
            "slots": [
                {
                    "date": {"start": moment, "end": moment},
                    "config": {"id": nth, "type": "Dining Room", "token": f"rgs://resy/{number}/{nth}/{moment}"},
                }
                for nth, moment in enumerate(moments)
            ]
        },
    }


class Pages:
    """A provider that reads what the upstream would have sent, as the search does, without asking for it."""

    name = "resy"
    asks = "bench"

    def __init__(self) -> None:
        self.bodies: Sequence[tuple[int, bytes]] = ()

    async def search(self, bucket: Bucket, party_sizes: Sequence[int], *, gap_s: float) -> Found:  # noqa: ARG002
        listed: dict[int, dict[str, Venue]] = {size: {} for size in party_sizes}
        for size, body in self.bodies:
            page = read_page(body, bucket.day)
            assert isinstance(page, Page), page
            listed[size].update(page.venues)
        return Found(gather(MARKETS["nyc"], bucket, list(listed.items())), VENUES)


def resy() -> tuple[Resy, Pages]:
    provider = Pages()
    return Resy(settings(), provider, SystemClock()), provider
