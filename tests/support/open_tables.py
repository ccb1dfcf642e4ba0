"""Tables that open and close by hand, through the engine, for tests of whoever reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists
from vacancy.model.availability import Answer, Claim, Complete, Failed, Item, Policy
from vacancy.model.events import Description
from vacancy.sources import resy_topics
from vacancy.sources.tables import slot_id
from vacancy.store import targets
from vacancy.store.engine import Store, Tx

DAY: Final = "2026-01-06"
KEY: Final = f"{DAY}_20:30"
OTHER_DAY: Final = "2026-01-07"
OTHER_KEY: Final = f"{OTHER_DAY}_20:30"
LATER_KEY: Final = f"{DAY}_21:30"
_POLICY: Final = Policy(
    interval_s=30, jitter=0, fetch_timeout_s=15, misses_to_close=1, ratio_gate=False, records_close=False,
    group_empty_after=2, event_gap_s=1800, time_zone="America/New_York",
)  # fmt: skip


class Buckets(Lists):
    name = "resy"
    budget = "resy"
    detected_by = "resy"

    def __init__(self, *keys: str) -> None:
        super().__init__(*keys)
        self.policy = _POLICY

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        return resy_topics.describe(tx, key, items)

    def dedupe_key(
        self, key: str, item_key: str, status_after: str, episode: int, windows: int, *, at: datetime
    ) -> str:
        return f"{key}|{item_key}|{at.astimezone(UTC):%Y-%m-%dT%H:%M}"


def table(venue: str, at: str, day: str = DAY, sizes: Sequence[int] = (2, 4), **facts: Any) -> Item:
    payload = {
        "provider": "resy", "venueId": venue, "venueName": venue.title(), "date": day, "time": at,
        "partySizes": list(sizes), "neighborhood": "Park Row", "bookUrl": f"https://resy.com/{venue}?seats={sizes[0]}",
        "imageUrl": f"https://images.example/{venue}.jpg", **facts,
    }  # fmt: skip
    return Item(slot_id("resy", venue, f"{day} {at}:00"), venue, payload)


def answer(*tables: Item) -> Complete:
    return Complete(frozenset(item.key for item in tables), {item.key: item for item in tables}, listed=40)


class Maitre:
    """Answers for every bucket: `now` replaces what is free in some of them, and asks about each of those once.

    All begin with a baseline of nothing.
    """

    def __init__(self, store: Store, clock: ManualClock, *keys: str) -> None:
        self.store, self.clock, self.source = store, clock, Buckets(*keys)
        self._hands = {key: Hand(store, clock, self.source, key) for key in keys}
        self.configure()
        for _ in range(3):
            self.now({key: [] for key in keys})

    def configure(self) -> None:
        first = Hand(self.store, self.clock, self.source)
        first.configure()

    def now(self, free: Mapping[str, Sequence[Item]], passes_s: float = 31) -> None:
        self._settle({key: answer(*tables) for key, tables in free.items()})
        self.clock.pass_time(passes_s)

    def hears(self, key: str, answered: Answer | Failed) -> None:
        self._settle({key: answered})

    def _settle(self, answers: Mapping[str, Answer | Failed]) -> None:
        claims = self._claim_all()
        assert set(answers) <= set(claims)
        for key, claim in claims.items():
            if key in answers:
                self._hands[key].settle(claim, answers[key])
            else:
                self.store.write_now(targets.hand_back, self.clock.now(), claim, 0)

    def _claim_all(self) -> dict[str, Claim]:
        self.store.write_now(lambda tx: targets.want_all_now(tx, tx.now(), [self.source.name]))
        claims = {}
        while claim := self._hands[self.source.keys[0]].claim():
            claims[claim.key] = claim
        return claims
