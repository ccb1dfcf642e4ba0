"""What Discord's answers mean for a message, for its contact, and for the channel as a whole."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vacancy.channels.discord_rests import seconds
from vacancy.model.messages import Blocked, Dead, Outcome, Retry
from vacancy.net.client import NetTrouble, Response
from vacancy.net.headers import retry_after_s

NAME: Final = "discord"
# Discord's own numbers. Each of them says that nothing sent there will ever arrive.
_CONTACT_GONE: Final = frozenset({
    10003,  # unknown channel
    10013,  # unknown user
    10015,  # unknown webhook
    50001,  # no access to the channel
    50007,  # this person takes no messages from us
    50008,  # nothing can be written in this channel
    50013,  # no permission to write there
    50027,  # the webhook's token is not valid
    50033,  # not a person who can be written to
    50278,  # no server in common with this person
})  # fmt: skip
_OPENS_TOO_MANY: Final = 40003  # direct messages are opened too fast, whoever they are for
_TOO_MANY: Final = 429
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_WAIT_S: Final = 60.0
# Addresses that earned too many refusals are shut out, for up to an hour, without a word of how long.
_SHUT_OUT_S: Final = 300.0
# How the client says that no connection came about, and so no message did.
_NOT_REACHED: Final = ("no connection could be made", "its name is not known", "certificate is not valid",
                       "no secure connection", "not be reached within")  # fmt: skip


class Said(msgspec.Struct):
    id: str | None = None
    code: int | None = None
    retry_after: Any = None
    is_global: bool = msgspec.field(default=False, name="global")


_NOTHING: Final = Said()
_DECODER: Final = msgspec.json.Decoder(Said)


def said(answer: Response) -> Said:
    """What can be read of it. A page of the network in front of Discord is no word of Discord's."""
    try:
        return _DECODER.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NOTHING


def outcome(answer: Response, *, by_bot: bool, is_everyones: bool) -> Outcome:
    """Of an answer that took nothing."""
    status, word = answer.status, said(answer)
    where = f"{status}, code {word.code}" if word.code else str(status)
    if status == _TOO_MANY or word.code == _OPENS_TOO_MANY:
        return _too_many(answer, word, is_everyones=is_everyones)
    if status >= 500 or status < 400:
        wait_s = retry_after_s(answer.headers.get("Retry-After"), answer.received_at)
        return Retry("provider_error", f"Discord is in trouble ({where})", wait_s, NAME)
    if word.code in _CONTACT_GONE:
        return Dead("gone", f"Discord takes nothing for it any more ({where})", contact_is="gone", provider=NAME)
    if status == _UNAUTHORIZED and not by_bot:
        return Dead("gone", f"the webhook's token is not valid ({where})", contact_is="gone", provider=NAME)
    if status == _UNAUTHORIZED:
        return Blocked("unauthorized", f"Discord does not accept the bot's token ({where})", provider=NAME)
    if status == _FORBIDDEN and word.code is None:
        return Blocked("unauthorized", "this machine's address is shut out for now (403)", _SHUT_OUT_S, NAME)
    return Dead("validation_error", f"Discord refused the message ({where})", alarm=True, provider=NAME)


def resting(wait_s: float, *, is_everyones: bool) -> Outcome:
    if is_everyones:
        return Blocked("rate_limited", "as many conversations were opened as Discord allows", wait_s, NAME)
    return Retry("rate_limited", "as many messages went there as Discord allows", wait_s, NAME)


def trouble(met: NetTrouble, *, by_bot: bool) -> Outcome:
    if met.kind == "refused" and not by_bot:
        return Dead("address_refused", "the address is not one that we connect to", alarm=True, provider=NAME)
    if by_bot and _nothing_begun(met):
        return out_of_reach(met)
    return Retry("network_error", f"Discord gave no answer that can be read ({met.kind})", provider=NAME)


def out_of_reach(met: NetTrouble) -> Blocked:
    return Blocked("network_error", f"Discord cannot be reached ({met.kind})", provider=NAME)


def health(answer: Response) -> Blocked | None:
    """Of the bot's question who it is."""
    if 200 <= answer.status < 300:
        return None
    found = outcome(answer, by_bot=True, is_everyones=True)
    if isinstance(found, Blocked):
        return found
    return Blocked("provider_error", f"Discord does not answer as it should ({answer.status})", provider=NAME)


def _too_many(answer: Response, word: Said, *, is_everyones: bool) -> Outcome:
    headers = answer.headers
    wait_s = seconds(word.retry_after)
    if wait_s is None:
        wait_s = seconds(headers.get("Retry-After"))
    scope = headers.get("X-RateLimit-Scope", "")
    if word.is_global or scope == "global" or headers.get("X-RateLimit-Global", "").lower() == "true":
        return Blocked("rate_limited", "Discord asks us to wait, whoever it is for", wait_s or _WAIT_S, NAME)
    if word.retry_after is None and "X-RateLimit-Bucket" not in headers and word.code != _OPENS_TOO_MANY:
        return Blocked("rate_limited", "this machine's address is shut out for now (429)", wait_s or _SHUT_OUT_S, NAME)
    if is_everyones or word.code == _OPENS_TOO_MANY:
        return Blocked("rate_limited", "Discord asks us to open fewer conversations", wait_s or _WAIT_S, NAME)
    return Retry("rate_limited", "Discord asks us to wait before we write there again", wait_s, NAME)


def _nothing_begun(met: NetTrouble) -> bool:
    return met.kind == "refused" or any(words in met.message for words in _NOT_REACHED)
