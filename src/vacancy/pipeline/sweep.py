"""Once a minute, the queue as a whole: what is over is put away, and what somebody will not hear passes on to another
subscription of the same contact. Steps that see it happen do the same at once; this is for what they could not see."""

from __future__ import annotations

from typing import Final

import structlog

from vacancy.errors import StoreError
from vacancy.runner import Stop
from vacancy.store import ids, notifications
from vacancy.store.engine import Store, Tx
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.running import pass_on

_EVERY_S: Final = 60.0
_log = structlog.stdlib.get_logger(__name__)


class Sweep:
    def __init__(self, store: Store, desk: Desk) -> None:
        self._store = store
        self._desk = desk

    async def run(self, stop: Stop) -> None:
        while not stop.requested:
            try:
                expired = await self._store.write(sweep, self._desk)
            except StoreError as trouble:
                _log.warning("the sweep waits for the database", trouble=str(trouble))
            else:
                if expired:
                    _log.info("alerts of what is over put away", notifications=expired)
            await stop.wait(_EVERY_S)


def sweep(tx: Tx, desk: Desk) -> int:
    ids.hold_edges_off(tx)
    expired = notifications.expire_ended(tx)
    pass_on(tx, tx.now(), desk)
    return expired
