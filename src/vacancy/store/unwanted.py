"""Alerts that were not to their owner's taste: looked at again when what is open says something else, and left to
another subscription of the same contact where that one has a taste for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, func, literal_column, or_, select, update

from vacancy.model.availability import OPEN
from vacancy.model.subscriptions import HEARING, Taste, read_taste
from vacancy.store import bells
from vacancy.store.engine import Tx
from vacancy.store.notifications import IS_PENDING, PENDING, STILL_SO, WAS_NOT_WANTED
from vacancy.store.prepared import Prepared, PreparedSelect
from vacancy.store.schema import availability, open_event_notifications, open_events, subscriptions

_n: Final = open_event_notifications.c
_e: Final = open_events.c
_s: Final = subscriptions.c
_BITE: Final = 500
_GIVE: Final = Prepared(
    update(open_event_notifications)
    .where(_n.notification_id == bindparam("id"), IS_PENDING)
    .values(subscription_id=bindparam("heir"), not_before=bindparam("until"), error=None, locked_by=None,
            locked_at=None)
)  # fmt: skip
_HEIRS: Final = PreparedSelect(
    select(_s.contact_hash, _s.subscription_id, _s.topic, _s.since_event_id, _s.snooze_until, _s.metadata)
    .where(
        _s.contact_type == bindparam("channel"), _s.contact_hash == bindparam("contact"),
        _s.status.in_([literal_column(f"'{status}'") for status in HEARING]), _s.wants_open,
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
    snooze_until: datetime | None
    metadata: Mapping[str, Any]

    @property
    def taste(self) -> Taste:
        return read_taste(self.metadata.get("preferences", {}))


def look_at_again(tx: Tx, source: str, target_key: str, item_keys: Sequence[str]) -> int:
    """These items are open and say something else now. Whoever did not want them may want them so: the row comes back
    and is judged anew. Those who were told stay as they are, for there is one row for a contact and an opening."""
    revived = 0
    for start in range(0, len(item_keys), _BITE):
        leads = (
            select(func.coalesce(_e.lead_event_id, _e.open_event_id))
            .join(availability, STILL_SO)
            .where(
                _e.source == source, _e.target_key == target_key, _e.item_key.in_(item_keys[start : start + _BITE]),
                _e.status_after == OPEN,
            )
        )  # fmt: skip
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
