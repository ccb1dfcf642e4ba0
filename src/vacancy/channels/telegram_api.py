"""Telegram's Bot API: one question, one answer. The bot's token is part of every address, and never leaves here."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import aiohttp
import msgspec

from vacancy.net.client import Client, NetTrouble, Reach
from vacancy.net.headers import LONGEST_RETRY_S

TIMEOUT_S: Final = 10.0
_LARGEST: Final = 1 << 20
_LONGEST_REASON: Final = 160
# What a description quotes is ours or somebody's: an address with a token in it, the number of a chat.
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\S*(?:://|@)\S*|[0-9]{5,}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass(frozen=True, slots=True)
class Ok:
    result: object


@dataclass(frozen=True, slots=True)
class Refused:
    """Telegram's own no. `description` is its sentence as it came; `reason` may be kept and logged."""

    code: int
    description: str
    reason: str
    retry_after_s: float | None = None
    migrate_to: int | None = None


@dataclass(frozen=True, slots=True)
class Unheard:
    """No answer that could be read. `begun`: the request may have arrived nevertheless."""

    code: str
    message: str
    begun: bool


Answer = Ok | Refused | Unheard


class BotApi:
    def __init__(self, client: Client, api_base: str, token: str) -> None:
        self._client = client
        self._root = f"{api_base}/bot{quote(token.strip(), safe=':')}"
        self._token = token.strip()

    def __repr__(self) -> str:
        return "BotApi()"

    @property
    def mark(self) -> str:
        """Tells this bot from another one, and nothing of its token."""
        return hashlib.sha256(self._token.encode()).hexdigest()[:16]

    async def call(
        self,
        method: str,
        parameters: Mapping[str, Any],
        *,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = _LARGEST,
    ) -> Answer:
        try:
            response = await self._client.post(
                f"{self._root}/{method}",
                reach=Reach.UPSTREAM,
                timeout_s=timeout_s,
                max_bytes=max_bytes,
                body=json.dumps(parameters).encode(),
                content_type="application/json",
            )
        except NetTrouble as trouble:
            return Unheard("network_error", trouble.message, may_have_arrived(trouble))
        return self._read(response.status, response.body)

    def _read(self, status: int, body: bytes) -> Answer:
        """A page that some proxy put in Telegram's place says nothing about the chat, whatever its status is."""
        try:
            said = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError):
            said = None
        if isinstance(said, dict) and said.get("ok") is True and "result" in said:
            return Ok(said["result"])
        code = whole(said.get("error_code")) if isinstance(said, dict) and said.get("ok") is False else None
        if not isinstance(said, dict) or code is None:
            return Unheard("provider_error", f"what came with status {status} is not an answer of Telegram", begun=True)
        description = said.get("description")
        return self._refused(code, description if isinstance(description, str) else "", said.get("parameters"))

    def _refused(self, code: int, description: str, parameters: object) -> Refused:
        parameters = parameters if isinstance(parameters, dict) else {}
        retry_after = whole(parameters.get("retry_after"))
        return Refused(
            code,
            description,
            harmless(description, self._token),
            min(float(retry_after), LONGEST_RETRY_S) if retry_after is not None and retry_after >= 0 else None,
            whole(parameters.get("migrate_to_chat_id")),
        )


def harmless(description: str, token: str) -> str:
    text = _CONTROL.sub(" ", description[:1000].replace(token, "…"))
    return _QUOTED.sub("…", text)[:_LONGEST_REASON]


def whole(value: object) -> int | None:
    """A whole number as Telegram writes it: no truth value, and none that a database could not hold."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if -(1 << 63) <= value < 1 << 63 else None


def may_have_arrived(trouble: NetTrouble) -> bool:
    """Not when there never was a connection; the client leaves its reason as the context."""
    return trouble.kind != "refused" and not isinstance(
        trouble.__context__, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError
    )
