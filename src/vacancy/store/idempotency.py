"""`idempotency_keys`: which request came with which key, for a day."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import delete, insert, select, text

from vacancy.store.engine import Tx
from vacancy.store.schema import idempotency_keys

_c: Final = idempotency_keys.c
_ONE_OF_A_KEY: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 7310592050))")


@dataclass(frozen=True, slots=True)
class Remembered:
    request_hash: str
    subscription_id: int
    created: bool


def recall(tx: Tx, key: str) -> Remembered | None:
    """Until the commit nobody else uses this key."""
    if tx.dialect == "postgresql":
        tx.execute(_ONE_OF_A_KEY, {"key": key})
    row = tx.execute(
        select(_c.request_hash, _c.subscription_id, _c.created).where(_c.key_hash == _hash(key))
    ).one_or_none()
    return Remembered(*row) if row else None


def remember(tx: Tx, now: datetime, key: str, request_hash: str, subscription_id: int, *, created: bool) -> None:
    tx.execute(
        insert(idempotency_keys).values(
            key_hash=_hash(key), request_hash=request_hash, subscription_id=subscription_id, created=created,
            created_at=now,
        )
    )  # fmt: skip


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    old = select(_c.key_hash).where(_c.created_at < before).limit(at_most)
    return tx.execute(delete(idempotency_keys).where(_c.key_hash.in_(old))).rowcount


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
