"""Discord as its API behaves: webhooks, a bot's messages, rate limits in headers, errors with Discord's own codes."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from vacancy.clock import Clock
from vacancy.simulator.provider import Provider

TOKEN: Final = "a-bots-token"  # noqa: S105 - of a bot that there is not
WEBHOOK_ID: Final = "1100000000000000001"
WEBHOOK_TOKEN: Final = "webhook-token_" + "x" * 54
CHANNEL: Final = "1200000000000000001"
PERSON: Final = "1300000000000000001"
_CONTENT_MOST: Final = 2000
_DESCRIPTION_MOST: Final = 4096
_ALL_EMBEDS_MOST: Final = 6000
_NONCE_MOST: Final = 25
_PINGS: Final = re.compile(r"@(everyone|here)|<@!?([0-9]+)>|<@&([0-9]+)>")


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    where: str  # a channel's number, or a webhook's
    body: Mapping[str, Any]
    pings: tuple[str, ...]


@dataclass(slots=True)
class _Window:
    left: int
    ends_at: float


class Discord(Provider):
    """`limit` messages a `window_s` to one webhook, one channel, and to the opening of conversations."""

    def __init__(self, clock: Clock, *, limit: int = 5, window_s: float = 2.0) -> None:
        super().__init__()
        self.webhooks = {WEBHOOK_ID: WEBHOOK_TOKEN}
        self.channels = {CHANNEL}
        self.people = {PERSON}
        self.closed: dict[str, int] = {}  # channels that nothing can be written in, each with the code that says why
        self.messages: list[Message] = []
        self._clock = clock
        self._limit, self._window_s = limit, window_s
        self._windows: dict[str, _Window] = {}
        self._conversations: dict[str, str] = {}
        self._by_nonce: dict[tuple[str, str], Message] = {}
        self._numbers = itertools.count(1_400_000_000_000_000_001)

    @property
    def api_base(self) -> str:
        return self.origin + "/api/v10"

    @property
    def webhook_host(self) -> str:
        return self.origin.removeprefix("http://")

    @property
    def webhook_url(self) -> str:
        return f"{self.origin}/api/webhooks/{WEBHOOK_ID}/{WEBHOOK_TOKEN}"

    def conversation(self, person: str) -> str:
        """The channel of a person's direct messages."""
        return self._conversations.setdefault(person, str(next(self._numbers)))

    def routes(self) -> Sequence[web.RouteDef]:
        return (
            web.post("/api/v10/webhooks/{id}/{token}", self._webhook),
            web.get("/api/v10/users/@me", self._me),
            web.post("/api/v10/users/@me/channels", self._open),
            web.post("/api/v10/channels/{id}/messages", self._write),
            web.route("*", "/{path:.*}", self._unknown),
        )

    async def _webhook(self, request: web.Request) -> web.Response:
        number = request.match_info["id"]
        if number not in self.webhooks:
            return _error(404, 10015, "Unknown Webhook")
        if self.webhooks[number] != request.match_info["token"]:
            return _error(401, 50027, "Invalid Webhook Token")
        limits, refusal = self._count(f"webhook {number}")
        if refusal is not None:
            return refusal
        taken = self._take(number, await request.json())
        if isinstance(taken, web.Response):
            return taken
        if request.query.get("wait") != "true":
            return web.Response(status=204, headers=limits)
        return web.json_response({"id": taken.id, "webhook_id": number}, headers=limits)

    async def _me(self, request: web.Request) -> web.Response:
        return _unauthorized(request) or web.json_response({"id": "1000000000000000001", "bot": True})

    async def _open(self, request: web.Request) -> web.Response:
        if refusal := _unauthorized(request):
            return refusal
        limits, late = self._count("conversations")
        if late is not None:
            return late
        person = (await request.json()).get("recipient_id")
        if person not in self.people:
            return _error(400, 50033, "Invalid Recipient(s)")
        return web.json_response({"id": self.conversation(person), "type": 1}, headers=limits)

    async def _write(self, request: web.Request) -> web.Response:
        if refusal := _unauthorized(request):
            return refusal
        number = request.match_info["id"]
        if number not in self.channels | set(self._conversations.values()):
            return _error(404, 10003, "Unknown Channel")
        if number in self.closed:
            return _error(403, self.closed[number], "Cannot send messages here")
        limits, late = self._count(f"channel {number}")
        if late is not None:
            return late
        taken = self._take(number, await request.json())
        if isinstance(taken, web.Response):
            return taken
        return web.json_response({"id": taken.id, "channel_id": number}, headers=limits)

    async def _unknown(self, _request: web.Request) -> web.Response:
        return _error(404, 0, "404: Not Found")

    def _count(self, route: str) -> tuple[dict[str, str], web.Response | None]:
        now = self._clock.monotonic()
        window = self._windows.get(route)
        if window is None or now >= window.ends_at:
            window = self._windows[route] = _Window(self._limit, now + self._window_s)
        left_s = window.ends_at - now
        late = window.left <= 0
        window.left = max(0, window.left - 1)
        headers = {
            "X-RateLimit-Limit": str(self._limit),
            "X-RateLimit-Remaining": str(window.left),
            "X-RateLimit-Reset-After": f"{left_s:.3f}",
            "X-RateLimit-Bucket": "abcd1234",
        }
        if not late:
            return headers, None
        more = {"Retry-After": str(math.ceil(left_s)), "X-RateLimit-Scope": "user"}
        body = {"message": "You are being rate limited.", "retry_after": round(left_s, 3), "global": False}
        return headers, web.json_response(body, status=429, headers=headers | more)

    def _take(self, where: str, body: Mapping[str, Any]) -> Message | web.Response:
        wrong = _wrong(body)
        if wrong:
            return _error(400, 50035, "Invalid Form Body", errors=wrong)
        nonce = (where, str(body["nonce"])) if body.get("enforce_nonce") and "nonce" in body else None
        if nonce is not None and nonce in self._by_nonce:
            return self._by_nonce[nonce]
        message = Message(str(next(self._numbers)), where, body, _pings(body))
        self.messages.append(message)
        if nonce is not None:
            self._by_nonce[nonce] = message
        return message


def _unauthorized(request: web.Request) -> web.Response | None:
    if request.headers.get("Authorization") == f"Bot {TOKEN}":
        return None
    return _error(401, 0, "401: Unauthorized")


def _error(status: int, code: int, message: str, **more: object) -> web.Response:
    return web.json_response({"message": message, "code": code, **more}, status=status)


def _wrong(body: Mapping[str, Any]) -> list[str]:
    """Which limits it breaks; lengths are counted as Discord counts them."""
    embeds = body.get("embeds", [])
    cards = [_units(embed.get("description", "")) for embed in embeds]
    broken = {
        "content": _units(body.get("content", "")) > _CONTENT_MOST,
        "embeds": len(embeds) > 10 or sum(cards) > _ALL_EMBEDS_MOST,
        "embeds.description": any(not 0 < length <= _DESCRIPTION_MOST for length in cards),
        "content.empty": not body.get("content") and not embeds,
        "nonce": len(str(body.get("nonce", ""))) > _NONCE_MOST,
    }
    return [name for name, is_broken in broken.items() if is_broken]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _pings(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Whom the content calls; without `allowed_mentions` that is everybody it names."""
    allowed = body.get("allowed_mentions")
    if allowed is not None and not allowed.get("parse"):
        return ()
    return tuple(found[0] for found in _PINGS.finditer(body.get("content", "")))
