"""The composition root: settings -> store -> sources -> loops. The only file that knows every layer."""

from __future__ import annotations

import asyncio
import gc
import importlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from vacancy import __version__
from vacancy.channels import build as build_channels
from vacancy.channels import telegram_link, telegram_relay
from vacancy.channels.base import Channel, Kit
from vacancy.channels.telegram_link import DeepLinks
from vacancy.channels.telegram_relay import Relay
from vacancy.clock import Clock, Dice, SystemClock
from vacancy.errors import SettingsError, StoreError, UserError
from vacancy.metrics import Metrics
from vacancy.net.client import Client, make_client
from vacancy.pipeline.chat import Chat
from vacancy.pipeline.deliver import Courier, Office
from vacancy.pipeline.fanout import FanOut
from vacancy.pipeline.herald import Ear, Herald
from vacancy.pipeline.judge import Rules
from vacancy.pipeline.poll import Poller
from vacancy.pipeline.sweep import Sweep
from vacancy.pipeline.switchboard import Switchboard
from vacancy.pipeline.upkeep import Upkeep
from vacancy.pipeline.watch import Watch
from vacancy.runner import Loop, Runner, Stop
from vacancy.settings import Settings
from vacancy.sources import build as build_sources
from vacancy.sources import by_name as source_by_name
from vacancy.sources.base import Source
from vacancy.store.engine import Store
from vacancy.store.queue_results import Tries
from vacancy.store.secret import find_secret
from vacancy.store.start import open_store
from vacancy.subscriptions.contacts import Secret
from vacancy.subscriptions.parcels import Parcels
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.verification import Links

PARTS: Final = ("web", "poll", "fanout", "deliver")
_DRAIN_S: Final = 20.0
_log = structlog.stdlib.get_logger(__name__)


@dataclass
class Engine:
    """What polls: a store, a client, the sources that the settings ask for, and the poller over them."""

    settings: Settings
    store: Store
    clock: Clock
    dice: Dice
    client: Client
    poller: Poller
    metrics: Metrics
    intervals: Mapping[str, float] = field(default_factory=dict)
    lists: tuple[Source, ...] = ()
    _by_name: dict[str, Source | None] = field(default_factory=dict)
    _secret: Secret | None = None
    _desk: Desk | None = None
    _chat: Chat | None = None

    def source(self, name: str) -> Source:
        """For an operator's hand, whether or not it is polled now."""
        found = self.find_source(name)
        if found is None:
            raise UserError("target_not_found", f"there is no source {name}")
        return found

    def find_source(self, name: str) -> Source | None:
        if name not in self._by_name:
            self._by_name[name] = source_by_name(name, self.settings, self.client, self.store)
        return self._by_name[name]

    def secret(self) -> Secret:
        """The server's key; whoever asks for it cannot go on without."""
        if self._secret is None:
            given = self.settings.secret_key
            self._secret = Secret(find_secret(given.get_secret_value() if given else None, self.store.path))
        return self._secret

    def kit(self) -> Kit:
        """What channels are built from."""
        return Kit(
            self.settings, self.clock, self.dice, self.client, self.store, self.secret().derive, self._contact_moved
        )  # fmt: skip

    def desk(self) -> Desk:
        """Where subscriptions are taken. One for all who ask: a channel keeps connections, and counts what it sends."""
        if self._desk is None:
            channels = build_channels(self.kit())
            self._desk = Desk(self.settings.subscriptions, self.secret(), channels, self.find_source)
        return self._desk

    def deep_links(self) -> DeepLinks | None:
        return telegram_link.build(self.kit()) if self.has_bot else None

    def relay(self, bot: DeepLinks | None) -> Relay | None:
        return telegram_relay.build(self.kit(), self.chat().hear, bot) if bot else None

    def switchboard(self) -> Switchboard:
        """Who listens to the bot."""
        return Switchboard(self.kit(), self.chat().hear)

    @property
    def has_bot(self) -> bool:
        return self.settings.telegram.token is not None

    @property
    def listens(self) -> bool:
        return self.has_bot and self.settings.telegram.listen

    def chat(self) -> Chat:
        """One for all ways that updates come by: it counts how often a chat asks."""
        if self._chat is None:
            self._chat = Chat(self.store, self.desk(), self.settings.base_url)
        return self._chat

    async def _contact_moved(self, before: str, after: str) -> None:
        """Told by the channel while it sends. What is not written down now is found out by the next message."""
        try:
            await self.chat().moved(before, after)
        except StoreError as trouble:
            _log.warning("a chat's other number waits for the database", trouble=str(trouble))

    def office(self) -> Office:
        """What those who deliver share."""
        desk, settings = self.desk(), self.settings.delivery
        return Office(
            self.store,
            self.clock,
            self.metrics,
            desk,
            Parcels(self.settings.base_url, Links(desk.secret, self.clock)),
            Rules({source.name: source.policy for source in self.lists}),
            Tries(settings.max_attempts, settings.retry_schedule_ms, settings.lock_ttl_s),
        )

    def couriers(self) -> Sequence[Courier]:
        office = self.office()
        return [Courier(office, channel) for channel in office.desk.channels.values()]

    async def close(self) -> None:
        for channel in self._desk.channels.values() if self._desk else ():
            await channel.close()
        await self.client.close()
        self.store.close()


