"""Restaurants' tables: a target is a day and a time of day, an item a venue's slot at one time, a group the venue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha1
from typing import Final
from zoneinfo import ZoneInfo

import structlog

from vacancy.clock import Clock
from vacancy.model.availability import (
    Claim,
    Complete,
    Failed,
    Item,
    Partial,
    Policy,
    PollOutcome,
    Question,
    Unchanged,
)
from vacancy.model.events import Description
from vacancy.model.markets import MARKETS
from vacancy.model.topics import ItemName, Topic
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import ResySettings, least_interval_s
from vacancy.sources import resy_topics
from vacancy.sources.base import ReferenceSource, Source
from vacancy.sources.resy_search import ResySearch
from vacancy.sources.tables import SLOT_ID_DIGITS, Bucket, Provider, read_bucket
from vacancy.store.engine import Store, Tx

NAME: Final = "resy"
_GAP_S: Final = 0.25
_GAP_SLOWED_S: Final = 0.5
_VENUE_EMPTY_AFTER: Final = 2
_log = structlog.stdlib.get_logger(__name__)


class Resy:
    name = NAME
    budget = NAME
    detected_by = NAME

    def __init__(self, settings: ResySettings, provider: Provider, clock: Clock) -> None:
        self._settings = settings
        self._provider = provider
        self._clock = clock
        self._market = MARKETS[settings.market]
        self._zone = ZoneInfo(self._market.time_zone)
        self.policy = Policy(
            settings.interval_s,
            settings.jitter,
            settings.fetch_timeout_s,
            misses_to_close=1,
            ratio_gate=False,
            records_close=False,
            time_zone=self._market.time_zone,
            group_empty_after=_VENUE_EMPTY_AFTER,
            event_gap_s=settings.dedupe_minutes * 60,
            adaptive=True,
            least_s=least_interval_s(settings.base_url),
        )

    def questions(self) -> Sequence[Question]:
        """They move on with the days: whoever keeps them asks again as time passes."""
        first = self.today()
        days = [first + timedelta(days=ahead) for ahead in range(self._settings.window_days)]
        return [self._question(Bucket(day, at)) for day in days for at in self._settings.time_slots]

    def today(self) -> date:
        """In the market: people there book for their own day, whatever day it is here."""
        return self._clock.now().astimezone(self._zone).date()

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        gap_s = _GAP_SLOWED_S if claim.slowed else _GAP_S
        found = await self._provider.search(read_bucket(claim.key), self._settings.party_sizes, last_mark, gap_s=gap_s)
        if isinstance(found, Failed | Unchanged):
            return found
        if found.lacking:
            _log.info("the answer is partial", reason=found.lacking)
            return Partial(frozenset(found.slots), found.slots, found.venues)
        return Complete(frozenset(found.slots), found.slots, found.mark, len(found.venues), found.venues)

    def is_item_key(self, text: str) -> bool:
        return len(text) == SLOT_ID_DIGITS and set(text) <= set("0123456789abcdef")

    def known(self, tx: Tx, key: str) -> frozenset[str] | None:
        return None

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        return resy_topics.describe(tx, key, items)

    def topic(self, name: str) -> Topic:
        return resy_topics.read_topic(self._settings, self.today(), name)

    def section_of(self, tx: Tx, topic: Topic) -> int | None:
        return None

    def items_of(self, tx: Tx, topic: Topic) -> Sequence[ItemName]:
        return resy_topics.items_of(tx, topic)

    def dedupe_key(
        self, key: str, item_key: str, status_after: str, episode: int, windows: int, *, at: datetime
    ) -> str:
        return f"{key}|{item_key}|{at.astimezone(UTC):%Y-%m-%dT%H:%M}"

    def _question(self, bucket: Bucket) -> Question:
        asked = f"{self._provider.asks}|{self._settings.party_sizes}|{bucket.key}|{bucket.hours}"
        return Question(NAME, bucket.key, sha1(asked.encode(), usedforsecurity=False).hexdigest())


def build(settings: Settings, client: Client, store: Store) -> tuple[list[Source], list[ReferenceSource]]:
    """The store's clock is the engine's: the window moves on at its midnight."""
    search = ResySearch(settings.resy, client, store.clock)
    return [Resy(settings.resy, search, store.clock)], []
