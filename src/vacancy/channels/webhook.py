"""Webhooks: the message as JSON, posted to an address of its owner's, signed as Standard Webhooks has it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from standardwebhooks import Webhook as Signer
from yarl import URL

from vacancy.channels.base import Kit, Pace
from vacancy.channels.webhook_body import Bodies
from vacancy.channels.webhook_secret import signing_secret
from vacancy.clock import Clock
from vacancy.model.messages import Dead, Kind, Outcome, Parcel, Retry, Sent
from vacancy.net.client import Client, NetTrouble, Reach, Response
from vacancy.net.guard import route
from vacancy.net.headers import retry_after_s
from vacancy.settings import Settings
from vacancy.settings_sections import is_loopback_host

NAME: Final = "webhook"
LONGEST: Final = 256
_TIMEOUT_S: Final = 10.0
# Nothing in the answer is read; this much lets a chatty endpoint keep its connection.
_MOST_BYTES: Final = 64 * 1024
_GONE: Final = 410
_TROUBLES: Final[Mapping[str, Outcome]] = {
    "timeout": Retry("network_error", "the endpoint did not answer in time", provider=NAME),
    "network": Retry("network_error", "no connection to the endpoint, or it broke off", provider=NAME),
    "refused": Dead("address_refused", "the endpoint's address is not one that we connect to", provider=NAME),
    "too_large": Dead("provider_error", "the endpoint's answer is too large to be read", provider=NAME),
}


class WebhookChannel:
    name = NAME
    # An address that takes posts is its owner's own work; what it is sent tells how to end it.
    verifies = False

    def __init__(self, settings: Settings, clock: Clock, client: Client, derive: Callable[[str], bytes]) -> None:
        rate = settings.delivery.webhook_per_second
        self.pace = Pace(per_second=rate, burst=max(1, round(rate)))
        self._allow_loopback = settings.webhook.allow_loopback
        self._clock = clock
        self._client = client
        self._bodies = Bodies(clock)
        self._signer = lru_cache(maxsize=4096)(lambda whose, number: Signer(signing_secret(derive, whose, number)))
        chosen = settings.operator.webhook_secret
        self._operators_signer = Signer(chosen.get_secret_value()) if chosen else None

    def contact(self, text: str) -> str:
        text = text.strip()
        _require(len(text) <= LONGEST, f"must be at most {LONGEST} characters")
        found = str(_read(text))
        _require(len(found) <= LONGEST, f"must be at most {LONGEST} characters once it is written in plain ones")
        _require(self._may_be_used(found), "must be an https:// address on the internet, at port 443 or from 1024 up")
        return found

    async def send(self, parcel: Parcel) -> Outcome:
        message_id = "msg_" + hashlib.sha256(parcel.key.encode()).hexdigest()[:32]
        body = self._bodies.of(parcel)
        try:
            answer = await self._client.post(
                parcel.person.contact,
                reach=Reach.UPSTREAM if parcel.kind is Kind.OPERATOR else self._reach(parcel.person.contact),
                timeout_s=_TIMEOUT_S,
                max_bytes=_MOST_BYTES,
                body=body,
                content_type="application/json",
                headers=self._headers(message_id, parcel, body),
            )
        except NetTrouble as trouble:
            return _TROUBLES[trouble.kind]
        return _outcome(answer, message_id)

    async def probe(self) -> None:
        """There is no service to be down: each endpoint is its owner's."""
        return

    async def close(self) -> None:
        """The connections are the client's."""

    def _headers(self, message_id: str, parcel: Parcel, body: bytes) -> dict[str, str]:
        now, person = self._clock.now(), parcel.person
        signer = self._operators_signer if parcel.kind is Kind.OPERATOR else None
        signer = signer or self._signer(person.contact_hash, person.subscription_id)
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signer.sign(message_id, now, body.decode()),
        }

    def _may_be_used(self, contact: str) -> bool:
        try:
            route(contact, self._reach(contact))
        except NetTrouble:
            return False
        return True

    def _reach(self, contact: str) -> Reach:
        if self._allow_loopback and is_loopback_host(URL(contact).raw_host or ""):
            return Reach.UPSTREAM
        return Reach.PUBLIC


def _read(text: str) -> URL:
    """Host in lower case, no port where it goes without saying, no dots in the path: one address has one spelling."""
    _require(text.isprintable() and " " not in text, "must not hold spaces")
    try:
        url = URL(text)
        host, _ = (url.raw_host or "").rstrip("."), url.port  # reading the port is what checks it
    except ValueError:
        raise ValueError("must be an address such as https://example.com/hook") from None
    if url.scheme not in ("http", "https") or not host:
        raise ValueError("must start with https:// and name a host")
    _require(url.raw_user is None and url.raw_password is None, "must not hold a user or a password")
    _require("#" not in text, "must not hold a #, for what follows it is never sent")
    if host != url.raw_host:
        url = url.with_host(host)
    return url.with_path("/", keep_query=True) if url.raw_path == "/" else url


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _outcome(answer: Response, message_id: str) -> Outcome:
    status = answer.status
    if 200 <= status < 300:
        return Sent(NAME, message_id)
    if status == _GONE:
        return Dead("gone", "the endpoint answered 410: it wants no more", contact_is="gone", provider=NAME)
    if status < 400:
        return Dead("redirect", f"the endpoint answered {status}, and redirects are not followed", provider=NAME)
    # Whatever an endpoint answers is its own affair: a rate of its own must not hold up everybody else's.
    code = "rate_limited" if status == 429 else "provider_error"
    wait = retry_after_s(answer.headers.get("Retry-After"), answer.received_at)
    return Retry(code, f"the endpoint answered {status}", wait, NAME)


def build(kit: Kit) -> WebhookChannel:
    return WebhookChannel(kit.settings, kit.clock, kit.client, kit.derive)
