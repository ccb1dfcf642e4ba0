"""SMTP against a real server on loopback: what is sent, over which connection, and what a failure means."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.support.clock import ManualClock
from tests.support.mail_server import HOST, Certificate, MailServer, Stage, make_certificate
from tests.support.mails import TO, mail
from vacancy.channels.mail import SendError, SendResult
from vacancy.channels.smtp import LONGEST_IDLE_S, SmtpSender, smtp_sender
from vacancy.channels.smtp_session import as_data
from vacancy.settings_sections import EmailSettings

Play = Callable[[MailServer, SmtpSender], Awaitable[None]]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def sender_for(server: MailServer, clock: ManualClock | None = None, **changes: Any) -> SmtpSender:
    values: dict[str, Any] = {"smtp_tls": "none", "timeout_s": 5, "sender": "Vacancy <vacancy@house.example>"}
    settings = EmailSettings(provider="smtp", smtp_host=HOST, smtp_port=server.port, **{**values, **changes})
    return smtp_sender(settings, clock or ManualClock())


def plays(
    play: Play, *, clock: ManualClock | None = None, server: dict[str, Any] | None = None, **changes: Any
) -> None:
    async def main() -> None:
        async with MailServer(**(server or {})) as listening:
            sender = sender_for(listening, clock, **changes)
            try:
                await play(listening, sender)
            finally:
                await sender.close()

    asyncio.run(main())
    gc.collect()  # what was left open is said here, as a warning


def error_of(result: SendResult) -> SendError:
    assert result.error is not None
    told = f"{result.error.message} {result.error.detail}"
    for private in (TO, "ann.lee", "hunter2", "s3cret-user"):
        assert private not in told.lower()
    return result.error


def verdict(result: SendResult) -> tuple[str, str, bool]:
    return result.status, error_of(result).code, result.begun


def test_the_bytes_arrive_as_they_were_laid_out() -> None:
    raw = mail().raw + b".\r\n..two\r\n.three\r\n\r\n"

    async def play(server: MailServer, sender: SmtpSender) -> None:
        result = await sender.send(mail(raw=raw))
        assert (result.status, result.provider, result.provider_message_id) == ("sent", "smtp", "m1@house.example")
        assert result.sent_at is not None
        got = server.received[0]
        assert (got.sender, got.recipients, got.content) == ("vacancy@house.example", (TO,), raw)

    plays(play)


@pytest.mark.parametrize(
    ("content", "on_the_wire"),
    [
        (b"a\r\nb\r\n", b"a\r\nb\r\n.\r\n"),
        (b"a\r\nb", b"a\r\nb\r\n.\r\n"),
        (b".a\r\n.\r\nb\r\n", b"..a\r\n..\r\nb\r\n.\r\n"),
        (b"a\n.\nb\rc\r\n.\rd", b"a\r\n..\r\nb\r\nc\r\n..\r\nd\r\n.\r\n"),
        (b"a\r.\rb\r", b"a\r\n..\r\nb\r\n.\r\n"),
        (b"", b"\r\n.\r\n"),
    ],
)
def test_no_content_ends_the_message_early(content: bytes, on_the_wire: bytes) -> None:
    assert as_data(content) == on_the_wire
    assert on_the_wire.count(b"\r\n.\r\n") == 1


def test_connections_are_kept_and_no_more_are_opened_than_allowed() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        for _ in range(3):
            assert (await sender.send(mail())).status == "sent"
        assert server.accepted == 1
        results = await asyncio.gather(*(sender.send(mail()) for _ in range(30)))
        assert {result.status for result in results} == {"sent"}
        assert len(server.received) == 33
        assert server.accepted == 3

    plays(play, smtp_connections=3)


def test_a_kept_connection_that_was_closed_is_replaced_without_a_word() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        await sender.send(mail())
        await server.hang_up()
        assert (await sender.send(mail())).status == "sent"
        assert (server.accepted, len(server.received)) == (2, 2)

    plays(play)


@pytest.mark.parametrize("reply", ["", "421 4.4.2 timeout exceeded"])
def test_a_kept_connection_that_breaks_at_its_next_use_is_replaced(reply: str) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        await asyncio.gather(*(sender.send(mail()) for _ in range(3)))
        server.fault("MAIL", reply)
        assert (await sender.send(mail())).status == "sent"
        assert len(server.received) == 4
        assert server.accepted == 4
        assert server.connected == 1, "the others were kept for longer than the one that broke"

    plays(play)


def test_a_connection_that_stalls_at_its_next_use_is_replaced() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        await sender.send(mail())
        server.fault("MAIL", stall=True)
        assert (await sender.send(mail())).status == "sent"
        assert (server.accepted, len(server.received)) == (2, 2)

    plays(play, timeout_s=0.2)


def test_an_old_connection_is_not_used_again() -> None:
    clock = ManualClock()

    async def play(server: MailServer, sender: SmtpSender) -> None:
        await sender.send(mail())
        clock.pass_time(LONGEST_IDLE_S - 1)
        await sender.send(mail())
        assert server.accepted == 1
        clock.pass_time(LONGEST_IDLE_S)
        await sender.send(mail())
        assert server.accepted == 2

    plays(play, clock=clock)


def test_a_connection_breaks_after_a_recipient_was_named_and_is_not_repeated_here() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        await sender.send(mail())
        server.fault("CONTENT", hang_up=True)
        assert verdict(await sender.send(mail())) == ("retryable", "network_error", True)
        # It was taken, and nobody heard so: the same Message-ID goes out once more, later, and not from in here.
        assert len(server.received) == 2
        assert server.accepted == 1
        server.fault("RCPT", hang_up=True)
        assert verdict(await sender.send(mail())) == ("retryable", "network_error", True)
        assert server.accepted == 2

    plays(play)


BEFORE: list[tuple[Stage, str, tuple[str, str]]] = [
    ("CONNECT", "554 5.3.2 no service", ("failed", "provider_error")),
    ("CONNECT", "421 4.3.2 not now", ("retryable", "network_error")),
    ("CONNECT", "421 4.7.0 too many connections", ("retryable", "rate_limited")),
    ("CONNECT", "", ("retryable", "network_error")),
    ("CONNECT", "HTTP/1.1 400 Bad Request", ("retryable", "network_error")),
    ("EHLO", "421 closing", ("retryable", "network_error")),
    ("EHLO", "", ("retryable", "network_error")),
    ("MAIL", "421 4.3.2 going down", ("retryable", "network_error")),
    ("MAIL", "451 4.3.0 no space", ("retryable", "provider_error")),
    ("MAIL", "450 4.7.1 slow down", ("retryable", "rate_limited")),
    ("MAIL", "550 5.7.1 sender not welcome", ("failed", "provider_error")),
    ("MAIL", "530 5.7.0 log in first", ("failed", "unauthorized")),
    ("MAIL", "", ("retryable", "network_error")),
    ("RCPT", "421 4.3.2 going down", ("retryable", "network_error")),
    ("DATA", "421 4.3.2 going down", ("retryable", "network_error")),
]


@pytest.mark.parametrize(("stage", "reply", "told"), BEFORE)
def test_before_a_recipient_is_named_it_is_the_channels_trouble(
    stage: Stage, reply: str, told: tuple[str, str]
) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault(stage, reply)
        result = await sender.send(mail())
        assert verdict(result) == (*told, False)
        assert result.retry_after_s == (30 if told[1] == "rate_limited" else None)
        assert error_of(result).message.startswith(f"{HOST}:{server.port} ")
        assert server.received == []
        assert (await sender.send(mail())).status == "sent"

    plays(play)


AFTER: list[tuple[Stage, str, tuple[str, str], bool]] = [
    ("RCPT", "450 4.2.1 <{to}>: mailbox busy", ("retryable", "provider_error"), False),
    ("RCPT", "451 4.7.1 greylisted", ("retryable", "provider_error"), False),
    ("RCPT", "452 4.2.2 mailbox full", ("retryable", "provider_error"), False),
    ("RCPT", "550 5.1.1 <{to}>: Recipient address rejected: User unknown", ("failed", "invalid_recipient"), True),
    ("RCPT", "550 5.1.2 no such host", ("failed", "invalid_recipient"), True),
    ("RCPT", "556 5.1.10 takes no mail", ("failed", "invalid_recipient"), True),
    ("RCPT", "551 moved to {to}", ("failed", "invalid_recipient"), True),
    ("RCPT", "553 odd address", ("failed", "invalid_recipient"), True),
    ("RCPT", "550 ann.lee? no", ("failed", "invalid_recipient"), False),
    ("RCPT", "552 5.2.2 over quota", ("failed", "invalid_recipient"), False),
    ("RCPT", "550 5.1.8 your sender's domain does not exist", ("failed", "invalid_recipient"), False),
    ("RCPT", "554 5.7.1 Relay access denied", ("failed", "provider_error"), False),
    ("RCPT", "503 5.5.1 bad sequence", ("failed", "provider_error"), False),
    ("DATA", "451 4.3.0 later", ("retryable", "provider_error"), False),
    ("DATA", "554 5.5.0 no", ("failed", "provider_error"), False),
    ("CONTENT", "421 4.3.2 going down", ("retryable", "provider_error"), False),
    ("CONTENT", "451 4.3.0 later", ("retryable", "provider_error"), False),
    ("CONTENT", "554 5.7.1 spam for {to}", ("failed", "provider_error"), False),
    ("DATA", "", ("retryable", "network_error"), False),
    ("CONTENT", "", ("retryable", "network_error"), False),
]


@pytest.mark.parametrize(("stage", "reply", "told", "bounced"), AFTER)
def test_after_it_is_the_mails_own(stage: Stage, reply: str, told: tuple[str, str], bounced: bool) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault(stage, reply.replace("{to}", TO))
        result = await sender.send(mail())
        assert verdict(result) == (*told, True)
        assert error_of(result).bounced is bounced
        assert error_of(result).detail == " ".join(word for word in reply.split()[:2] if word[0] in "245")
        arrived = len(server.received)
        # What was begun there does not reach into the next mail of the same connection.
        assert (await sender.send(mail("bob@example.com"))).status == "sent"
        assert server.received[arrived].recipients == ("bob@example.com",)

    plays(play)


def test_a_reply_is_cut_down_to_what_is_nobodys_business() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault("RCPT", "550-5.1.1 The account ann.lee of bob@other.example\r\n550 5.1.1 is gone " + "x" * 400)
        error = error_of(await sender.send(mail()))
        where = f"{HOST}:{server.port}"
        assert error.message.startswith(f"{where} refused the recipient: 550 5.1.1 The account *** of *** is gone xxx")
        assert len(error.message) < 300
        assert error.detail == "550 5.1.1"

    plays(play)


@pytest.mark.parametrize("stage", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA", "CONTENT"])
def test_a_server_that_says_nothing_is_given_up_in_time(stage: Stage) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault(stage, stall=True)
        result = await sender.send(mail())
        assert verdict(result) == ("retryable", "network_error", stage in ("RCPT", "DATA", "CONTENT"))
        assert "within 0.1 s" in error_of(result).message

    plays(play, timeout_s=0.1)


def test_nobody_listens() -> None:
    async def main() -> None:
        async with MailServer() as server:
            pass
        sender = sender_for(server)
        assert verdict(await sender.send(mail())) == ("retryable", "network_error", False)
        assert verdict(await sender.verify()) == ("retryable", "network_error", False)
        await sender.close()

    asyncio.run(main())


def test_a_cancelled_mail_leaves_no_half_sent_connection_behind() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault("DATA", stall=True)
        sending = asyncio.ensure_future(sender.send(mail()))
        await server.stalled.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        assert (await sender.send(mail("bob@example.com"))).status == "sent"
        assert [got.recipients for got in server.received] == [("bob@example.com",)]
        assert server.accepted == 2

    plays(play, smtp_connections=1)


LOGIN: dict[str, Any] = {"smtp_username": "s3cret-user", "smtp_password": SecretStr("hunter2")}
USERS = {"s3cret-user": "hunter2"}


@pytest.mark.parametrize("tls", ["starttls", "tls", "none"])
def test_each_way_in_with_a_login(tls: str, certificate: Certificate) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        assert (await sender.verify()).status == "sent"
        assert (await sender.send(mail())).status == "sent"
        assert (server.accepted, len(server.received)) == (1, 1)
        assert server.said.count("STARTTLS") == (tls == "starttls")
        assert "AUTH" in server.said
        assert (await sender.send(mail())).status == "sent"

    offered = None if tls == "none" else certificate
    server: dict[str, Any] = {"certificate": offered, "tls": tls == "tls", "users": USERS}
    plays(play, server=server, smtp_tls=tls, smtp_ca_file=offered and offered.cert, **LOGIN)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_certificate_that_nobody_vouches_for_gets_no_login(tls: str, certificate: Certificate) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        result = await sender.send(mail())
        assert verdict(result) == ("failed", "provider_error", False)
        assert "certificate is not trusted" in error_of(result).message
        assert "AUTH" not in server.said

    plays(play, server={"certificate": certificate, "tls": tls == "tls", "users": USERS}, smtp_tls=tls, **LOGIN)


def test_a_server_without_starttls_gets_neither_login_nor_mail() -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        result = await sender.send(mail())
        assert verdict(result) == ("failed", "provider_error", False)
        assert "does not offer STARTTLS" in error_of(result).message
        assert set(server.said) == {"EHLO"}

    plays(play, smtp_tls="starttls", server={"users": USERS}, **LOGIN)


def test_starttls_that_is_refused(certificate: Certificate) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault("STARTTLS", "454 4.3.0 not available")
        assert verdict(await sender.send(mail())) == ("retryable", "provider_error", False)

    plays(play, smtp_tls="starttls", server={"certificate": certificate})


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_ca_file_that_is_of_no_use(content: bytes | None, tmp_path: Path, certificate: Certificate) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_bytes(content)

    async def play(server: MailServer, sender: SmtpSender) -> None:
        result = await sender.verify()
        assert verdict(result) == ("failed", "provider_error", False)
        assert "email.smtp_ca_file cannot be used" in error_of(result).message

    plays(play, smtp_tls="tls", smtp_ca_file=path, server={"certificate": certificate, "tls": True})


@pytest.mark.parametrize("method", ["send", "verify"])
def test_bad_credentials(method: str) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        result = await (sender.send(mail()) if method == "send" else sender.verify())
        assert verdict(result) == ("failed", "unauthorized", False)
        assert error_of(result).detail == "535 5.7.8"

    plays(play, server={"users": {"s3cret-user": "other"}}, **LOGIN)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("535 5.7.8 s3cret-user: hunter2 is wrong", ("failed", "unauthorized")),
        ("530 5.7.0 no", ("failed", "unauthorized")),
        ("504 5.5.4 what", ("failed", "unauthorized")),
        ("454 4.7.0 temporary failure", ("retryable", "provider_error")),
        ("421 4.3.2 going down", ("retryable", "network_error")),
        ("", ("retryable", "network_error")),
    ],
)
def test_a_login_that_fails(reply: str, told: tuple[str, str]) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        server.fault("AUTH", reply, times=5)
        assert verdict(await sender.send(mail())) == (*told, False)
        assert "MAIL" not in server.said

    plays(play, server={"users": USERS}, **LOGIN)


def test_an_address_beyond_ascii() -> None:
    wide = "jörg@exämple.example"

    async def refused(server: MailServer, sender: SmtpSender) -> None:
        for _ in range(2):
            assert verdict(await sender.send(mail(wide))) == ("failed", "invalid_recipient", True)
        assert (await sender.send(mail("joe@exämple.example"))).status == "sent"
        assert server.received[0].recipients == ("joe@xn--exmple-cua.example",)
        assert server.accepted == 1

    async def taken(server: MailServer, sender: SmtpSender) -> None:
        assert (await sender.send(mail(wide))).status == "sent"
        assert server.received[0].recipients == ("jörg@xn--exmple-cua.example",)
        assert {"SMTPUTF8", "BODY=8BITMIME"} <= {option.upper() for option in server.received[0].options}

    plays(refused)
    plays(taken, server={"utf8": True})


@pytest.mark.parametrize(
    "to",
    ["a@b.example> SIZE=1", "a@b.example\r\nRCPT TO:<c@d.example", "", "nobody", "a b@c.example", "a@" + "ö" * 80],
)
def test_an_address_that_says_more_than_an_address(to: str) -> None:
    async def play(server: MailServer, sender: SmtpSender) -> None:
        assert verdict(await sender.send(replace(mail(), to=to))) == ("failed", "invalid_recipient", True)
        assert server.accepted == 0

    plays(play)
