"""Couriers that are killed at every step, and a hundred times at random: nothing is lost, and only what was handed over
and not written down is said again, as the same message."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from email import message_from_bytes
from typing import Final

import pytest

from tests.flow.deliver_victim import MOMENTS
from tests.simulator.harness import until
from tests.support.mail_server import MailServer, Received
from tests.support.nursery import Nursery, mail_settings
from tests.support.scenes import Scene
from vacancy.pipeline.deliver import IN_FLIGHT

KILLS: Final = 100
CROWD: Final = 2000
_PATIENCE_S: Final = 120.0


def recipients(mails: Sequence[Received]) -> Counter[str]:
    return Counter(who for mail in mails for who in mail.recipients)


def copies(mails: Sequence[Received]) -> dict[str, list[Received]]:
    by_recipient: dict[str, list[Received]] = {}
    for mail in mails:
        by_recipient.setdefault(mail.recipients[0], []).append(mail)
    return by_recipient


def message_id(mail: Received) -> str:
    return str(message_from_bytes(mail.content)["Message-ID"])


def each_has_one_message_id(mails: Sequence[Received]) -> bool:
    ids = {who: {message_id(mail) for mail in each} for who, each in copies(mails).items()}
    return all(len(own) == 1 for own in ids.values()) and len(set.union(*ids.values())) == len(ids)


def check_the_books(scene: Scene, crowd: int) -> None:
    """Each row sent by one attempt that was counted; each place taken once; each told in the audit once."""
    told = scene.told()
    assert len(told) == crowd
    assert {(row.status, row.attempts, row.count, row.locked) for row in told} == {("sent", 1, 1, False)}
    assert {(row.cap, row.subscription) for row in told} == {(1, "paused"), (3, "active")}
    notes = scene.notes()
    assert [count for (_, kind), count in notes.items() if kind == "notify_sent"] == [1] * crowd
    assert set(notes.values()) == {1}


def a_crowd(scene: Scene, crowd: int) -> None:
    scene.waits(crowd // 2, max_notifications=1)
    scene.waits(crowd - crowd // 2, first=crowd // 2)
    scene.opens()


@pytest.mark.parametrize("moment", [*MOMENTS, "before_the_answer"])
def test_killed(scene: Scene, database_url: str, nursery: Nursery, moment: str) -> None:
    """What the server took and no row says so is said again, with the same Message-ID; nothing else is."""
    crowd = 30
    a_crowd(scene, crowd)

    async def story() -> None:
        async with MailServer() as server:
            settings = mail_settings(database_url, server.port)
            if moment == "before_the_answer":
                server.fault("CONTENT", stall=True, times=crowd)
                victim = nursery.start(settings)
                await server.has_taken(4)  # as many as there are connections
                assert await nursery.kill(victim) == -9
            else:
                victim = nursery.start(settings, moment=moment)
                assert await nursery.end(victim) == -9
            await until(lambda: server.connected == 0)
            left, taken = scene.told(), recipients(server.received)
            acked = {row.contact for row in left if row.status == "sent"}
            check_the_moment(moment, len(taken), len(acked))
            assert {row.count for row in left if row.locked} == {1}
            assert sum(row.count for row in left) == sum(row.locked for row in left) + len(acked)
            assert sum(row.locked for row in left) <= IN_FLIGHT
            server.mend()
            assert await nursery.end(nursery.start(settings)) == 0
            again = {who for who, times in recipients(server.received).items() if times > 1}
            assert again == taken.keys() - acked
            assert len(recipients(server.received)) == crowd
            assert each_has_one_message_id(server.received)

    asyncio.run(asyncio.wait_for(story(), _PATIENCE_S))
    check_the_books(scene, crowd)


def check_the_moment(moment: str, taken: int, acked: int) -> None:
    """That it died where it should have."""
    if moment == "after_the_claim":
        assert (taken, acked) == (0, 0)
    elif moment == "after_the_ack":
        assert 0 < acked <= taken
    else:
        assert taken > 0
        assert acked == 0


@pytest.mark.timeout(300)
def test_a_hundred_kills_at_random_under_load(scene: Scene, database_url: str, nursery: Nursery) -> None:
    """Two couriers at all times. Each sends from an address of its own: a repetition tells whose death it was."""
    a_crowd(scene, CROWD)
    killed: set[str] = set()

    async def story() -> list[Received]:
        async with MailServer() as server:
            chance, numbers = random.Random(20), itertools.count(1)
            living: dict[str, int] = {}

            def begin() -> None:
                sender = f"w{next(numbers)}@house.example"
                living[sender] = nursery.start(mail_settings(database_url, server.port, sender))

            begin()
            begin()
            for _ in range(KILLS):
                await server.has_taken(len(server.received) + chance.randint(1, 30))
                sender = chance.choice(sorted(living))
                assert await nursery.kill(living.pop(sender)) == -9
                killed.add(sender)
                begin()
            for victim in living.values():
                assert await nursery.end(victim) == 0
            return server.received

    received = asyncio.run(asyncio.wait_for(story(), 2 * _PATIENCE_S))
    check_the_books(scene, CROWD)
    assert len(killed) == KILLS
    assert len(recipients(received)) == CROWD
    assert each_has_one_message_id(received)
    repeated_after = Counter(mail.sender for each in copies(received).values() for mail in each[:-1])
    assert repeated_after, "nobody died with a message in his hands: this proved nothing"
    assert repeated_after.keys() <= killed
    assert max(repeated_after.values()) <= IN_FLIGHT
