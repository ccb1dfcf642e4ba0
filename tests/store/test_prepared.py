"""Statements that write many rows at one stroke do what a statement for each would."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from tests.support.subscribers import add_many
from vacancy.store.engine import Store, Tx
from vacancy.store.prepared import PreparedForThose
from vacancy.store.schema import subscriptions

_s = subscriptions.c
_COUNT = PreparedForThose(
    "who", _s.subscription_id,
    lambda value: update(subscriptions).where(_s.notified_count < 5).values(notified_count=value("count")),
    count=_s.notified_count.type,
)  # fmt: skip
_NOBODY = 10**9


def counts(tx: Tx) -> dict[int, int]:
    rows = tx.execute(select(_s.subscription_id, _s.notified_count)).all()
    return {row.subscription_id: row.notified_count for row in rows}


@pytest.mark.parametrize("given", [[4], [4, 4], [4, 4, 4], [3, 4], [4, 4, 3], [6, 6]])
def test_alike_or_not_each_row_gets_its_own(store: Store, given: list[int]) -> None:
    store.write_now(add_many, "soc:12025|NB:00007", 5)
    whom = sorted(store.read_now(counts))[: len(given)]
    rows = [{"who": who, "count": count} for who, count in zip(whom, given, strict=True)]
    assert store.write_now(lambda tx: tx.write(_COUNT, rows)) == len(given)
    now = store.read_now(counts)
    assert [now[who] for who in whom] == given
    assert {now[who] for who in now.keys() - set(whom)} == {0}


def test_only_rows_that_the_condition_holds_for_are_written_and_counted(store: Store) -> None:
    store.write_now(add_many, "soc:12025|NB:00007", 3)
    first, second, third = sorted(store.read_now(counts))
    store.write_now(lambda tx: tx.write(_COUNT, [{"who": first, "count": 5}]))
    rows = [{"who": who, "count": 1} for who in (first, second, _NOBODY)]
    assert store.write_now(lambda tx: tx.write(_COUNT, rows)) == 1
    assert store.read_now(counts) == {first: 5, second: 1, third: 0}
