"""The backend, as its contract has it: one question, one typed answer. What was not answered never looks like a yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from vacancy.bot.feed import Unreadable, read_page
from vacancy.channels.telegram_api import may_have_arrived
from vacancy.model.bot import Page
from vacancy.net.client import Client, NetTrouble, Reach, Response

PAGE: Final = 200
TIMEOUT_S: Final = 10.0
_OK: Final = 200
_LARGEST: Final = 8 << 20
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Said:
    """An answer with a status. `body` is its JSON, or None if it has none that can be read."""

    status: int
    body: Any

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer. `begun`: what was asked for may have been done nevertheless."""

    kind: Literal["timeout", "network", "refused", "too_large"]
    why: str
    begun: bool


Answer = Said | Lost


class Backend:
    def __init__(self, client: Client, url: str, service_token: str | None, *, timeout_s: float = TIMEOUT_S) -> None:
        self._client = client
        self.url = url
        self._proof = {"Authorization": f"Bearer {service_token}"} if service_token else {}
        self._timeout_s = timeout_s

    async def events(self, user_id: int, after_id: int, limit: int = PAGE) -> Page | Unreadable | Said | Lost:
        """The page after a cursor; what came in its place, if none did."""
        # Left out at the start: some backends take no zero.
        after = f"after_id={after_id}&" if after_id else ""
        answer = await self._get(user_id, f"/tasks/me/events?{after}limit={limit}")
        if isinstance(answer, Lost):
            return answer
        if answer.status != _OK:
            return Said(answer.status, _decoded(answer.body))
        return read_page(answer.body, after_id, limit)

    async def health(self, user_id: int) -> str | None:
        """One question, none repeated: what is wrong, or None if it answers with an array."""
        answer = await self._get(user_id, "/tasks/me/events?limit=1", once=True)
        if isinstance(answer, Lost):
            return answer.why
        if answer.status != _OK:
            return f"{self.url} answered {answer.status} to user {user_id}"
        return None if isinstance(_decoded(answer.body), list) else f"{self.url} did not answer with an array"

    async def consume(self, code: str) -> Answer:
        return _said(await self._send("POST", "/tasks/telegram-codes/consume", {"code": code}))

    async def me(self, user_id: int) -> Answer:
        return _said(await self._get(user_id, "/tasks/me"))

    async def tasks(self, user_id: int, limit: int) -> Answer:
        return _said(await self._get(user_id, f"/tasks?limit={limit}"))

    async def task(self, user_id: int, task_id: int) -> Answer:
        return _said(await self._get(user_id, f"/tasks/{task_id}"))

    async def history(self, user_id: int, task_id: int) -> Answer:
        return _said(await self._get(user_id, f"/tasks/{task_id}/events"))

    async def change(self, user_id: int, task_id: int, changes: Mapping[str, str]) -> Answer:
        return _said(await self._send("PATCH", f"/tasks/{task_id}", changes, user_id))

    async def act(self, user_id: int, task_id: int, action: str, given: Mapping[str, str]) -> Answer:
        return _said(await self._send("POST", f"/tasks/{task_id}/actions/{action}", given, user_id))

    async def hand_on(self, body: bytes) -> Answer:
        """A raw update of Telegram's, for those who look after alerts."""
        return _said(await self._put("POST", "/api/telegram/update", body, None))

    async def _get(self, user_id: int, path: str, *, once: bool = False) -> Response | Lost:
        try:
            return await self._client.get(
                self.url + path,
                reach=Reach.UPSTREAM,
                timeout_s=self._timeout_s,
                max_bytes=_LARGEST,
                headers=self._headers(user_id),
                once=once,
            )
        except NetTrouble as trouble:
            return _lost(trouble)

    async def _send(
        self, verb: Literal["POST", "PATCH"], path: str, body: Mapping[str, Any], user_id: int | None = None
    ) -> Response | Lost:
        return await self._put(verb, path, msgspec.json.encode(body), user_id)

    async def _put(
        self, verb: Literal["POST", "PATCH"], path: str, body: bytes, user_id: int | None
    ) -> Response | Lost:
        try:
            return await self._client.post(
                self.url + path,
                reach=Reach.UPSTREAM,
                timeout_s=self._timeout_s,
                max_bytes=_LARGEST,
                body=body,
                content_type=_JSON,
                headers=self._headers(user_id),
                verb=verb,
            )
        except NetTrouble as trouble:
            return _lost(trouble)

    def _headers(self, user_id: int | None) -> dict[str, str]:
        return self._proof if user_id is None else {**self._proof, "X-User-Id": str(user_id)}


def _lost(trouble: NetTrouble) -> Lost:
    return Lost(trouble.kind, trouble.message, may_have_arrived(trouble))


def _said(answer: Response | Lost) -> Answer:
    return answer if isinstance(answer, Lost) else Said(answer.status, _decoded(answer.body))


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
