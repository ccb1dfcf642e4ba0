"""Venues, by whoever lists them. The migrations lead here, as to the other tables."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, String, Table, Text

from vacancy.store.columns import Utc
from vacancy.store.schema_base import metadata

venues: Final = Table(
    "venues",
    metadata,
    Column("provider", String(64), primary_key=True),
    Column("venue_id", String(200), primary_key=True),
    Column("name", Text, nullable=False),
    Column("search_text", Text, nullable=False),  # the words of its name, without case and accents
    Column("neighborhood", Text),
    Column("image_url", Text),
    Column("book_url", Text),
    Column("first_seen_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),  # when what is said here last changed
)
