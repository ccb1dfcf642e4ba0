from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from tests.support.clock import ManualClock
from tests.support.desks import make_desk

from vacancy.clock import Dice
from vacancy.settings import Settings
from vacancy.settings_sections import Network, SubscriptionSettings, WebSettings
from vacancy.store.engine import Store
from vacancy.web.app import create_app
from vacancy.web.context import House


def make_house(
    store: Store,
    clock: ManualClock,
    proxies: Sequence[Network] = (),
    admin_token: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **subscriptions: Any,
) -> House:
    rules = SubscriptionSettings(**subscriptions)
    token = SecretStr(admin_token) if admin_token else None
    web = WebSettings(max_streams=2, trusted_proxies=tuple(proxies), admin_token=token)
    return House(
        store,
        Settings(web=web, subscriptions=rules, **(settings or {})),
        clock,
        make_desk(**subscriptions),
        loops=lambda: {"poll": "running"},
        intervals={"soc": 15.0},
        dice=Dice(1),
    )


@pytest.fixture
def house(store: Store, clock: ManualClock) -> House:
    """On both databases."""
    return make_house(store, clock)


@pytest.fixture
def app(house: House) -> Iterator[FastAPI]:
    made = create_app(house)
    yield made
    made.state.feed.close()


@pytest.fixture
def sqlite_house(sqlite_store: Store, clock: ManualClock) -> House:
    """Where the rows do not matter."""
    return make_house(sqlite_store, clock)


@pytest.fixture
def sqlite_app(sqlite_house: House) -> Iterator[FastAPI]:
    made = create_app(sqlite_house)
    yield made
    made.state.feed.close()
