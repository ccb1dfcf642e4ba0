"""Subscriptions put straight into the table, many at a time."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import insert

from vacancy.store.engine import Tx
from vacancy.store.schema import subscriptions

_BATCH = 5000


def add_many(tx: Tx, topic: str, count: int, /, *, first: int = 0, **columns: Any) -> None:
    """Active ones, each of a contact of its own, who last heard that it is closed."""
    now = tx.now()
    about = re.sub(r"\W", "-", topic[-12:])  # a token stands in addresses
    common = {
        "topic": topic, "source": "soc", "target_key": "12025|NB", "item_key": topic.rpartition(":")[2],
        "contact_type": "email", "locale": "en-US", "status": "active", "is_verified": True, "created_at": now,
        "updated_at": now, "last_known_section_status": "Closed", "max_notifications": 3, "manage_token": "m" * 32,
        "metadata": {}, **columns,
    }  # fmt: skip
    for begin in range(first, first + count, _BATCH):
        rows = [
            {**common, "contact_value": f"{number}@example.com", "contact_hash": f"{number:064x}",
             "unsubscribe_token": f"{about}-{number}"}
            for number in range(begin, min(begin + _BATCH, first + count))
        ]  # fmt: skip
        tx.execute(insert(subscriptions), rows)
