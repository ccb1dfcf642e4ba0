"""A few facts about the database itself, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from vacancy.store.engine import Tx
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema import house

_RECALL: Final = PreparedSelect(select(house.c.value).where(house.c.name == bindparam("name")))


def recall(tx: Tx, name: str) -> str | None:
    return ask(tx, name)()


def ask(tx: Tx, name: str) -> Callable[[], str | None]:
    """Its answer may wait."""
    answer = tx.ask(_RECALL, {"name": name})
    return lambda: next((row[0] for row in answer()), None)


def remember(tx: Tx, name: str, value: str) -> None:
    made = sqlite_insert if tx.dialect == "sqlite" else postgres_insert
    row = made(house).values(name=name, value=value)
    tx.execute(row.on_conflict_do_update(index_elements=["name"], set_={"value": value}))


def forget(tx: Tx, name: str) -> None:
    tx.execute(delete(house).where(house.c.name == name))
