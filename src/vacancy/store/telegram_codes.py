"""`telegram_codes`: one for each user who is about to tie a chat to himself. Of a code its keyed hash alone is kept."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.store.engine import Tx
from vacancy.store.schema_tasks import telegram_codes

_c: Final = telegram_codes.c


def is_taken(tx: Tx, code_hash: str) -> bool:
    return tx.execute(select(_c.user_id).where(_c.code_hash == code_hash)).one_or_none() is not None


def put(tx: Tx, user_id: int, code_hash: str, expires_at: datetime) -> None:
    """The user's last code ends with it."""
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(telegram_codes).values(user_id=user_id, code_hash=code_hash, expires_at=expires_at)
    given = {"code_hash": row.excluded.code_hash, "expires_at": row.excluded.expires_at}
    tx.execute(row.on_conflict_do_update(index_elements=["user_id"], set_=given))


def use(tx: Tx, now: datetime, code_hash: str) -> int | None:
    """Whose it was: once, and while it was good."""
    used = delete(telegram_codes).where(_c.code_hash == code_hash, _c.expires_at > now)
    found: int | None = tx.execute(used.returning(_c.user_id)).scalar_one_or_none()
    return found


def prune(tx: Tx, now: datetime, at_most: int) -> int:
    old = select(_c.user_id).where(_c.expires_at <= now).limit(at_most)
    return tx.execute(delete(telegram_codes).where(_c.user_id.in_(old))).rowcount
