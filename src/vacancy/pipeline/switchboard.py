"""One process at a time listens to the bot: Telegram cuts off whoever asks beside another one.

Who listens is a lease in the database, so that another process takes over when its holder died; how far it was heard is
kept there too.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from vacancy.channels import telegram_updates
from vacancy.channels.base import Kit
from vacancy.channels.telegram import bot_api
from vacancy.channels.telegram_updates import Handler, Reply, Update
from vacancy.errors import StoreError
from vacancy.pipeline.identity import Identity, is_dead
from vacancy.runner import Stop
from vacancy.store import listening

LEASE_S: Final = 30.0
RENEW_EVERY_S: Final = 8.0
LOOK_EVERY_S: Final = 5.0
_AFTER_TROUBLE_S: Final = 1.0
_log = structlog.stdlib.get_logger(__name__)
T = TypeVar("T")


class Switchboard:
    """A loop for the runner. `handler` does what an update asks for; it may be called twice with the same one."""

    def __init__(self, kit: Kit, handler: Handler) -> None:
        self._store = kit.store
        self._clock = kit.clock
        self._handler = handler
        # Once for all runs: it remembers which update made the loop crash.
        self._updates = telegram_updates.build(kit, self._hear, load=self._load, save=self._save)
        self._bot = bot_api(kit).mark
        self._me = f"{Identity().new_lease()}{secrets.token_hex(4)}"
        self._hang_up = Stop(kit.clock)

    async def run(self, stop: Stop) -> None:
        stands_by = False
        while not stop.requested:
            if await self._is_ours():
                stands_by = False
                if await self._listen(stop):
                    return
                continue
            if not stands_by:
                _log.info("another process listens to the bot; standing by")
            stands_by = True
            await stop.wait(LOOK_EVERY_S)

    async def _is_ours(self) -> bool:
        try:
            return await self._store.write(listening.take, self._bot, self._me, LEASE_S, is_dead)
        except StoreError as trouble:
            _log.warning("the bot waits for the database", trouble=str(trouble))
            return False

    async def _listen(self, stop: Stop) -> bool:
        """Until asked to stop, or another one has the lease. True if nobody needs to listen any more."""
        _log.info("listening to the bot")
        self._hang_up = Stop(self._clock)
        hearing = asyncio.ensure_future(self._updates.run(self._hang_up))
        others = [asyncio.ensure_future(each) for each in (self._keep_lease(), stop.wait(None))]
        try:
            await asyncio.wait((hearing, *others), return_when=asyncio.FIRST_COMPLETED)
            is_over = hearing.done() and not self._hang_up.requested
            self._hang_up.request()
            await hearing
        except StoreError as trouble:
            _log.warning("the bot waits for the database", trouble=str(trouble))
            return False
        finally:
            for each in (hearing, *others):
                each.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await self._give_up_lease()
        return is_over

    async def _keep_lease(self) -> None:
        """Returns when it is lost, or may be."""
        good_until = self._clock.monotonic() + LEASE_S
        while not await self._hang_up.wait(RENEW_EVERY_S):
            asked_at = self._clock.monotonic()
            try:
                is_ours = await self._store.write(listening.renew, self._bot, self._me, LEASE_S)
            except StoreError:
                is_ours = self._clock.monotonic() + RENEW_EVERY_S < good_until
            else:
                good_until = asked_at + LEASE_S
            if not is_ours:
                _log.warning("another process listens to the bot now")
                return

    async def _give_up_lease(self) -> None:
        try:
            await self._store.write(listening.give_up, self._bot, self._me)
        except StoreError as trouble:
            _log.warning("the lease on the bot ends by itself", trouble=str(trouble))

    async def _hear(self, update: Update) -> Reply | None:
        return await self._until_it_answers(lambda: self._handler(update))

    async def _load(self) -> int:
        return await self._until_it_answers(lambda: self._store.read(listening.heard, self._bot))

    async def _save(self, offset: int) -> None:
        if not await self._until_it_answers(
            lambda: self._store.write(listening.note_heard, self._bot, self._me, offset)
        ):
            self._hang_up.request()

    async def _until_it_answers(self, ask: Callable[[], Awaitable[T]]) -> T:
        """A database that is away is no fault of the update: it is not passed over for that."""
        told = False
        while True:
            try:
                return await ask()
            except StoreError as trouble:
                if not told:
                    _log.warning("the bot waits for the database", trouble=str(trouble))
                told = True
                if await self._hang_up.wait(_AFTER_TROUBLE_S):
                    raise
