"""What the rules of groups go by: whole answers counted, since when an item is gone, what is owed for it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Utc

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("targets", sa.Column("wholes", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("targets", sa.Column("last_edge_at", Utc(), nullable=True))
    op.add_column("availability", sa.Column("gone_since", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("availability", sa.Column("told_at", Utc(), nullable=True))
    op.add_column("availability", sa.Column("owed_from", Utc(), nullable=True))
