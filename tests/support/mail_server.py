"""A mail server on loopback, in the loop of the test: it keeps what it takes, and fails where it is told to."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST: Final = "127.0.0.1"

Stage = Literal["CONNECT", "EHLO", "STARTTLS", "AUTH", "MAIL", "RSET", "RCPT", "DATA", "CONTENT"]


@dataclass(slots=True)
class Fault:
    """`hang_up` without a word, or right after the reply. `stall` says nothing and keeps the line open."""

    stage: Stage
    reply: str
    times: int
    hang_up: bool
    stall: bool
    to: str | None  # this recipient alone


@dataclass(frozen=True, slots=True)
class Received:
    sender: str
    recipients: Sequence[str]
    content: bytes
    options: Sequence[str]  # of MAIL


@dataclass(frozen=True, slots=True)
class Certificate:
    cert: Path
    key: Path


class MailServer:
    """`tls`: secure from the first byte. `certificate` alone offers STARTTLS. `users` makes a login necessary."""

    def __init__(
        self,
        *,
        certificate: Certificate | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        utf8: bool = False,
    ) -> None:
        self.received: list[Received] = []
        self.said: list[str] = []  # every command's first word, of all connections
        self.accepted = 0
        self.port = 0
        self.users = dict(users or {})
        self.utf8 = utf8
        self.stalled = asyncio.Event()
        self._took = asyncio.Event()
        self._context = _context(certificate) if certificate else None
        self._tls = tls
        self._faults: list[Fault] = []
        self._open: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, HOST, port, ssl=self._context if self._tls else None)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Hangs up on everybody. Can be started again, at the same port if that is given."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await self.hang_up()

    async def hang_up(self) -> None:
        """On all that are connected; new ones may come."""
        open_ones, self._open = self._open, set()
        for connection in open_ones:
            connection.abort()
        await asyncio.gather(*(connection.over() for connection in open_ones), return_exceptions=True)

    async def __aenter__(self) -> MailServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def connected(self) -> int:
        return len(self._open)

    def fault(
        self,
        stage: Stage,
        reply: str = "",
        *,
        times: int = 1,
        hang_up: bool = False,
        stall: bool = False,
        to: str | None = None,
    ) -> None:
        self._faults.append(Fault(stage, reply, times, hang_up, stall, to))

    def mend(self) -> None:
        """Nothing is wrong any more."""
        self._faults.clear()

    def take(self, received: Received) -> None:
        self.received.append(received)
        self._took.set()

    async def has_taken(self, count: int) -> None:
        """Until it has that many, whatever it answered."""
        while len(self.received) < count:
            self._took.clear()
            await self._took.wait()

    def due(self, stage: Stage, recipients: str = "") -> Fault | None:
        for fault in self._faults:
            if fault.stage == stage and (fault.to is None or fault.to in recipients):
                fault.times -= 1
                if fault.times <= 0:
                    self._faults.remove(fault)
                return fault
        return None

    def lost(self, connection: _Connection) -> None:
        self._open.discard(connection)

    def _connection(self) -> _Connection:
        connection = _Connection(self, None if self._tls else self._context)
        self._open.add(connection)
        self.accepted += 1
        return connection


class _Handler:
    def __init__(self, server: MailServer) -> None:
        self._server = server

    async def handle_DATA(self, connection: _Connection, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        sender, recipients = envelope.mail_from or "", tuple(envelope.rcpt_tos)
        fault = self._server.due("CONTENT", " ".join(recipients))
        if fault is None or not fault.reply or fault.reply.startswith("2"):
            content = envelope.original_content or b""
            self._server.take(Received(sender, recipients, content, tuple(envelope.mail_options)))
        if fault is None:
            return "250 2.0.0 kept"
        await connection.meet(fault)
        raise asyncio.CancelledError  # the answer is given, or never will be


class _Connection(SMTP):
    def __init__(self, server: MailServer, tls: ssl.SSLContext | None) -> None:
        self._mail_server = server
        super().__init__(
            _Handler(server),
            hostname="mail.loopback.test",
            loop=asyncio.get_running_loop(),
            tls_context=tls,
            auth_require_tls=False,
            authenticator=self._check,
            enable_SMTPUTF8=server.utf8,
        )

    def abort(self) -> None:
        transport: Any = self.transport
        if transport is not None and not transport.is_closing():
            transport.abort()

    async def over(self) -> None:
        """A handshake that the client gave up is waited for by nobody else."""
        if self._handler_coroutine is not None:
            self._handler_coroutine.cancel()
            await self._handler_coroutine

    def connection_lost(self, error: Exception | None) -> None:
        self._mail_server.lost(self)
        super().connection_lost(error)

    async def meet(self, fault: Fault) -> None:
        if fault.stall:
            self._mail_server.stalled.set()
            await asyncio.Event().wait()  # until the other side gives up, which cancels this
        if fault.reply:
            await self.push(fault.reply)
        if fault.hang_up or not fault.reply or fault.reply.startswith("421"):
            transport: Any = self.transport
            transport.close() if fault.reply else transport.abort()
            raise asyncio.CancelledError

    async def _handle_client(self) -> None:
        fault = self._mail_server.due("CONNECT")
        if fault is not None:
            await self.meet(fault)
            self.abort()
            return
        await super()._handle_client()

    async def _faulty(self, stage: Stage, recipients: str = "") -> bool:
        self._mail_server.said.append(stage)
        fault = self._mail_server.due(stage, recipients)
        if fault is not None:
            await self.meet(fault)
        return fault is not None

    async def smtp_EHLO(self, hostname: str) -> None:  # noqa: N802
        if not await self._faulty("EHLO"):
            await super().smtp_EHLO(hostname)

    async def smtp_STARTTLS(self, arg: str) -> None:  # noqa: N802
        if not await self._faulty("STARTTLS"):
            await super().smtp_STARTTLS(arg)

    async def smtp_AUTH(self, arg: str) -> None:  # noqa: N802
        if not await self._faulty("AUTH"):
            await super().smtp_AUTH(arg)

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802
        if await self._faulty("MAIL"):
            return
        if self._mail_server.users and not (self.session and self.session.authenticated):
            await self.push("530 5.7.0 Authentication required")
            return
        await super().smtp_MAIL(arg)

    async def smtp_RSET(self, arg: str) -> None:  # noqa: N802
        if not await self._faulty("RSET"):
            await super().smtp_RSET(arg)

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802
        if not await self._faulty("RCPT", arg or ""):
            await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802
        if not await self._faulty("DATA"):
            await super().smtp_DATA(arg)

    def _check(self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
        known = isinstance(data, LoginPassword) and self._mail_server.users.get(data.login.decode())
        return AuthResult(success=bool(known) and data.password.decode() == known, handled=False)


def make_certificate(folder: Path, name: str = "mail.loopback.test") -> Certificate:
    """Signed by itself, for this address alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    made.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return made


def _context(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.cert, certificate.key)
    return context
