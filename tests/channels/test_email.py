"""The mail channel: what is checked before a provider is asked, and what its answer means for the row."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.support.clock import START, ManualClock
from tests.support.mail_server import HOST, MailServer
from tests.support.mails import TO, mail
from vacancy.channels.base import Kit, Pace
from vacancy.channels.email import Email, build, build_with
from vacancy.channels.mail import MailMessage, SendError, SendResult
from vacancy.clock import Clock, Dice
from vacancy.model.messages import Blocked, Dead, Kind, Outcome, Parcel, Person, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import EmailSettings
from vacancy.simulator.sendgrid import FakeSendgrid
from vacancy.store import migrate, outbox
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import outbox as outbox_table

PARCEL = Parcel(11, Kind.ALERT, "k1", "t1", 1, Person(7, TO, "en-US"))
PACE = Pace(50, 50)


class Letters:
    """Hands out a mail that is ready."""

    def __init__(self, made: MailMessage | Dead) -> None:
        self.made = made
        self.asked: list[Parcel] = []

    def write(self, parcel: Parcel) -> MailMessage | Dead:
        self.asked.append(parcel)
        return self.made


class Answering:
    provider = "answering"

    def __init__(self, result: SendResult) -> None:
        self.result = result
        self.sent: list[MailMessage] = []
        self.closed = False

    async def send(self, message: MailMessage) -> SendResult:
        self.sent.append(message)
        return self.result

    async def verify(self) -> SendResult:
        return self.result

    async def close(self) -> None:
        self.closed = True


SENT = SendResult("sent", "answering", 1, 5, START, "p1")


def trouble(
    status: str, code: str, *, begun: bool = True, after_s: float | None = None, bounced: bool = False
) -> SendResult:
    error = SendError(code, "said", bounced=bounced)  # type: ignore[arg-type]
    return SendResult(status, "answering", 1, 5, retry_after_s=after_s, error=error, begun=begun)  # type: ignore[arg-type]


UNREACHED = Blocked("network_error", "said", None, "answering")
BLOCKED_30_S = Blocked("rate_limited", "said", 30, "answering")


def deliver(
    result: SendResult = SENT, made: MailMessage | Dead | None = None, *, dry_run: bool = False
) -> tuple[Outcome, Answering]:
    sender = Answering(result)
    channel = Email(Letters(made or mail()), sender, EmailSettings(dry_run=dry_run), PACE)
    return asyncio.run(channel.send(PARCEL)), sender


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (SENT, Sent("answering", "p1")),
        (replace(SENT, provider_message_id=None), Sent("answering", "m1@house.example")),
        (trouble("retryable", "network_error", begun=False), UNREACHED),
        (trouble("failed", "unauthorized", begun=False), Blocked("unauthorized", "said", None, "answering")),
        (trouble("retryable", "rate_limited", begun=False, after_s=30), BLOCKED_30_S),
        # Only a rate is over when its time is; all else is over when a probe says so.
        (trouble("retryable", "network_error", begun=False, after_s=11), UNREACHED),
        (trouble("retryable", "provider_error", after_s=20), Retry("provider_error", "said", 20, "answering")),
        (trouble("retryable", "network_error"), Retry("network_error", "said", None, "answering")),
        (trouble("failed", "invalid_recipient"), Dead("invalid_recipient", "said", provider="answering")),
        (trouble("failed", "invalid_recipient", bounced=True),
         Dead("invalid_recipient", "said", contact_is="bounced", provider="answering")),
        (trouble("failed", "validation_error"), Dead("validation_error", "said", provider="answering")),
        (trouble("failed", "template_variable_missing"),
         Dead("template_variable_missing", "said", alarm=True, provider="answering")),
        (trouble("failed", "provider_error"), Dead("provider_error", "said", alarm=True, provider="answering")),
        (trouble("failed", "unknown"), Dead("unknown", "said", alarm=True, provider="answering")),
        (SendResult("failed", "answering", 1, 5),
         Dead("unknown", "the provider gave no reason", alarm=True, provider="answering")),
    ],
)  # fmt: skip
def test_what_a_result_means_for_the_row(result: SendResult, outcome: Outcome) -> None:
    told, sender = deliver(result)
    assert told == outcome
    assert sender.sent == [mail()]


def test_a_letter_that_cannot_be_written_is_not_sent() -> None:
    dead = Dead("template_variable_missing", "courseTitle", alarm=True)
    told, sender = deliver(made=dead)
    assert told is dead
    assert sender.sent == []


@pytest.mark.parametrize(
    "to", ["", "nobody", "a@b.example, c@d.example", "a@b.example\r\nBcc: c@d.example", "A <a@b.example>"]
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_recipient_that_is_no_address_is_told_before_anybody_is_asked(to: str, dry_run: bool) -> None:
    told, sender = deliver(made=replace(mail(), to=to), dry_run=dry_run)
    assert told == Dead("invalid_recipient", "the recipient is not an address", provider="answering")
    assert sender.sent == []


@pytest.mark.parametrize(("name", "value"), [("sender", "Vacancy"), ("sender", ""), ("reply_to", "nobody")])
def test_a_sender_that_is_no_address_is_for_the_operator(name: str, value: str) -> None:
    told, sender = deliver(made=mail(**{name: value}), dry_run=True)
    assert told == Dead("validation_error", f"email.{name} is not an address", alarm=True, provider="answering")
    assert sender.sent == []


def test_a_dry_run_lays_everything_out_and_sends_nothing() -> None:
    told, sender = deliver(dry_run=True)
    assert told == Sent("answering", "dry-run")
    assert sender.sent == []
    assert isinstance(deliver(made=Dead("validation_error", "x"), dry_run=True)[0], Dead)


@pytest.mark.parametrize(
    ("result", "blocked"),
    [
        (SENT, None),
        (trouble("failed", "unauthorized", begun=False), Blocked("unauthorized", "said", None, "answering")),
        (trouble("retryable", "network_error"), Blocked("network_error", "said", None, "answering")),
        (trouble("retryable", "rate_limited", begun=False, after_s=9), Blocked("rate_limited", "said", 9, "answering")),
    ],
)
def test_a_probe_asks_the_provider(result: SendResult, blocked: Blocked | None) -> None:
    sender = Answering(result)
    channel = Email(Letters(mail()), sender, EmailSettings(), PACE)
    assert asyncio.run(channel.probe()) == blocked
    asyncio.run(channel.close())
    assert (sender.closed, sender.sent) == (True, [])


def test_the_parcel_is_handed_on_as_it_is() -> None:
    letters = Letters(mail())
    channel = Email(letters, Answering(SENT), EmailSettings(), PACE)
    asyncio.run(channel.send(PARCEL))
    assert letters.asked == [PARCEL]
    assert (channel.name, channel.verifies, channel.pace) == ("email", True, PACE)


@pytest.mark.parametrize(
    ("text", "contact"),
    [("Ann <Ann.Lee@Example.COM>", "ann.lee@example.com"), (" a@b.example ", "a@b.example")],
)
def test_a_contact_has_one_spelling(text: str, contact: str) -> None:
    assert Email(Letters(mail()), Answering(SENT), EmailSettings(), PACE).contact(text) == contact


@pytest.mark.parametrize("text", ["", "nobody", "a@b@c.example", "a@" + "x" * 260, "a@b.example\nc@d.example"])
def test_a_contact_that_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        Email(Letters(mail()), Answering(SENT), EmailSettings(), PACE).contact(text)


def make_outbox(tx: Tx) -> None:
    outbox_table.create(tx.connection, checkfirst=True)


def test_real_letters_and_the_recipient_that_overrides_all(tmp_path: Path, clock: ManualClock) -> None:
    """From the registry's door to the wire, with nothing of ours left out."""

    async def main() -> None:
        async with MailServer() as server:
            person = PARCEL.person._replace(verify_url="https://house.example/verify?token=tok3n")
            parcel = PARCEL._replace(kind=Kind.VERIFICATION, person=person)
            email = {"provider": "smtp", "smtp_host": HOST, "smtp_port": server.port, "smtp_tls": "none",
                     "override_recipient": "try@house.example"}  # fmt: skip
            store, client = Store(f"sqlite:///{tmp_path}/vacancy.db", clock), Client(clock, user_agent="x")
            settings = Settings.model_validate({"email": email})
            channel = build(Kit(settings, clock, Dice(1), client, store, lambda purpose: purpose.encode()))
            assert isinstance(await channel.send(parcel), Sent)
            assert isinstance(await channel.send(parcel._replace(attempt=2)), Sent)
            await channel.close()
            await client.close()
            store.close()
            first, again = server.received
            assert first.recipients == ("try@house.example",)
            assert first.content == again.content, "a repeated mail is the same mail"
            assert b"\r\nMessage-ID: <" in first.content
            assert TO.encode() not in first.content.partition(b"\r\n\r\n")[0]

    asyncio.run(main())


