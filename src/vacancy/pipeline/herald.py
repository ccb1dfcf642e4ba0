"""The operator hears of each trouble once, and once of its end, by every way that the settings name.

Not through the queue: its rows belong to subscriptions, and the trouble may be the queue's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final

import structlog

from vacancy.channels.base import Channel
from vacancy.clock import Clock, iso, later
from vacancy.errors import StoreError
from vacancy.model.messages import Dead, Kind, Notice, Outcome, Parcel, Person, Sent
from vacancy.runner import Stop
from vacancy.store import bells, troubles
from vacancy.store.engine import Store, Tx
from vacancy.store.troubles import BEGAN, Trouble

# Longer than any channel takes for one message: whoever took a trouble tells of it alone.
_OURS_FOR_S: Final = 120.0
_AGAIN_AFTER_S: Final = 30.0
_REST_S: Final = 15.0
_LOCALE: Final = "en-US"
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ear:
    """One way to reach the operator."""

    channel: Channel
    contact: str


class Herald:
    def __init__(self, store: Store, clock: Clock, ears: Sequence[Ear]) -> None:
        self._store = store
        self._clock = clock
        self._ears: Mapping[str, Ear] = {ear.channel.name: ear for ear in ears}
        self._bell = store.bells[bells.TROUBLES]

    async def run(self, stop: Stop) -> None:
        while not stop.requested:
            heard = self._bell.rings
            try:
                await self.once(stop)
            except StoreError as trouble:
                _log.warning("word to the operator waits for the database", trouble=str(trouble))
            await stop.wait_for(self._bell.wait(heard, self._clock, _REST_S))

    async def once(self, stop: Stop) -> None:
        channels = tuple(self._ears)
        # Looked at before anything is written: there is nothing to tell almost always.
        if not channels or not await self._store.read(troubles.untold, channels):
            return
        for trouble in await self._store.write(_take, channels):
            if stop.requested:
                return
            await self._tell(trouble)

    async def _tell(self, trouble: Trouble) -> None:
        told, again = dict(trouble.told), False
        for name, ear in self._ears.items():
            word = trouble.owes(name)
            if word is None:
                continue
            outcome = await ear.channel.send(_parcel(trouble, word, ear.contact))
            if isinstance(outcome, Sent | Dead):
                told[name] = word
            else:
                again = True
            _note(name, trouble, outcome)
        await self._store.write(_note_told, trouble, told, again)


def _take(tx: Tx, channels: Sequence[str]) -> Sequence[Trouble]:
    return troubles.take_untold(tx, tx.now(), channels, later(tx.now(), _OURS_FOR_S))


def _note_told(tx: Tx, trouble: Trouble, told: Mapping[str, str], again: bool) -> None:
    troubles.note_told(tx, trouble, told, later(tx.now(), _AGAIN_AFTER_S) if again else None)


def _parcel(trouble: Trouble, word: str, contact: str) -> Parcel:
    """The same key for the same word about the same trouble, so that a repeated one is known for what it is."""
    key = f"trouble|{trouble.name}|{iso(trouble.since)}|{word}"
    what, _, detail = trouble.message.partition(": ")
    began = word == BEGAN
    facts = {"what": what, "detail": detail or what if began else _lasted(trouble), "since": iso(trouble.since)}
    return Parcel(
        notification_id=0,
        kind=Kind.OPERATOR,
        key=key,
        trace_id=sha256(key.encode()).hexdigest()[:32],
        attempt=1,
        person=Person(0, contact, _LOCALE),
        notice=Notice("trouble" if began else "trouble_over", facts),
    )


def _lasted(trouble: Trouble) -> str:
    span = (trouble.over_at or trouble.since) - trouble.since
    minutes = round(span / timedelta(minutes=1))
    return f"It lasted {minutes} min." if minutes else "It lasted less than a minute."


def _note(name: str, trouble: Trouble, outcome: Outcome) -> None:
    if isinstance(outcome, Sent):
        _log.info("the operator was told", channel=name, trouble=trouble.name)
    else:
        _log.warning("the operator could not be told", channel=name, trouble=trouble.name, code=outcome.code,
                     why=outcome.message)  # fmt: skip
