"""What all tables are made with."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Integer, MetaData, Table, text

metadata: Final = MetaData(
    naming_convention={"ix": "ix_%(column_0_N_label)s", "uq": "uq_%(table_name)s_%(column_0_N_name)s",
                       "fk": "fk_%(table_name)s_%(column_0_N_name)s", "pk": "pk_%(table_name)s"}
)  # fmt: skip

# SQLite numbers rows by itself only where the type reads INTEGER.
number: Final = BigInteger().with_variant(Integer(), "sqlite")


def where(condition: str) -> dict[str, Any]:
    """Of an index over some of the rows: both databases are told the same."""
    return {f"{dialect}_where": text(condition) for dialect in ("postgresql", "sqlite")}


def numbered(name: str, *items: Any) -> Table:
    # AUTOINCREMENT: a number is never used again, not even after everything was pruned.
    return Table(name, metadata, *items, sqlite_autoincrement=True)
