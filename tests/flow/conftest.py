"""What stories share: killed couriers, and people who wait for one of two sections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists
from tests.support.nursery import Nursery, open_nursery
from tests.support.scenes import Scene
from tests.support.two_sections import EIGHT, FULL, SEVEN, poll
from tests.support.waiting import People
from vacancy.store.engine import Store


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with open_nursery() as opened:
        yield opened


@pytest.fixture
def scene(database_url: str) -> Iterator[Scene]:
    made = Scene(database_url)
    yield made
    made.close()


@pytest.fixture
def source() -> Lists:
    made = Lists("12025|NB")
    made.courses = {SEVEN: "01:198:111", EIGHT: "01:198:111"}
    return made


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    """A target that was read before: 00007 and 00008 are closed."""
    made = Hand(store, clock, source)
    made.configure()
    poll(made, FULL, FULL)
    return made


@pytest.fixture
def people(store: Store, hand: Hand, source: Lists) -> People:
    return People(store, source, verify=False)
