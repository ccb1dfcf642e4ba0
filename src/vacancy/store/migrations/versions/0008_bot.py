"""The bot: its chats, how far each has read, and what was passed over."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Utc

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "bot_chats",
        sa.Column("chat_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=200), server_default=sa.text("''"), nullable=False),
        sa.Column("locale", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("reason", sa.String(length=200), nullable=True),
        sa.Column("binding", sa.Integer(), nullable=False),
        sa.Column("bound_at", Utc(), nullable=False),
        sa.Column("changed_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("chat_id", name=op.f("pk_bot_chats")),
    )
    op.create_table(
        "bot_cursors",
        sa.Column("chat_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cursor", sa.BigInteger(), nullable=False),
        sa.Column("is_reading_up", sa.Boolean(), nullable=False),
        sa.Column("saved_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["chat_id"], ["bot_chats.chat_id"], name=op.f("fk_bot_cursors_chat_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("chat_id", name=op.f("pk_bot_cursors")),
    )
    _passed_over()


def _passed_over() -> None:
    op.create_table(
        "bot_passed_over",
        sa.Column("number", _id, nullable=False),
        sa.Column("chat_id", sa.BigInteger(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=True),
        sa.Column("digest", sa.String(length=40), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("passed_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_bot_passed_over")),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_bot_passed_over_chat_id_digest", "bot_passed_over", ["chat_id", "digest"], unique=True)
    op.create_index("ix_bot_passed_over_passed_at", "bot_passed_over", ["passed_at"], unique=False)
