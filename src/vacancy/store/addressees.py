"""Who is one contact as far as alerts go: one message goes to a contact for one opening, whatever it subscribed to.

To the address of a webhook each subscription is a contact of its own, for each signs by its own secret: one that a
stranger made would take the message away from the owner's. In the queue its number then stands beside the hash.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, String, bindparam, case, cast, exists, func, literal_column, null, or_, select

from vacancy.model.subscriptions import HEARING
from vacancy.store.engine import Tx
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema import open_event_notifications, subscriptions

_n: Final = open_event_notifications.c
_s: Final = subscriptions.c
_BY_ITSELF: Final = "webhook"
_MARK: Final = "#"
# What is left of the hash, so that the longest number has room in the column: 44 + 1 + 19.
_KEPT: Final = 44

# Spelt out: these are parts of statements that are prepared once.
WHOM: Final = case(
    (
        _s.contact_type == literal_column(f"'{_BY_ITSELF}'"),
        func.substr(_s.contact_hash, literal_column("1"), literal_column(f"{_KEPT}"))
        .concat(literal_column(f"'{_MARK}'"))
        .concat(cast(_s.subscription_id, String)),
    ),
    else_=_s.contact_hash,
)


def hears(columns: Any) -> ColumnElement[bool]:
    """Of a row of subscriptions. Spelt out, as the parts above."""
    state: ColumnElement[bool] = columns.status.in_([literal_column(f"'{status}'") for status in HEARING])
    return state


_others: Final = subscriptions.alias("others")
# Until when an alert to it need not be looked at. Another subscription of the same contact may be awake: then at once.
_HAS_OTHERS: Final = exists().where(
    _others.c.contact_hash == _s.contact_hash, _others.c.contact_type == _s.contact_type,
    _others.c.subscription_id != _s.subscription_id, hears(_others.c),
)  # fmt: skip
WAKES: Final = case((_s.snooze_until.is_(None), null()), (_HAS_OTHERS, null()), else_=_s.snooze_until)
_WAKES_OF: Final = PreparedSelect(select(WAKES).where(_s.subscription_id == bindparam("who")))


def wakes(tx: Tx, subscription_id: int) -> datetime | None:
    moment: datetime | None = tx.read(_WAKES_OF, {"who": subscription_id})[0][0]
    return moment


def shares(channel: str) -> bool:
    """Whether a message to one subscription of a contact there is a message to its others."""
    return channel != _BY_ITSELF


def is_of(contact_hash: str) -> ColumnElement[bool]:
    return or_(_n.contact_hash == contact_hash, _n.contact_hash.startswith(f"{contact_hash[:_KEPT]}{_MARK}"))


def is_of_one_alone(contact_hash: str) -> bool:
    """What one subscription is not told is then nothing to another."""
    return _MARK in contact_hash
