"""What tests of killed couriers share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.nursery import Nursery, open_nursery
from tests.support.scenes import Scene


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with open_nursery() as opened:
        yield opened


@pytest.fixture
def scene(database_url: str) -> Iterator[Scene]:
    made = Scene(database_url)
    yield made
    made.close()
