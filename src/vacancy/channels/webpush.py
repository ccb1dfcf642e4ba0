"""Web push: a message to a browser, through the service that its maker runs."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from yarl import URL

from vacancy.channels.base import Kit, Pace
from vacancy.channels.short import short
from vacancy.channels.webpush_crypto import BrowserKeys, Signer, browser_keys, private_key, public_key, seal
from vacancy.channels.webpush_crypto import b64 as b64url
from vacancy.clock import Clock
from vacancy.model.messages import Blocked, Dead, Outcome, Parcel, Retry, Sent
from vacancy.net.client import Client, NetTrouble, Reach, Response
from vacancy.net.guard import route
from vacancy.net.headers import retry_after_s
from vacancy.settings import Settings
from vacancy.settings_sections import is_loopback_host

__all__ = ["LONGEST", "Webpush", "build", "public_key"]

NAME: Final = "webpush"
LONGEST: Final = 1024
LARGEST_PAYLOAD: Final = 3072  # services take 4096 bytes sealed
TIMEOUT_S: Final = 10.0
_LARGEST_ANSWER: Final = 64 * 1024
_TOPIC_PURPOSE: Final = "webpush topic"
_TOPIC_BYTES: Final = 24  # 32 characters, which is the most
# How services say that the browser subscribed under another key of ours: Google, Apple, Mozilla.
_OTHER_KEY: Final = (b"do not correspond", b"does not correspond", b"vapidpkhashmismatch", b"public key mismatch")


class Webpush:
    name = NAME
    # The endpoint is a secret between browser and service: who can give it has asked that browser for it.
    verifies = False

    def __init__(self, settings: Settings, clock: Clock, client: Client, derive: Callable[[str], bytes]) -> None:
        rate = settings.delivery.webpush_per_second
        self.pace = Pace(per_second=rate, burst=max(1, int(rate)))
        self._clock = clock
        self._client = client
        self._ttl_s = settings.webpush.ttl_s
        self._allow_loopback = settings.webpush.allow_loopback
        self._signer = Signer(private_key(derive), subject(settings))
        self.public_key = self._signer.public_key
        self._topic_key = derive(_TOPIC_PURPOSE)

    def contact(self, text: str) -> str:
        """`JSON.stringify(subscription)` of a browser, without what is not needed to reach it."""
        if len(text) > LONGEST:
            raise ValueError(f"must be at most {LONGEST} characters")
        raw = _members(text)
        _keys(raw)
        kept = {name: raw["keys"][name].rstrip("=") for name in ("auth", "p256dh")}
        written = json.dumps({"endpoint": str(self._endpoint(raw)), "keys": kept}, separators=(",", ":"))
        if len(written) > LONGEST:
            raise ValueError(f"endpoint: must be at most {LONGEST} characters with its keys")
        return written

    async def send(self, parcel: Parcel) -> Outcome:
        try:
            raw = _members(parcel.person.contact)
            keys = _keys(raw)
        except ValueError:
            return Dead("invalid_recipient", "the contact is not a push subscription", alarm=True, provider=NAME)
        topic = self._topic(parcel)
        body = seal(payload(parcel, topic), keys)
        try:
            reach = self._reach(raw["endpoint"])
            answer = await self._client.post(
                raw["endpoint"],
                reach=reach,
                timeout_s=TIMEOUT_S,
                max_bytes=_LARGEST_ANSWER,
                body=body,
                content_type="application/octet-stream",
                headers=self._headers(route(raw["endpoint"], reach).origin, topic),
            )
        except NetTrouble as trouble:
            return _unheard(trouble)
        return outcome(answer, topic)

    async def probe(self) -> Blocked | None:
        """There is no one service to ask: each browser has its own."""
        return None

    async def close(self) -> None:
        """The client is everybody's; whoever made it closes it."""

    def _headers(self, origin: str, topic: str) -> dict[str, str]:
        return {
            "Authorization": self._signer.authorization(origin, self._clock.now().timestamp()),
            "Content-Encoding": "aes128gcm",
            "TTL": str(self._ttl_s),
            "Urgency": "high",
            "Topic": topic,
        }

    def _topic(self, parcel: Parcel) -> str:
        """The same for one opening, whatever try it is: the service then keeps the last. Keyed, because the service
        reads it, and could otherwise find out by trying which section somebody waits for."""
        about = parcel.opening.dedupe_key if parcel.opening is not None else parcel.key
        return b64url(hmac.new(self._topic_key, about.encode(), hashlib.sha256).digest()[:_TOPIC_BYTES])

    def _endpoint(self, raw: Mapping[str, Any]) -> URL:
        try:
            url = URL(raw["endpoint"]).with_fragment(None)
            route(str(url), self._reach(str(url)))
        except NetTrouble as trouble:
            raise ValueError(f"endpoint: {trouble.message}") from None
        except ValueError:
            raise ValueError("endpoint: cannot be read") from None
        return url

    def _reach(self, endpoint: str) -> Reach:
        if not self._allow_loopback:
            return Reach.PUBLIC
        try:
            host = urlsplit(endpoint).hostname or ""
        except ValueError:
            return Reach.PUBLIC
        return Reach.UPSTREAM if is_loopback_host(host) else Reach.PUBLIC


