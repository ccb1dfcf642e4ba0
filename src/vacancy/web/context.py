"""What every handler may reach: put into the app's state once, by the composition root."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.types import Scope

from vacancy.channels.telegram_link import DeepLinks
from vacancy.channels.telegram_relay import Relay
from vacancy.clock import Clock, Dice
from vacancy.errors import UserError
from vacancy.metrics import Metrics
from vacancy.settings import Settings
from vacancy.store.engine import Store
from vacancy.subscriptions.attempts import Attempts
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.verification import Links
from vacancy.web.client_address import client_address
from vacancy.web.stamps import Stamps

# All users of a bot are one address. At this rate a thousand open codes are safe for years.
_CODE_GUESSES: Final = 60
_CODE_GUESSES_WITHIN_S: Final = 600


@dataclass(frozen=True)
class House:
    store: Store
    settings: Settings
    clock: Clock
    desk: Desk
    loops: Callable[[], Mapping[str, str]]  # loop name -> running | restarting | stopped
    metrics: Metrics = field(default_factory=Metrics)
    # Set when the service drains: whoever waits for events answers with what there is, and streams end.
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    # Source -> seconds between two polls, at the most; what "fresh" means depends on it.
    intervals: Mapping[str, float] = field(default_factory=dict)
    dice: Dice = field(default_factory=Dice)
    # Leads to the Telegram bot, where there is one.
    deep_links: DeepLinks | None = None
    # Hears what another process read from the bot.
    relay: Relay | None = None

    @cached_property
    def attempts(self) -> Attempts:
        return Attempts(self.settings.subscriptions.per_ip, self.settings.subscriptions.per_ip_window_s)

    @cached_property
    def guesses(self) -> Attempts:
        """Wrong contacts; a count of its own, so that whoever subscribes a lot may leave all the same."""
        return Attempts(self.settings.subscriptions.per_ip, self.settings.subscriptions.per_ip_window_s)

    @cached_property
    def code_guesses(self) -> Attempts:
        """Wrong codes that were to tie a chat to a user: there are few enough of them to try."""
        return Attempts(_CODE_GUESSES, _CODE_GUESSES_WITHIN_S)

    @cached_property
    def wrong_tokens(self) -> Attempts:
        return Attempts(self.settings.subscriptions.per_ip, self.settings.subscriptions.per_ip_window_s)

    @cached_property
    def links(self) -> Links:
        return Links(self.desk.secret, self.clock)

    @cached_property
    def stamps(self) -> Stamps:
        return Stamps(self.desk.secret, self.clock)

    def count_attempt(self, scope: Scope) -> None:
        """UserError when this address asks too often."""
        self.attempts.count(self._address(scope))

    def count_wrong_token(self, scope: Scope) -> None:
        """UserError when this address was wrong too often."""
        self.wrong_tokens.count(self._address(scope))

    @contextmanager
    def counting_guesses(self, scope: Scope) -> Iterator[None]:
        """Only what was wrong counts; UserError when this address was wrong too often."""
        with _counting(self.guesses, self._address(scope)):
            yield

    @contextmanager
    def counting_codes(self, scope: Scope) -> Iterator[None]:
        """The same for codes."""
        with _counting(self.code_guesses, self._address(scope)):
            yield

    def _address(self, scope: Scope) -> str:
        return client_address(scope, self.settings.web.trusted_proxies)


@contextmanager
def _counting(guesses: Attempts, address: str) -> Iterator[None]:
    guesses.check(address)
    try:
        yield
    except UserError:
        guesses.count(address)
        raise


def house(request: Request) -> House:
    found: House = request.app.state.house
    return found


HouseDep = Annotated[House, Depends(house)]
