"""`outbox`: the mails of a house without a mail server, kept for its owner to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.store.engine import Tx
from vacancy.store.schema import outbox

_c: Final = outbox.c


@dataclass(frozen=True, slots=True)
class Mail:
    message_id: str
    to_address: str
    subject: str
    text: str
    html: str
    locale: str
    template_id: str
    trace_id: str
    notification_id: int | None


@dataclass(frozen=True, slots=True)
class Kept:
    outbox_id: int
    created_at: datetime
    mail: Mail


_KEPT: Final = select(
    _c.outbox_id, _c.created_at, _c.message_id, _c.to_address, _c.subject, _c.text, _c.html, _c.locale,
    _c.template_id, _c.trace_id, _c.notification_id,
)  # fmt: skip


def add(tx: Tx, now: datetime, mail: Mail) -> bool:
    """False: a mail of that Message-ID is there already, and stays as it is."""
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(outbox).values(**asdict(mail), created_at=now).on_conflict_do_nothing(index_elements=["message_id"])
    return tx.execute(row.returning(_c.outbox_id)).one_or_none() is not None


def latest(tx: Tx, limit: int, before: int | None = None) -> Sequence[Kept]:
    """Newest first; `before` is the number that the last page ended with."""
    query = _KEPT if before is None else _KEPT.where(_c.outbox_id < before)
    rows = tx.execute(query.order_by(_c.outbox_id.desc()).limit(limit))
    return [Kept(row[0], row[1], Mail(*row[2:])) for row in rows]


def find(tx: Tx, outbox_id: int) -> Kept | None:
    row = tx.execute(_KEPT.where(_c.outbox_id == outbox_id)).one_or_none()
    return None if row is None else Kept(row[0], row[1], Mail(*row[2:]))


def count_to(tx: Tx, address: str) -> int:
    return int(tx.execute(select(func.count()).where(_c.to_address == address)).scalar_one())


def erase_to(tx: Tx, address: str) -> None:
    tx.execute(delete(outbox).where(_c.to_address == address))


def find_sent(tx: Tx, message_id: str) -> int | None:
    """Its number, by what the queue keeps of it."""
    number: int | None = tx.execute(select(_c.outbox_id).where(_c.message_id == message_id)).scalar()
    return number


def prune(tx: Tx, before: datetime, at_most: int) -> int:
    old = select(_c.outbox_id).where(_c.created_at < before).limit(at_most)
    return tx.execute(delete(outbox).where(_c.outbox_id.in_(old))).rowcount
