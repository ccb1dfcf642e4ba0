"""The guard for libraries that make their own sockets: each address is looked at when it is about to be connected."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from vacancy.net.guard import AddressRefusedError, Lane, require_fit

# What Python tells of before a socket sends anything anywhere, whatever library asked for it.
_EVENTS: Final = ("socket.connect", "socket.sendto", "socket.sendmsg")


@dataclass(slots=True)
class Lookout:
    lane: Lane
    has_refused: bool = False


_keeping: ContextVar[Lookout | None] = ContextVar("lookout", default=None)


@contextmanager
def looking_out(lane: Lane) -> Iterator[Lookout]:
    """Within, and in threads that are given this context, only addresses of the lane are connected to. A name that
    changes its mind after it was looked up changes nothing: it is the address itself that is looked at."""
    _stand_guard()
    lookout = Lookout(lane)
    token = _keeping.set(lookout)
    try:
        yield lookout
    finally:
        _keeping.reset(token)


@cache
def _stand_guard() -> None:
    """Once and for good: Python takes no such hook back."""
    sys.addaudithook(_watch)


def _watch(event: str, details: tuple[Any, ...]) -> None:
    if event not in _EVENTS:
        return
    lookout = _keeping.get()
    if lookout is None or details[1] is None:  # sent over a connection that was looked at when it was made
        return
    try:
        # A path is the address of a socket on this machine; it is none in digits, and refused for that.
        require_fit(lookout.lane, details[1][0] if isinstance(details[1], tuple) else "")
    except AddressRefusedError:
        lookout.has_refused = True
        raise
