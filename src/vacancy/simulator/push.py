"""A push service that behaves like the real ones, with the browsers behind it: it opens what it is sent."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import http_ece  # type: ignore[import-untyped]
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from vacancy.clock import Clock
from vacancy.simulator.provider import Provider

LARGEST_MESSAGE: Final = 4096
LONGEST_TOKEN_S: Final = 24 * 3600
OTHER_KEY: Final = (
    "the VAPID credentials in the authorization header do not correspond to the credentials used to create the"
    " subscriptions.\n"
)
_AUTHORIZATION: Final = re.compile(r"vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)")
_TOPIC: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
_URGENCIES: Final = ("very-low", "low", "normal", "high")


@dataclass(frozen=True, slots=True)
class Pushed:
    payload: Any
    topic: str | None
    ttl_s: int
    urgency: str
    claims: Any


@dataclass(slots=True)
class Browser:
    """Who subscribed. `messages` is all that reached it, `waiting` what it would find when it is switched on: of one
    topic only the last."""

    endpoint: str
    server_key: str
    key: ec.EllipticCurvePrivateKey
    auth: bytes
    gone: bool = False
    messages: list[Pushed] = field(default_factory=list)

    @property
    def waiting(self) -> list[Pushed]:
        last = {message.topic or f"#{number}": message for number, message in enumerate(self.messages)}
        return list(last.values())

    def subscription(self) -> str:
        """What `JSON.stringify(subscription)` gives in a browser."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": _b64(point), "auth": _b64(self.auth)}
        return json.dumps({"endpoint": self.endpoint, "expirationTime": None, "keys": keys})


class PushService(Provider):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._browsers: dict[str, Browser] = {}

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.post("/push/{name}", self._push)]

    def subscribe(self, server_key: str) -> Browser:
        name = _b64(os.urandom(24))
        key = ec.generate_private_key(ec.SECP256R1())
        browser = Browser(f"{self.origin}/push/{name}", server_key, key, os.urandom(16))
        self._browsers[name] = browser
        return browser

    async def _push(self, request: web.Request) -> web.Response:
        browser = self._browsers.get(request.match_info["name"])
        if browser is None:
            return web.Response(status=404)
        if browser.gone:
            return web.Response(status=410)
        body = await request.read()
        wrong = self._wrong(browser, request, len(body))
        if wrong is not None:
            return wrong
        try:
            pushed = self._opened(browser, request, body)
        except (http_ece.ECEException, ValueError) as problem:
            return web.Response(status=400, text=f"cannot be opened: {problem}")
        browser.messages.append(pushed)
        location = f"{self.origin}/message/{len(browser.messages)}"
        return web.Response(status=201, headers={"Location": location, "TTL": request.headers["TTL"]})

    def _wrong(self, browser: Browser, request: web.Request, size: int) -> web.Response | None:
        headers = request.headers
        if not headers.get("TTL", "").isdecimal():
            return web.Response(status=400, text="TTL")
        if headers.get("Urgency", "normal") not in _URGENCIES or not _TOPIC.fullmatch(headers.get("Topic", "x")):
            return web.Response(status=400, text="Urgency or Topic")
        if headers.get("Content-Encoding") != "aes128gcm":
            return web.Response(status=415)
        if size > LARGEST_MESSAGE:
            return web.Response(status=413)
        claims = self._claims(headers.get("Authorization", ""))
        if claims is None:
            return web.Response(status=401, text="invalid JWT provided\n")
        if not headers["Authorization"].endswith(f"k={browser.server_key}"):
            return web.Response(status=403, text=OTHER_KEY)
        return None

    def _claims(self, authorization: str) -> Any:
        """None unless it is signed by the key that it names, for this origin, for no longer than a day."""
        found = _AUTHORIZATION.fullmatch(authorization)
        if found is None:
            return None
        signature = _unb64(found[3])
        if json.loads(_unb64(found[1]))["alg"] != "ES256" or len(signature) != 64:
            return None
        encoded = utils.encode_dss_signature(
            *(int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
        )
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _unb64(found[4]))
        try:
            key.verify(encoded, f"{found[1]}.{found[2]}".encode(), ec.ECDSA(SHA256()))
        except InvalidSignature:
            return None
        claims = json.loads(_unb64(found[2]))
        lasts = claims["exp"] - self._clock.now().timestamp()
        return claims if claims["aud"] == self.origin and 0 < lasts <= LONGEST_TOKEN_S else None

    def _opened(self, browser: Browser, request: web.Request, body: bytes) -> Pushed:
        plain = http_ece.decrypt(body, private_key=browser.key, auth_secret=browser.auth, version="aes128gcm")
        headers = request.headers
        return Pushed(
            json.loads(plain),
            headers.get("Topic"),
            int(headers["TTL"]),
            headers.get("Urgency", "normal"),
            self._claims(headers["Authorization"]),
        )


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