@asynccontextmanager
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    clock, dice, metrics = SystemClock(), Dice(), Metrics()
    store = open_store(settings.database_url, clock)
    client = make_client(settings.base_url, clock)
    lists, references = build_sources(settings, client, store)
    poller = Poller(store, lists, references, clock, dice, metrics)
    # A target that is asked seldom because little happens there is not late by that.
    intervals = {source.name: source.policy.slowest_s for source in (*lists, *references)}
    parts = Engine(settings, store, clock, dice, client, poller, metrics, intervals, tuple(lists))
    try:
        yield parts
    finally:
        await parts.close()


async def serve(settings: Settings, only: Collection[str], announce: Callable[[str], None]) -> int:
    """Run the chosen parts until a signal; the exit code says whether all of them ended by themselves."""
    async with engine(settings) as parts:
        loops = [Loop("listen", _listening(parts.store))]
        if "poll" in only:
            loops += [Loop("poll", parts.poller.run), Loop("upkeep", Upkeep(parts.store, settings.retention).run)]
        if "fanout" in only:
            loops.append(Loop("fanout", FanOut(parts.store, parts.clock, parts.metrics).run))
        if "deliver" in only:
            loops += _delivering(parts)
        runner: Runner | None = None
        if "web" in only:
            web = _web(parts, lambda: runner.health() if runner else {})
            if settings.tasks.service_token is None:
                _log.info("tasks are served to this machine alone", until="tasks.service_token is set")
            loops.append(Loop("web", web.run))
            announce(f"Vacancy {__version__} listens on {web.address}")
        runner = Runner(parts.clock, loops, drain_s=_DRAIN_S)
        spare_the_collector()
        return await runner.run()


def _web(parts: Engine, health: Callable[[], Mapping[str, str]]) -> Any:
    # Imported on use: whoever delivers or polls alone does without its weight.
    server = importlib.import_module("vacancy.web.server")
    bot = parts.deep_links()
    return server.build(
        parts.store, parts.settings, parts.clock, parts.desk(), health,
        metrics=parts.metrics, intervals=parts.intervals, deep_links=bot, relay=parts.relay(bot),
    )  # fmt: skip


def _delivering(parts: Engine) -> list[Loop]:
    """A courier for each channel, and those who look after the queue and tell the operator of troubles."""
    desk = parts.desk()
    ears = _operators_ears(parts.settings, desk.channels)
    return [
        *(Loop(f"deliver {courier.name}", courier.run) for courier in parts.couriers()),
        Loop("sweep", Sweep(parts.store, desk).run),
        Loop("watch", Watch(parts.store, parts.clock, parts.intervals).run),
        Loop("herald", Herald(parts.store, parts.clock, ears).run),
        *([Loop("chat", parts.switchboard().run)] if parts.listens else []),
    ]


def _operators_ears(settings: Settings, channels: Mapping[str, Channel]) -> list[Ear]:
    ears = []
    for name, contact in (("email", settings.operator.email), ("webhook", settings.operator.webhook)):
        if contact is None:
            continue
        if name not in channels:
            raise SettingsError(f"operator.{name} is set, but {name}.enabled is false: nothing could be sent there")
        ears.append(Ear(channels[name], contact))
    return ears


def spare_the_collector() -> None:
    """What start-up made lives as long as we do, and a poll makes thousands of rows that die at once: neither is worth
    looking through again and again."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def _listening(store: Store) -> Callable[[Stop], asyncio.Future[None]]:
    def listen(stop: Stop) -> asyncio.Future[None]:
        return asyncio.ensure_future(_until_stopped(store, stop))

    return listen


async def _until_stopped(store: Store, stop: Stop) -> None:
    listening = asyncio.ensure_future(store.listen())
    stopping = asyncio.ensure_future(stop.wait(None))
    try:
        done, _ = await asyncio.wait((listening, stopping), return_when=asyncio.FIRST_COMPLETED)
        if listening in done:
            listening.result()
    finally:
        listening.cancel()
        stopping.cancel()
        await asyncio.gather(listening, stopping, return_exceptions=True)
