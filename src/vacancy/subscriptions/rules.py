"""What the steps need besides the request: the house's rules, its key, its sources and channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from vacancy.channels import CONTACT_TYPES
from vacancy.channels.base import Channel
from vacancy.errors import UserError
from vacancy.model.topics import Topic
from vacancy.settings_sections import SubscriptionSettings
from vacancy.sources.base import Source
from vacancy.subscriptions.contacts import Secret

# A day to confirm an address; one mail an hour that asks for it.
CONFIRM_WITHIN: Final = timedelta(hours=24)
ASK_EVERY: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where subscriptions are taken. `sources` finds one by its name, whether or not it is polled now."""

    settings: SubscriptionSettings
    secret: Secret
    channels: Mapping[str, Channel]
    sources: Callable[[str], Source | None]

    def channel(self, contact_type: str) -> Channel:
        found = self.channels.get(contact_type)
        if found is None:
            known = ", ".join(self.channels)
            what = "cannot be reached here yet" if contact_type in CONTACT_TYPES else "is no type of contact"
            line = f"contactType: {contact_type[:32]} {what}; known are {known}"
            raise UserError("channel_unavailable", line, [line])
        return found

    def source(self, name: str) -> Source:
        """Of a topic: all before its first colon, and for json its name as well."""
        parts = name.split(":", 2)
        named = ":".join(parts[:2]) if parts[0] == "json" else parts[0]
        found = self.sources(named)
        if found is None:
            line = f"topic: there is no source {named[:64]!r} here"
            raise UserError("validation_failed", line, [line])
        return found

    def topic(self, name: str) -> tuple[Source, Topic]:
        source = self.source(name)
        return source, source.topic(name)

    def must_confirm(self, channel: Channel) -> bool:
        return channel.verifies and self.settings.verify
