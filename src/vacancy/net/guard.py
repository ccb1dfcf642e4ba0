"""Which addresses we connect to. The spelling is checked first, and the address again when the socket is made."""

from __future__ import annotations

import functools
import ipaddress
import re
import socket
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Any, Final, Literal

from yarl import URL

from vacancy.errors import VacancyError
from vacancy.settings_sections import is_loopback_host

AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]


class Reach(Enum):
    """Where a request may go."""

    UPSTREAM = "upstream"  # an operator configured it: https to public addresses, http(s) to this machine
    PUBLIC = "public"  # a user gave it: https to public addresses


class Lane(Enum):
    """Each has connections of its own, so one that was opened under looser rules never serves a stricter request."""

    PUBLIC = "public"
    UPSTREAM = "upstream"
    LOOPBACK = "loopback"


class NetTrouble(VacancyError):  # noqa: N818 - a word of the design
    """No usable answer. The message names the origin at most: paths and queries hold secrets too."""

    def __init__(self, kind: Literal["timeout", "network", "refused", "too_large"], message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class AddressRefusedError(OSError):
    """An OSError, because aiohttp hands those on as a failed connection and lets others fall through."""


@dataclass(frozen=True, slots=True)
class Route:
    url: URL
    origin: str
    lane: Lane


# Hosts that the C library reads as an IPv4 address: 2130706433, 0x7f000001, 0177.0.0.1, 127.1.
_NUMBERISH: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)
_NAME: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9.])?", re.IGNORECASE)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = IPv6Network("::/96")
# Python calls some of these global, or did in versions that we support; the /32 is Azure's metadata service.
_NEVER: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"),
        *("64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16"),
    )
)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Global unicast, also inside: an IPv6 form of a private IPv4 address is as private as that."""
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local or address.scope_id is not None:
            return False
    if address.is_multicast or address.is_reserved or any(address in network for network in _NEVER):
        return False
    return address.is_global


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64 or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def socket_for(lane: Lane, info: AddressInfo) -> socket.socket:
    """The last word: `info` is the address that is about to be connected, whatever a name said a moment ago."""
    family, kind, protocol, _, target = info
    require_fit(lane, target[0])
    return socket.socket(family, kind, protocol)


def require_fit(lane: Lane, host: object) -> None:
    """`host` as a socket is given it: an address in digits."""
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        raise AddressRefusedError("not an internet address") from None
    allowed = address.is_loopback if lane is Lane.LOOPBACK else is_public(address)
    if not allowed:
        raise AddressRefusedError(f"{address} is not an address that we connect to")


@functools.lru_cache(maxsize=1024)
def route(text: str, reach: Reach) -> Route:
    """The address, taken apart and found fit by its spelling. Cached: a poller asks the same one over and over."""
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except ValueError:
        raise NetTrouble("refused", "the address cannot be read") from None
    if url.scheme not in ("http", "https") or not host or not port:
        raise NetTrouble("refused", "the address does not start with https:// and a host")
    origin = str(url.origin())
    if url.raw_user is not None or url.raw_password is not None:
        raise NetTrouble("refused", f"{origin}: an address with a user or a password in it is not used")
    lane = _lane(url.scheme, host, reach)
    if lane is None or (lane is Lane.PUBLIC and not _fit_for_users(port)):
        raise NetTrouble("refused", f"{origin} is not an address that we connect to")
    return Route(url, origin, lane)


def _lane(scheme: str, host: str, reach: Reach) -> Lane | None:
    if is_loopback_host(host):
        return Lane.LOOPBACK if reach is Reach.UPSTREAM else None
    if scheme != "https" or not _named_or_public(host):
        return None
    return Lane.UPSTREAM if reach is Reach.UPSTREAM else Lane.PUBLIC


def _fit_for_users(port: int) -> bool:
    """Below 1024 other things than the web listen, and a user could have us knock at each."""
    return port == 443 or port >= 1024


def _named_or_public(host: str) -> bool:
    try:
        return is_public(ipaddress.ip_address(host))
    except ValueError:
        return bool(_NAME.fullmatch(host)) and not _NUMBERISH.fullmatch(host)
