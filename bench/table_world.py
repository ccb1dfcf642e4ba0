"""Buckets of tables: what the upstream would answer for each of them, sweep after sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, cast

import msgspec

from vacancy.clock import SystemClock
from vacancy.net.client import Client, Response
from vacancy.settings_sections import ResySettings
from vacancy.sources.resy import Resy
from vacancy.sources.resy_search import ResySearch
from vacancy.sources.tables import Bucket, read_bucket

VENUES: Final = 400
TIMES: Final = 5
MOVED: Final = 2  # venues that come and go with each sweep: 20 of 2,000 slots, 1 %
SIZES: Final = (2, 4)
PER_PAGE: Final = 100
_HEADERS: Final[Mapping[str, str]] = {"Content-Type": "application/json"}
_NOW: Final = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
_NIGHT: Final = 2_000  # venues in the ring: none comes back while the bench runs


def settings() -> ResySettings:
    return ResySettings(enabled=True, base_url="http://127.0.0.1:1", interval_s=0.001, jitter=0.0, party_sizes=SIZES)


def pages(key: str, turn: int, guests: int = 100) -> list[bytes]:
    """For each party size the pages of one bucket. The same turn gives the same slots; and the same bytes, unless other
    guests have rated the venues."""
    return [page for size in SIZES for page in _pages_for(read_bucket(key), turn * MOVED, size, guests)]


def _pages_for(bucket: Bucket, first: int, size: int, guests: int) -> list[bytes]:
    hits = [_hit(bucket, (first + nth) % _NIGHT, size, guests) for nth in range(VENUES)]
    return [
        msgspec.json.encode({"search": {"hits": hits[start : start + PER_PAGE], "total_pages": VENUES // PER_PAGE}})
        for start in range(0, VENUES, PER_PAGE)
    ]


def _hit(bucket: Bucket, number: int, size: int, guests: int) -> dict[str, object]:
    hour = bucket.hours[0]
    moments = [f"{bucket.day} {hour + nth // 4:02d}:{nth % 4 * 15:02d}:00" for nth in range(TIMES)]
    return {
        "id": {"resy": 1000 + number},
        "name": f"Restaurant number {number}",
        "neighborhood": f"Quarter {number % 20}",
        "location": {"url_slug": "new-york-ny"},
        "url_slug": f"restaurant-{number}",
        "price_range": 2,
        "rating": {"average": 4.5, "count": guests},
        "images": [f"https://image.resy.com/{number}.jpg"],
        "availability": {
            "slots": [
                {
                    "date": {"start": moment, "end": moment},
                    "config": {"id": nth, "type": "Dining Room", "token": f"rgs://resy/{number}/{nth}/{size}/{moment}"},
                }
                for nth, moment in enumerate(moments)
            ]
        },
    }


class Pages:
    """In place of the network: what the upstream would have sent for one bucket, in the order in which it is asked."""

    def __init__(self) -> None:
        self._bodies: Iterator[bytes] = iter(())

    def put(self, bodies: Sequence[bytes]) -> None:
        self._bodies = iter(bodies)

    async def post(self, url: str, **asked: object) -> Response:  # noqa: ARG002
        return Response(200, _HEADERS, next(self._bodies), 0.0, _NOW)


class Hasty(SystemClock):
    """Nobody waits between two pages."""

    async def sleep(self, seconds: float) -> None:
        pass


def resy() -> tuple[Resy, Pages]:
    upstream, clock, given = Pages(), Hasty(), settings()
    return Resy(given, ResySearch(given, cast("Client", upstream), clock), clock), upstream
