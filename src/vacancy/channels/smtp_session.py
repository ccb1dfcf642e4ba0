"""One connection to a mail server: opened step by step, so that it is known how far it came."""

from __future__ import annotations

import re
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, Literal

from aiosmtplib import SMTP, SMTPConnectError, SMTPException, SMTPHeloError, SMTPResponseException

_UNEVEN_ENDS: Final = re.compile(rb"\r\n|\r|\n")
_OK: Final = 250
_FORWARDED: Final = 251
_GO_ON: Final = 354
_GOING_AWAY: Final = 421


class Stage(IntEnum):
    CONNECT = 1
    HELLO = 2
    TLS = 3
    LOGIN = 4
    RESET = 5
    SENDER = 6
    RECIPIENT = 7
    DATA = 8
    CONTENT = 9


@dataclass(frozen=True, slots=True)
class Answer:
    """How far it came, and what was said there. Code 0: nothing usable was said, `text` says why; `lost` if the
    connection is."""

    stage: Stage
    code: int
    text: str
    lost: bool = False

    @property
    def accepted(self) -> bool:
        return self.stage is Stage.CONTENT and self.code == _OK


@dataclass(frozen=True, slots=True)
class Way:
    host: str
    port: int
    tls: Literal["starttls", "tls", "none"]
    timeout_s: float
    greet_as: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Envelope:
    """Addresses as they go over the wire. `needs_utf8`: one of them cannot be written in ASCII."""

    sender: bytes
    recipient: bytes
    content: bytes
    needs_utf8: bool = False


class Session:
    def __init__(self, client: SMTP, used_at: float) -> None:
        self.used_at = used_at
        self._client = client
        self._midway = False

    @property
    def usable(self) -> bool:
        return self._client.is_connected

    async def deliver(self, envelope: Envelope) -> Answer:
        """Over when the server took the content, or at the first step that it refused."""
        if self._midway:
            answer = await self._say(Stage.RESET, b"RSET")
            if answer.code != _OK:
                return answer
        self._midway = True
        options = self._options(envelope)
        answer = await self._say(Stage.SENDER, b"MAIL", b"FROM:<%b>" % envelope.sender, *options)
        if answer.code == _OK:
            answer = await self._say(Stage.RECIPIENT, b"RCPT", b"TO:<%b>" % envelope.recipient)
        if answer.stage is Stage.RECIPIENT and answer.code in (_OK, _FORWARDED):
            answer = await self._say(Stage.DATA, b"DATA")
        if answer.stage is Stage.DATA and answer.code == _GO_ON:
            answer = await self._hand_over(envelope.content)
            self._midway = not answer.accepted
        return answer

    def takes_utf8(self) -> bool:
        return self._client.supports_extension("smtputf8")

    async def quit(self) -> None:
        try:
            await self._client.quit()
        except (SMTPException, OSError):
            pass
        finally:
            self.abort()

    def abort(self) -> None:
        _abort(self._client)

    def _options(self, envelope: Envelope) -> Sequence[bytes]:
        options = []
        if not envelope.content.isascii() and self._client.supports_extension("8bitmime"):
            options.append(b"BODY=8BITMIME")
        if envelope.needs_utf8:
            options.append(b"SMTPUTF8")
        return options

    async def _say(self, stage: Stage, *words: bytes) -> Answer:
        try:
            response = await self._client.execute_command(*words)
        except (SMTPException, OSError) as trouble:
            self.abort()
            return explain(stage, trouble, self._client.timeout)
        return self._heard(stage, response.code, response.message)

    async def _hand_over(self, content: bytes) -> Answer:
        """Not the library's way, which looks through every message for what a ready one never has."""
        protocol = self._client.protocol
        if protocol is None:
            return Answer(Stage.DATA, 0, "it hung up", lost=True)
        try:
            protocol.write(as_data(content))
            response = await protocol.read_response(timeout=self._client.timeout)
        except (SMTPException, OSError) as trouble:
            self.abort()
            return explain(Stage.CONTENT, trouble, self._client.timeout)
        return self._heard(Stage.CONTENT, response.code, response.message)

    def _heard(self, stage: Stage, code: int, text: str) -> Answer:
        if code == _GOING_AWAY:
            self.abort()
        return Answer(stage, code, text)


async def open_session(way: Way, tls: ssl.SSLContext | None, now: float) -> Session | Answer:
    client = SMTP(
        hostname=way.host,
        port=way.port,
        timeout=way.timeout_s,
        local_hostname=way.greet_as,
        use_tls=way.tls == "tls",
        start_tls=False,
        tls_context=tls,
    )
    for stage, step in _steps(client, way):
        try:
            await step()
        except (SMTPException, OSError) as trouble:
            _abort(client)
            return explain(stage, trouble, way.timeout_s)
        except ValueError:
            _abort(client)
            return Answer(stage, 0, "its name, or the login, has characters that cannot be sent")
        except BaseException:
            _abort(client)
            raise
    return Session(client, now)


def _steps(client: SMTP, way: Way) -> Sequence[tuple[Stage, Callable[[], Awaitable[Any]]]]:
    async def hello() -> None:
        try:
            await client.ehlo()
        except SMTPHeloError:
            if not client.is_connected:
                raise
            await client.helo()

    async def login() -> None:
        await client.login(way.username or "", way.password or "")

    steps: list[tuple[Stage, Callable[[], Awaitable[Any]]]] = [(Stage.CONNECT, client.connect), (Stage.HELLO, hello)]
    if way.tls == "starttls":
        # What was said before the connection was safe counts for nothing.
        steps += [(Stage.TLS, client.starttls), (Stage.HELLO, hello)]
    if way.username is not None:
        steps.append((Stage.LOGIN, login))
    return steps


def as_data(content: bytes) -> bytes:
    """Every line's end a CRLF, every dot at a line's begin doubled, and a dot to end it all."""
    lines = content.count(b"\n")
    if lines != content.count(b"\r\n") or lines != content.count(b"\r"):
        content = _UNEVEN_ENDS.sub(b"\r\n", content)
    if b"\n." in content:
        content = content.replace(b"\n.", b"\n..")
    start = b"." if content.startswith(b".") else b""
    return b"".join((start, content, b".\r\n" if content.endswith(b"\r\n") else b"\r\n.\r\n"))


def explain(stage: Stage, trouble: Exception, timeout_s: float | None) -> Answer:
    if isinstance(trouble, SMTPResponseException):
        if trouble.code > 0:
            return Answer(stage, trouble.code, trouble.message)
        return Answer(stage, 0, "what it says is not SMTP", lost=True)
    cause = trouble.__cause__ if isinstance(trouble, SMTPConnectError) else trouble
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Answer(Stage.TLS, 0, f"its certificate is not trusted ({cause.verify_message})")
    if isinstance(cause, ssl.SSLError):
        return Answer(Stage.TLS, 0, "no secure connection could be made")
    if isinstance(trouble, TimeoutError):
        return Answer(stage, 0, f"it did not answer within {timeout_s:g} s", lost=True)
    if isinstance(trouble, OSError):
        reached = stage > Stage.CONNECT
        return Answer(stage, 0, "it hung up" if reached else "no connection could be made", lost=True)
    wants = "a login that we know" if stage is Stage.LOGIN else "STARTTLS"
    return Answer(stage, 0, f"it does not offer {wants}")


def _abort(client: SMTP) -> None:
    """At once: a polite end of a secure connection would wait for the other side."""
    transport: Any = client.transport
    client.close()
    if transport is not None:
        transport.abort()
