"""What the rules of groups go by: whole answers counted, since when an item is gone, what is owed for it. And when a
subscription ends by itself."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Utc

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_FIRST_DAYS_AFTER = {"0": (2, 1), "1": (6, 1), "7": (9, 1), "9": (1, 1)}


def upgrade() -> None:
    op.add_column("targets", sa.Column("wholes", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("targets", sa.Column("last_edge_at", Utc(), nullable=True))
    op.add_column("availability", sa.Column("gone_since", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("availability", sa.Column("told_at", Utc(), nullable=True))
    op.add_column("availability", sa.Column("owed_from", Utc(), nullable=True))
    op.add_column("subscriptions", sa.Column("ends_at", Utc(), nullable=True))
    op.create_index(
        "ix_subscriptions_ends_at",
        "subscriptions",
        ["ends_at"],
        unique=False,
        postgresql_where=sa.text("status IN ('pending', 'active', 'paused')"),
        sqlite_where=sa.text("status IN ('pending', 'active', 'paused')"),
    )
    _end_with_their_terms()


def _end_with_their_terms() -> None:
    waiting = sa.table("subscriptions", sa.column("term_id", sa.String()), sa.column("ends_at", Utc()))
    terms = op.get_bind().execute(sa.select(waiting.c.term_id).where(waiting.c.term_id.is_not(None)).distinct())
    for term in terms.scalars().all():
        month, day = _FIRST_DAYS_AFTER[term[0]]
        year = int(term[1:]) + (month == 1)
        over = datetime(year, month, day, tzinfo=UTC)
        op.execute(waiting.update().where(waiting.c.term_id == term).values(ends_at=over))
