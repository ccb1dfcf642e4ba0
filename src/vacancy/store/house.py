"""A few facts about the database itself, by name."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.store.engine import Tx
from vacancy.store.schema import house


def recall(tx: Tx, name: str) -> str | None:
    value: str | None = tx.execute(select(house.c.value).where(house.c.name == name)).scalar()
    return value


def remember(tx: Tx, name: str, value: str) -> None:
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(house).values(name=name, value=value)
    tx.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def forget(tx: Tx, name: str) -> None:
    tx.execute(delete(house).where(house.c.name == name))
