"""Resy's search for tables: one question for each party size and page, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from vacancy.clock import Clock
from vacancy.model.availability import Failed, Trouble, Unchanged
from vacancy.model.markets import MARKETS
from vacancy.net.client import Client, Reach
from vacancy.settings_sections import ResySettings
from vacancy.sources.resy_page import Reader
from vacancy.sources.resy_pile import Pile, read_mark, write_mark
from vacancy.sources.resy_slots import PROVIDER, Shelf, Venue
from vacancy.sources.tables import Bucket, Found
from vacancy.sources.upstream import post

_MAX_BYTES: Final = 8 * 1024 * 1024
# What a page is read into; a change of it is a changed question.
_NORMALISER: Final = 1
_SITE: Final = "https://resy.com"
# They concern all that we ask, not one page: the engine has to know, however much was read before.
_OF_THE_WHOLE: Final = (Trouble.UNAUTHORIZED, Trouble.RATE_LIMITED)


class ResySearch:
    name = PROVIDER

    def __init__(self, settings: ResySettings, client: Client, clock: Clock) -> None:
        self._settings = settings
        self._client = client
        self._clock = clock
        self._market = MARKETS[settings.market]
        self._box = settings.bounding_box or self._market.box
        self._url = f"{settings.base_url}/3/venuesearch/search"
        self._headers, self._secrets = _credentials(settings)
        self._memories: dict[str, _Memory] = {}
        self.asks = f"{_NORMALISER}|{self._url}|{self._market.name}|{self._box}"

    async def search(
        self, bucket: Bucket, party_sizes: Sequence[int], last_mark: bytes | None, *, gap_s: float
    ) -> Found | Unchanged | Failed:
        turn = _Turn(self._clock, self._settings.fetch_timeout_s, gap_s)
        memory = self._memory_of(bucket)
        reader = Reader(bucket.day, memory.hits)
        known = read_mark(last_mark)
        piles = {size: Pile(reader, self._settings.per_page, known.get(size, ())) for size in party_sizes}
        failures: list[Failed] = []
        for size, pile in piles.items():
            failed = await self._fill(pile, turn, bucket, size)
            if failed and failed.trouble in _OF_THE_WHOLE:
                return failed
            failures += [failed] if failed else []
        if all(pile.is_as_before for pile in piles.values()):
            return Unchanged()
        return _found(piles, memory, reader) or failures[0]

    async def _fill(self, pile: Pile, turn: _Turn, bucket: Bucket, size: int) -> Failed | None:
        for number in range(1, self._settings.max_pages + 1):
            body = await self._page(turn, bucket, size, number)
            failed = body if isinstance(body, Failed) else pile.add(body)
            if failed:
                pile.lack(f"page {number}: {failed.message}")
                return failed
            if pile.is_over:
                return None
        pile.lack(f"there are more than the {self._settings.max_pages} pages that resy.max_pages allows")
        return None

    def _memory_of(self, bucket: Bucket) -> _Memory:
        """Of as many buckets as there are at one time: days go by."""
        memory = self._memories.pop(bucket.key, None) or _Memory(Shelf(self._market, bucket))
        self._memories[bucket.key] = memory
        while len(self._memories) > self._settings.window_days * len(self._settings.time_slots):
            del self._memories[next(iter(self._memories))]
        return memory

    async def _page(self, turn: _Turn, bucket: Bucket, size: int, number: int) -> bytes | Failed:
        left_s = await turn.next()
        if left_s <= 0:
            return Failed(Trouble.TIMEOUT, f"not asked: the poll took {self._settings.fetch_timeout_s:g} s already")
        answer = await post(
            self._client,
            self._url,
            reach=Reach.UPSTREAM,
            timeout_s=left_s,
            max_bytes=_MAX_BYTES,
            body=self._question(bucket, size, number),
            headers=self._headers,
            secrets=self._secrets,
        )
        if isinstance(answer, Failed):
            return _with_advice(answer)
        return answer.body

    def _question(self, bucket: Bucket, size: int, number: int) -> bytes:
        """No hour is asked for: the day comes whole, and the bucket takes its own part of it."""
        asked: dict[str, Any] = {
            "availability": True,
            "page": number,
            "per_page": self._settings.per_page,
            "slot_filter": {"day": bucket.day.isoformat(), "party_size": size},
            "types": ["venue"],
            "order_by": "availability",
            "geo": {"bounding_box": self._box},
            "query": "",
        }
        return msgspec.json.encode(asked)


@dataclass(slots=True)
class _Memory:
    """What the last poll of a bucket read, so that this one need not read it again."""

    shelf: Shelf
    hits: Mapping[int, Venue] = field(default_factory=dict)


def _found(piles: Mapping[int, Pile], memory: _Memory, reader: Reader) -> Found | None:
    """None if nothing could be read at all."""
    listings = {size: pile.listing() for size, pile in piles.items()}
    read = [(size, listing.venues) for size, listing in listings.items() if listing.pages]
    if not read:
        return None
    reasons = (f"for {size}: {listing.lacking}" for size, listing in listings.items() if listing.lacking)
    memory.hits = reader.hits
    shelf = memory.shelf
    return Found(shelf.gather(read), shelf.groups(read), write_mark(piles), next(reasons, None))


class _Turn:
    """One poll's time: all of its requests share it, and leave a gap between them."""

    def __init__(self, clock: Clock, seconds: float, gap_s: float) -> None:
        self._clock = clock
        self._gap_s = gap_s
        self._ends_at = clock.monotonic() + seconds
        self._begun = False

    async def next(self) -> float:
        """Seconds that are left for the next request, once its gap is over."""
        if self._begun and self._left() > 0:
            await self._clock.sleep(min(self._gap_s, self._left()))
        self._begun = True
        return self._left()

    def _left(self) -> float:
        return round(self._ends_at - self._clock.monotonic(), 3)


def _credentials(settings: ResySettings) -> tuple[Mapping[str, str], Sequence[str]]:
    """Both are missing for an upstream on this machine only: the settings see to that."""
    headers = {"Origin": _SITE, "Referer": f"{_SITE}/"}
    secrets = []
    if settings.api_key:
        secrets.append(settings.api_key.get_secret_value())
        headers["Authorization"] = f'ResyAPI api_key="{secrets[-1]}"'
    if settings.auth_token:
        secrets.append(settings.auth_token.get_secret_value())
        headers["x-resy-auth-token"] = secrets[-1]
    return headers, secrets


def _with_advice(failed: Failed) -> Failed:
    if failed.trouble is not Trouble.UNAUTHORIZED:
        return failed
    advice = f"the key or the token is not accepted: renew resy.api_key and resy.auth_token ({failed.message})"
    return Failed(failed.trouble, advice, failed.retry_after_s)