async def built(
    tmp_path: Path, email: EmailSettings, clock: Clock, parcels: Sequence[Parcel], rate: float = 50
) -> tuple[list[Outcome], Pace, Blocked | None, list[str]]:
    settings = Settings.model_validate({"email": email.model_dump(), "delivery": {"email_per_second": rate}})
    store = Store(f"sqlite:///{tmp_path}/vacancy.db", clock)
    migrate.upgrade(store)
    store.write_now(make_outbox)
    client = Client(clock, user_agent="x")
    kit = Kit(settings, clock, Dice(1), client, store, lambda purpose: purpose.encode())
    channel = build_with(kit, Letters(mail()))
    try:
        outcomes = [await channel.send(parcel) for parcel in parcels]
        blocked = await channel.probe()
        rows = [kept.mail.message_id for kept in store.read_now(outbox.latest, 10)]
        return outcomes, channel.pace, blocked, rows
    finally:
        await channel.close()
        await client.close()
        store.close()


def test_the_outbox_is_built_from_the_settings(tmp_path: Path, clock: ManualClock) -> None:
    outcomes, pace, blocked, rows = asyncio.run(built(tmp_path, EmailSettings(), clock, [PARCEL, PARCEL], rate=7.5))
    assert outcomes == [Sent("outbox", "m1@house.example")] * 2
    assert (pace, blocked, rows) == (Pace(7.5, 8), None, ["m1@house.example"])


