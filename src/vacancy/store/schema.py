"""Every table as it is now, but for those of `schema_tasks`, `schema_venues` and `schema_bot`. The migrations lead
here; a test compares the two on both databases."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, String, Table, Text, UniqueConstraint, text

from vacancy.store.columns import Json, Utc
from vacancy.store.schema_base import metadata
from vacancy.store.schema_base import number as _id
from vacancy.store.schema_base import numbered as _table
from vacancy.store.schema_base import where as _where

house = Table(
    "house",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

budgets = Table(
    "budgets",
    metadata,
    Column("source", String(64), primary_key=True),
    Column("paused_at", Utc),
    Column("paused_until", Utc),
    Column("slowed", Boolean, nullable=False, server_default=text("false")),
    Column("successes", Integer, nullable=False, server_default=text("0")),
    Column("reason", Text),
)

targets = _table(
    "targets",
    Column("target_id", Integer, primary_key=True),
    Column("source", String(64), nullable=False),
    Column("key", String(128), nullable=False),
    Column("budget", String(64), nullable=False),
    Column("configured", Boolean, nullable=False, server_default=text("true")),
    Column("paused_at", Utc),
    Column("question_hash", String(64), nullable=False),
    Column("baseline_at", Utc),
    Column("last_attempt_at", Utc),
    Column("last_complete_at", Utc),
    Column("source_hash", String(64)),
    Column("open_count", Integer, nullable=False, server_default=text("0")),
    Column("polls", Integer, nullable=False, server_default=text("0")),
    Column("wholes", Integer, nullable=False, server_default=text("0")),  # whole answers that were believed
    Column("last_edge_at", Utc),
    Column("recent_counts", Json, nullable=False, server_default=text("'[]'")),
    Column("version", Integer, nullable=False, server_default=text("0")),
    Column("known_version", Integer, nullable=False, server_default=text("0")),
    Column("next_poll_at", Utc, nullable=False),
    # When next_poll_at was written: a moment still to come means that the clock was set back since.
    Column("scheduled_at", Utc, nullable=False),
    Column("lease_owner", String(200)),
    Column("lease_until", Utc),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("failing_since", Utc),
    Column("last_error", Json),
    Column("held_since", Utc),
    # The highest episode among items that were pruned: numbers go on from there.
    Column("episode_floor", Integer, nullable=False, server_default=text("0")),
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("source", "key"),
    # The claim reads this in order of time.
    Index("ix_targets_due", "budget", "next_poll_at"),
)

held_answers = Table(
    "held_answers",
    metadata,
    Column("target_id", Integer, ForeignKey("targets.target_id", ondelete="CASCADE"), primary_key=True),
    Column("reason", String(32), nullable=False),
    Column("samples", Integer, nullable=False),
    Column("first_at", Utc, nullable=False),
    Column("last_at", Utc, nullable=False),
    Column("items", Json, nullable=False),
)

availability = _table(
    "availability",
    Column("snapshot_id", _id, primary_key=True),
    Column("target_id", Integer, ForeignKey("targets.target_id", ondelete="CASCADE"), nullable=False),
    Column("item_key", String(200), nullable=False),
    Column("state", String(8), nullable=False),
    Column("opened_at", Utc),
    Column("last_seen_at", Utc),
    Column("closed_at", Utc),
    Column("missed_polls", Integer, nullable=False, server_default=text("0")),
    Column("episode", Integer, nullable=False, server_default=text("0")),
    Column("group_key", String(200)),
    Column("payload", Json),
    # For policies that go by groups, or keep a gap between two events: the number of the first whole answer without
    # the item, its last event, and from when its opening is owed one.
    Column("gone_since", Integer, nullable=False, server_default=text("0")),
    Column("told_at", Utc),
    Column("owed_from", Utc),
    UniqueConstraint("target_id", "item_key"),
    # Retention looks for closed items by age.
    Index("ix_availability_closed", "closed_at", **_where("state = 'Closed'")),
    # All of one venue, whatever the targets; what belongs to no group is not in it and costs a poll nothing.
    Index("ix_availability_group", "group_key", "target_id", **_where("group_key IS NOT NULL")),
)  # fmt: skip

open_events = _table(
    "open_events",
    Column("open_event_id", _id, primary_key=True),
    Column("section_id", Integer),
    Column("term_id", String(5)),
    Column("campus_code", String(16)),
    Column("index_number", String(5)),
    Column("subscription_id", Integer),
    Column("status_before", String(8), nullable=False),
    Column("status_after", String(8), nullable=False),
    Column("seat_delta", Integer, nullable=False),
    Column("event_at", Utc, nullable=False),
    Column("detected_by", String(32), nullable=False),
    Column("snapshot_id", _id),
    Column("dedupe_key", String(200), nullable=False, unique=True),
    Column("trace_id", String(64), nullable=False),
    Column("payload", Json, nullable=False),
    Column("source", String(64), nullable=False),
    Column("target_key", String(128), nullable=False),
    Column("item_key", String(200), nullable=False),
    Column("group_key", String(200)),
    Column("episode", Integer, nullable=False),
    Column("lead_event_id", _id),
    Column("topics", Json, nullable=False),
    # How far fan-out came, kept with the event so that any process may go on: a topic's place in the list, and the
    # last subscription of it. `fanned_out_at` ends it; a close is never fanned out and is born with it.
    Column("fanned_out_at", Utc),
    Column("fanout_topic", Integer, nullable=False, server_default=text("0")),
    Column("fanout_after", _id, nullable=False, server_default=text("0")),
    # An item's history, newest first.
    Index("ix_open_events_item", "source", "target_key", "item_key", "open_event_id"),
    # Fan-out asks for what is not yet fanned out; almost nothing ever is.
    Index("ix_open_events_to_fan_out", "open_event_id", **_where("fanned_out_at IS NULL")),
    # The others of a group; a lead is found by its number.
    Index("ix_open_events_members", "lead_event_id", **_where("lead_event_id <> open_event_id")),
    # A venue's history.
    Index("ix_open_events_group", "group_key", "open_event_id", **_where("group_key IS NOT NULL")),
    # Retention.
    Index("ix_open_events_event_at", "event_at"),
)  # fmt: skip

catalogues = Table(
    "catalogues",
    metadata,
    Column("term_id", String(5), primary_key=True),
    Column("campus_code", String(16), primary_key=True),
    Column("body_hash", String(64), nullable=False),
    Column("rules", Integer, nullable=False),  # version of the parser: a new one reads everything again
    Column("course_count", Integer, nullable=False),
    Column("section_count", Integer, nullable=False),
    Column("observed_at", Utc, nullable=False),
    Column("loaded_at", Utc, nullable=False),
)

courses = _table(
    "courses",
    Column("course_id", Integer, primary_key=True),
    Column("term_id", String(5), nullable=False),
    Column("campus_code", String(16), nullable=False),
    # courseString plus a suffix for each further variant of the same number
    Column("course_key", String(64), nullable=False),
    Column("course_string", String(16), nullable=False),
    Column("variant", Text, nullable=False),  # tells courses of one course string apart: supplement and title
    Column("subject_code", String(8), nullable=False),
    Column("subject_name", Text, nullable=False),
    Column("course_number", String(8), nullable=False),
    Column("title", Text, nullable=False),
    Column("level", String(8), nullable=False),
    Column("credits", String(32), nullable=False),
    Column("credits_min", Integer),  # in tenths: 1.5 credits are 15
    Column("credits_max", Integer),
    Column("core_codes", Json, nullable=False),
    Column("locations", Json, nullable=False),  # codes of the campus locations
    Column("has_prerequisite", Boolean, nullable=False),
    Column("search_text", Text, nullable=False),
    Column("payload", Json, nullable=False),
    Column("content_hash", String(64), nullable=False),  # of the bytes it was read from
    Column("facts_hash", String(64), nullable=False),  # of what they mean, sections aside
    Column("updated_at", Utc, nullable=False),
    Column("retired_at", Utc),
    UniqueConstraint("term_id", "campus_code", "course_key"),
    Index("ix_courses_subject", "term_id", "campus_code", "subject_code", "course_number"),
)

sections = _table(
    "sections",
    Column("section_id", Integer, primary_key=True),
    Column("course_id", Integer, ForeignKey("courses.course_id"), nullable=False),
    Column("term_id", String(5), nullable=False),
    Column("campus_code", String(16), nullable=False),
    Column("index_number", String(5), nullable=False),
    Column("section_number", String(8), nullable=False),
    Column("instructors", Text, nullable=False),
    Column("meeting_summary", Text, nullable=False),
    Column("meetings", Json, nullable=False),
    Column("day_mask", Integer, nullable=False),  # M1 T2 W4 H8 F16 S32 U64
    Column("start_minutes", Integer),  # earliest start and latest end over all meetings with a time
    Column("end_minutes", Integer),
    Column("places", Text, nullable=False),  # location codes of the meetings on site: |1||2|
    Column("delivery", String(16), nullable=False),  # in_person online hybrid
    Column("exam_code", String(4)),
    Column("catalogue_open", Boolean, nullable=False),
    Column("payload", Json, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("retired_at", Utc),
    # An index is unique in a term, over all campuses.
    UniqueConstraint("term_id", "index_number"),
    Index("ix_sections_course", "course_id"),
    Index("ix_sections_campus", "term_id", "campus_code", "index_number"),
)

section_status_events = _table(
    "section_status_events",
    Column("event_id", _id, primary_key=True),
    Column("section_id", Integer, ForeignKey("sections.section_id", ondelete="CASCADE"), nullable=False),
    Column("previous_status", String(8), nullable=False),
    Column("current_status", String(8), nullable=False),
    Column("source", String(32), nullable=False),
    Column("snapshot_term", String(5), nullable=False),
    Column("snapshot_campus", String(16), nullable=False),
    Column("snapshot_received_at", Utc, nullable=False),
    Index("ix_section_status_events_section", "section_id", "snapshot_received_at"),
    Index("ix_section_status_events_received", "snapshot_received_at"),
)

subscriptions = _table(
    "subscriptions",
    Column("subscription_id", _id, primary_key=True),
    Column("topic", String(300), nullable=False),
    Column("source", String(64), nullable=False),
    # Set for a topic of one item: it is guarded by the last known status, a wider one by item and episode.
    Column("target_key", String(128)),
    Column("item_key", String(200)),
    Column("section_id", Integer, ForeignKey("sections.section_id", ondelete="SET NULL")),
    Column("term_id", String(5)),
    Column("campus_code", String(16)),
    Column("index_number", String(5)),
    Column("contact_type", String(16), nullable=False),
    Column("contact_value", Text),  # blanked when it ends; the hash stays
    Column("contact_hash", String(64), nullable=False),
    Column("locale", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("is_verified", Boolean, nullable=False, server_default=text("false")),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("last_notified_at", Utc),
    Column("last_known_section_status", String(8), nullable=False, server_default=text("'Unknown'")),
    # The newest event when it began: what had opened before is told in the answer, not in a message.
    Column("since_event_id", _id, nullable=False, server_default=text("0")),
    Column("ends_at", Utc),  # with its term or its day
    Column("max_notifications", Integer, nullable=False),
    Column("notified_count", Integer, nullable=False, server_default=text("0")),
    Column("wants_open", Boolean, nullable=False, server_default=text("true")),
    Column("snooze_until", Utc),
    Column("unsubscribe_token", String(64), nullable=False, unique=True),
    Column("manage_token", String(64), nullable=False),
    Column("verification_nonce", String(64)),
    Column("metadata", Json, nullable=False),
    # Fan-out goes through a topic in order of numbers; PostgreSQL sorts the topic anew for each chunk without this.
    Index("ix_subscriptions_topic", "topic", "subscription_id"),
    Index("ix_subscriptions_contact", "contact_hash", "contact_type"),
    # What the catalogue may yet resolve; what a day-old link no longer confirms.
    Index("ix_subscriptions_unresolved", "term_id", "campus_code", "index_number",
          **_where("section_id IS NULL AND index_number IS NOT NULL")),
    Index("ix_subscriptions_status", "status", "updated_at",
          **_where("status IN ('pending', 'unsubscribed')")),
    Index("ix_subscriptions_ends_at", "ends_at", **_where("status IN ('pending', 'active', 'paused')")),
    # One live subscription for a contact and a topic, whether or not the catalogue knows the section.
    Index("uq_subscriptions_live", "topic", "contact_hash", "contact_type", unique=True,
          **_where("status IN ('pending', 'active', 'paused')")),
)  # fmt: skip

subscription_events = _table(
    "subscription_events",
    Column("event_id", _id, primary_key=True),
    Column("subscription_id", _id, ForeignKey("subscriptions.subscription_id", ondelete="CASCADE"), nullable=False),
    Column("event_type", String(32), nullable=False),
    Column("section_status_snapshot", String(8)),
    Column("payload", Json),
    Column("created_at", Utc, nullable=False),
    Index("ix_subscription_events_subscription", "subscription_id", "event_id"),
)

open_event_notifications = _table(
    "open_event_notifications",
    Column("notification_id", _id, primary_key=True),
    # An alert is about an event; a verification and a notice are about the subscription alone.
    Column("kind", String(16), nullable=False, server_default=text("'alert'")),
    Column("open_event_id", _id, ForeignKey("open_events.open_event_id", ondelete="CASCADE")),
    Column("subscription_id", _id, ForeignKey("subscriptions.subscription_id", ondelete="CASCADE"), nullable=False),
    Column("dedupe_key", String(200), nullable=False),
    Column("channel", String(16), nullable=False),
    Column("contact_hash", String(64), nullable=False),
    Column("fanout_status", String(8), nullable=False, server_default=text("'pending'")),
    Column("fanout_attempts", Integer, nullable=False, server_default=text("0")),
    Column("last_attempt_at", Utc),
    Column("locked_by", String(200)),
    Column("locked_at", Utc),
    Column("not_before", Utc),
    Column("provider_message_id", String(200)),
    Column("error", Json),
    Column("payload", Json),  # what a notice says
    Column("created_at", Utc, nullable=False),
    UniqueConstraint("open_event_id", "subscription_id"),
    # One message to a contact for one opening, whatever it subscribed to. Of a webhook, each subscription is a contact.
    UniqueConstraint("open_event_id", "channel", "contact_hash"),
    Index("ix_open_event_notifications_subscription", "subscription_id"),
    # The queue: almost every row is finished. What may go now has no time before which it may not.
    Index("ix_open_event_notifications_pending", "channel", "not_before", "notification_id",
          **_where("fanout_status = 'pending'")),
    # Dead letters, for the operator.
    Index("ix_open_event_notifications_failed", "notification_id",
          **_where("fanout_status = 'failed'")),
)  # fmt: skip

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("key_hash", String(64), primary_key=True),
    Column("request_hash", String(64), nullable=False),
    Column("subscription_id", _id, ForeignKey("subscriptions.subscription_id", ondelete="CASCADE"), nullable=False),
    Column("created", Boolean, nullable=False),
    Column("created_at", Utc, nullable=False),
    Index("ix_idempotency_keys_created_at", "created_at"),
)

# What is wrong in the house: raised once, ended once. `told` says what each of the operator's channels has heard of it.
troubles = Table(
    "troubles",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("message", Text, nullable=False),
    Column("since", Utc, nullable=False),
    Column("over_at", Utc),
    Column("told", Json, nullable=False, server_default=text("'{}'")),
    Column("try_after", Utc),
)

# A wish that waits for a chat to claim it by the code in its link.
chat_links = Table(
    "chat_links",
    metadata,
    Column("code_hash", String(64), primary_key=True),
    Column("wish", Json, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("used_at", Utc),
    Index("ix_chat_links_created_at", "created_at"),
)

outbox = _table(
    "outbox",
    Column("outbox_id", _id, primary_key=True),
    # A mail that is handed over again, because nobody knows whether it was taken, is no second row.
    Column("message_id", String(200), nullable=False, unique=True),
    Column("to_address", String(320), nullable=False),
    Column("subject", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("html", Text, nullable=False),
    Column("locale", String(16), nullable=False),
    Column("template_id", String(64), nullable=False),
    Column("trace_id", String(64), nullable=False),
    # No foreign key: the mail is kept for as long as it is, whatever becomes of the row that asked for it.
    Column("notification_id", _id),
    Column("created_at", Utc, nullable=False),
    Index("ix_outbox_created_at", "created_at"),
)
