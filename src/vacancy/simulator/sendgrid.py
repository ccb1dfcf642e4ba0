"""A SendGrid on loopback: it refuses what the real one refuses, and keeps the mails that it takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from vacancy.simulator.provider import Provider

_ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+")
_LARGEST_ARGS: Final = 10_000
_RESERVED: Final = frozenset({
    "x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding", "to", "from",
    "subject", "reply-to", "cc", "bcc",
})  # fmt: skip
_SCOPES: Final = ("mail.send", "user.profile.read")

Problem = tuple[str, str]  # the field, and what is wrong with it


class FakeSendgrid(Provider):
    def __init__(self, key: str = "SG.loopback", scopes: Sequence[str] = _SCOPES) -> None:
        super().__init__()
        self.key = key
        self.scopes = tuple(scopes)
        self.mails: list[dict[str, Any]] = []  # bodies that it took, oldest first

    def routes(self) -> Sequence[web.RouteDef]:
        return [web.post("/v3/mail/send", self._send), web.get("/v3/scopes", self._scopes)]

    def clear(self) -> None:
        super().clear()
        self.mails.clear()

    async def _send(self, request: web.Request) -> web.Response:
        refusal = self._refuse_stranger(request)
        if refusal is not None:
            return refusal
        if request.content_type != "application/json":
            return _refuse(415, [("content-type", "Content-Type should be application/json.")])
        try:
            body = await request.json()
        except json.JSONDecodeError:
            return _refuse(400, [("", "Bad Request")])
        problems = list(problems_of(body))
        if problems:
            return _refuse(400, problems)
        self.mails.append(body)
        return web.Response(status=202, headers={"X-Message-Id": f"loopback-{len(self.mails)}"})

    async def _scopes(self, request: web.Request) -> web.Response:
        return self._refuse_stranger(request) or web.json_response({"scopes": list(self.scopes)})

    def _refuse_stranger(self, request: web.Request) -> web.Response | None:
        if request.headers.get("Authorization") == f"Bearer {self.key}":
            return None
        return _refuse(401, [("", "The provided authorization grant is invalid, expired, or revoked")])


def problems_of(body: Any) -> Iterator[Problem]:
    if not isinstance(body, dict):
        yield "", "The body must be an object."
        return
    yield from _parties(body)
    if not _is_text(body.get("subject")):
        yield "subject", "The subject is required."
    yield from _content(body.get("content"))
    yield from _texts("headers", body.get("headers", {}))
    yield from _texts("custom_args", body.get("custom_args", {}))
    if len(json.dumps(body.get("custom_args", {}))) > _LARGEST_ARGS:
        yield "custom_args", "The custom args are too large."
    for name in body.get("headers") or {}:
        if name.lower() in _RESERVED:
            yield f"headers.{name}", "The header is reserved."


def _parties(body: Mapping[str, Any]) -> Iterator[Problem]:
    if not _is_party(body.get("from")):
        yield "from.email", "The from email does not contain a valid address."
    if "reply_to" in body and not _is_party(body["reply_to"]):
        yield "reply_to.email", "The reply_to email does not contain a valid address."
    given = body.get("personalizations")
    if not isinstance(given, list) or not 0 < len(given) <= 1000:
        yield "personalizations", "The personalizations field is required and must have at least one personalization."
        return
    for number, one in enumerate(given):
        to = one.get("to") if isinstance(one, dict) else None
        for at, party in enumerate(to if isinstance(to, list) and to else [None]):
            if not _is_party(party):
                yield f"personalizations.{number}.to.{at}.email", f"Does not contain a valid address: {party}"


def _content(parts: Any) -> Iterator[Problem]:
    if not isinstance(parts, list) or not parts:
        yield "content", "The content is required and must have at least one part."
        return
    for number, part in enumerate(parts):
        if not isinstance(part, dict) or not _is_text(part.get("type")) or not _is_text(part.get("value")):
            yield f"content.{number}.value", "The content value must be a string at least one character in length."
            return
    kinds = [part["type"] for part in parts]
    if "text/plain" in kinds[1:] or "text/html" in kinds[2:]:
        yield "content", "If present, text/plain must be first, followed by text/html."


def _texts(name: str, values: Any) -> Iterator[Problem]:
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        yield name, f"The {name} must be an object of strings."


def _is_party(party: Any) -> bool:
    return isinstance(party, dict) and isinstance(party.get("email"), str) and bool(_ADDRESS.fullmatch(party["email"]))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _refuse(status: int, problems: Sequence[Problem]) -> web.Response:
    errors = [{"message": message, "field": name or None, "help": None} for name, message in problems]
    return web.json_response({"errors": errors}, status=status)
