"""Where subscriptions are taken in tests: the real channels, a source that does as it is told."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, cast

from vacancy.channels import build
from vacancy.channels.base import Channel, Kit
from vacancy.clock import Dice, SystemClock
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import SocSettings, SubscriptionSettings
from vacancy.sources.base import Source
from vacancy.sources.soc import Soc
from vacancy.store.engine import Store
from vacancy.subscriptions.contacts import Secret
from vacancy.subscriptions.rules import Desk

SECRET = Secret(b"a key for tests")


def make_desk(source: Source | None = None, **settings: Any) -> Desk:
    """`source` answers for every name; without one, the real courses of 12025 at NB and NK do."""
    return Desk(SubscriptionSettings(**settings), SECRET, channels(), _finder(source or courses()))


@functools.cache
def channels() -> Mapping[str, Channel]:
    """All that need no key, to read contacts with; nothing is sent through them."""
    clock = SystemClock()
    client = Client(clock, user_agent="test")
    return build(Kit(Settings(), clock, Dice(1), client, cast("Store", None), SECRET.derive))


def courses() -> Source:
    settings = SocSettings(base_url="http://127.0.0.1:1", terms=("12025",), campuses=("NB", "NK"))
    return Soc(settings, Client(SystemClock(), user_agent="test"))


def _finder(source: Source) -> Callable[[str], Source | None]:
    return lambda name: source if name == source.name else None
