"""The section of JSON endpoints: a list of tables, one for each that is watched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, SecretStr, ValidationError
from pydantic import model_validator as rule
from pydantic_core import InitErrorDetails, PydanticCustomError

from vacancy.settings_sections import POLITE_S, Section, is_loopback_host

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}", re.ASCII)
_LONGEST_TEXT: Final = 500
_MOST_ENDPOINTS: Final = 200
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}", re.ASCII)
# What belongs to the connection, or to our way of reading.
_OURS: Final = frozenset((
    "accept-encoding", "connection", "content-length", "content-type", "host", "if-modified-since", "if-none-match",
    "keep-alive", "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
))  # fmt: skip


def _name_of(text: str) -> str:
    if _NAME.fullmatch(text) is None:
        raise ValueError("must be a to z, 0 to 9 and -, at most 32 of them, such as ticket-shop")
    return text


def _endpoint_url(text: str) -> str:
    """With its query, which many an endpoint needs."""
    parts = urlsplit(text)
    _ = parts.port  # reading it is what checks it
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that starts with https://")
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError("must be written with plain characters; others are encoded as %20 and the like")
    if parts.username is not None or parts.fragment:
        raise ValueError("must not hold a user or a fragment")
    if parts.scheme != "https" and not is_loopback_host(parts.hostname):
        raise ValueError("must start with https://; plain http is for this machine alone (127.0.0.1, localhost)")
    return text


def header_of(name: str, value: str) -> str:
    """The value as it is sent. ValueError says what is wrong, and repeats no value."""
    if _HEADER.fullmatch(name) is None:
        raise ValueError("has a header whose name is none")
    if name.lower() in _OURS:
        raise ValueError(f"must not set {name}")
    value = value.strip()
    if not value or not (value.isascii() and value.isprintable()):
        raise ValueError(f"{name} must be one line of plain characters")
    return value


def _headers_of(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    taken = {name: SecretStr(header_of(name, value.get_secret_value())) for name, value in headers.items()}
    if len({name.lower() for name in taken}) < len(taken):
        raise ValueError("must name each header once")
    return taken


def _zone_of(text: str) -> str:
    try:
        return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone such as Europe/Berlin") from None


Name = Annotated[str, AfterValidator(_name_of)]
EndpointUrl = Annotated[str, AfterValidator(_endpoint_url)]
Headers = Annotated[dict[str, SecretStr], AfterValidator(_headers_of)]
TimeZone = Annotated[str, AfterValidator(_zone_of)]
Words = Annotated[str, Field(min_length=1, max_length=_LONGEST_TEXT)]


class JsonSettings(Section):
    name: Name = Field(description="What it is called: a to z, 0 to 9 and -; each name once.")
    url: EndpointUrl = Field(
        max_length=2000, description="What is asked, with its query; https, or http on this machine."
    )
    headers: Headers = Field(default_factory=dict, description="Headers to send, such as a key; values are secrets.")
    headers_file: Path | None = Field(
        default=None, description="A file with more of them, one `Name: value` in a line."
    )
    items: Words = Field(description="Where the items stand, as JSONPath (RFC 9535): $.events[*].")
    key: Words = Field(
        default="@", description="What tells an item from all others: the path of a member, such as id; @ is the item."
    )
    label: Words | None = Field(default=None, description="The path of its name; the key, if there is none.")
    link: Words | None = Field(default=None, description="The path of the address to go to when it is open.")
    group: Words | None = Field(default=None, description="The path of what it belongs to.")
    open_when: Words | None = Field(
        default=None, description='When it is open: status in ["OPEN", "FEW"]; if not set, whatever is listed is open.'
    )
    interval_s: float = Field(
        default=30, gt=0, le=86_400, description="Seconds between two polls; under 5 on this machine alone."
    )
    jitter: float = Field(default=0.3, ge=0, le=0.5, description="Share by which the interval varies; 0 is not at all.")
    empty_is_valid: bool = Field(
        default=False, description="Whether an answer that lists nothing is believed at once, and not doubted."
    )
    misses_to_close: int = Field(default=2, ge=1, le=10, description="Answers in a row without an item that close it.")
    fetch_timeout_s: float = Field(default=15, gt=0, le=300, description="Seconds after which a poll is given up.")
    time_zone: TimeZone = Field(default="UTC", description="Where it is; quiet hours go by it.")

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.lower()

    @rule(mode="after")
    def _together(self) -> JsonSettings:
        least = POLITE_S["interval_s"]
        if self.interval_s < least and not is_loopback_host(urlsplit(self.url).hostname or ""):
            problem = f"must be at least {least} s, except for a loopback url"
            wrong: InitErrorDetails = {
                "type": PydanticCustomError("together", "{problem}", {"problem": problem}),
                "loc": ("interval_s",),
                "input": self.interval_s,
            }
            raise ValidationError.from_exception_data("json", [wrong])
        return self


def _named_once(endpoints: tuple[JsonSettings, ...]) -> tuple[JsonSettings, ...]:
    names = [endpoint.name for endpoint in endpoints]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(f"two are called {twice}; each needs a name of its own")
    return endpoints


JsonEndpoints = Annotated[tuple[JsonSettings, ...], Field(max_length=_MOST_ENDPOINTS), AfterValidator(_named_once)]
