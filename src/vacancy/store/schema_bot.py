"""The tables of the bot: its chats, how far each has read, and what was passed over."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, text

from vacancy.store.columns import Utc
from vacancy.store.schema_base import metadata
from vacancy.store.schema_base import number as _id

bot_chats = Table(
    "bot_chats",
    metadata,
    Column("chat_id", BigInteger, primary_key=True, autoincrement=False),
    Column("user_id", BigInteger, nullable=False),
    Column("name", String(200), nullable=False, server_default=text("''")),
    Column("locale", String(16), nullable=False),
    Column("status", String(8), nullable=False),  # bound or unbound
    Column("reason", String(200)),
    # Grows with each binding of the chat: whoever still holds an older one must not write any more.
    Column("binding", Integer, nullable=False),
    Column("bound_at", Utc, nullable=False),
    Column("changed_at", Utc, nullable=False),
)

bot_cursors = Table(
    "bot_cursors",
    metadata,
    Column(
        "chat_id",
        BigInteger,
        ForeignKey("bot_chats.chat_id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("cursor", BigInteger, nullable=False),
    # What was there before the chat was bound is read to its end, and not told.
    Column("is_reading_up", Boolean, nullable=False),
    Column("saved_at", Utc, nullable=False),
)

bot_passed_over = Table(
    "bot_passed_over",
    metadata,
    Column("number", _id, primary_key=True),
    Column("chat_id", BigInteger, nullable=False),
    Column("user_id", BigInteger, nullable=False),
    Column("event_id", BigInteger),  # null where it could not be read
    Column("digest", String(40), nullable=False),
    Column("reason", Text, nullable=False),
    Column("passed_at", Utc, nullable=False),
    # The same one again is the same line.
    Index("uq_bot_passed_over_chat_id_digest", "chat_id", "digest", unique=True),
    Index("ix_bot_passed_over_passed_at", "passed_at"),
    sqlite_autoincrement=True,
)
