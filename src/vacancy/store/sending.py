"""One switch for all that goes out. While it is thrown no row is taken in hand, and none is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vacancy.clock import iso
from vacancy.store import bells, house
from vacancy.store.engine import Tx

SENDING_STOPPED: Final = "sending_stopped"
_SINCE: Final = "sending_stopped_since"


@dataclass(frozen=True, slots=True)
class Halt:
    """Nothing is sent. `since` is not known of a halt that somebody wrote into the table by hand."""

    reason: str
    since: datetime | None


def halt(tx: Tx) -> Halt | None:
    reason = house.recall(tx, SENDING_STOPPED)
    if reason is None:
        return None
    since = house.recall(tx, _SINCE)
    return Halt(reason, datetime.fromisoformat(since) if since else None)


def ask_why(tx: Tx) -> Callable[[], str | None]:
    """The reason, if it is stopped. The answer may wait."""
    return house.ask(tx, SENDING_STOPPED)


def stop(tx: Tx, now: datetime, reason: str) -> Halt:
    """Whoever stops it again says why anew; it has been stopped since the first time."""
    if halt(tx) is None:
        house.remember(tx, _SINCE, iso(now))
    house.remember(tx, SENDING_STOPPED, reason)
    # Couriers look before they take; a bell makes the idle ones look now, so that nobody wonders.
    tx.ring(bells.NOTIFICATIONS)
    return halt(tx) or Halt(reason, now)


def resume(tx: Tx) -> Halt | None:
    """What had stopped it; None if nothing had."""
    before = halt(tx)
    house.forget(tx, SENDING_STOPPED)
    house.forget(tx, _SINCE)
    tx.ring(bells.NOTIFICATIONS)
    return before
