"""Where subscriptions are taken in tests: the real channels, a source that does as it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacancy.channels import build
from vacancy.clock import SystemClock
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import SocSettings, SubscriptionSettings
from vacancy.sources.base import Source
from vacancy.sources.soc import Soc
from vacancy.subscriptions.contacts import Secret
from vacancy.subscriptions.rules import Desk

SECRET = Secret(b"a key for tests")


def make_desk(source: Source | None = None, **settings: Any) -> Desk:
    """`source` answers for every name; without one, the real courses of 12025 at NB and NK do."""
    return Desk(SubscriptionSettings(**settings), SECRET, build(Settings()), _finder(source or courses()))


def courses() -> Source:
    settings = SocSettings(base_url="http://127.0.0.1:1", terms=("12025",), campuses=("NB", "NK"))
    return Soc(settings, Client(SystemClock(), user_agent="test"))


def _finder(source: Source) -> Callable[[str], Source | None]:
    return lambda name: source if name == source.name else None
