"""The registry: which channels there are. One line a channel; its module is imported on use."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vacancy.channels.base import Channel
from vacancy.settings import Settings

# Contact types of the contract. One without a line below is refused by name until its channel exists.
CONTACT_TYPES: Final = ("email", "telegram", "discord", "webhook", "webpush")


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    module: str


CHANNELS: Final = (Line("email", "email"),)


def build(settings: Settings) -> Mapping[str, Channel]:
    return {line.name: importlib.import_module(f"vacancy.channels.{line.module}").build(settings) for line in CHANNELS}
