"""The two locks of web push: the message is sealed for one browser (RFC 8291), and we sign who sends it (RFC 8292)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import http_ece  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid.jwt import sign  # type: ignore[import-untyped]

POINT_BYTES: Final = 65
AUTH_BYTES: Final = 16
_PURPOSE: Final = "vapid"
_INFO: Final = b"vacancy vapid P-256"
# 16 bytes more than the order has: what the remainder prefers is then too little to matter.
_WIDE_BYTES: Final = 48
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_HOUR_S: Final = 3600
_TOKEN_HOURS: Final = 12  # services refuse more than 24, and some a clock that is off by a little
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+={0,2}")


@dataclass(frozen=True, slots=True)
class BrowserKeys:
    p256dh: bytes
    auth: bytes


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str, size: int) -> bytes:
    """ValueError unless it is base64url of that many bytes."""
    if len(text) > 2 * size or not _BASE64URL.fullmatch(text):
        raise ValueError("not base64url")
    try:
        data = base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except binascii.Error:
        raise ValueError("not base64url") from None
    if len(data) != size:
        raise ValueError(f"not {size} bytes")
    return data


def browser_keys(p256dh: str, auth: str) -> BrowserKeys:
    """ValueError unless a message can be sealed with them: the point must lie on the curve."""
    point = unb64(p256dh, POINT_BYTES)
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    return BrowserKeys(point, unb64(auth, AUTH_BYTES))


def seal(plain: bytes, keys: BrowserKeys) -> bytes:
    own = ec.generate_private_key(ec.SECP256R1())
    sealed: bytes = http_ece.encrypt(plain, private_key=own, dh=keys.p256dh, auth_secret=keys.auth, version="aes128gcm")
    return sealed


def private_key(derive: Callable[[str], bytes]) -> ec.EllipticCurvePrivateKey:
    """From the server's secret, so that all machines have the same one and none has to keep it. A browser's
    subscription is bound to it: with another secret every browser has to subscribe again."""
    wide = HKDFExpand(SHA256(), length=_WIDE_BYTES, info=_INFO).derive(derive(_PURPOSE))
    return ec.derive_private_key(int.from_bytes(wide, "big") % (_ORDER - 1) + 1, ec.SECP256R1())


def public_key(derive: Callable[[str], bytes]) -> str:
    """What a page hands to the browser as `applicationServerKey`."""
    return _point(private_key(derive))


class Signer:
    """One signature for a service and an hour: they advise to use it more than once."""

    def __init__(self, key: ec.EllipticCurvePrivateKey, subject: str) -> None:
        self._key = key
        self.public_key = _point(key)
        self._subject = subject
        self._token = lru_cache(maxsize=64)(self._signed)

    def authorization(self, origin: str, now_s: float) -> str:
        return f"vapid t={self._token(origin, int(now_s // _HOUR_S))}, k={self.public_key}"

    def _signed(self, origin: str, hour: int) -> str:
        claims = {"aud": origin, "exp": (hour + _TOKEN_HOURS) * _HOUR_S, "sub": self._subject}
        token: str = sign(claims, self._key)
        return token


def _point(key: ec.EllipticCurvePrivateKey) -> str:
    return b64(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
