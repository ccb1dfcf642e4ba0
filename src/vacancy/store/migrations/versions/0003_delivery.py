"""What delivery needs: notices with words of their own, an index for what may go now, troubles, links of chats."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Json, Utc

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_QUEUE = "open_event_notifications"
_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column(_QUEUE, sa.Column("payload", Json(), nullable=True))
    op.drop_index("ix_open_event_notifications_pending", _QUEUE)
    op.create_index(
        "ix_open_event_notifications_pending",
        _QUEUE,
        ["channel", "not_before", "notification_id"],
        unique=False,
        postgresql_where=sa.text("fanout_status = 'pending'"),
        sqlite_where=sa.text("fanout_status = 'pending'"),
    )
    op.create_index(
        "ix_open_event_notifications_failed",
        _QUEUE,
        ["notification_id"],
        unique=False,
        postgresql_where=sa.text("fanout_status = 'failed'"),
        sqlite_where=sa.text("fanout_status = 'failed'"),
    )
    op.create_index(
        "ix_open_events_members",
        "open_events",
        ["lead_event_id"],
        unique=False,
        postgresql_where=sa.text("lead_event_id <> open_event_id"),
        sqlite_where=sa.text("lead_event_id <> open_event_id"),
    )
    op.create_table(
        "troubles",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", Utc(), nullable=False),
        sa.Column("over_at", Utc(), nullable=True),
        sa.Column("told", Json(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("try_after", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_troubles")),
    )
    op.create_table(
        "chat_links",
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("wish", Json(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("used_at", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_chat_links")),
    )
    op.create_index("ix_chat_links_created_at", "chat_links", ["created_at"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("outbox_id", _id, nullable=False),
        sa.Column("message_id", sa.String(length=200), nullable=False),
        sa.Column("to_address", sa.String(length=320), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("locale", sa.String(length=16), nullable=False),
        sa.Column("template_id", sa.String(length=64), nullable=False),
        sa.Column("trace_id", sa.String(length=64), nullable=False),
        sa.Column("notification_id", _id, nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("outbox_id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("message_id", name=op.f("uq_outbox_message_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_created_at", "outbox", ["created_at"], unique=False)
