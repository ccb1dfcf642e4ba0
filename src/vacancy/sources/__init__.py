"""The registry: which sources the settings ask for. One line a source; its module is imported on use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.sources.base import ReferenceSource, Source
from vacancy.store.engine import Store


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    wanted: Callable[[Settings], bool]
    module: str


SOURCES: Final = (
    Line("soc", lambda settings: settings.soc.enabled and bool(settings.soc.terms), "soc"),
    Line("resy", lambda settings: settings.resy.enabled, "resy"),
    Line("json", lambda settings: bool(settings.json_endpoints), "json_endpoint"),
)


def anything_wanted(settings: Settings) -> bool:
    """Whether the settings name anything to poll at all."""
    return any(line.wanted(settings) for line in SOURCES)


def by_name(name: str, settings: Settings, client: Client, store: Store) -> Source | None:
    """A source for an operator's hand: also one that is not polled now, for its targets are still there."""
    for line in SOURCES:
        if line.name == name.partition(":")[0]:
            made: Sequence[Source] = _module(line).build(settings, client, store)[0]
            return next((source for source in made if source.name == name), None)
    return None


def build(settings: Settings, client: Client, store: Store) -> tuple[Sequence[Source], Sequence[ReferenceSource]]:
    """The sources of openings, and those of what the items are."""
    lists: list[Source] = []
    references: list[ReferenceSource] = []
    for line in SOURCES:
        if line.wanted(settings):
            made = _module(line).build(settings, client, store)
            lists += made[0]
            references += made[1]
    return lists, references


def _module(line: Line) -> Any:
    return importlib.import_module(f"vacancy.sources.{line.module}")
