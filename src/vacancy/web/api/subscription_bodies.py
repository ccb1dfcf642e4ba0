"""What is asked and answered about subscriptions, field by field."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from vacancy.clock import whole_milliseconds
from vacancy.model.subscriptions import DAY_MINUTES, OPEN_WORD, Status
from vacancy.subscriptions.preferences import NEVER_OPEN, is_never_open
from vacancy.web.places import place_topic

_CONTEXT_BYTES: Final = 4096
_METADATA_BYTES: Final = 2048
_DEEPEST: Final = 16
# A browser's push subscription is JSON with two keys, and Apprise has it all in one address; the others are shorter.
_LONGEST_CONTACT: Final = 1024
_LONG_TYPES: Final = ("webpush", "apprise")
_LONGEST_ADDRESS: Final = 256
_NO_CONTROL: Final = r"^[^\x00-\x1f\x7f]*$"

Token = Annotated[str, StringConstraints(min_length=16, max_length=128, pattern=r"^[A-Za-z0-9_-]+$")]
LinkToken = Annotated[str, StringConstraints(min_length=16, max_length=512, pattern=r"^[A-Za-z0-9_.-]+$")]
ContactValue = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=_LONGEST_CONTACT,
                                                pattern=_NO_CONTROL)]  # fmt: skip
ContactType = Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True, pattern=r"^[A-Za-z_]{3,32}$")]
Locale = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}([-_][A-Za-z]{2}|[-_][0-9]{3})?$")]
TimeOfDay = Annotated[str, StringConstraints(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
Minutes = Annotated[int, Field(ge=0, le=DAY_MINUTES)]


class Asked(BaseModel):
    """A misspelt field is refused: it must not mean that the default is wanted."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", populate_by_name=False)


class DeliveryWindow(Asked):
    """Minutes of the day where the campus is. A start after the end goes over midnight."""

    start_minutes: Minutes = 0
    end_minutes: Minutes = DAY_MINUTES

    @model_validator(mode="after")
    def _is_open_at_all(self) -> Self:
        if is_never_open(self.start_minutes, self.end_minutes):
            raise ValueError(NEVER_OPEN)
        return self


class WindowChanged(Asked):
    """The other end of the window stays."""

    start_minutes: Minutes | None = None
    end_minutes: Minutes | None = None


class TimeRange(Asked):
    """Of what opens at a time of day, such as a table. A start after the end goes over midnight."""

    start_time: TimeOfDay
    end_time: TimeOfDay


class PreferencesAsked(Asked):
    notify_on: list[Literal["open", "waitlist"]] = Field(default=[OPEN_WORD], min_length=1, max_length=2)
    max_notifications: int = Field(default=3, ge=1, le=10, description="Alerts after which it pauses.")
    delivery_window: DeliveryWindow = Field(default_factory=DeliveryWindow)
    snooze_until: AwareDatetime | None = None
    channel_metadata: dict[str, Any] = Field(default_factory=dict)
    time_range: TimeRange | None = Field(default=None, description="Only what opens for these times, such as tables.")
    party_size: int | None = Field(default=None, ge=1, le=100, description="Only what is free for so many people.")

    @property
    def hours(self) -> tuple[str, str] | None:
        return (self.time_range.start_time, self.time_range.end_time) if self.time_range else None

    @field_validator("notify_on")
    @classmethod
    def _can_come(cls, words: list[str]) -> list[str]:
        if OPEN_WORD not in words:
            raise ValueError("waitlist alone never comes: no source shows it; add open")
        return list(dict.fromkeys(words))

    @field_validator("channel_metadata")
    @classmethod
    def _is_small(cls, value: dict[str, Any]) -> dict[str, Any]:
        return _bounded(value, _METADATA_BYTES)

    @field_validator("snooze_until")
    @classmethod
    def _is_a_moment(cls, moment: datetime | None) -> datetime | None:
        if moment is not None and not 1970 < moment.year < 9000:
            raise ValueError("must be a year that a calendar has")
        return whole_milliseconds(moment) if moment else None


