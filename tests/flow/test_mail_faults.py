"""A mail server that fails in every way, and what the courier makes of it: rows, attempts, contacts, troubles."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from email import message_from_bytes
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand
from tests.support.mail_server import Certificate, MailServer, make_certificate
from tests.support.posts import Post, at, post
from tests.support.scenes import FULL, SEVEN, Sections
from tests.support.waiting import People
from vacancy.model.availability import Complete
from vacancy.model.messages import Blocked
from vacancy.simulator.sendgrid import FakeSendgrid
from vacancy.store import troubles
from vacancy.store.engine import Store
from vacancy.store.schema import open_event_notifications

EIGHT = "00008"
ADA = "ada@example.com"
Play = Callable[[MailServer, Post], Awaitable[None]]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


class House:
    """Everybody who waits subscribed in the usual way; `plays` has a mail server and a courier in front of it."""

    def __init__(self, store: Store, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self.source = Sections("12025|NB")
        self.people = People(store, self.source, verify=False)
        self._hand = Hand(store, clock, self.source)
        self._hand.configure()
        self.lists()
        self.lists()

    def lists(self, *opened: str) -> None:
        self._hand.poll(Complete(FULL.keys | set(opened)))
        self.clock.jump(15)

    def wait(self, *names: str, item: str = SEVEN) -> None:
        for name in names:
            self.people.subscribe(name, item)

    def opens(self, *opened: str) -> None:
        self.lists(*opened)
        self.people.fan_out()

    def plays(self, play: Play, *, server: dict[str, Any] | None = None, **email: Any) -> None:
        async def main() -> None:
            async with (
                MailServer(**(server or {})) as listening,
                post(self.store, self.source, self.people, **at(listening, **email)) as made,
            ):
                await play(listening, made)

        asyncio.run(main())

    def troubles(self) -> list[str]:
        return [each.name for each in self.store.read_now(troubles.running)]


@pytest.fixture
def home(store: Store, clock: ManualClock) -> House:
    return House(store, clock)


def states(home: House) -> Counter[tuple[str, int]]:
    n = open_event_notifications.c
    rows = home.store.read_now(lambda tx: tx.execute(select(n.fanout_status, n.fanout_attempts)).all())
    return Counter((row.fanout_status, row.fanout_attempts) for row in rows)


def row(home: House) -> Any:
    return home.store.read_now(lambda tx: tx.execute(select(open_event_notifications)).one())


def ids(server: MailServer) -> list[str]:
    return [str(message_from_bytes(mail.content)["Message-ID"]) for mail in server.received]


def told(server: MailServer) -> Counter[str]:
    return Counter(who for mail in server.received for who in mail.recipients)


def test_a_recipient_who_is_busy_costs_an_attempt_each_as_the_schedule_says(home: House) -> None:
    home.wait("ada")
    home.opens(SEVEN)

    async def play(server: MailServer, made: Post) -> None:
        server.fault("RCPT", "451 4.2.1 mailbox busy", times=3)
        await made.deliver()
        assert server.said.count("RCPT") == 2
        assert (row(home).fanout_status, row(home).fanout_attempts) == ("pending", 2)
        assert row(home).not_before - home.clock.now() == timedelta(seconds=2)
        home.clock.jump(1)
        await made.deliver()
        assert server.said.count("RCPT") == 2
        home.clock.jump(1)
        await made.deliver()
        assert server.said.count("RCPT") == 3
        assert not made.courier.breaker.is_open

    home.plays(play)
    assert (row(home).fanout_status, row(home).fanout_attempts) == ("failed", 3)
    assert row(home).error["code"] == "provider_error"
    assert home.people.one(1).notified_count == 0


def test_an_address_that_is_not_there_is_dead_and_written_to_no_more(home: House) -> None:
    home.wait("ada", "bob")
    home.wait("ada", item=EIGHT)
    home.opens(SEVEN)

    async def play(server: MailServer, made: Post) -> None:
        server.fault("RCPT", "550 5.1.1 no such user", times=9, to=ADA)
        await made.deliver()
        home.opens(SEVEN, EIGHT)
        await made.deliver()
        assert server.said.count("RCPT") == 2
        assert told(server) == {"bob@example.com": 1}

    home.plays(play)
    assert states(home) == {("skipped", 1): 1, ("sent", 1): 1}
    assert [home.people.one(who).status for who in (1, 2, 3)] == ["suppressed", "active", "suppressed"]


@pytest.mark.parametrize(
    ("fault", "copies", "attempts"),
    [
        ({"stage": "CONTENT", "hang_up": True}, 2, 2),  # taken, and nobody knows
        ({"stage": "CONTENT", "reply": "250 2.0.0 kept", "hang_up": True}, 1, 1),  # taken, and known
        ({"stage": "CONTENT", "stall": True}, 2, 2),  # taken, and answered too late
        ({"stage": "DATA", "hang_up": True}, 1, 2),
        ({"stage": "CONTENT", "reply": "451 4.3.0 try later"}, 1, 2),
    ],
)
def test_a_mail_whose_answer_was_not_read_comes_again_as_the_same_mail(
    home: House, fault: dict[str, Any], copies: int, attempts: int
) -> None:
    home.wait("ada", "bob")
    home.opens(SEVEN)

    async def play(server: MailServer, made: Post) -> None:
        server.fault(**fault, to=None if fault["stage"] == "DATA" else ADA)
        await made.deliver()
        assert sum(told(server).values()) == copies + 1
        assert len(set(ids(server))) == 2
        assert not made.courier.breaker.is_open

    home.plays(play, timeout_s=0.5)
    assert states(home) == ({("sent", 1): 2} if attempts == 1 else {("sent", 1): 1, ("sent", attempts): 1})


def test_a_courier_that_finds_its_channel_in_trouble_asks_before_it_sends(home: House) -> None:
    home.store.write_now(lambda tx: troubles.begin(tx, tx.now(), "channel:email", "email does not work"))
    home.wait("ada")
    home.opens(SEVEN)
    down = Script()
    down.trouble = Blocked("unauthorized", "the key was refused")
    assert deliver(make_courier(home.store, home.source, home.people, down)) == []
    assert (down.probes, home.troubles()) == (1, ["channel:email"])
    up = Script()
    assert len(deliver(make_courier(home.store, home.source, home.people, up))) == 1
    assert (up.probes, home.troubles()) == (1, [])


def test_a_trouble_that_is_over_is_ended_although_nothing_waits(home: House) -> None:
    home.store.write_now(lambda tx: troubles.begin(tx, tx.now(), "channel:email", "email does not work"))
    assert deliver(make_courier(home.store, home.source, home.people, Script())) == []
    assert home.troubles() == []


@pytest.mark.parametrize(("tls", "smtp_tls"), [(False, "starttls"), (True, "tls")])
def test_a_connection_is_secured_with_the_servers_certificate_and_nothing_goes_without(
    home: House, certificate: Certificate, tls: bool, smtp_tls: str
) -> None:
    home.wait("ada")
    home.opens(SEVEN)
    server = {"certificate": certificate, "tls": tls, "users": {"house": "s3cret"}}
    login = {"smtp_tls": smtp_tls, "smtp_username": "house", "smtp_password": SecretStr("s3cret")}

    async def a_stranger(listening: MailServer, made: Post) -> None:
        await made.deliver()
        assert listening.received == []
        assert home.troubles() == ["channel:email"]

    async def a_friend(listening: MailServer, made: Post) -> None:
        await made.deliver()
        assert told(listening) == {ADA: 1}

    home.plays(a_stranger, server=server, **login)
    assert states(home) == {("pending", 0): 1}
    home.plays(a_friend, server=server, smtp_ca_file=certificate.cert, **login)
    assert states(home) == {("sent", 1): 1}
    assert home.troubles() == []


def test_a_wrong_password_keeps_the_queue_and_what_is_still_true_goes_out_when_it_is_right(home: House) -> None:
    names = [f"p{number}" for number in range(30)]
    home.wait(*names)
    home.wait("late", item=EIGHT)
    home.opens(SEVEN, EIGHT)

    async def play(server: MailServer, made: Post) -> None:
        await made.deliver()
        assert (server.received, home.troubles()) == ([], ["channel:email"])
        assert states(home) == {("pending", 0): 31}
        home.lists(SEVEN)
        home.lists(SEVEN)  # eight is closed again
        home.clock.pass_time(30)
        await made.deliver()
        assert server.received == []
        server.users["house"] = "changed"
        home.clock.pass_time(30)
        home.lists(SEVEN)
        await made.deliver()
        assert told(server) == {f"{name}@example.com": 1 for name in names}

    login = {"smtp_username": "house", "smtp_password": SecretStr("changed")}
    home.plays(play, server={"users": {"house": "s3cret"}}, **login)
    assert states(home) == {("sent", 1): 30, ("expired", 0): 1}
    assert home.troubles() == []


def test_a_poison_mail_that_makes_the_relay_hang_up_stops_nobody_else(home: House) -> None:
    names = [f"p{number}" for number in range(30)]
    home.wait("ada", *names)
    home.opens(SEVEN)

    async def play(server: MailServer, made: Post) -> None:
        server.fault("CONTENT", hang_up=True, times=99, to=ADA)
        await made.deliver()
        home.clock.jump(2)
        await made.deliver()
        assert not made.courier.breaker.is_open
        assert told(server) == {ADA: 3, **{f"{name}@example.com": 1 for name in names}}

    home.plays(play)
    assert states(home) == {("failed", 3): 1, ("sent", 1): 30}
    assert home.troubles() == []


@pytest.mark.parametrize("stage", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA"])
def test_421_to_everyone_for_a_minute_burns_no_attempt(home: House, stage: Any) -> None:
    names = [f"p{number}" for number in range(30)]
    home.wait(*names)
    home.opens(SEVEN)

    async def play(server: MailServer, made: Post) -> None:
        server.fault(stage, "421 4.3.2 the service goes down", times=10_000)
        for _ in range(2):
            await made.deliver()
            assert states(home) == {("pending", 0): 30}
            home.clock.pass_time(30)
            home.lists(SEVEN)
        server.mend()
        await made.deliver()
        assert told(server) == {f"{name}@example.com": 1 for name in names}

    home.plays(play)
    assert states(home) == {("sent", 1): 30}
    assert home.troubles() == []


def test_a_401_of_sendgrids_keeps_the_queue_and_all_that_is_still_true_goes_out_with_the_right_key(home: House) -> None:
    names = [f"p{number}" for number in range(30)]
    home.wait(*names)
    home.wait("late", item=EIGHT)
    home.opens(SEVEN, EIGHT)
    fake = FakeSendgrid()

    async def with_key(key: str, play: Callable[[Post], Awaitable[None]]) -> None:
        keys = {"sendgrid_base_url": fake.origin, "sendgrid_api_key": SecretStr(key)}
        async with post(home.store, home.source, home.people, provider="sendgrid", **keys) as made:
            await play(made)

    async def revoked(made: Post) -> None:
        await made.deliver()
        assert made.courier.breaker.is_open
        home.clock.pass_time(30)
        home.lists(SEVEN)
        await made.deliver()

    async def renewed(made: Post) -> None:
        home.lists(SEVEN)
        await made.deliver()

    async def story() -> None:
        await fake.start()
        try:
            await with_key("SG.revoked", revoked)
            assert states(home) == {("pending", 0): 31}
            assert home.troubles() == ["channel:email"]
            await with_key(fake.key, renewed)
        finally:
            await fake.stop()

    asyncio.run(story())
    addressed = Counter(mail["personalizations"][0]["to"][0]["email"] for mail in fake.mails)
    assert addressed == {f"{name}@example.com": 1 for name in names}
    assert states(home) == {("sent", 1): 30, ("expired", 0): 1}
    assert home.troubles() == []
