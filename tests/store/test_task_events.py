"""Task events are numbered in the order of commits, told to whoever may see the task, and pruned without reuse."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select, text

from tests.support.clock import ManualClock
from tests.support.people import ADA, CLERKS, DIRK, GONE, PAT, PORTERS, SUE, hire
from vacancy.model.tasks import EventType, Scope
from vacancy.pipeline.upkeep import prune
from vacancy.settings_sections import RetentionSettings
from vacancy.store import migrate, people, task_events, upkeep
from vacancy.store import tasks as rows
from vacancy.store.engine import Store, Tx
from vacancy.store.schema_tasks import task_event_recipients, users
from vacancy.store.schema_tasks import task_events as table
from vacancy.tasks import access, workflow

KEEP = RetentionSettings(events_days=30)


def new_task(tx: Tx, scope: Scope = Scope.FUNCTIONAL) -> int:
    return workflow.create(tx, ADA, "Count the chairs", None, PORTERS, scope).task.task_id


def report(tx: Tx, task_id: int) -> None:
    workflow.report(tx, PAT, task_id, "https://example.com", "")


def there_and_back(tx: Tx, task_id: int) -> None:
    report(tx, task_id)
    workflow.reject(tx, ADA, task_id, "")


def read_all(store: Store, cursor: int = 0, who: int = ADA) -> list[int]:
    return [each.event_id for each in store.read_now(task_events.of_user, who, cursor, 200)]


def somebody_waits(tx: Tx) -> bool:
    """For a lock of the house's own."""
    query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    return bool(tx.execute(query).scalar())


def test_a_transaction_that_began_first_and_commits_last_is_not_skipped(postgres_store: Store) -> None:
    """Two writers that overlap, on tasks of their own: without the lock the second would commit the higher number
    first, and a reader's cursor would step over the lower one."""
    store = postgres_store
    store.write_now(hire)
    one, other = store.write_now(new_task), store.write_now(new_task)
    drawn, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        report(tx, one)
        drawn.set()
        assert go_on.wait(30)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(store.write_now, slow)
        assert drawn.wait(30)
        second = threads.submit(store.write_now, report, other)
        while not (second.done() or store.read_now(somebody_waits)):
            pass
        # As far as a reader can see, nothing was committed: neither the slow one nor, before it, the quick one.
        assert read_all(store) == []
        assert not second.done()
        go_on.set()
        first.result(30)
        second.result(30)
    told = store.read_now(task_events.of_user, ADA, 0, 10)
    assert [each.task_id for each in told] == [one, other]


def test_who_waits_for_the_lock_has_no_number_yet(postgres_store: Store) -> None:
    """Or somebody with a higher one could overtake him, and be read before him."""
    store = postgres_store
    store.write_now(hire)
    one, other = store.write_now(new_task), store.write_now(new_task)
    told, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        report(tx, one)
        told.set()
        assert go_on.wait(30)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(store.write_now, slow)
        assert told.wait(30)
        drawn = store.read_now(last_number)
        second = threads.submit(store.write_now, report, other)
        while not (second.done() or store.read_now(somebody_waits)):
            pass
        assert store.read_now(last_number) == drawn
        go_on.set()
        first.result(30)
        second.result(30)


def last_number(tx: Tx) -> int:
    """The last one drawn, committed or not."""
    return int(tx.execute(text("SELECT last_value FROM task_events_event_id_seq")).scalar_one())


def test_a_reader_beside_many_writers_misses_none(store: Store) -> None:
    store.write_now(hire)
    tasks = [store.write_now(new_task) for _ in range(4)]
    seen: list[int] = []
    done = threading.Event()

    def read() -> None:
        while True:
            finished = done.is_set()
            seen.extend(read_all(store, seen[-1] if seen else 0))
            if finished:
                return

    def write(task_id: int) -> None:
        for _ in range(20):
            store.write_now(there_and_back, task_id)

    with ThreadPoolExecutor(5) as threads:
        reader = threads.submit(read)
        writers = [threads.submit(write, task_id) for task_id in tasks]
        try:
            for writer in writers:
                writer.result(60)
        finally:
            done.set()
        reader.result(60)
    assert len(seen) == 160
    assert seen == sorted(set(seen))


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("initiator", [ADA, PAT, SUE, DIRK])
@pytest.mark.parametrize("role", [CLERKS, PORTERS, 3, 4, 5])
def test_three_ways_to_say_who_sees_a_task_agree(store: Store, initiator: int, role: int, scope: Scope) -> None:
    """The rule, the listing in SQL, the audience in SQL."""
    store.write_now(hire)

    def tell(tx: Tx) -> set[int]:
        number = rows.add(tx, tx.now(), "x", None, initiator, role, scope)
        task, actor = rows.find(tx, number), people.find_user(tx, SUE)
        assert task is not None
        assert actor is not None
        task_events.append(tx, tx.now(), task, EventType.APPROVED, actor, {})
        everybody = [user for user in people.all_users(tx) if user.is_active]
        by_rule = {user.user_id for user in everybody if access.may_see(user, task)}
        by_listing = {user.user_id for user in everybody if rows.visible(tx, user, 9, None, None, archived=True)}
        assert by_rule == by_listing
        return by_rule

    by_rule = store.write_now(tell)
    told = store.read_now(lambda tx: tx.execute(select(task_event_recipients.c.user_id)).scalars().all())
    assert sorted(told) == sorted(by_rule)
    assert GONE not in told


