"""The tables of tasks: who works here, what is to be done, what happened to it, and who is to hear of that."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, String, Table, Text, UniqueConstraint, text

from vacancy.store.columns import Json, Utc
from vacancy.store.schema_base import metadata, number, numbered

# Their numbers are the operator's, and are never made here.
roles = Table(
    "roles",
    metadata,
    Column("role_id", number, primary_key=True, autoincrement=False),
    Column("name", String(200), nullable=False),
    Column("kind", String(16), nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("user_id", number, primary_key=True, autoincrement=False),
    Column("name", String(200), nullable=False),
    Column("role_id", number, ForeignKey("roles.role_id"), nullable=False),
    Column("is_active", Boolean, nullable=False, server_default=text("true")),
    # An audience is found by its roles.
    Index("ix_users_role", "role_id"),
)

tasks = numbered(
    "tasks",
    Column("task_id", number, primary_key=True),
    Column("title", String(200), nullable=False),
    Column("description", Text),
    Column("initiator_user_id", number, ForeignKey("users.user_id"), nullable=False),
    Column("executor_role_id", number, ForeignKey("roles.role_id"), nullable=False),
    Column("assignment_scope", String(16), nullable=False),
    Column("status_code", String(16), nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    # Listings go by number; who sees all of them needs no other index than that of the numbers.
    Index("ix_tasks_initiator", "initiator_user_id", "task_id"),
    Index("ix_tasks_executor", "executor_role_id", "task_id"),
)

# One for each task: a new report takes the place of the one that was rejected.
task_reports = numbered(
    "task_reports",
    Column("report_id", number, primary_key=True),
    Column("task_id", number, ForeignKey("tasks.task_id"), nullable=False, unique=True),
    Column("report_link", Text, nullable=False),
    Column("current_comment", Text, nullable=False),
    Column("submitted_by", number, ForeignKey("users.user_id"), nullable=False),
    Column("submitted_at", Utc, nullable=False),
    Column("approved_by", number, ForeignKey("users.user_id")),
    Column("approved_at", Utc),
)

# Append-only: whoever changed what.
task_audit_log = numbered(
    "task_audit_log",
    Column("audit_id", number, primary_key=True),
    Column("task_id", number, ForeignKey("tasks.task_id"), nullable=False),
    Column("actor_user_id", number, nullable=False),
    Column("actor_role_id", number, nullable=False),
    Column("action", String(16), nullable=False),
    Column("fields_changed", Json, nullable=False),  # name -> from, to
    Column("created_at", Utc, nullable=False),
    Index("ix_task_audit_log_task", "task_id", "audit_id"),
)

# Append-only, numbered in commit order.
task_events = numbered(
    "task_events",
    Column("event_id", number, primary_key=True),
    Column("task_id", number, ForeignKey("tasks.task_id"), nullable=False),
    Column("event_type", String(32), nullable=False),
    Column("actor_user_id", number, nullable=False),
    Column("actor_role_id", number, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("payload", Json, nullable=False),
    Index("ix_task_events_task", "task_id", "event_id"),
)

# The audience, as it was when the event happened. A user's events after a cursor are one range of the key.
task_event_recipients = Table(
    "task_event_recipients",
    metadata,
    Column("user_id", number, ForeignKey("users.user_id"), primary_key=True, autoincrement=False),
    Column("event_id", number, ForeignKey("task_events.event_id", ondelete="CASCADE"), primary_key=True,
           autoincrement=False),
    # Retention goes by events.
    Index("ix_task_event_recipients_event", "event_id"),
)  # fmt: skip

# What makes a chat a user's: one code for each user, of which the keyed hash alone is kept.
telegram_codes = Table(
    "telegram_codes",
    metadata,
    Column("user_id", number, ForeignKey("users.user_id"), primary_key=True, autoincrement=False),
    Column("code_hash", String(64), nullable=False),
    Column("expires_at", Utc, nullable=False),
    UniqueConstraint("code_hash"),
)
