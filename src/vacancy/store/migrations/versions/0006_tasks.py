"""Tasks: who works here, what is to be done, what happened to it, and who is to hear of that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vacancy.store.columns import Json, Utc

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _people()
    _tasks()
    _events()


def _people() -> None:
    op.create_table(
        "roles",
        sa.Column("role_id", _id, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.PrimaryKeyConstraint("role_id", name=op.f("pk_roles")),
    )
    op.create_table(
        "users",
        sa.Column("user_id", _id, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role_id", _id, nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_users")),
        sa.ForeignKeyConstraint(["role_id"], ["roles.role_id"], name=op.f("fk_users_role_id")),
    )
    op.create_index("ix_users_role", "users", ["role_id"], unique=False)
    op.create_table(
        "telegram_codes",
        sa.Column("user_id", _id, autoincrement=False, nullable=False),
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("expires_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_telegram_codes")),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name=op.f("fk_telegram_codes_user_id")),
        sa.UniqueConstraint("code_hash", name=op.f("uq_telegram_codes_code_hash")),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("task_id", _id, nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("initiator_user_id", _id, nullable=False),
        sa.Column("executor_role_id", _id, nullable=False),
        sa.Column("assignment_scope", sa.String(length=16), nullable=False),
        sa.Column("status_code", sa.String(length=16), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("updated_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("task_id", name=op.f("pk_tasks")),
        sa.ForeignKeyConstraint(["initiator_user_id"], ["users.user_id"], name=op.f("fk_tasks_initiator_user_id")),
        sa.ForeignKeyConstraint(["executor_role_id"], ["roles.role_id"], name=op.f("fk_tasks_executor_role_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tasks_initiator", "tasks", ["initiator_user_id", "task_id"], unique=False)
    op.create_index("ix_tasks_executor", "tasks", ["executor_role_id", "task_id"], unique=False)
    op.create_table(
        "task_reports",
        sa.Column("report_id", _id, nullable=False),
        sa.Column("task_id", _id, nullable=False),
        sa.Column("report_link", sa.Text(), nullable=False),
        sa.Column("current_comment", sa.Text(), nullable=False),
        sa.Column("submitted_by", _id, nullable=False),
        sa.Column("submitted_at", Utc(), nullable=False),
        sa.Column("approved_by", _id, nullable=True),
        sa.Column("approved_at", Utc(), nullable=True),
        sa.PrimaryKeyConstraint("report_id", name=op.f("pk_task_reports")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_task_reports_task_id")),
        sa.ForeignKeyConstraint(["submitted_by"], ["users.user_id"], name=op.f("fk_task_reports_submitted_by")),
        sa.ForeignKeyConstraint(["approved_by"], ["users.user_id"], name=op.f("fk_task_reports_approved_by")),
        sa.UniqueConstraint("task_id", name=op.f("uq_task_reports_task_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "task_audit_log",
        sa.Column("audit_id", _id, nullable=False),
        sa.Column("task_id", _id, nullable=False),
        sa.Column("actor_user_id", _id, nullable=False),
        sa.Column("actor_role_id", _id, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("fields_changed", Json(), nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.PrimaryKeyConstraint("audit_id", name=op.f("pk_task_audit_log")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_task_audit_log_task_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_task_audit_log_task", "task_audit_log", ["task_id", "audit_id"], unique=False)


def _events() -> None:
    op.create_table(
        "task_events",
        sa.Column("event_id", _id, nullable=False),
        sa.Column("task_id", _id, nullable=False),
        sa.Column("event_type", sa.String(length=32), nullable=False),
        sa.Column("actor_user_id", _id, nullable=False),
        sa.Column("actor_role_id", _id, nullable=False),
        sa.Column("created_at", Utc(), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.PrimaryKeyConstraint("event_id", name=op.f("pk_task_events")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_task_events_task_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_task_events_task", "task_events", ["task_id", "event_id"], unique=False)
    op.create_table(
        "task_event_recipients",
        sa.Column("user_id", _id, autoincrement=False, nullable=False),
        sa.Column("event_id", _id, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "event_id", name=op.f("pk_task_event_recipients")),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name=op.f("fk_task_event_recipients_user_id")),
        sa.ForeignKeyConstraint(
            ["event_id"], ["task_events.event_id"], name=op.f("fk_task_event_recipients_event_id"), ondelete="CASCADE"
        ),
    )
    op.create_index("ix_task_event_recipients_event", "task_event_recipients", ["event_id"], unique=False)
