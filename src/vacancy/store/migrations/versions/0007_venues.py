"""Every venue that was ever listed, with or without a table: so that it can be found by its name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Utc

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "venues",
        sa.Column("provider", sa.String(64), nullable=False),
        sa.Column("venue_id", sa.String(200), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("search_text", sa.Text(), nullable=False),
        sa.Column("neighborhood", sa.Text(), nullable=True),
        sa.Column("image_url", sa.Text(), nullable=True),
        sa.Column("book_url", sa.Text(), nullable=True),
        sa.Column("first_seen_at", Utc(), nullable=False),
        sa.Column("updated_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("provider", "venue_id", name=op.f("pk_venues")),
    )