def test_smtp_is_built_from_the_settings(tmp_path: Path, clock: ManualClock) -> None:
    async def main() -> None:
        async with MailServer(users={"u": "p"}) as server:
            email = EmailSettings(
                provider="smtp", smtp_host=HOST, smtp_port=server.port, smtp_tls="none", smtp_username="u",
                smtp_password=SecretStr("p"),
            )  # fmt: skip
            server.fault("RCPT", "550 5.1.1 gone", times=1)
            outcomes, _, blocked, _ = await built(tmp_path, email, clock, [PARCEL, PARCEL])
            dead, sent = outcomes
            assert isinstance(dead, Dead)
            assert (dead.code, dead.contact_is, dead.provider) == ("invalid_recipient", "bounced", "smtp")
            assert (sent, blocked) == (Sent("smtp", "m1@house.example"), None)
            assert server.received[0].content == mail().raw

    asyncio.run(main())


def test_sendgrid_is_built_from_the_settings(tmp_path: Path, clock: ManualClock) -> None:
    async def main() -> None:
        fake = FakeSendgrid("SG.k")
        await fake.start()
        email = EmailSettings(provider="sendgrid", sendgrid_api_key=SecretStr("SG.k"), sendgrid_base_url=fake.origin)
        outcomes, _, blocked, _ = await built(tmp_path, email, clock, [PARCEL])
        assert (outcomes, blocked) == ([Sent("sendgrid", "loopback-1")], None)
        await fake.stop()

    asyncio.run(main())


def test_a_server_that_is_down_is_tried_thrice_and_then_blocks(tmp_path: Path, clock: ManualClock) -> None:
    async def main() -> None:
        async with MailServer() as server:
            server.fault("CONNECT", "421 4.3.2 not now", times=3)
            email = EmailSettings(provider="smtp", smtp_host=HOST, smtp_port=server.port, smtp_tls="none")
            sending = asyncio.ensure_future(built(tmp_path, email, clock, [PARCEL]))
            while not sending.done():
                if clock.sleepers:
                    await clock.advance(10)
                await asyncio.sleep(0)
            outcomes, _, blocked, _ = await sending
            assert isinstance(outcomes[0], Blocked)
            assert (outcomes[0].code, outcomes[0].after_s) == ("network_error", None)
            assert server.accepted == 4, "three tries, and the probe that finds it well again"
            assert blocked is None

    asyncio.run(main())
