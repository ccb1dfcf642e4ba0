"""A second look at what is open now: for whoever may be told from now on, and was passed over when it opened."""

from __future__ import annotations

from datetime import datetime

from vacancy.model.availability import OPEN
from vacancy.model.subscriptions import HEARING, Subscription
from vacancy.store import notifications, unwanted
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions.rules import Desk


def look_again(tx: Tx, now: datetime, desk: Desk, subscription: Subscription) -> int:
    """A row is made, revived or moved to now, in the transaction that changed the subscription. Fan-out may come to the
    same event before or after: the row is the same one."""
    wants_more = subscription.wants_open and subscription.notified_count < subscription.max_notifications
    knows = subscription.item_key is not None and subscription.last_known_section_status == OPEN
    if subscription.status not in HEARING or not wants_more or knows:
        return 0
    source = desk.sources(subscription.source)
    items = source.items_of(tx, subscription.waits_for) if source else ()
    leads = notifications.running_openings(tx, subscription.source, items, subscription.since_event_id)
    queued = sum(
        notifications.queue_one(tx, now, subscription.subscription_id, event_id, dedupe_key)
        for event_id, dedupe_key in leads
    )
    events = [event_id for event_id, _ in leads]
    notifications.adopt(tx, subscription, events)
    unwanted.wake(tx, subscription, events)
    return queued + notifications.move_to_now(tx, subscription, events)


def pass_on(tx: Tx, now: datetime, desk: Desk, contact_hash: str | None = None) -> None:
    """What a subscription will not be told any more, another one of the same contact may be: it has a section and its
    course, and left the course. Of one contact, or of all."""
    for whose, channel in notifications.skip_unheard(tx, contact_hash):
        for subscription in rows.of_contact(tx, whose, channel):
            look_again(tx, now, desk, subscription)
