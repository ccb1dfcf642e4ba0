"""How somebody wants to be told. What is stored is complete; what is sent may be a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from vacancy.clock import iso
from vacancy.model.subscriptions import OPEN_WORD, Preferences

UNSET: Final[Any] = object()


def with_changes(before: Preferences, **changes: Any) -> Preferences:
    """What is UNSET stays as it was."""
    return replace(before, **{name: value for name, value in changes.items() if value is not UNSET})


def shown(preferences: Preferences) -> dict[str, Any]:
    """As the contract writes them."""
    snoozed = preferences.snooze_until
    return {
        "notifyOn": list(preferences.notify_on),
        "maxNotifications": preferences.max_notifications,
        "deliveryWindow": {"startMinutes": preferences.window_start, "endMinutes": preferences.window_end},
        "snoozeUntil": iso(snoozed) if snoozed else None,
        "channelMetadata": dict(preferences.channel_metadata),
    }


def columns(preferences: Preferences) -> dict[str, Any]:
    """What fan-out filters on has a column of its own."""
    return {
        "max_notifications": preferences.max_notifications,
        "wants_open": OPEN_WORD in preferences.notify_on,
        "snooze_until": preferences.snooze_until,
    }


def kept(metadata: Mapping[str, Any], preferences: Preferences) -> dict[str, Any]:
    return {**metadata, "preferences": shown(preferences)}


def running_snooze(preferences: Preferences, now: datetime) -> bool:
    return preferences.snooze_until is not None and preferences.snooze_until > now
