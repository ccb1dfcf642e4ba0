"""The sections of the settings, each with its rules."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic import model_validator as rule
from pydantic_core import InitErrorDetails, PydanticCustomError

from vacancy.model.markets import MARKETS, Box
from vacancy.model.terms import parse_campus, parse_term

# Their libraries connect from threads that they begin themselves, or run a program.
_UNGUARDED_SCHEMAS: Final = ("mqtt", "mqtts", "xmpp", "xmpps", "macosx")
_LEAST_KEY: Final = 24
_LONGEST_KEY: Final = 64
POLITE_S: Final = MappingProxyType({"interval_s": 5, "catalogue_interval_s": 60})
_TIME_SLOT: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
_MOST_PEOPLE: Final = 20
T = TypeVar("T")


def is_loopback_host(host: str) -> bool:
    """By its spelling alone; what a name resolves to is checked when the connection is made."""
    host = host.rstrip(".").lower()
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def least_interval_s(url: str) -> float:
    """Between two polls of one target there; this machine alone may be asked as often as it likes."""
    return 0 if is_loopback_host(urlsplit(url).hostname or "") else POLITE_S["interval_s"]


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


def _signing_secret(secret: SecretStr | None) -> SecretStr | None:
    """As Standard Webhooks has it: shorter ones are guessed."""
    if secret is not None:
        prefix, mark, key = secret.get_secret_value().rpartition("whsec_")
        try:
            size = len(base64.b64decode(key, validate=True)) if mark and not prefix else 0
        except binascii.Error:
            size = 0
        if not _LEAST_KEY <= size <= _LONGEST_KEY:
            raise ValueError("must be whsec_ followed by 24 to 64 bytes in base64")
    return secret


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _guarded_schema(text: str) -> str:
    schema = text.strip().lower().removesuffix("://")
    if not schema.isalnum():
        raise ValueError("must be the part of an Apprise URL before ://, such as ntfys")
    if schema in _UNGUARDED_SCHEMAS:
        raise ValueError("is not taken: it connects out of the address guard's sight")
    return schema


def _unique(values: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))


def _for_a_header(secret: SecretStr | None) -> SecretStr | None:
    """What would break out of the header that it is sent in must not get as far as a request."""
    text = secret.get_secret_value() if secret else ""
    if not (text.isascii() and text.isprintable()) or '"' in text:
        raise ValueError("must be one line of plain characters without quotation marks")
    return secret


def _market_of(text: str) -> str:
    if text.lower() not in MARKETS:
        raise ValueError(f"must be one of {', '.join(MARKETS)}")
    return text.lower()


def _time_slot_of(text: str) -> str:
    found = _TIME_SLOT.fullmatch(text.strip())
    if found is None:
        raise ValueError("must be a time of day such as 20:30")
    return f"{found[1]:0>2}:{found[2]}"


def _box_of(sides: tuple[float, ...]) -> Box:
    if len(sides) == 4:
        south, west, north, east = sides
        if -90 <= south < north <= 90 and -180 <= west < east <= 180:
            return south, west, north, east
    raise ValueError("must be south, west, north, east in degrees, south below north and west below east")


def _some(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise ValueError("must name at least one")
    return values


Secret = Annotated[SecretStr | None, AfterValidator(_not_blank)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(lambda text: ipaddress.ip_network(str(text)))]
Terms = Annotated[tuple[Annotated[str, AfterValidator(parse_term)], ...], AfterValidator(_unique)]
Campuses = Annotated[tuple[Annotated[str, AfterValidator(parse_campus)], ...], AfterValidator(_unique)]
HeaderSecret = Annotated[Secret, AfterValidator(_for_a_header)]
UpstreamUrl = Annotated[str, AfterValidator(_upstream_url)]
BoundingBox = Annotated[tuple[float, ...], AfterValidator(_box_of)]
TimeSlots = Annotated[
    tuple[Annotated[str, AfterValidator(_time_slot_of)], ...], AfterValidator(_some), AfterValidator(_unique)
]
PartySizes = Annotated[
    tuple[Annotated[int, Field(ge=1, le=_MOST_PEOPLE)], ...],
    AfterValidator(_some),
    AfterValidator(_unique),
    AfterValidator(lambda sizes: tuple(sorted(sizes))),
]
LogLevel = Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(_lower)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WebSettings(Section):
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 or :: means all.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    admin_token: Secret = Field(default=None, description="Opens /api/admin, and the outbox from elsewhere.")
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


class ResySettings(Section):
    enabled: bool = Field(default=False, description="Poll restaurants' tables; the two keys below are needed then.")
    base_url: Annotated[str, AfterValidator(_upstream_url)] = Field(
        default="https://api.resy.com", description="Where tables are searched; https, or http on this machine."
    )
    api_key: HeaderSecret = Field(default=None, description="The key that Resy's own pages send.")
    auth_token: HeaderSecret = Field(default=None, description="The token of an account there.")
    market: Annotated[str, AfterValidator(_market_of)] = Field(
        default="nyc", description=f"The city: {', '.join(MARKETS)}."
    )
    bounding_box: BoundingBox | None = Field(
        default=None, description="South, west, north, east in degrees, if not the market's."
    )
    time_slots: TimeSlots = Field(default=("15:00", "20:30"), description="Times of day to watch, each an hour around.")
    window_days: int = Field(default=14, ge=1, le=30, description="Days to watch, today included.")
    party_sizes: PartySizes = Field(default=(2, 4), description="How many people to ask for.")
    interval_s: float = Field(
        default=30, gt=0, le=3600, description="Seconds between two polls of a bucket; under 5 on this machine alone."
    )
    jitter: float = Field(default=0.3, ge=0, le=0.5, description="Share by which the interval varies; 0 is not at all.")
    dedupe_minutes: int = Field(
        default=30, ge=1, le=1440, description="Minutes in which a slot is told of at most once, even if it closed."
    )
    fetch_timeout_s: float = Field(
        default=60, gt=0, le=300, description="Seconds after which a poll is given up, with all its pages."
    )
    per_page: int = Field(default=100, ge=10, le=200, description="Venues to a page; the upstream must keep it.")
    max_pages: int = Field(
        default=10, ge=1, le=50, description="Most pages for one party size; an answer with more is not whole."
    )

    @rule(mode="after")
    def _together(self) -> ResySettings:
        if is_loopback_host(_split(self.base_url).hostname or ""):
            return self
        wrong: list[InitErrorDetails] = []
        missing = [name for name in ("api_key", "auth_token") if getattr(self, name) is None]
        if self.enabled and missing:
            needed = "api_key and auth_token are needed when resy is enabled, except for a loopback base_url"
            wrong.append(_wrong(missing[0], None, needed))
        if self.interval_s < POLITE_S["interval_s"]:
            least = f"must be at least {POLITE_S['interval_s']} s, except for a loopback base_url"
            wrong.append(_wrong("interval_s", self.interval_s, least))
        if wrong:
            raise ValidationError.from_exception_data("resy", wrong)
        return self


class SubscriptionSettings(Section):
    verify: bool = Field(default=True, description="Whether a mail address is confirmed before it hears anything.")
    per_contact: int = Field(default=20, ge=1, le=10_000, description="Most live subscriptions of one contact.")
    per_section: int = Field(default=5000, ge=1, le=10_000_000, description="Most live subscriptions to one topic.")
    per_ip: int = Field(default=10, ge=1, le=1_000_000, description="Most requests to subscribe from one address.")
    per_ip_window_s: int = Field(default=600, ge=1, le=86_400, description="Seconds in which they are counted.")


class EmailSettings(Section):
    provider: Literal["outbox", "smtp", "sendgrid"] = Field(
        default="outbox", description="Who takes the mails; outbox keeps them as rows that a page shows."
    )
    sender: str = Field(default="Vacancy <vacancy@localhost>", description="From whom mails come: Name <a@b.example>.")
    reply_to: str | None = Field(default=None, description="Where answers go, if not to the sender.")
    smtp_host: str = Field(default="localhost", min_length=1, description="The mail server.")
    smtp_port: int = Field(default=587, ge=1, le=65535, description="Its port.")
    smtp_username: str | None = Field(default=None, description="The name to log in with; none, no login.")
    smtp_password: Secret = Field(default=None, description="The password to log in with.")
    smtp_tls: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="How the connection is secured; none is for this machine alone."
    )
    smtp_ca_file: Path | None = Field(default=None, description="Certificates to trust besides the system's.")
    smtp_connections: int = Field(default=4, ge=1, le=20, description="Most connections that are kept open.")
    sendgrid_base_url: Annotated[str, AfterValidator(_upstream_url)] = Field(
        default="https://api.sendgrid.com", description="Where SendGrid answers."
    )
    sendgrid_api_key: Secret = Field(default=None, description="SendGrid's key.")
    timeout_s: float = Field(default=10, gt=0, le=60, description="Seconds after which one answer is given up.")
    dry_run: bool = Field(default=False, description="Lay out and check every mail, and send none.")
    override_recipient: str | None = Field(default=None, description="Send every mail here instead; for trying out.")

    @rule(mode="after")
    def _together(self) -> EmailSettings:
        wrong: list[InitErrorDetails] = []
        if self.provider == "sendgrid" and self.sendgrid_api_key is None:
            wrong.append(_wrong("sendgrid_api_key", None, "is needed, for the provider is sendgrid"))
        if (self.smtp_username is None) != (self.smtp_password is None):
            wrong.append(_wrong("smtp_password", None, "smtp_username and smtp_password go together"))
        if self.provider == "smtp" and self.smtp_tls == "none" and not is_loopback_host(self.smtp_host):
            wrong.append(_wrong("smtp_tls", self.smtp_tls, "none is for this machine alone; use starttls or tls"))
        if wrong:
            raise ValidationError.from_exception_data("email", wrong)
        return self


class TelegramSettings(Section):
    token: Secret = Field(default=None, description="The bot's token; without it there is no such channel.")
    api_base: Annotated[str, AfterValidator(_upstream_url)] = Field(
        default="https://api.telegram.org", description="Where Telegram's bot API answers."
    )
    listen: bool = Field(
        default=True, description="Read what people write to the bot; false where another process does and hands it on."
    )


class DiscordSettings(Section):
    webhook_hosts: tuple[str, ...] = Field(
        default=("discord.com", "discordapp.com", "canary.discord.com", "ptb.discord.com"),
        description="Hosts that a webhook's address may have.",
    )
    bot_token: Secret = Field(default=None, description="A bot's token, for channels and direct messages.")
    api_base: Annotated[str, AfterValidator(_upstream_url)] = Field(
        default="https://discord.com/api/v10", description="Where Discord's API answers."
    )


class WebhookSettings(Section):
    enabled: bool = Field(default=True, description="Whether people may give an address that is posted to.")
    allow_loopback: bool = Field(default=False, description="Also post to this machine; for trying out.")


class WebpushSettings(Section):
    enabled: bool = Field(default=True, description="Whether browsers may be told.")
    contact: str = Field(default="mailto:vacancy@localhost", description="Whom a push service may write to.")
    ttl_s: int = Field(default=600, ge=0, le=86_400, description="Seconds that a push service keeps a message.")
    allow_loopback: bool = Field(default=False, description="Also push to this machine; for trying out.")


class AppriseSettings(Section):
    enabled: bool = Field(default=False, description="Whether people may give an Apprise URL; needs the extra apprise.")
    allowed_schemas: tuple[Annotated[str, AfterValidator(_guarded_schema)], ...] = Field(
        default=("gotifys", "matrixs", "ntfys", "pover", "slack"),
        min_length=1,
        description="What such a URL may begin with, without ://.",
    )
    allow_loopback: bool = Field(default=False, description="Also services on this machine; for trying out.")


class DeliverySettings(Section):
    max_attempts: int = Field(default=3, ge=1, le=20, description="Tries of one message before it is a dead letter.")
    lock_ttl_s: int = Field(default=120, ge=30, le=3600, description="Seconds after which a dead worker's row is free.")
    retry_schedule_ms: tuple[Annotated[int, Field(ge=0, le=86_400_000)], ...] = Field(
        default=(0, 2000, 7000),
        min_length=1,
        description="Waits after each failure; the last one goes on.",
    )
    email_per_second: float = Field(default=50, gt=0, le=100_000, description="Most mails a second.")
    telegram_per_second: float = Field(default=30, gt=0, le=100_000, description="The same for Telegram.")
    discord_per_second: float = Field(default=20, gt=0, le=100_000, description="The same for Discord.")
    webhook_per_second: float = Field(default=200, gt=0, le=100_000, description="The same for webhooks.")
    webpush_per_second: float = Field(default=200, gt=0, le=100_000, description="The same for browsers.")
    apprise_per_second: float = Field(default=5, gt=0, le=100_000, description="The same for Apprise.")


class TaskSettings(Section):
    service_token: HeaderSecret = Field(
        default=None,
        description="Proves who asks below /tasks, and who hands on the bot's updates; none: only this machine may.",
    )


class OperatorSettings(Section):
    email: str | None = Field(default=None, description="Who is told of troubles, by mail.")
    webhook: Annotated[str, AfterValidator(_upstream_url)] | None = Field(
        default=None, description="An address that troubles are posted to."
    )
    webhook_secret: Annotated[Secret, AfterValidator(_signing_secret)] = Field(
        default=None, description="What signs those posts: whsec_ and 24 to 64 bytes as base64."
    )


class RetentionSettings(Section):
    events_days: int = Field(default=30, ge=1, le=3650, description="Days that events are kept.")
    subscriptions_days: int = Field(default=90, ge=1, le=3650, description="The same for an ended subscription.")
    closed_items_days: int = Field(default=90, ge=1, le=3650, description="The same for the state of a closed item.")


def _wrong(name: str, value: object, message: str) -> InitErrorDetails:
    return {"type": PydanticCustomError("together", "{problem}", {"problem": message}), "loc": (name,), "input": value}
