"""The bot's process, put together: settings -> store -> backend and Telegram -> loops. Loading this loads aiogram."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import structlog

from vacancy.bot.backend import Backend
from vacancy.bot.binding import Registrar
from vacancy.bot.clerk import Clerk
from vacancy.bot.commands import Commands
from vacancy.bot.listener import Listener
from vacancy.bot.mouth import Mouth
from vacancy.bot.pace import Pace
from vacancy.bot.poller import Poller, Tools
from vacancy.bot.telegram import Telegram
from vacancy.clock import Clock, Dice
from vacancy.errors import SettingsError
from vacancy.net.client import Client
from vacancy.runner import Loop, Runner, Stop
from vacancy.settings import Settings
from vacancy.store import bot_chats
from vacancy.store.engine import Store

DRAIN_S: Final = 20.0
_KEPT: Final = timedelta(days=90)
_log = structlog.stdlib.get_logger(__name__)


class House:
    """All that a bot is made of. `pace` is what a test or a benchmark sets otherwise."""

    def __init__(
        self, settings: Settings, store: Store, client: Client, clock: Clock, dice: Dice, pace: Pace | None = None
    ) -> None:
        bot, telegram = settings.bot, settings.telegram
        if telegram.token is None:
            raise SettingsError("telegram.token is not set")
        proof = bot.service_token.get_secret_value() if bot.service_token else None
        self.settings = bot
        self.store = store
        self.clock = clock
        self.backend = Backend(client, bot.backend_url, proof)
        self.telegram = Telegram(client, telegram.api_base, telegram.token.get_secret_value())
        self.pace = pace or Pace(clock)
        self.clerk = Clerk(store)
        self.is_polling = False
        self.poller = Poller(
            Tools(store, clock, dice, self.backend, self.telegram, self.pace, self.clerk, bot.interval_s)
        )  # fmt: skip
        self.listener = Listener(self.telegram, self._commands(client, proof), store, clock, dice)

    def _commands(self, client: Client, proof: str | None) -> Commands:
        alerts = Backend(client, self.settings.alerts_url or self.settings.backend_url, proof)
        return Commands(
            self.store,
            self.backend,
            alerts,
            Registrar(self.store, self.backend, self.clerk, self.clock),
            Mouth(self.telegram, self.pace, self.clock, self.store),
            lambda: self.settings.interval_s if self.is_polling else None,
        )

    async def poll(self, stop: Stop) -> None:
        """Only where the backend passed the check: one question, asked once in the life of the process."""
        if not self.is_polling:
            await self._check(stop)
        if self.is_polling:
            await self.poller.run(stop)

    async def _check(self, stop: Stop) -> None:
        await self.store.write(bot_chats.prune, self.clock.now() - _KEPT)
        trouble = await self.backend.health(self.settings.healthcheck_user_id)
        if trouble is None:
            self.is_polling = True
            _log.info("the backend is well; looking for events", every_s=self.settings.interval_s)
            return
        _log.error(
            "no events are looked for: the backend did not pass the check. Commands are still answered. When it is well"
            " (see bot.backend_url, bot.service_token, bot.healthcheck_user_id), start `vacancy bot` again",
            reason=trouble,
        )
        await stop.wait(None)


async def run(
    settings: Settings,
    store: Store,
    client: Client,
    clock: Clock,
    announce: Callable[[str], None],
    pace: Pace | None = None,
) -> int:
    """Until a signal; the exit code says whether all loops ended by themselves."""
    house = House(settings, store, client, clock, Dice(), pace)
    announce(f"Vacancy's bot for {settings.bot.backend_url}")
    loops = [Loop("listen", house.listener.run), Loop("events", house.poll)]
    return await Runner(clock, loops, drain_s=DRAIN_S).run()
