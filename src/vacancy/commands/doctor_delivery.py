"""What `vacancy doctor` looks at on the way out: every channel, the switch, dead letters, what waits for too long."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import timedelta
from typing import Final

from vacancy.app import Engine
from vacancy.channels.base import Channel
from vacancy.channels.telegram import bot_api
from vacancy.commands.finding import Finding
from vacancy.errors import SettingsError
from vacancy.pipeline.identity import called, is_dead
from vacancy.store import listening, queue_view
from vacancy.store.engine import Tx
from vacancy.store.queue_view import Outside

_TOO_LONG: Final = timedelta(minutes=10)
_SERVING: Final = "is `vacancy serve` running, with its part deliver?"
_ADVICE: Final[Mapping[str, str]] = {
    "unauthorized": "the provider refuses our key or password: look at the settings of this channel",
    "network_error": "is the provider's address right, and does this machine reach it?",
    "rate_limited": "wait: the provider asked for it",
}


async def examine_delivery(parts: Engine) -> list[Finding]:
    found = [*_queue(parts), *_operator(parts), *_bot(parts)]
    try:
        channels = parts.desk().channels
    except SettingsError as error:
        return [*found, Finding("bad", f"no channel can be built: {error}")]
    return [*found, *[finding async for finding in _channels(channels)]]


async def _channels(channels: Mapping[str, Channel]) -> AsyncIterator[Finding]:
    """Each is asked as its breaker would ask: by a connection or a harmless question, never by a message."""
    for name, channel in channels.items():
        trouble = await channel.probe()
        if trouble is None:
            yield Finding("ok", f"channel {name} works")
        else:
            advice = _ADVICE.get(trouble.code, f"`vacancy send-test {name} CONTACT` shows the provider's whole answer")
            yield Finding("bad", f"channel {name} does not work: {trouble.code}: {trouble.message}", advice)


def _queue(parts: Engine) -> Iterator[Finding]:
    outside, dead, overdue = parts.store.read_now(_look)
    if outside.halt is not None:
        yield Finding("warn", f"sending is stopped: {outside.halt.reason}", "`vacancy sending resume` lets it go on")
    if dead:
        what = "1 message" if dead == 1 else f"{dead:,} messages"
        yield Finding("warn", f"{what} failed for good", "`vacancy queue list --status failed` shows why")
    for channel, count in overdue.items():
        explained = outside.halt is not None or channel in outside.broken
        what = f"{channel}: {count:,} may go, and have waited for over 10 min"
        yield Finding("warn" if explained else "bad", what, outside.broken.get(channel) or _SERVING)
    if outside.halt is None and not dead and not overdue:
        yield Finding("ok", "nothing in the queue is stuck")


def _look(tx: Tx) -> tuple[Outside, int, Mapping[str, int]]:
    return queue_view.outside(tx), queue_view.count_dead(tx), queue_view.overdue(tx, tx.now() - _TOO_LONG)


def _bot(parts: Engine) -> Iterator[Finding]:
    """Who reads what people write to it."""
    if not parts.has_bot:
        return
    if not parts.listens:
        yield Finding("ok", "another process listens to the Telegram bot, and hands on what it hears (telegram.listen)")
        return
    who = parts.store.read_now(listening.holder, bot_api(parts.kit()).mark)
    if who is None or is_dead(who):
        yield Finding("warn", "nobody listens to the Telegram bot: buttons and commands are not read", _SERVING)
    else:
        yield Finding("ok", f"{called(who)} listens to the Telegram bot")


def _operator(parts: Engine) -> Iterator[Finding]:
    operator = parts.settings.operator
    if operator.email is None and operator.webhook is None:
        yield Finding("warn", "nobody is told of troubles", "set operator.email or operator.webhook")
