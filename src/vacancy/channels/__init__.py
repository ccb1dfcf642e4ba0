"""The registry: which channels there are. One line a channel; its module is imported on use."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from vacancy.channels.base import Channel, Kit
from vacancy.settings import Settings

# Contact types of the contract. One whose line does not want to be built is refused by name.
CONTACT_TYPES: Final = ("email", "telegram", "discord", "webhook", "webpush", "apprise")


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    wanted: Callable[[Settings], bool]


CHANNELS: Final = (
    Line("email", lambda _settings: True),
    Line("telegram", lambda settings: settings.telegram.token is not None),
    Line("discord", lambda _settings: True),
    Line("webhook", lambda settings: settings.webhook.enabled),
    Line("webpush", lambda settings: settings.webpush.enabled),
    Line("apprise", lambda settings: settings.apprise.enabled),
)


def build(kit: Kit) -> Mapping[str, Channel]:
    return {line.name: _module(line.name).build(kit) for line in CHANNELS if line.wanted(kit.settings)}


def _module(name: str) -> Any:
    return importlib.import_module(f"vacancy.channels.{name}")
