"""Fan-out that is killed again and again, over more subscriptions than any one transaction takes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.subscribers import add_many
from tests.support.waiting import People
from vacancy.model.subscriptions import Status
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_event_notifications, subscriptions

ROOT = Path(__file__).parents[2]
TOPIC = "soc:12025|NB:00007"
WANTING, OTHERS = 100_000, 500
CHUNK = 2000


@pytest.fixture
def hand(store: Store, clock: ManualClock) -> Hand:
    made = Hand(store, clock, Lists("12025|NB"))
    made.configure()
    for _ in range(2):
        made.poll(some(1, 2, 3))
        clock.jump(15)
    return made


def test_killed_at_random_points_everybody_has_one_row(store: Store, hand: Hand) -> None:
    store.write_now(add_many, TOPIC, WANTING)
    store.write_now(add_many, TOPIC, OTHERS, first=WANTING, status=Status.PAUSED)
    store.write_now(add_many, TOPIC, OTHERS, first=WANTING + OTHERS, last_known_section_status="Open")
    hand.poll(some(1, 2, 3, 7))
    chance, kills = random.Random(7), 1
    assert _killed_after(store, chance.randint(1, 9))
    early, late = _two_leave(store, hand)
    while _killed_after(store, chance.randint(1, 9)):
        kills += 1
    assert kills >= 4
    told = store.read_now(_told)
    assert set(told.values()) == {1}
    assert early in told
    assert late not in told
    assert len(told) == WANTING - 1
    assert store.read_now(_status_of, early) == "skipped"


def _killed_after(store: Store, chunks: int) -> bool:
    """False if it came to its end before."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.flow.fanout_victim", store.url, str(CHUNK)],
        env=environment, cwd=ROOT, stdout=subprocess.PIPE,
    )  # fmt: skip
    with victim:
        assert victim.stdout is not None
        for _ in range(chunks):
            if not victim.stdout.readline():
                assert victim.wait(30) == 0
                return False
        victim.kill()
        victim.communicate()
    return True


def _two_leave(store: Store, hand: Hand) -> tuple[int, int]:
    """The first has a row by now; the last has none yet."""
    people = People(store, hand.source, verify=False)
    wanting = select(func.min(subscriptions.c.subscription_id), func.max(subscriptions.c.subscription_id)).where(
        subscriptions.c.status == Status.ACTIVE, subscriptions.c.last_known_section_status == "Closed"
    )
    early, late = store.read_now(lambda tx: tx.execute(wanting).one())
    for who in (early, late):
        people.leave(who)
    return early, late


def _told(tx: Tx) -> Counter[int]:
    return Counter(tx.execute(select(open_event_notifications.c.subscription_id)).scalars())


def _status_of(tx: Tx, subscription_id: int) -> str:
    n = open_event_notifications.c
    return str(tx.execute(select(n.fanout_status).where(n.subscription_id == subscription_id)).scalar_one())
