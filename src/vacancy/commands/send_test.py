"""`vacancy send-test CHANNEL CONTACT`: a message that tells of nothing, and what its provider truly answered."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

from vacancy.app import engine
from vacancy.commands.common import ERR, OUT, as_json, prepare
from vacancy.model.messages import Outcome, Sent
from vacancy.settings import Settings
from vacancy.subscriptions.contacts import masked_contact, read_contact
from vacancy.subscriptions.trial import trial_parcel

_MEANING: Final = {
    "Sent": "the provider took it",
    "Retry": "this try failed, and a later one may not",
    "Dead": "no later try would do better",
    "Blocked": "the channel itself does not work now: nothing was begun",
}


def send_test(config: Path | None, channel: str, contact: str, locale: str, *, json: bool) -> int:
    shown, outcome = asyncio.run(_send(prepare(config), channel, contact, locale))
    if json:
        as_json({"channel": channel, "contact": shown, **_facts(outcome)})
    else:
        _say(channel, shown, outcome)
    return 0 if isinstance(outcome, Sent) else 1


async def _send(settings: Settings, name: str, text: str, locale: str) -> tuple[str | None, Outcome]:
    """No row of the queue is read or written; a stop of all sending does not hold it up, for it is sent by hand."""
    async with engine(settings) as parts:
        desk = parts.desk()
        channel = desk.channel(name)
        contact = read_contact(desk.secret, channel, text)
        parcel = trial_parcel(contact, parts.clock.now(), parts.dice.token(), locale)
        return masked_contact(contact.channel, contact.value), await channel.send(parcel)


def _say(channel: str, contact: str | None, outcome: Outcome) -> None:
    kind = type(outcome).__name__
    out = OUT if isinstance(outcome, Sent) else ERR
    out.print(f"{kind}: {_MEANING[kind]} ({channel}, {contact}).", markup=False, soft_wrap=True)
    for name, value in _facts(outcome).items():
        if name != "outcome" and value is not None:
            out.print(f"  {name}: {value}", markup=False, soft_wrap=True)
    if isinstance(outcome, Sent) and outcome.provider == "outbox":
        out.print("  It is kept in the outbox: `vacancy outbox list`.")


def _facts(outcome: Outcome) -> dict[str, Any]:
    facts: dict[str, Any] = {"outcome": type(outcome).__name__, "provider": outcome.provider or None}
    if isinstance(outcome, Sent):
        return {**facts, "providerMessageId": outcome.message_id or None}
    facts |= {"code": outcome.code, "message": outcome.message}
    after = getattr(outcome, "after_s", None)
    gone = getattr(outcome, "contact_is", None)
    return {**facts, "retryAfterSeconds": after, "contactIs": gone}
