"""Mail to a server of one's own, over connections that are kept."""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
from email.utils import parseaddr
from pathlib import Path
from typing import Final

from vacancy.channels.attempt import Attempt
from vacancy.channels.mail import MailMessage, SendResult
from vacancy.channels.smtp_session import Answer, Envelope, Session, Stage, Way, open_session
from vacancy.channels.smtp_verdict import judge
from vacancy.clock import Clock
from vacancy.settings_sections import EmailSettings

PROVIDER: Final = "smtp"
# Servers hang up on the silent, and routers forget them without a word; sooner than either is soon enough.
LONGEST_IDLE_S: Final = 60.0
_GOING_AWAY: Final = 421
_MAILBOX: Final = re.compile(r"[^\s<>\"\x00-\x1f\x7f@]+@[^\s<>\"\x00-\x1f\x7f@]+")


class SmtpSender:
    provider = PROVIDER

    def __init__(self, way: Way, clock: Clock, *, connections: int, ca_file: Path | None = None) -> None:
        self._way = way
        self._clock = clock
        self._ca_file = ca_file
        self._room = asyncio.Semaphore(connections)  # who waits longest is next
        self._idle: list[Session] = []  # the one used last is taken first, so that the others may grow old
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    async def send(self, message: MailMessage) -> SendResult:
        attempt = Attempt.begin(PROVIDER, self._clock)
        envelope = envelope_of(message)
        if envelope is None:
            return attempt.failed("invalid_recipient", "the address cannot be written down for a mail server")
        async with self._room:
            answer = await self._deliver(envelope)
        if answer.accepted:
            return attempt.sent(message.message_id)
        return judge(attempt, self._way, answer, message.to)

    async def verify(self) -> SendResult:
        """A connection of its own: a kept one says nothing of the login."""
        attempt = Attempt.begin(PROVIDER, self._clock)
        async with self._room:
            opened = await self._open()
            if isinstance(opened, Session):
                self._keep(opened)
                return attempt.sent()
        return judge(attempt, self._way, opened)

    async def close(self) -> None:
        self._closed = True
        idle, self._idle = self._idle, []
        await asyncio.gather(*(session.quit() for session in idle))

    async def _deliver(self, envelope: Envelope) -> Answer:
        kept = self._take()
        if kept is not None:
            answer = await self._use(kept, envelope)
            if not _was_stale(answer):
                return answer
            self._forget()  # none of the others was used more lately
        opened = await self._open()
        return opened if isinstance(opened, Answer) else await self._use(opened, envelope)

    async def _use(self, session: Session, envelope: Envelope) -> Answer:
        if envelope.needs_utf8 and not session.takes_utf8():
            self._keep(session)
            return Answer(Stage.RECIPIENT, 553, "5.6.7 it takes no addresses beyond ASCII")
        try:
            answer = await session.deliver(envelope)
        except BaseException:  # cancelled midway, nobody knows what the server waits for
            session.abort()
            raise
        self._keep(session)
        return answer

    def _take(self) -> Session | None:
        while self._idle:
            session = self._idle.pop()
            if session.usable and self._clock.monotonic() - session.used_at < LONGEST_IDLE_S:
                return session
            session.abort()
        return None

    def _keep(self, session: Session) -> None:
        session.used_at = self._clock.monotonic()
        if self._closed or not session.usable:
            session.abort()
        else:
            self._idle.append(session)

    def _forget(self) -> None:
        for session in self._idle:
            session.abort()
        self._idle.clear()

    async def _open(self) -> Session | Answer:
        if self._way.tls != "none" and self._tls is None:
            try:
                self._tls = await asyncio.to_thread(_context, self._ca_file)
            except OSError as trouble:  # ssl's own errors are of this kind too
                reason = trouble.strerror or "no certificates in it"
                return Answer(Stage.TLS, 0, f"email.smtp_ca_file cannot be used: {reason}")
        return await open_session(self._way, self._tls, self._clock.monotonic())


def smtp_sender(settings: EmailSettings, clock: Clock) -> SmtpSender:
    password = settings.smtp_password
    way = Way(
        host=settings.smtp_host,
        port=settings.smtp_port,
        tls=settings.smtp_tls,
        timeout_s=settings.timeout_s,
        greet_as=_own_name(settings.sender),
        username=settings.smtp_username,
        password=password.get_secret_value() if password else None,
    )
    return SmtpSender(way, clock, connections=settings.smtp_connections, ca_file=settings.smtp_ca_file)


def envelope_of(message: MailMessage) -> Envelope | None:
    sender, recipient = _sender_mailbox(message.sender), _mailbox(message.to)
    if sender is None or recipient is None:
        return None
    needs_utf8 = not (sender.isascii() and recipient.isascii())
    return Envelope(sender, recipient, message.raw, needs_utf8)


@functools.lru_cache(maxsize=16)  # all mails of a house have one
def _sender_mailbox(text: str) -> bytes | None:
    """Of `Name <a@b.example>`."""
    return _mailbox(parseaddr(text)[1])


def _mailbox(address: str) -> bytes | None:
    """As it goes over the wire, its domain in ASCII; None when it would say more than an address."""
    if not _MAILBOX.fullmatch(address):
        return None
    if address.isascii():
        return address.encode()
    local, _, domain = address.rpartition("@")
    try:
        return local.encode() + b"@" + domain.encode("idna")
    except UnicodeError:
        return None


def _own_name(sender: str) -> str:
    """The domain that mails come from; asking the system for its name can take as long as name servers please."""
    domain = (_sender_mailbox(sender) or b"").rpartition(b"@")[2].decode()
    return domain if "." in domain else "[127.0.0.1]"


def _was_stale(answer: Answer) -> bool:
    """The server gave up this connection, not this mail: no recipient was named yet."""
    return answer.stage <= Stage.SENDER and (answer.lost or answer.code == _GOING_AWAY)


def _context(ca_file: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context
