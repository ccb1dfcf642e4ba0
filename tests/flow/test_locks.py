"""Transactions that meet on PostgreSQL take their rows in one order: nobody waits for whoever waits for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
from sqlalchemy import update

from tests.support.databases import PostgresDatabase
from tests.support.lists import LIMITS, Lists
from vacancy.clock import Dice
from vacancy.model.availability import (
    Claim,
    Failed,
    Policy,
    Question,
    Reference,
    ReferenceOutcome,
    Taken,
    Trouble,
)
from vacancy.pipeline.settle import Came, settle_failure, settle_reference
from vacancy.store import budgets, targets
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import targets as targets_table

KEY = "12025|NB"
_OTHERS_WAIT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


class Catalogue:
    """It has told the list's row of new indexes, and has not yet come to the budget's when somebody else begins."""

    name = "soc_catalogue"
    budget = "soc"
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
        with psycopg.connect(self._dsn, autocommit=True) as looking:
            while looking.execute(_OTHERS_WAIT).fetchone() == (0,):
                pass
        return Taken("soc", 1, frozenset(), frozenset(), tx.now())


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
