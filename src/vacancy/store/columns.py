"""The two column types that differ between the databases: a time, and JSON kept as the text it was written as."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import TIMESTAMP, Dialect, String, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

from vacancy.clock import iso


class Utc(TypeDecorator[datetime]):
    """ISO 8601 text on SQLite, which sorts as time because its width never changes; timestamptz on PostgreSQL."""

    impl = String(24)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(TIMESTAMP(timezone=True))
        return dialect.type_descriptor(String(24))

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        """Not process_bind_param: SQLAlchemy's own steps around it cost more, and a poll converts a thousand."""
        return None if dialect.name == "postgresql" else _iso_or_none

    def result_processor(self, dialect: Dialect, _coltype: object) -> Callable[[Any], datetime | None]:
        return _in_utc if dialect.name == "postgresql" else _read_or_none


class Json(TypeDecorator[Any]):
    """JSON as text in both databases: readers pass it on without decoding, and its bytes never change."""

    impl = Text
    cache_ok = True

    def bind_processor(self, _dialect: Dialect) -> Callable[[Any], Any]:
        return _text_or_none

    def result_processor(self, _dialect: Dialect, _coltype: object) -> Callable[[Any], Any]:
        return _decoded_or_none


def _iso_or_none(value: datetime | None) -> str | None:
    return None if value is None else iso(value)


def _in_utc(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)


def _read_or_none(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value)


def _decoded_or_none(value: str | None) -> Any:
    return None if value is None else msgspec.json.decode(value)


def _text_or_none(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
