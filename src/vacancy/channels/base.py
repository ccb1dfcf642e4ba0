"""What the house asks of a channel. A new channel is one module that keeps this protocol, and one registry line."""

from __future__ import annotations

from typing import Protocol


class Channel(Protocol):
    """A way to reach a contact. `name` is the contact type that subscriptions give."""

    name: str
    # Whether somebody else could have given the address: then its owner confirms it before the first message.
    verifies: bool

    def contact(self, text: str) -> str:
        """The contact in its one spelling. ValueError says in one line what is wrong with it."""
