"""Who is one contact as far as alerts go: one message goes to a contact for one opening, whatever it subscribed to.

To the address of a webhook each subscription is a contact of its own, for each signs by its own secret: one that a
stranger made would take the message away from the owner's. In the queue its number then stands beside the hash.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, String, case, cast, func, literal_column, or_

from vacancy.store.schema import open_event_notifications, subscriptions

_n: Final = open_event_notifications.c
_s: Final = subscriptions.c
_MARK: Final = "#"
# What is left of the hash, so that the longest number has room in the column: 44 + 1 + 19.
_KEPT: Final = 44

# Spelt out: these are parts of statements that are prepared once.
WHOM: Final = case(
    (
        _s.contact_type == literal_column("'webhook'"),
        func.substr(_s.contact_hash, literal_column("1"), literal_column(f"{_KEPT}"))
        .concat(literal_column(f"'{_MARK}'"))
        .concat(cast(_s.subscription_id, String)),
    ),
    else_=_s.contact_hash,
)


def is_of(contact_hash: str) -> ColumnElement[bool]:
    return or_(_n.contact_hash == contact_hash, _n.contact_hash.startswith(f"{contact_hash[:_KEPT]}{_MARK}"))


def is_of_one_alone(contact_hash: str) -> bool:
    """What one subscription is not told is then nothing to another."""
    return _MARK in contact_hash
