"""The sections of the settings, each with its rules."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Network, IPv6Network
from types import MappingProxyType
from typing import Annotated, Final, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic import model_validator as rule
from pydantic_core import InitErrorDetails, PydanticCustomError

from vacancy.model.terms import parse_campus, parse_term

POLITE_S: Final = MappingProxyType({"interval_s": 5, "catalogue_interval_s": 60})


def is_loopback_host(host: str) -> bool:
    """By its spelling alone; what a name resolves to is checked when the connection is made."""
    host = host.rstrip(".").lower()
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(text: str) -> SplitResult:
    parts = urlsplit(text)
    _ = parts.port  # reading it is what checks it
    return parts


def database_url_of(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme == "sqlite":
        if not rest.startswith("/") or rest == "/" or "?" in rest or ":memory:" in rest:
            raise ValueError("must name a file, such as sqlite:///vacancy.db; a database in memory forgets")
        return text
    if scheme not in ("postgresql", "postgresql+psycopg"):
        raise ValueError("must start with sqlite:/// or postgresql+psycopg://")
    _split(text)
    return f"postgresql+psycopg://{rest}"


def http_url_of(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that starts with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must not hold a user, a query or a fragment")
    return text.rstrip("/")


def _upstream_url(text: str) -> str:
    text = http_url_of(text)
    parts = _split(text)
    if parts.scheme != "https" and not is_loopback_host(parts.hostname or ""):
        raise ValueError("must start with https://; plain http is for this machine alone (127.0.0.1, localhost)")
    return text


def _not_blank(secret: SecretStr | None) -> SecretStr | None:
    if secret is not None and not secret.get_secret_value().strip():
        raise ValueError("must not be blank; leave it out instead")
    return secret


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Secret = Annotated[SecretStr | None, AfterValidator(_not_blank)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(lambda text: ipaddress.ip_network(str(text)))]
Terms = Annotated[tuple[Annotated[str, AfterValidator(parse_term)], ...], AfterValidator(_unique)]
Campuses = Annotated[tuple[Annotated[str, AfterValidator(parse_campus)], ...], AfterValidator(_unique)]
LogLevel = Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(_lower)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WebSettings(Section):
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 or :: means all.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    admin_token: Secret = Field(default=None, description="Will open the admin pages; there are none yet.")
    trusted_proxies: tuple[Network, ...] = Field(
        default=(), description="Networks of the proxies whose word on the client's address is believed."
    )
    max_streams: int = Field(default=1000, ge=1, le=100_000, description="Most live event streams open at one time.")


class SocSettings(Section):
    enabled: bool = Field(default=True, description="Poll the course lists, once terms are named; false rests them.")
    base_url: Annotated[str, AfterValidator(_upstream_url)] = Field(
        default="https://classes.rutgers.edu/soc/api",
        description="Where the lists are; https, or http on this machine.",
    )
    terms: Terms = Field(default=(), description="Terms to poll, such as 12025 (spring 2025); none, none is polled.")
    campuses: Campuses = Field(default=("NB",), min_length=1, description="Campuses to poll: NB, NK, CM.")
    interval_s: float = Field(
        default=15, gt=0, le=3600, description="Seconds between two polls of a list; under 5 on this machine alone."
    )
    jitter: float = Field(default=0.3, ge=0, le=0.5, description="Share by which the interval varies; 0 is not at all.")
    catalogue_interval_s: float = Field(
        default=600, gt=0, le=86_400, description="Seconds between two catalogues; under 60 on this machine alone."
    )
    fetch_timeout_s: float = Field(default=15, gt=0, le=300, description="Seconds after which a list is given up.")
    catalogue_timeout_s: float = Field(default=120, gt=0, le=3600, description="The same for a catalogue.")

    @rule(mode="after")
    def _together(self) -> SocSettings:
        wrong: list[InitErrorDetails] = []
        if "enabled" in self.model_fields_set and self.enabled and not self.terms:
            wrong.append(_wrong("terms", self.terms, "must name at least one term, such as 12025, when soc is enabled"))
        if not is_loopback_host(_split(self.base_url).hostname or ""):
            wrong += [
                _wrong(name, getattr(self, name), f"must be at least {least} s, except for a loopback base_url")
                for name, least in POLITE_S.items()
                if getattr(self, name) < least
            ]
        if wrong:
            raise ValidationError.from_exception_data("soc", wrong)
        return self


class SubscriptionSettings(Section):
    verify: bool = Field(default=True, description="Whether a mail address is confirmed before it hears anything.")
    per_contact: int = Field(default=20, ge=1, le=10_000, description="Most live subscriptions of one contact.")
    per_section: int = Field(default=5000, ge=1, le=10_000_000, description="Most live subscriptions to one topic.")
    per_ip: int = Field(default=10, ge=1, le=1_000_000, description="Most requests to subscribe from one address.")
    per_ip_window_s: int = Field(default=600, ge=1, le=86_400, description="Seconds in which they are counted.")


class RetentionSettings(Section):
    events_days: int = Field(default=30, ge=1, le=3650, description="Days that events are kept.")
    subscriptions_days: int = Field(default=90, ge=1, le=3650, description="The same for an ended subscription.")
    closed_items_days: int = Field(default=90, ge=1, le=3650, description="The same for the state of a closed item.")


def _wrong(name: str, value: object, message: str) -> InitErrorDetails:
    return {"type": PydanticCustomError("together", "{problem}", {"problem": message}), "loc": (name,), "input": value}
