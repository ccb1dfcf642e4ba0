"""Upkeep: retention in small bites, and a write-ahead log that stays small. It never holds the writer for long."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

import structlog

from vacancy.runner import Stop
from vacancy.settings_sections import RetentionSettings
from vacancy.store import (
    availability,
    departed,
    events,
    idempotency,
    notifications,
    outbox,
    section_status,
    subscriptions,
    task_events,
    telegram_codes,
    troubles,
)
from vacancy.store import upkeep as store_upkeep
from vacancy.store.engine import Store, Tx
from vacancy.subscriptions import chat_links
from vacancy.subscriptions.rules import CONFIRM_WITHIN

_EVERY_S: Final = 60.0
_BITE: Final = 500
# A setting that was taken out by mistake, or for a restart, is put back sooner.
_GONE_FOR_GOOD: Final = timedelta(days=1)
_log = structlog.stdlib.get_logger(__name__)


class Upkeep:
    def __init__(self, store: Store, retention: RetentionSettings) -> None:
        self._store = store
        self._retention = retention

    async def run(self, stop: Stop) -> None:
        while not stop.requested:
            await self.once(stop)
            await stop.wait(_EVERY_S)

    async def once(self, stop: Stop) -> None:
        pruned = 0
        while not stop.requested:
            gone = await self._store.write(prune, self._retention)
            pruned += gone
            if not gone:
                break
        if pruned:
            _log.info("old rows pruned", rows=pruned)
        left = await asyncio.to_thread(store_upkeep.checkpoint, self._store)
        _log.debug("checkpoint", wal_bytes=left)


def prune(tx: Tx, retention: RetentionSettings) -> int:
    """One bite of everything that is older than it is kept."""
    now = tx.now()
    old_events = now - timedelta(days=retention.events_days)
    old_items = now - timedelta(days=retention.closed_items_days)
    return (
        events.prune(tx, old_events, _BITE)
        + availability.prune_closed(tx, old_items, _BITE)
        + section_status.prune(tx, old_events, _BITE)
        + notifications.prune(tx, old_events, _BITE)
        + outbox.prune(tx, old_events, _BITE)
        + troubles.prune(tx, old_events)
        + task_events.prune(tx, old_events, _BITE)
        + telegram_codes.prune(tx, now, _BITE)
        + departed.retire(tx, now, now - _GONE_FOR_GOOD)
        + departed.prune(tx, old_items)
        + _end_subscriptions(tx, now, retention)
    )


def _end_subscriptions(tx: Tx, now: datetime, retention: RetentionSettings) -> int:
    """Those that nobody confirmed, those whose term or day is over, and what is left of those that ended long ago."""
    return (
        subscriptions.end_over(tx, now, _BITE)
        + subscriptions.end_unconfirmed(tx, now, now - CONFIRM_WITHIN, _BITE)
        + subscriptions.prune_ended(tx, now - timedelta(days=retention.subscriptions_days), _BITE)
        + idempotency.prune(tx, now - timedelta(days=1), _BITE)
        + chat_links.prune(tx, _BITE)
    )
