"""A few facts about the database itself, by name."""

from __future__ import annotations

from sqlalchemy import delete, insert, select, update

from vacancy.store.engine import Tx
from vacancy.store.schema import house


def recall(tx: Tx, name: str) -> str | None:
    value: str | None = tx.execute(select(house.c.value).where(house.c.name == name)).scalar()
    return value


def remember(tx: Tx, name: str, value: str) -> None:
    if not tx.execute(update(house).where(house.c.name == name).values(value=value)).rowcount:
        tx.execute(insert(house).values(name=name, value=value))


def forget(tx: Tx, name: str) -> None:
    tx.execute(delete(house).where(house.c.name == name))
