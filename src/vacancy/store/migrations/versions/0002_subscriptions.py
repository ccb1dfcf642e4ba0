"""Subscriptions, their audit, and the queue between events and the people who wait for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Json, Utc

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("subscription_id", _id, nullable=False),
        sa.Column("topic", sa.String(length=300), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("target_key", sa.String(length=128), nullable=True),
        sa.Column("item_key", sa.String(length=200), nullable=True),
        sa.Column("section_id", sa.Integer(), nullable=True),
        sa.Column("term_id", sa.String(length=5), nullable=True),
        sa.Column("campus_code", sa.String(length=16), nullable=True),
        sa.Column("index_number", sa.String(length=5), nullable=True),
        sa.Column("contact_type", sa.String(length=16), nullable=False),
        sa.Column("contact_value", sa.Text(), nullable=True),
        sa.Column("contact_hash", sa.String(length=64), nullable=False),
        sa.Column("locale", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("is_verified", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("updated_at", Utc(), nullable=False),
        sa.Column("last_notified_at", Utc(), nullable=True),
        sa.Column(
            "last_known_section_status", sa.String(length=8), server_default=sa.text("'Unknown'"), nullable=False
        ),
        sa.Column("since_event_id", _id, server_default=sa.text("0"), nullable=False),
        sa.Column("max_notifications", sa.Integer(), nullable=False),
        sa.Column("notified_count", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("wants_open", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("snooze_until", Utc(), nullable=True),
        sa.Column("unsubscribe_token", sa.String(length=64), nullable=False),
        sa.Column("manage_token", sa.String(length=64), nullable=False),
        sa.Column("verification_nonce", sa.String(length=64), nullable=True),
        sa.Column("metadata", Json(), nullable=False),
        sa.ForeignKeyConstraint(
            ["section_id"], ["sections.section_id"], name=op.f("fk_subscriptions_section_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("subscription_id", name=op.f("pk_subscriptions")),
        sa.UniqueConstraint("unsubscribe_token", name=op.f("uq_subscriptions_unsubscribe_token")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_subscriptions_contact", "subscriptions", ["contact_hash", "contact_type"], unique=False)
    op.create_index(
        "ix_subscriptions_status",
        "subscriptions",
        ["status", "updated_at"],
        unique=False,
        postgresql_where=sa.text("status IN ('pending', 'unsubscribed')"),
        sqlite_where=sa.text("status IN ('pending', 'unsubscribed')"),
    )
    op.create_index("ix_subscriptions_topic", "subscriptions", ["topic", "subscription_id"], unique=False)
    op.create_index(
        "ix_subscriptions_unresolved",
        "subscriptions",
        ["term_id", "campus_code", "index_number"],
        unique=False,
        postgresql_where=sa.text("section_id IS NULL AND index_number IS NOT NULL"),
        sqlite_where=sa.text("section_id IS NULL AND index_number IS NOT NULL"),
    )
    op.create_index(
        "uq_subscriptions_live",
        "subscriptions",
        ["topic", "contact_hash", "contact_type"],
        unique=True,
        postgresql_where=sa.text("status IN ('pending', 'active', 'paused')"),
        sqlite_where=sa.text("status IN ('pending', 'active', 'paused')"),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("subscription_id", _id, nullable=False),
        sa.Column("created", sa.Boolean(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscriptions.subscription_id"],
            name=op.f("fk_idempotency_keys_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("key_hash", name=op.f("pk_idempotency_keys")),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"], unique=False)
    op.create_table(
        "open_event_notifications",
        sa.Column("notification_id", _id, nullable=False),
        sa.Column("kind", sa.String(length=16), server_default=sa.text("'alert'"), nullable=False),
        sa.Column("open_event_id", _id, nullable=True),
        sa.Column("subscription_id", _id, nullable=False),
        sa.Column("dedupe_key", sa.String(length=200), nullable=False),
        sa.Column("channel", sa.String(length=16), nullable=False),
        sa.Column("contact_hash", sa.String(length=64), nullable=False),
        sa.Column("fanout_status", sa.String(length=8), server_default=sa.text("'pending'"), nullable=False),
        sa.Column("fanout_attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_attempt_at", Utc(), nullable=True),
        sa.Column("locked_by", sa.String(length=200), nullable=True),
        sa.Column("locked_at", Utc(), nullable=True),
        sa.Column("not_before", Utc(), nullable=True),
        sa.Column("provider_message_id", sa.String(length=200), nullable=True),
        sa.Column("error", Json(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["open_event_id"],
            ["open_events.open_event_id"],
            name=op.f("fk_open_event_notifications_open_event_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscriptions.subscription_id"],
            name=op.f("fk_open_event_notifications_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("notification_id", name=op.f("pk_open_event_notifications")),
        sa.UniqueConstraint(
            "open_event_id",
            "channel",
            "contact_hash",
            name=op.f("uq_open_event_notifications_open_event_id_channel_contact_hash"),
        ),
        sa.UniqueConstraint(
            "open_event_id", "subscription_id", name=op.f("uq_open_event_notifications_open_event_id_subscription_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_open_event_notifications_pending",
        "open_event_notifications",
        ["channel", "notification_id"],
        unique=False,
        postgresql_where=sa.text("fanout_status = 'pending'"),
        sqlite_where=sa.text("fanout_status = 'pending'"),
    )
    op.create_index(
        "ix_open_event_notifications_subscription", "open_event_notifications", ["subscription_id"], unique=False
    )
    op.create_table(
        "subscription_events",
        sa.Column("event_id", _id, nullable=False),
        sa.Column("subscription_id", _id, nullable=False),
        sa.Column("event_type", sa.String(length=32), nullable=False),
        sa.Column("section_status_snapshot", sa.String(length=8), nullable=True),
        sa.Column("payload", Json(), nullable=True),
        sa.Column("created_at", Utc(), nullable=False),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["subscriptions.subscription_id"],
            name=op.f("fk_subscription_events_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_subscription_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_subscription_events_subscription", "subscription_events", ["subscription_id", "event_id"], unique=False
    )
    op.add_column("open_events", sa.Column("fanout_topic", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("open_events", sa.Column("fanout_after", _id, server_default=sa.text("0"), nullable=False))

    # Nobody subscribed before there were subscriptions.
    op.execute("UPDATE open_events SET fanned_out_at = event_at")