def test_events_are_kept_for_their_days_and_an_old_cursor_goes_on_from_the_oldest(
    store: Store, clock: ManualClock
) -> None:
    store.write_now(hire)
    task = store.write_now(new_task)
    for _ in range(3):
        store.write_now(there_and_back, task)
    old = read_all(store)
    clock.jump(86_400 * 29)
    store.write_now(report, task)
    assert store.write_now(prune, KEEP) == 0
    clock.jump(86_400 * 2)
    while store.write_now(prune, KEEP):
        pass
    (young,) = read_all(store)
    assert young > old[-1]
    assert read_all(store, old[0]) == read_all(store, 0) == [young]
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(task_event_recipients)).scalar()) == 5


def test_numbers_are_not_used_again_after_everything_was_pruned(store: Store, clock: ManualClock) -> None:
    store.write_now(hire)
    task = store.write_now(new_task)
    store.write_now(there_and_back, task)
    last = read_all(store)[-1]
    clock.jump(86_400 * 31)
    while store.write_now(prune, KEEP):
        pass
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(table)).scalar()) == 0
    store.write_now(report, task)
    assert read_all(store) == [last + 1]


def test_many_recipients_are_pruned_in_bites(store: Store, clock: ManualClock) -> None:
    store.write_now(hire)
    more = [{"user_id": n, "name": "x", "role_id": PORTERS} for n in range(1000, 1010)]
    store.write_now(lambda tx: tx.execute(insert(users), more))
    task = store.write_now(new_task)
    store.write_now(there_and_back, task)
    before = clock.now() + timedelta(days=1)
    clock.jump(2 * 86_400)
    bites = []
    while bite := store.write_now(task_events.prune, before, 5):
        bites.append(bite)
    # Two events, each for Ada, Sue, Deb, and twelve porters.
    assert sum(bites) == 2 + 2 * (3 + 12)
    assert max(bites) <= 5 + 2
    assert store.read_now(lambda tx: tx.execute(select(func.count()).select_from(table)).scalar()) == 0


def test_a_restored_backup_jumps_past_every_cursor(
    sqlite_store: Store, clock: ManualClock, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = sqlite_store
    store.write_now(hire)
    task = store.write_now(new_task)
    store.write_now(report, task)
    copy = tmp_path_factory.mktemp("copies") / "copy.db"
    upkeep.backup(store, copy)
    store.write_now(lambda tx: workflow.reject(tx, ADA, task, ""))
    cursor = read_all(store)[-1]
    restored = Store(f"sqlite:///{copy}", clock)
    try:
        migrate.upgrade(restored)
        restored.write_now(upkeep.wake_restored)
        restored.write_now(lambda tx: workflow.approve(tx, ADA, task, ""))
        assert len(read_all(restored, cursor)) == 1
    finally:
        restored.close()


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_users_events_after_a_cursor_are_one_range_of_an_index(database: str, request: pytest.FixtureRequest) -> None:
    store: Store = request.getfixturevalue(f"{database}_store")
    store.write_now(hire)

    def plan(tx: Tx) -> str:
        if tx.dialect == "postgresql":
            # Tables of a few rows are read whole, whatever indexes there are.
            tx.execute(text("SET LOCAL enable_seqscan = off"))
            tx.execute(text("SET LOCAL enable_bitmapscan = off"))
        sql, parameters = task_events._OF_USER.ready(tx.connection.dialect)
        cursor = tx.connection.connection.cursor()
        explain = "EXPLAIN QUERY PLAN" if tx.dialect == "sqlite" else "EXPLAIN"
        cursor.execute(f"{explain} {sql}", parameters({"user": ADA, "after": 5, "most": 50}))
        return "\n".join(str(row) for row in cursor.fetchall())

    told = store.write_now(plan)
    assert "TEMP B-TREE" not in told
    assert "Sort" not in told
    if database == "sqlite":
        assert "SEARCH task_event_recipients USING COVERING INDEX sqlite_autoindex" in told
    else:
        assert "pk_task_event_recipients" in told
