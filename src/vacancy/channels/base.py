"""What the house asks of a channel. A new channel is one module that keeps this protocol, and one registry line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from vacancy.clock import Clock, Dice
from vacancy.model.messages import Blocked, Outcome, Parcel
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.store.engine import Store

# Told when a service gave a contact another address: the former one, and the one that it has now.
OnMigrated = Callable[[str, str], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Kit:
    """What a channel may be built from. `derive` gives a key of its own for each purpose, from the server's secret."""

    settings: Settings
    clock: Clock
    dice: Dice
    client: Client
    store: Store
    derive: Callable[[str], bytes]
    on_migrated: OnMigrated | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """What the service bears: messages a second over all, how many at once after a rest, seconds between two to one
    contact."""

    per_second: float
    burst: int
    contact_gap_s: float = 0


class Channel(Protocol):
    """A way to reach a contact. `name` is the contact type that subscriptions give."""

    name: str
    # Whether somebody else could have given the address: then its owner confirms it before the first message.
    verifies: bool
    pace: Pace

    def contact(self, text: str) -> str:
        """The contact in its one spelling. ValueError says in one line what is wrong with it."""

    async def send(self, parcel: Parcel) -> Outcome:
        """One try. Every operating condition is an outcome, never an exception. No contact and no token in any
        message of an outcome: they are kept and logged."""

    async def probe(self) -> Blocked | None:
        """Whether it would work, found out by a connection or a harmless question, never by a message."""

    async def close(self) -> None:
        """Give up kept connections."""


class Keyed(Protocol):
    """A channel whose contacts are made under a key of ours: whoever subscribes is shown it first."""

    public_key: str
