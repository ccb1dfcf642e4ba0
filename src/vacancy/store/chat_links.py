"""`chat_links`: wishes that wait for a chat. Of a code its hash alone is kept: whoever reads the table claims none."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, insert, select, update

from vacancy.store.engine import Tx
from vacancy.store.schema import chat_links

_c: Final = chat_links.c


@dataclass(frozen=True, slots=True)
class ChatLink:
    """`wish` is what was asked for; once it is used, what became of it."""

    wish: Mapping[str, Any]
    created_at: datetime
    used_at: datetime | None


def add(tx: Tx, now: datetime, code: str, wish: Mapping[str, Any]) -> None:
    tx.execute(insert(chat_links).values(code_hash=_hash(code), wish=wish, created_at=now))


def find(tx: Tx, code: str) -> ChatLink | None:
    """On PostgreSQL it stays ours until the commit."""
    row = tx.execute(
        select(_c.wish, _c.created_at, _c.used_at).where(_c.code_hash == _hash(code)).with_for_update()
    ).one_or_none()
    return ChatLink(*row) if row else None


def use(tx: Tx, now: datetime, code: str, became: Mapping[str, Any]) -> bool:
    """Once; False if somebody else was first."""
    used = tx.execute(
        update(chat_links)
        .where(_c.code_hash == _hash(code), _c.used_at.is_(None))
        .values(used_at=now, wish=became)
    )  # fmt: skip
    return used.rowcount == 1


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    old = select(_c.code_hash).where(_c.created_at < before).order_by(_c.created_at).limit(at_most)
    return tx.execute(delete(chat_links).where(_c.code_hash.in_(old))).rowcount


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
