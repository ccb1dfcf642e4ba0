"""Transactions that meet on PostgreSQL take their rows in one order: nobody waits for whoever waits for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import psycopg
from sqlalchemy import select, update

from tests.support.databases import PostgresDatabase
from tests.support.lists import LIMITS, Hand, Lists, some
from vacancy.clock import Dice, SystemClock, later
from vacancy.model.availability import (
    Claim,
    Complete,
    Failed,
    Flips,
    Policy,
    Question,
    Reference,
    ReferenceOutcome,
    Taken,
    Trouble,
)
from vacancy.pipeline.settle import Came, open_by_hand, settle_failure, settle_reference
from vacancy.store import availability, budgets, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_events
from vacancy.store.schema import targets as targets_table

KEY = "12025|NB"
_OTHERS_WAIT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def until_somebody_waits(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as looking:
        while looking.execute(_OTHERS_WAIT).fetchone() == (0,):
            pass


class Catalogue:
    """It has told the list's row of new indexes, and has not yet come to the budget's when somebody else begins."""

    name = "soc_catalogue"
    budget = "soc"
    describes = "soc"
    policy = Policy(interval_s=600, jitter=0, fetch_timeout_s=120)

    def __init__(self, dsn: str) -> None:
        self.row_is_locked = threading.Event()
        self._dsn = dsn

    def questions(self) -> Sequence[Question]:
        return [Question(self.name, KEY, "as ever")]

    async def ask(self, claim: Claim, last_mark: bytes | None) -> ReferenceOutcome:
        raise NotImplementedError

    def take_in(self, tx: Tx, key: str, reference: Reference, *, anew: bool) -> Taken:
        row = update(targets_table).where(targets_table.c.source == "soc")
        tx.execute(row.values(known_version=targets_table.c.known_version + 1))
        self.row_is_locked.set()
        until_somebody_waits(self._dsn)
        return Taken(1)

    def flips_since(self, tx: Tx, key: str, since: datetime) -> Flips:
        raise NotImplementedError


def test_a_list_that_fails_while_its_catalogue_is_taken_in(postgres: PostgresDatabase, postgres_store: Store) -> None:
    source, catalogue = Lists(KEY), Catalogue(postgres.dsn)
    listed, described = postgres_store.write_now(_claim_slowed, source, catalogue)

    def fail() -> Came:
        assert catalogue.row_is_locked.wait(30)
        failed = Failed(Trouble.TIMEOUT, "no answer")
        return postgres_store.write_now(settle_failure, listed, source, failed, Dice(1)).came

    with ThreadPoolExecutor(1) as thread:
        failing = thread.submit(fail)
        taken = postgres_store.write_now(
            settle_reference, described, catalogue, Reference(None), {"soc": source}, Dice(1)
        )
        assert (taken.came, failing.result(30)) == (Came.BELIEVED, Came.FAILED)


def test_an_item_that_opens_while_it_is_about_to_be_forgotten(
    postgres: PostgresDatabase, postgres_store: Store
) -> None:
    """It was closed for months. Were its row to go, its opening would be seen, and told, once more."""
    hand = Hand(postgres_store, SystemClock(), Lists(KEY))
    hand.configure()
    for answer in (some(1, 2), some(1, 2), some(1), some(1)):
        settle_now(hand, answer)
    opened = threading.Event()

    def open_again(tx: Tx) -> None:
        target = targets.find(tx, "soc", KEY)
        assert target is not None
        open_by_hand(tx, hand.source, target.target_id, "00002", "trace")
        opened.set()
        until_somebody_waits(postgres.dsn)

    with ThreadPoolExecutor(1) as thread:
        opening = thread.submit(postgres_store.write_now, open_again)
        assert opened.wait(30)
        in_three_months = later(SystemClock().now(), 90 * 86_400)
        assert postgres_store.write_now(availability.prune_closed, in_three_months, 10) == 0
        opening.result(30)
    settle_now(hand, some(1, 2))
    assert len(postgres_store.read_now(lambda tx: tx.execute(select(open_events)).all())) == 2


def settle_now(hand: Hand, answer: Complete) -> None:
    hand.store.write_now(lambda tx: targets.want_all_now(tx, tx.now(), ["soc"]))
    hand.poll(answer)


def _claim_slowed(tx: Tx, source: Lists, catalogue: Catalogue) -> tuple[Claim, Claim]:
    """Both, while the upstream recovers from a trouble: every answer then counts in the budget's row."""
    now, names = tx.now(), iter("ab")
    for asked in (source, catalogue):
        targets.configure(tx, now, asked.budget, asked.name, asked.questions())
    budgets.pause(tx, now, "soc", 0, "it was slow")
    leases_s = {"soc": 20.0, "soc_catalogue": 125.0}
    claimed = targets.claim(tx, now, "soc", LIMITS, leases_s, lambda: (next(names), "trace")).claims
    by_source = {claim.source: claim for claim in claimed}
    return by_source["soc"], by_source["soc_catalogue"]
