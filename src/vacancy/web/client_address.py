"""Whose request it is, as far as the network can tell. What the client says of itself counts for nothing."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

from starlette.types import Scope

from vacancy.settings_sections import Network

DIRECT: Final = "direct"
# One household or one rented machine has a whole /64: by single addresses there would be no limit at all.
_HOUSEHOLD: Final = 64


def client_address(scope: Scope, trusted: Sequence[Network]) -> str:
    """The nearest hop that is not a proxy of ours. A proxy adds the address it saw at the end of the header."""
    peer = scope["client"][0] if scope.get("client") else ""
    hops = [*_forwarded(scope), peer]
    while len(hops) > 1 and _is_in(hops[-1], trusted):
        hops.pop()
    return _household(hops[-1])


def _forwarded(scope: Scope) -> list[str]:
    said = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [hop.strip() for line in said for hop in line.split(",") if hop.strip()]


def _is_in(text: str, networks: Sequence[Network]) -> bool:
    address = _read(text)
    return address is not None and any(address in network for network in networks)


def _household(text: str) -> str:
    address = _read(text)
    if address is None:
        return DIRECT
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _HOUSEHOLD), strict=False))
    return str(address)


def _read(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    # A socket that takes both families shows IPv4 peers this way.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
