"""Alerts whose owner does not want them, or not now: left to another subscription of the same contact that does; and
looked at again when what is open says something else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Text, bindparam, or_, select, type_coerce, update

from vacancy.model.availability import OPEN
from vacancy.model.delivery import RESTING, preferences_of
from vacancy.model.subscriptions import Preferences, Subscription
from vacancy.store import bells
from vacancy.store.addressees import hears
from vacancy.store.engine import Tx
from vacancy.store.notifications import IS_PENDING, PENDING, WAS_NOT_WANTED, leads_of_open
from vacancy.store.prepared import Prepared, PreparedSelect
from vacancy.store.schema import open_event_notifications, open_events, subscriptions

_n: Final = open_event_notifications.c
_e: Final = open_events.c
_s: Final = subscriptions.c
_BITE: Final = 500
_RESTS: Final = or_(*[type_coerce(_n.error, Text).startswith(f'{{"code":"{code}"') for code in RESTING])
_GIVE: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), IS_PENDING)
    .values(subscription_id=bindparam("heir"), not_before=bindparam("until"), error=None, locked_by=None,
            locked_at=None)
)  # fmt: skip
_HEIRS: Final = PreparedSelect(
    select(
        _s.contact_hash, _s.subscription_id, _s.topic, _s.since_event_id, _s.status, _s.max_notifications,
        _s.snooze_until, type_coerce(_s.metadata, Text),
    )
    .where(
        _s.contact_type == bindparam("channel"), _s.contact_hash == bindparam("contact"),
        hears(_s), _s.wants_open,
        _s.notified_count < _s.max_notifications,
        or_(_s.item_key.is_(None), _s.last_known_section_status != OPEN),
    )
    .order_by(_s.subscription_id)
)  # fmt: skip


class Heir(NamedTuple):
    """Another subscription that hears of the same topics, or of some."""

    contact_hash: str
    subscription_id: int
    topic: str
    since_event_id: int
    status: str
    max_notifications: int
    snooze_until: datetime | None
    metadata: str

    @property
    def preferences(self) -> Preferences:
        return preferences_of(self.metadata, self.max_notifications, self.snooze_until)


def look_at_again(tx: Tx, source: str, target_key: str, item_keys: Sequence[str]) -> int:
    """These items are open and say something else now. Whoever did not want them may want them so: the row comes back
    and is judged anew. Those who were told stay as they are, for there is one row for a contact and an opening."""
    revived = 0
    for start in range(0, len(item_keys), _BITE):
        leads = leads_of_open(source, target_key, item_keys[start : start + _BITE])
        revived += tx.execute(
            update(open_event_notifications)
            .where(_n.open_event_id.in_(leads), WAS_NOT_WANTED)
            .values(fanout_status=PENDING, fanout_attempts=0, not_before=None, error=None)
        ).rowcount
    if revived:
        tx.ring(bells.NOTIFICATIONS)
    return revived


def heirs(tx: Tx, channel: str, contacts: Collection[str]) -> Sequence[Heir]:
    """Every subscription of these contacts that hears of wider topics, or of an item that it does not know."""
    asked = [tx.ask(_HEIRS, {"channel": channel, "contact": contact}) for contact in sorted(contacts)]
    return [Heir(*row) for answer in asked for row in answer()]


def give(tx: Tx, given: Mapping[int, Heir]) -> None:
    """Rows, by their numbers, that are in nobody's hand."""
    tx.post(_GIVE, [
        {"id": number, "heir": heir.subscription_id, "until": heir.snooze_until} for number, heir in given.items()
    ])  # fmt: skip


def wake(tx: Tx, subscription: Subscription, leads: Sequence[int]) -> int:
    """What waits until another subscription of the same contact wakes is judged anew: this one may hear now."""
    changed = tx.execute(
        update(open_event_notifications)
        .where(
            _n.open_event_id.in_(leads), _n.channel == subscription.contact_type,
            _n.contact_hash == subscription.contact_hash, _n.subscription_id != subscription.subscription_id,
            IS_PENDING, _n.locked_by.is_(None), _n.not_before.is_not(None), or_(_n.error.is_(None), _RESTS),
        )
        .values(not_before=None)
    ).rowcount  # fmt: skip
    if changed:
        tx.ring(bells.NOTIFICATIONS)
    return changed
