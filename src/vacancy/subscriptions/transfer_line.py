"""One subscription as a line of JSON: everything that makes it go on in another database."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from vacancy.clock import iso, whole_milliseconds
from vacancy.model.subscriptions import DAY_MINUTES, LIVE, Preferences, Status, Subscription
from vacancy.model.terms import parse_term
from vacancy.subscriptions import preferences as prefs

# PostgreSQL refuses a longer text than its column, and a NUL in any.
_CLEAN: Final = r"^[^\x00-\x1f\x7f]*\Z"
_MOST: Final = 2**31 - 1
_OWN: Final = "preferences"

Topic = Annotated[str, Meta(min_length=3, max_length=300, pattern=_CLEAN)]
Source = Annotated[str, Meta(min_length=1, max_length=64, pattern=_CLEAN)]
TargetKey = Annotated[str, Meta(min_length=1, max_length=128, pattern=_CLEAN)]
ItemKey = Annotated[str, Meta(min_length=1, max_length=200, pattern=_CLEAN)]
Short = Annotated[str, Meta(min_length=1, max_length=16, pattern=_CLEAN)]
Index = Annotated[str, Meta(pattern=r"^[0-9]{5}\Z")]
Value = Annotated[str, Meta(min_length=1, max_length=2048, pattern=_CLEAN)]
Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Token = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{16,64}\Z")]
Number = Annotated[int, Meta(ge=1, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=_MOST)]
Limit = Annotated[int, Meta(ge=1, le=_MOST)]
Minutes = Annotated[int, Meta(ge=0, le=DAY_MINUTES)]
TimeOfDay = Annotated[str, Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]\Z")]
PartySize = Annotated[int, Meta(ge=1, le=100)]
Moment = Annotated[datetime, Meta(tz=True)]


class Read(Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """A misspelt member is refused: it must not mean that the default is wanted."""


class Window(Read):
    start_minutes: Minutes
    end_minutes: Minutes


class Hours(Read):
    start_time: TimeOfDay
    end_time: TimeOfDay


class Wishes(Read):
    notify_on: Annotated[list[Literal["open", "waitlist"]], Meta(min_length=1)]
    max_notifications: Limit
    delivery_window: Window
    snooze_until: Moment | None
    channel_metadata: dict[str, Any]
    time_range: Hours | None = None
    party_size: PartySize | None = None

    def preferences(self) -> Preferences:
        window = self.delivery_window
        return Preferences(tuple(self.notify_on), self.max_notifications, window.start_minutes, window.end_minutes,
                           _or_none(self.snooze_until), self.channel_metadata,
                           (self.time_range.start_time, self.time_range.end_time) if self.time_range else None,
                           self.party_size)  # fmt: skip


class Line(Read):
    subscription_id: Number
    topic: Topic
    source: Source
    target_key: TargetKey | None
    item_key: ItemKey | None
    term_id: Short | None
    campus_code: Short | None
    index_number: Index | None
    contact_type: Short
    contact_value: Value | None
    contact_hash: Hash | None
    status: Status
    is_verified: bool
    locale: Short
    preferences: Wishes
    metadata: dict[str, Any]
    notified_count: Count
    last_known_section_status: Literal["Open", "Closed", "Unknown"]
    created_at: Moment
    updated_at: Moment
    last_notified_at: Moment | None
    unsubscribe_token: Token
    manage_token: Token
    verification_nonce: Token | None
    ends_at: Moment | None = None

    def columns(self) -> dict[str, Any]:
        """Of the table; its number, its contact and what the new database knows better are the caller's."""
        preferences = self.preferences.preferences()
        return {
            "topic": self.topic, "source": self.source, "target_key": self.target_key, "item_key": self.item_key,
            "term_id": self.term_id, "campus_code": self.campus_code, "index_number": self.index_number,
            "contact_type": self.contact_type, "locale": self.locale, "status": self.status,
            "is_verified": self.is_verified, "created_at": whole_milliseconds(self.created_at),
            "updated_at": whole_milliseconds(self.updated_at), "last_notified_at": _or_none(self.last_notified_at),
            "last_known_section_status": self.last_known_section_status, "notified_count": self.notified_count,
            "unsubscribe_token": self.unsubscribe_token, "manage_token": self.manage_token,
            "verification_nonce": self.verification_nonce, "ends_at": _or_none(self.ends_at),
            "metadata": prefs.kept(self.metadata, preferences),
            **prefs.columns(preferences),
        }  # fmt: skip


def write_line(row: Subscription) -> bytes:
    return msgspec.json.encode({
        "subscriptionId": row.subscription_id, "topic": row.topic, "source": row.source, "targetKey": row.target_key,
        "itemKey": row.item_key, "termId": row.term_id, "campusCode": row.campus_code,
        "indexNumber": row.index_number, "contactType": row.contact_type, "contactValue": row.contact_value,
        "contactHash": row.contact_hash, "status": row.status, "isVerified": row.is_verified, "locale": row.locale,
        "preferences": prefs.shown(row.preferences),
        "metadata": {name: value for name, value in row.metadata.items() if name != _OWN},
        "notifiedCount": row.notified_count, "lastKnownSectionStatus": row.last_known_section_status,
        "createdAt": iso(row.created_at), "updatedAt": iso(row.updated_at),
        "lastNotifiedAt": iso(row.last_notified_at) if row.last_notified_at else None,
        "unsubscribeToken": row.unsubscribe_token, "manageToken": row.manage_token,
        "verificationNonce": row.verification_nonce, "endsAt": iso(row.ends_at) if row.ends_at else None,
    }) + b"\n"  # fmt: skip


def read_line(text: bytes) -> Line:
    """ValueError says what is wrong with it, and tells no address and no token."""
    try:
        line = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        raise ValueError(f"{place.strip('`.')}: {problem}" if place else problem) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError("is no JSON object") from error
    _check(line)
    return line


def _check(line: Line) -> None:
    """What no type can say."""
    moments = (line.created_at, line.updated_at, line.last_notified_at, line.preferences.snooze_until,
               line.ends_at)  # fmt: skip
    if any(moment is not None and not 1970 < moment.year < 9000 for moment in moments):
        raise ValueError(
            "createdAt, updatedAt, lastNotifiedAt, snoozeUntil, endsAt: must be a year that a calendar has"
        )
    if line.term_id is not None and parse_term(line.term_id) != line.term_id:
        raise ValueError("termId: must be digit-first, such as 12025")
    window = line.preferences.delivery_window
    if prefs.is_never_open(window.start_minutes, window.end_minutes):
        raise ValueError(f"preferences.deliveryWindow: {prefs.NEVER_OPEN}")
    if line.contact_value is None and line.contact_hash is None:
        raise ValueError("contactHash: is needed where contactValue is null")
    if line.contact_value is None and line.status in LIVE:
        raise ValueError(f"contactValue: is needed, for it is {line.status}")
    if line.verification_nonce is None and line.status == Status.PENDING:
        raise ValueError("verificationNonce: is needed, for it is pending")


_DECODER: Final = msgspec.json.Decoder(Line)


def _or_none(moment: datetime | None) -> datetime | None:
    return whole_milliseconds(moment) if moment else None