def subject(settings: Settings) -> str:
    """Whom a service may write to. Apple refuses every message of a sender at localhost, so without a contact the
    site's own address stands in, if it has one."""
    contact = settings.webpush.contact
    at_localhost = is_loopback_host(contact.rpartition("@")[2] or urlsplit(contact).hostname or "")
    site = urlsplit(settings.base_url)
    if at_localhost and site.scheme == "https" and not is_loopback_host(site.hostname or ""):
        return settings.base_url
    return contact


def payload(parcel: Parcel, tag: str) -> bytes:
    """JSON for the service worker. Too much text is cut; an address never is."""
    said = short(parcel)
    facts = {"title": said.title, "body": "\n".join(said.lines), "url": said.url or said.manage_url, "tag": tag,
             "manageUrl": said.manage_url, "manage": said.words["manage"]}  # fmt: skip
    for name in ("body", "title"):
        excess = len(_encoded(facts)) - LARGEST_PAYLOAD
        if excess > 0:
            facts[name] = _shortened(facts[name], excess)
    if len(_encoded(facts)) > LARGEST_PAYLOAD:
        facts |= {"url": "", "manageUrl": ""}
    return _encoded(facts)


def _encoded(facts: Mapping[str, str]) -> bytes:
    return json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace")


def _shortened(text: str, excess: int) -> str:
    """By that many bytes of JSON at least, the ellipsis included."""
    kept, room = [], len(_quoted(text)) - excess - len("…".encode())
    for character in text:
        room -= len(_quoted(character))
        if room < 0:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")[1:-1]


def _members(text: str) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        raw = None
    keys = raw.get("keys") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(keys, dict):
        raise ValueError("must be a push subscription as JSON, with endpoint and keys")
    if not all(isinstance(each, str) for each in (raw.get("endpoint"), keys.get("p256dh"), keys.get("auth"))):
        raise ValueError("must have endpoint, keys.p256dh and keys.auth, each a text")
    return raw


def _keys(raw: Mapping[str, Any]) -> BrowserKeys:
    try:
        return browser_keys(raw["keys"]["p256dh"], raw["keys"]["auth"])
    except ValueError:
        raise ValueError("keys: p256dh or auth is not what a browser gives; subscribe anew") from None


def _unheard(trouble: NetTrouble) -> Outcome:
    """Never the channel's own trouble: each browser names its service, and one that is down must not stop others."""
    if trouble.kind == "refused":
        return Dead("address_refused", trouble.message, provider=NAME)
    if trouble.kind == "too_large":  # it answered, and may have taken it
        return Dead("provider_error", trouble.message, provider=NAME)
    return Retry("network_error", trouble.message, provider=NAME)


def outcome(answer: Response, topic: str) -> Outcome:
    status = answer.status
    if 200 <= status < 300:
        return Sent(NAME, topic)
    if status in (404, 410) or _is_of_another_key(answer):
        return Dead("recipient_gone", f"the push service answered {status}", contact_is="gone", provider=NAME)
    # 406 is how Microsoft's service says that it is too much.
    if status in (406, 408, 425, 429) or status >= 500 or status < 400:
        code = "rate_limited" if status in (406, 429) else "provider_error"
        after_s = retry_after_s(answer.headers.get("Retry-After"), answer.received_at)
        return Retry(code, f"the push service answered {status}", after_s, NAME)
    code = "unauthorized" if status in (401, 403) else "provider_error"
    return Dead(code, f"the push service answered {status}", alarm=True, provider=NAME)


def _is_of_another_key(answer: Response) -> bool:
    """The browser subscribed under another server secret: no later message will reach it either. Any other 401 or 403
    is a fault of ours, such as a contact that Apple does not like, and must not cost everybody their subscription."""
    return answer.status in (400, 401, 403) and any(words in answer.body.lower() for words in _OTHER_KEY)


def build(kit: Kit) -> Webpush:
    return Webpush(kit.settings, kit.clock, kit.client, kit.derive)