class WishAsked(Asked):
    """A section by `term`, `campus` and `sectionIndex`; a whole course by `courseString` in its place; anything by its
    `topic`."""

    term: Annotated[str, StringConstraints(strip_whitespace=True, min_length=4, max_length=16)] | None = None
    campus: Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=16)] | None = None
    section_index: Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[0-9]{5}$")] | None = None
    course_string: Annotated[str, StringConstraints(strip_whitespace=True, max_length=16)] | None = None
    topic: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=300)] | None = None
    locale: Locale | None = None
    preferences: PreferencesAsked = Field(default_factory=PreferencesAsked)
    client_context: dict[str, Any] | None = Field(default=None, description="Kept, and never shown again.")
    discord: dict[str, Any] | None = Field(default=None, description="The same, for what a Discord client knows.")

    @field_validator("client_context", "discord")
    @classmethod
    def _is_small(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if value is None else _bounded(value, _CONTEXT_BYTES)

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        by_place = (self.term, self.campus, self.section_index, self.course_string)
        if self.topic is not None:
            if any(by_place):
                raise ValueError("give a topic, or term and campus, not both")
        elif self.term is None or self.campus is None:
            raise ValueError("term and campus are needed, or a topic")
        elif (self.section_index is None) == (self.course_string is None):
            raise ValueError("sectionIndex is needed, or courseString for a whole course")
        return self

    def topic_name(self) -> str:
        if self.topic is not None:
            return self.topic
        return place_topic(str(self.term), str(self.campus), self.section_index or f"course/{self.course_string}")


class SubscribeAsked(WishAsked):
    contact_type: ContactType
    contact_value: ContactValue

    @field_validator("contact_value")
    @classmethod
    def _is_no_essay(cls, value: str, info: ValidationInfo) -> str:
        if len(value) > _LONGEST_ADDRESS and info.data.get("contact_type") not in _LONG_TYPES:
            raise ValueError(f"must be at most {_LONGEST_ADDRESS} characters")
        return value


class LinkAsked(WishAsked):
    """The contact is the chat that opens the link."""


class PreferencesChanged(PreferencesAsked):
    """Only what is sent is changed."""

    delivery_window: WindowChanged | None = None  # type: ignore[assignment]


class ChangeAsked(Asked):
    status: Literal[Status.ACTIVE, Status.PAUSED] | None = None
    locale: Locale | None = None
    preferences: PreferencesChanged | None = None


class UnsubscribeAsked(Asked):
    unsubscribe_token: Token | None = None
    subscription_id: int | None = Field(default=None, ge=1, le=2**63 - 1)
    contact_value: ContactValue | None = None
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=64,
                                             pattern=_NO_CONTROL)] = "user_request"  # fmt: skip

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if self.unsubscribe_token is None and (self.subscription_id is None or self.contact_value is None):
            raise ValueError("unsubscribeToken is needed, or subscriptionId with contactValue")
        return self


class VerifyAsked(Asked):
    token: LinkToken


class ResendAsked(Asked):
    contact_type: ContactType = "email"
    contact_value: ContactValue


class Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class WindowShown(Shown):
    start_minutes: int
    end_minutes: int


class TimeRangeShown(Shown):
    start_time: str
    end_time: str


class PreferencesShown(Shown):
    notify_on: list[str]
    max_notifications: int
    delivery_window: WindowShown
    snooze_until: str | None
    channel_metadata: dict[str, Any]
    time_range: TimeRangeShown | None = Field(default=None, description="Absent if it was not asked for.")
    party_size: int | None = Field(default=None, description="Absent if it was not asked for.")


class SubscriptionShown(Shown):
    subscription_id: int
    status: Status
    topic: str
    term: str | None
    campus: str | None
    section_index: str | None
    section_resolved: bool = Field(description="Whether the catalogue knows the section yet.")
    contact_type: str
    webhook_secret: str | None = Field(description="What its messages are signed with; null but for `webhook`.")
    locale: str
    is_verified: bool
    notified_count: int
    last_known_section_status: str
    created_at: str
    updated_at: str
    last_notified_at: str | None
    preferences: PreferencesShown
    trace_id: str


class SubscribedShown(Shown):
    subscription_id: int
    status: Status
    requires_verification: bool
    existing: bool
    unsubscribe_token: str | None = Field(description="With 201 only, as are the next two.")
    manage_token: str | None
    webhook_secret: str | None = Field(description="What its messages are signed with; null but for `webhook`.")
    topic: str
    term: str | None
    campus: str | None
    section_index: str | None
    section_resolved: bool
    section_status: str = Field(description="As known now: `Open`, `Closed` or `Unknown`.")
    registration_link: str | None = Field(description="Where to go, when it is open this moment.")
    preferences: PreferencesShown
    trace_id: str


class UnsubscribedShown(Shown):
    subscription_id: int
    status: Status
    previous_status: Status
    trace_id: str


class VerifiedShown(Shown):
    subscription_ids: list[int]
    status: Status
    trace_id: str


class LinkShown(Shown):
    url: str = Field(description="Opens a chat with the bot; good for one chat, once.")
    expires_at: str
    trace_id: str


class AskedAgainShown(Shown):
    status: str = Field(description="Always `accepted`: it does not tell whether anybody waits.")
    trace_id: str


def _bounded(value: dict[str, Any], most: int) -> dict[str, Any]:
    """What can be stored, and shown again."""
    if _is_deep(value, _DEEPEST):
        raise ValueError(f"must be nested at most {_DEEPEST} deep")
    try:
        size = len(msgspec.json.encode(value))
    except UnicodeEncodeError as problem:
        raise ValueError("must be text that can be written down") from problem
    if size > most:
        raise ValueError(f"must be at most {most} bytes")
    return value


def _is_deep(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left < 0 or any(_is_deep(each, left - 1) for each in inner)
