"""A message that tells of nothing: through the real channel to a real contact, past the queue."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Final

from vacancy.clock import iso
from vacancy.model.messages import Kind, Notice, Parcel, Person
from vacancy.model.subscriptions import Contact

_CODE: Final = "test"


def trial_parcel(contact: Contact, now: datetime, token: str, locale: str) -> Parcel:
    """Never the same twice, or a provider that knows it would keep it to itself."""
    key = f"{_CODE}|{contact.hash}|{iso(now)}|{token}"
    return Parcel(
        notification_id=0,
        kind=Kind.OPERATOR,
        key=key,
        trace_id=sha256(key.encode()).hexdigest()[:32],
        attempt=1,
        person=Person(0, contact.value, locale),
        notice=Notice(_CODE, {"since": iso(now)}),
    )
