"""How somebody wants to be told. What is stored is complete; what is sent may be a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.model.subscriptions import DAY_MINUTES, OPEN_WORD, Preferences

UNSET: Final[Any] = object()
NEVER_OPEN: Final = "startMinutes and endMinutes are the same: nothing could ever be sent"


def is_never_open(start: int, end: int) -> bool:
    """A window over midnight that ends as it begins, or holds midnight alone."""
    return start == end or (start, end) == (DAY_MINUTES, 0)


def with_changes(before: Preferences, **changes: Any) -> Preferences:
    """What is UNSET stays as it was."""
    changed = replace(before, **{name: value for name, value in changes.items() if value is not UNSET})
    if is_never_open(changed.window_start, changed.window_end):
        line = f"preferences.deliveryWindow: {NEVER_OPEN}"
        raise UserError("validation_failed", line, [line])
    return changed


def shown(preferences: Preferences) -> dict[str, Any]:
    """As the contract writes them."""
    snoozed = preferences.snooze_until
    return {
        "notifyOn": list(preferences.notify_on),
        "maxNotifications": preferences.max_notifications,
        "deliveryWindow": {"startMinutes": preferences.window_start, "endMinutes": preferences.window_end},
        "snoozeUntil": iso(snoozed) if snoozed else None,
        "channelMetadata": dict(preferences.channel_metadata),
        **preferences.taste.shown(),
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
