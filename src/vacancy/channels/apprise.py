"""Apprise: the long tail of services, each named by a URL that holds its keys.

Its code is synchronous and makes its own connections: it runs in threads of its own, under the lookout.
"""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from vacancy.channels.base import Kit, Pace
from vacancy.channels.short import Short, short
from vacancy.errors import SettingsError
from vacancy.model.messages import Dead, Outcome, Parcel, Retry, Sent
from vacancy.net.guard import Lane, NetTrouble, Reach, route
from vacancy.net.lookout import looking_out
from vacancy.settings import Settings
from vacancy.settings_sections import is_loopback_host

try:
    from apprise import Apprise, AppriseAsset, AppriseResultStatus, NotifyFormat
except ModuleNotFoundError as missing:
    raise SettingsError(
        "apprise.enabled: the library is not here; install it with `pip install apprise`, or set this to false"
    ) from missing

NAME: Final = "apprise"
LONGEST: Final = 1024
# How many sends may hang at one time. None of them holds up another channel.
_THREADS: Final = 4
_CONNECT_S: Final = 5.0
_READ_S: Final = 8.0
_IN_ALL_S: Final = 20.0
_CONTACT_GAP_S: Final = 1.0


class AppriseChannel:
    name = NAME
    # Some URLs hold a password, others no more than a name that anybody could have given.
    verifies = True

    def __init__(self, settings: Settings) -> None:
        rate = settings.delivery.apprise_per_second
        self.pace = Pace(per_second=rate, burst=max(1, round(rate)), contact_gap_s=_CONTACT_GAP_S)
        self._schemas = settings.apprise.allowed_schemas
        self._allow_loopback = settings.apprise.allow_loopback
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=NAME)
        # It follows no redirect and tries once: both are ours to decide. Nothing is kept on disk.
        self._asset = AppriseAsset(app_id="Vacancy", app_desc="Vacancy", app_url=settings.base_url, async_mode=False,
                                   http_redirects=False, service_timeout=_IN_ALL_S, storage_mode="memory",
                                   interpret_emojis=False, secure_logging=True)  # fmt: skip

    def contact(self, text: str) -> str:
        text = text.strip()
        _require(len(text) <= LONGEST, f"must be at most {LONGEST} characters")
        plain = text.isascii() and text.isprintable() and " " not in text
        _require(plain, "must be written in plain characters, others as %XX")
        written: str = self._service(text).url()
        _require(len(written) <= LONGEST, f"must be at most {LONGEST} characters once all of it is written out")
        # Some services read what they wrote as something else, or as nothing.
        _require(self._service(written).url() == written, "must be a URL that Apprise can read back")
        return written

    async def send(self, parcel: Parcel) -> Outcome:
        try:
            service = self._service(parcel.person.contact)
        except ValueError:
            return Dead("invalid_recipient", "its kind of URL is not used here any more", provider=NAME)
        key = hashlib.sha256(parcel.key.encode()).hexdigest()[:32]
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._hand_over, service, parcel, key)

    async def probe(self) -> None:
        """There is no one service to ask: each URL names its own."""
        return

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _service(self, text: str) -> Any:
        """ValueError says in one line why it is none."""
        schema = text.partition("://")[0].lower()
        _require("://" in text, "must be an Apprise URL, such as ntfys://ntfy.sh/TOPIC")
        _require(schema in self._schemas, f"must begin with one of {', '.join(f'{each}://' for each in self._schemas)}")
        service = Apprise.instantiate(text, asset=self._asset)
        if service is None:
            raise ValueError(f"must be a whole {schema}:// URL; https://appriseit.com/services/ shows how each looks")
        _tame(service)
        _require(len(service) == 1, "must name one recipient; subscribe once for each")
        if _names_a_host(service):
            self._require_host(service)
        return service

    def _require_host(self, service: Any) -> None:
        """By its spelling, so that who gives it is told. What it resolves to is looked at when it is connected to."""
        host, port = str(service.host), service.port or 443
        try:
            route(f"https://{host}:{port}/", Reach.UPSTREAM if self._is_here(service) else Reach.PUBLIC)
        except NetTrouble:
            raise ValueError("must name a host on the internet, at its usual port or from 1024 up") from None

    def _is_here(self, service: Any) -> bool:
        return self._allow_loopback and is_loopback_host(str(service.host).strip("[]"))

    def _hand_over(self, service: Any, parcel: Parcel, key: str) -> Outcome:
        """In a thread."""
        said = short(parcel)
        services: Any = Apprise(asset=self._asset)
        services.add(service)
        with looking_out(Lane.LOOPBACK if self._is_here(service) else Lane.PUBLIC) as lookout:
            result = services.notify(body=_text(said), title=said.title, body_format=NotifyFormat.TEXT)
        if lookout.has_refused:
            return Dead("address_refused", "the URL leads to an address that we do not connect to", provider=NAME)
        if result.status is AppriseResultStatus.SUCCESS:
            return Sent(NAME, key)
        if result.status is AppriseResultStatus.TIMEOUT:
            return Retry("network_error", f"the service did not answer within {_IN_ALL_S:g} s", provider=NAME)
        return Retry("provider_error", "the service did not take it, and Apprise does not say why", provider=NAME)


def _tame(service: Any) -> None:
    """A URL may ask for its own retries, time-outs, redirects, no check of certificates, or failure to count as
    success."""
    service.retry, service.wait, service.optional = 0, 0.0, False
    service.redirects, service.verify_certificate = False, True
    service.socket_connect_timeout, service.socket_read_timeout = _CONNECT_S, _READ_S
    service.request_rate_per_sec = 0


def _names_a_host(service: Any) -> bool:
    """In others a token or a topic stands in its place, which must not even be looked up."""
    return any("{host}" in template for template in service.templates)


def _text(said: Short) -> str:
    links = [f"{said.words[name]}: {url}" for name, url in (("open", said.url), ("manage", said.manage_url)) if url]
    return "\n".join((*said.lines, "", *links))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def build(kit: Kit) -> AppriseChannel:
    return AppriseChannel(kit.settings)
