"""Messages of a contact that has another address now. There is one row for a contact and an opening, whoever it is for:
where both addresses have one, the one that was not tried yet goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import and_, delete, exists, select, update

from vacancy.store.engine import Tx
from vacancy.store.notifications import UNTRIED
from vacancy.store.schema import open_event_notifications

_n: Final = open_event_notifications.c
_twin: Final = open_event_notifications.alias("twin")


def move_messages(tx: Tx, subscription_ids: Sequence[int], before: str, after: str) -> None:
    """Those that were sent as well: by them it is known that the contact was told."""
    mine = and_(_n.subscription_id.in_(subscription_ids), _n.contact_hash == before)
    has_twin = exists().where(
        _twin.c.open_event_id == _n.open_event_id, _twin.c.channel == _n.channel, _twin.c.contact_hash == after
    )
    told = select(_twin.c.open_event_id).where(
        _twin.c.subscription_id.in_(subscription_ids), _twin.c.contact_hash == before
    )
    tx.execute(delete(open_event_notifications).where(mine, UNTRIED, has_twin))
    tx.execute(delete(open_event_notifications).where(_n.contact_hash == after, UNTRIED, _n.open_event_id.in_(told)))
    tx.execute(update(open_event_notifications).where(mine, ~has_twin).values(contact_hash=after))
