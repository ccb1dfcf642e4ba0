"""Discord: a webhook of a channel's own, or a bot that writes to channels and to people."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from yarl import URL

from vacancy import __version__
from vacancy.channels import discord_answers
from vacancy.channels.base import Kit, Pace
from vacancy.channels.discord_answers import NAME
from vacancy.channels.discord_rests import Rests
from vacancy.channels.discord_text import message
from vacancy.channels.short import short
from vacancy.clock import Clock
from vacancy.model.messages import Blocked, Dead, Outcome, Parcel, Retry, Sent
from vacancy.net.client import Client, NetTrouble, Reach, Response
from vacancy.settings import Settings
from vacancy.settings_sections import is_loopback_host

LONGEST: Final = 256
_MAIN_HOST: Final = "discord.com"
# Names of one and the same service: two spellings of a webhook would be told twice.
_ITS_OTHER_NAMES: Final = frozenset({"discordapp.com", "canary.discord.com", "ptb.discord.com"})
_WEBHOOK: Final = re.compile(r"/api(?:/v[0-9]{1,2})?/webhooks/([0-9]{17,20})/([A-Za-z0-9_-]{20,128})/?", re.ASCII)
_SNOWFLAKE: Final = re.compile(r"(?:(channel|user):)?([0-9]{17,20})", re.ASCII | re.IGNORECASE)
# Addresses without a version are answered by the oldest one.
_UNVERSIONED, _VERSIONED = "/api/webhooks/", "/api/v10/webhooks/"
_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 256 * 1024
# Waiting here is cheaper than a try that is counted, as long as it holds up no other message for long.
_PATIENCE_S: Final = 2.0
# Discord bears five messages in five seconds to one channel.
_CONTACT_GAP_S: Final = 1.0
_PEOPLE_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Way:
    """Where one request goes. `route` names the window that it is counted in; both may hold a secret."""

    route: str = field(repr=False)
    url: str = field(repr=False)
    reach: Reach
    by_bot: bool
    is_everyones: bool = False  # its rate is the whole bot's, not one contact's


class DiscordChannel:
    name = NAME

    def __init__(self, settings: Settings, clock: Clock, client: Client) -> None:
        rate = settings.delivery.discord_per_second
        self.pace = Pace(per_second=rate, burst=max(1, round(rate)), contact_gap_s=_CONTACT_GAP_S)
        token = settings.discord.bot_token
        # A webhook's address is a secret that only its owner has. The numbers of channels and people are not.
        self.verifies = token is not None
        self._hosts = frozenset(host.lower() for host in settings.discord.webhook_hosts)
        self._api = settings.discord.api_base.rstrip("/")
        agent = f"DiscordBot ({settings.base_url}, {__version__})"
        self._bot = {"Authorization": f"Bot {token.get_secret_value()}", "User-Agent": agent} if token else None
        self._agent = {"User-Agent": agent}
        self._client = client
        self._rests = Rests(clock)
        self._people: dict[str, str] = {}

    def contact(self, text: str) -> str:
        text = text.strip()
        if "://" in text:
            return self._webhook(text)
        found = _SNOWFLAKE.fullmatch(text)
        if found is None:
            raise ValueError(
                f"must be the address of a webhook, such as https://{_MAIN_HOST}/api/webhooks/…, "
                "or channel: or user: and its number of 17 to 20 digits"
            )
        if self._bot is None:
            raise ValueError("must be the address of a webhook, for there is no bot here")
        return f"{(found[1] or 'user').lower()}:{found[2]}"

    async def send(self, parcel: Parcel) -> Outcome:
        nonce = hashlib.sha256(parcel.key.encode()).hexdigest()[:24]
        way = await self._way(parcel.person.contact)
        if not isinstance(way, _Way):
            return way
        body = message(short(parcel))
        if way.by_bot:
            # Within a few minutes Discord answers a repeated one with the message that it has already.
            body |= {"nonce": nonce, "enforce_nonce": True}
        answer = await self._post(way, body)
        if not isinstance(answer, Response):
            return answer
        if 200 <= answer.status < 300:
            return Sent(NAME, discord_answers.said(answer).id or nonce)
        return self._refused(way, answer)

    async def probe(self) -> Blocked | None:
        if self._bot is None:
            return None
        try:
            answer = await self._client.get(
                f"{self._api}/users/@me", reach=Reach.UPSTREAM, timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES,
                headers=self._bot,
            )  # fmt: skip
        except NetTrouble as trouble:
            return discord_answers.out_of_reach(trouble)
        return discord_answers.health(answer)

    async def close(self) -> None:
        """The connections are the client's."""

    def _webhook(self, text: str) -> str:
        try:
            url = URL(text)
            host = url.host_port_subcomponent
        except ValueError:
            raise ValueError("must be the address of a webhook; this one cannot be read") from None
        path = _WEBHOOK.fullmatch(url.raw_path)
        scheme = "http" if is_loopback_host(url.raw_host or "") else "https"
        if host is None or host.lower() not in self._hosts or url.scheme != scheme:
            raise ValueError(f"must be the https:// address of a webhook at {_MAIN_HOST}")
        if path is None or "?" in text or "#" in text or "@" in url.raw_authority:
            raise ValueError(f"must be the whole address of a webhook: https://{_MAIN_HOST}/api/webhooks/NUMBER/TOKEN")
        if host in _ITS_OTHER_NAMES and _MAIN_HOST in self._hosts:
            host = _MAIN_HOST
        return f"{scheme}://{host}{_UNVERSIONED}{path[1]}/{path[2]}"

    async def _way(self, contact: str) -> _Way | Outcome:
        kind, _, number = contact.partition(":")
        if kind in ("http", "https"):
            return self._webhook_way(contact)
        if self._bot is None:
            return Dead("unauthorized", "there is no bot any more that could write there", alarm=True, provider=NAME)
        if kind == "channel":
            return self._bot_way(f"/channels/{number}/messages")
        opened = self._people.get(number) or await self._open(number)
        return self._bot_way(f"/channels/{opened}/messages") if isinstance(opened, str) else opened

    async def _open(self, user: str) -> str | Outcome:
        """The channel of a person's direct messages; it stays the same."""
        way = self._bot_way("/users/@me/channels", is_everyones=True)
        answer = await self._post(way, {"recipient_id": user})
        if not isinstance(answer, Response):
            return answer
        number = discord_answers.said(answer).id
        if not 200 <= answer.status < 300 or number is None or not number.isdigit():
            return self._refused(way, answer)
        if len(self._people) >= _PEOPLE_KEPT:
            del self._people[next(iter(self._people))]
        self._people[user] = number
        return number

    def _webhook_way(self, contact: str) -> _Way:
        url = URL(contact)
        own = is_loopback_host(url.raw_host or "") and url.host_port_subcomponent in self._hosts
        address = contact.replace(_UNVERSIONED, _VERSIONED, 1) + "?wait=true"
        return _Way(contact, address, Reach.UPSTREAM if own else Reach.PUBLIC, by_bot=False)

    def _bot_way(self, path: str, *, is_everyones: bool = False) -> _Way:
        # Put together as text: joining an absolute path to an address would drop its /api/v10.
        return _Way(path, self._api + path, Reach.UPSTREAM, by_bot=True, is_everyones=is_everyones)

    async def _post(self, way: _Way, body: dict[str, Any]) -> Response | Outcome:
        wait_s = await self._rests.take(way.route, _PATIENCE_S)
        if wait_s > 0:
            return discord_answers.resting(wait_s, is_everyones=way.is_everyones)
        try:
            answer = await self._client.post(
                way.url, reach=way.reach, timeout_s=_TIMEOUT_S, max_bytes=_MOST_BYTES, body=msgspec.json.encode(body),
                content_type="application/json", headers=(self._bot or self._agent) if way.by_bot else self._agent,
            )  # fmt: skip
        except NetTrouble as trouble:
            return discord_answers.trouble(trouble, by_bot=way.by_bot)
        self._rests.learn(way.route, answer.headers)
        return answer

    def _refused(self, way: _Way, answer: Response) -> Outcome:
        outcome = discord_answers.outcome(answer, by_bot=way.by_bot, is_everyones=way.is_everyones)
        if isinstance(outcome, Retry) and outcome.code == "rate_limited" and outcome.after_s:
            self._rests.rest(way.route, outcome.after_s)
        return outcome


def build(kit: Kit) -> DiscordChannel:
    return DiscordChannel(kit.settings, kit.clock, kit.client)
