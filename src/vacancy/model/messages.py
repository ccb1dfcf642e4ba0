"""What a channel is handed, and what it answers. Pure words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from vacancy.model.subscriptions import Preferences


class Kind(StrEnum):
    """What a row of the queue is about."""

    ALERT = "alert"  # something opened
    VERIFICATION = "verification"  # is this address yours?
    NOTICE = "notice"  # a word about the subscription itself: it ended, its source cannot be read
    OPERATOR = "operator"  # a trouble of the house, or its end


@dataclass(frozen=True, slots=True)
class OpenItem:
    """One thing that opened, as its source described it at that moment."""

    item_key: str
    episode: int
    payload: Mapping[str, Any]
    section_id: int | None = None
    term_id: str | None = None
    campus_code: str | None = None
    index_number: str | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """What is told: the same for all who hear of it, so that a channel may lay it out once for each language.

    `items` are those of one poll and group that are still open; the first is the lead event's, if that is open yet.
    """

    open_event_id: int
    dedupe_key: str
    trace_id: str
    source: str
    target_key: str
    event_at: datetime
    detected_by: str
    status_before: str
    status_after: str
    time_zone: str
    items: tuple[OpenItem, ...]


@dataclass(frozen=True, slots=True)
class Notice:
    """A word that is not about an opening. `code` names its template, `facts` fill it."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)


class Person(NamedTuple):
    """To whom. The operator has no subscription: number 0, and no addresses to manage one."""

    subscription_id: int
    contact: str
    locale: str
    topic: str = ""
    status: str = ""
    last_known_status: str = ""
    contact_hash: str = ""
    preferences: Preferences = Preferences()
    manage_url: str = ""  # a page
    unsubscribe_url: str = ""  # a page with a button; a POST to it unsubscribes in one click
    verify_url: str = ""  # of a verification alone


class Parcel(NamedTuple):
    """One message to one person. `key` stays the same through all tries, and is no other message's."""

    notification_id: int
    kind: Kind
    key: str
    trace_id: str
    attempt: int  # 1 on the first outer try
    person: Person
    opening: Opening | None = None
    notice: Notice | None = None
    is_last: bool = False  # the last alert that its owner wished for: it pauses after this


@dataclass(frozen=True, slots=True)
class Sent:
    """The provider took it."""

    provider: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Retry:
    """This message failed, and may do better later: one attempt is counted."""

    code: str
    message: str
    after_s: float | None = None  # as the provider asked
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Dead:
    """No later try would do better.

    `alarm`: an operator should look (`failed`); without it nobody can do anything about it (`skipped`).
    `contact_is`: `gone` ends what this contact subscribed to here (a blocked chat, a removed endpoint); `bounced` also
    refuses it from now on (an address that takes no mail).
    """

    code: str
    message: str
    alarm: bool = False
    contact_is: Literal["gone", "bounced"] | None = None
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Blocked:
    """The channel itself does not work now: nothing was begun, no attempt is counted, and its breaker opens.

    With `after_s` the provider said when it may go on (a rate); without it the channel is probed until it works.
    """

    code: str
    message: str
    after_s: float | None = None
    provider: str = ""


Outcome = Sent | Retry | Dead | Blocked
