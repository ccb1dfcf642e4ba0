"""A database that is ready to be polled, and the catalogue bodies that go into it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from vacancy.clock import SystemClock
from vacancy.model.availability import Claim
from vacancy.model.catalogue import CatalogueAnswer, Refused
from vacancy.net.client import Client
from vacancy.pipeline import pace
from vacancy.settings_sections import SocSettings
from vacancy.simulator.catalogue import generate
from vacancy.sources.base import Asked
from vacancy.sources.soc import Soc
from vacancy.sources.soc_catalogue import Reading
from vacancy.sources.soc_courses import RULES
from vacancy.sources.soc_split import pieces
from vacancy.store import catalogue, migrate, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.targets import Limits

TERM: Final = "12025"
CAMPUSES: Final = ("NB", "NK", "CM")
# The next poll is due a millisecond after the last: the bench decides when to claim.
AT_ONCE_S: Final = 0.001
_LIMITS: Final = Limits(pace.IN_FLIGHT, pace.IN_FLIGHT_SLOWED, 1, 20.0, pace.longest_delay_s([]))


def catalogue_body(campus: str, scale: float = 1.0) -> tuple[bytes, tuple[str, ...]]:
    """What the upstream would send, and the indexes in it."""
    made = generate(1, TERM, campus, scale)
    return msgspec.json.encode(made.courses), made.indexes


def new_store(path: Path) -> Store:
    store = Store(f"sqlite:///{path}", SystemClock())
    migrate.upgrade(store)
    return store


def load_catalogue(store: Store, campus: str, body: bytes) -> None:
    reading, members = Reading(frozenset()), pieces(body)
    while reading.take_next(members):
        pass
    digest = hashlib.sha256(body).digest()
    answer = CatalogueAnswer(
        TERM, campus, reading.courses(), frozenset(), None, digest.hex(), RULES, datetime.now(UTC), digest
    )
    swap = store.write_now(catalogue.swap, store.clock.now(), answer)
    assert not isinstance(swap, Refused), swap


def soc(base_url: str = "http://127.0.0.1:1", campuses: Sequence[str] = ("NB",)) -> tuple[Soc, Client]:
    settings = SocSettings(base_url=base_url, terms=(TERM,), campuses=tuple(campuses), interval_s=AT_ONCE_S, jitter=0.0)
    client = Client(SystemClock(), user_agent="vacancy-bench")
    return Soc(settings, client), client


def configure(store: Store, source: Asked) -> None:
    store.write_now(lambda tx: targets.configure(tx, tx.now(), source.budget, source.name, source.questions()))


class Claims:
    """Claims one target after another, as the poller does."""

    def __init__(self, store: Store, source: Asked) -> None:
        self._store = store
        self._source = source
        self._turn = 0

    def next(self) -> Claim:
        for _ in range(1000):
            self._turn += 1
            claims = self._store.write_now(self._claim)
            if claims:
                return claims[0]
            time.sleep(0.001)
        raise RuntimeError("the target is never due")

    def _claim(self, tx: Tx) -> tuple[Claim, ...]:
        token = (f"bench#{self._turn}", f"{self._turn:032x}")
        leases = {self._source.name: 20.0}
        return targets.claim(tx, tx.now(), self._source.budget, _LIMITS, leases, lambda: token).claims
