"""One chat's events, in order, each written down as soon as Telegram took it. A chat in trouble stops only itself."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from vacancy.bot.clerk import Clerk
from vacancy.bot.pace import Pace
from vacancy.bot.render import message_of, plain_of
from vacancy.bot.telegram import Telegram
from vacancy.channels.telegram_api import Answer, Ok, Refused, Unheard
from vacancy.model.bot import Event, Garbled, Move, PassedOver, Seat
from vacancy.runner import Stop
from vacancy.store import bot_chats
from vacancy.store.engine import Store

_NO_TOKEN: Final = (401, 404)
_NO_TOKEN_REST_S: Final = 60.0
_AWAY_REST_S: Final = 5.0
_TOLD_AT_MOST: Final = 3
_NOTED_AT_MOST: Final = 10_000
_NO_NUMBER: Final = "no number that can be read"
_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """Telegram has it, or will never have it."""

    passed_over: str = ""


class Delivery:
    def __init__(self, store: Store, telegram: Telegram, pace: Pace, clerk: Clerk, stop: Stop) -> None:
        self._store = store
        self._telegram = telegram
        self._pace = pace
        self._clerk = clerk
        self.stop = stop
        self._is_token_known = True
        self._noted: set[tuple[int, str]] = set()
        self._out_of_reach: set[int] = set()

    async def note(self, seat: Seat, garbled: Sequence[Garbled]) -> None:
        """Told once and written down: these have no number by which they could be delivered."""
        new = [each for each in garbled if (seat.chat_id, each.digest) not in self._noted]
        if not new:
            return
        passed = tuple(PassedOver(None, each.digest, _NO_NUMBER) for each in new)
        await self._clerk.save(Move(seat, seat.cursor, seat.cursor, passed_over=passed))
        if len(self._noted) > _NOTED_AT_MOST:
            self._noted.clear()  # what comes again is written down once, and merely told again
        self._noted.update((seat.chat_id, each.digest) for each in new)
        _log.warning("events passed over", user_id=seat.user_id, count=len(new), reason=_NO_NUMBER)

    async def deliver(self, seat: Seat, events: Sequence[Event]) -> bool:
        """True if the chat has all of them now."""
        for event in events:
            taken = await self._tell(seat, event)
            if taken is None:
                return False
            passed = (_passed_over(seat, event, taken.passed_over),) if taken.passed_over else ()
            if not await self._save(Move(seat, seat.cursor, event.event_id, passed_over=passed)):
                return False
            seat = replace(seat, cursor=event.event_id)
        return True

    async def _save(self, move: Move) -> bool:
        made = await self._clerk.save(move)
        if not made and await self._store.read(bot_chats.is_current, move.seat):
            _log.error("another process moved a chat's cursor; run one `vacancy bot` alone", user_id=move.seat.user_id)
        return made

    async def _tell(self, seat: Seat, event: Event) -> Taken | None:
        """None when the event waits: the chat is gone, resting or out of reach."""
        if not await self._pace.turn(seat.chat_id, self.stop):
            return None
        # The last look before it goes out: whoever unbound a moment ago gets nothing more.
        if not await self._store.read(bot_chats.is_current, seat):
            self._out_of_reach.discard(seat.chat_id)
            return None
        answer = await self._telegram.say(seat.chat_id, message_of(event, seat.locale), is_html=True)
        if _is_misread(answer):
            _log.info("message refused; once more as plain text", user_id=seat.user_id, event_id=event.event_id)
            answer = await self._telegram.say(seat.chat_id, plain_of(event, seat.locale))
        return await self._judge(seat, answer)

    async def _judge(self, seat: Seat, answer: Answer) -> Taken | None:
        if isinstance(answer, Ok):
            self._is_token_known = True
            if seat.chat_id in self._out_of_reach:
                self._out_of_reach.remove(seat.chat_id)
                _log.info("telegram takes messages again", user_id=seat.user_id)
            return Taken()
        if isinstance(answer, Unheard):
            self._lost(seat, answer)
            return None
        if answer.migrate_to is not None:
            await self.moved(seat.chat_id, answer.migrate_to)
            return None
        return await self._refused(seat, answer)

    def _lost(self, seat: Seat, answer: Unheard) -> None:
        self._pace.rest(seat.chat_id, _AWAY_REST_S)
        # A few are told of; when Telegram itself is away, all others say the same.
        if seat.chat_id not in self._out_of_reach and len(self._out_of_reach) < _TOLD_AT_MOST:
            self._out_of_reach.add(seat.chat_id)
            _log.warning("telegram does not answer; the same event later", user_id=seat.user_id, reason=answer.message)

    async def _refused(self, seat: Seat, answer: Refused) -> Taken | None:
        if answer.code == 429:
            wait = self._pace.refused(seat.chat_id, answer.retry_after_s)
            _log.info("telegram asks us to wait", user_id=seat.user_id, wait_s=wait)
            return None
        if answer.code == 403:
            self._out_of_reach.discard(seat.chat_id)
            reason = f"Telegram refuses: {answer.reason}"
            if await self._store.write(bot_chats.unbind, seat.chat_id, reason, seat.binding):
                _log.warning("chat unbound", user_id=seat.user_id, reason=answer.reason)
            return None
        if answer.code in _NO_TOKEN:
            self._pace.rest_all(_NO_TOKEN_REST_S)
            if self._is_token_known:
                _log.error("telegram does not know the bot's token; events wait until it does")
            self._is_token_known = False
            return None
        return Taken(f"Telegram does not take it: {answer.reason}")

    async def moved(self, before: int, after: int) -> None:
        if await self._store.write(bot_chats.move, before, after):
            _log.info("a chat has another number")


def _passed_over(seat: Seat, event: Event, reason: str) -> PassedOver:
    _log.warning(
        "event passed over", user_id=seat.user_id, event_id=event.event_id, reason=reason
    )  # fmt: skip
    digest = hashlib.sha1(f"{seat.binding}:{event.event_id}".encode()).hexdigest()  # noqa: S324 - tells them apart
    return PassedOver(event.event_id, digest, reason)


def _is_misread(answer: Answer) -> bool:
    return isinstance(answer, Refused) and answer.code == 400 and answer.migrate_to is None
