"""Event numbers ascend in commit order: a reader with a cursor never misses one, whoever writes at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.clock import ManualClock
from vacancy.model.events import Description
from vacancy.store import event_feed, events
from vacancy.store.engine import Store, Tx
from vacancy.store.events import Edge, Sighting


def edge(name: str) -> Edge:
    return Edge(name, None, True, 1, 1, f"key of {name}", Description((f"soc:{name}",)))


def append(tx: Tx, *names: str) -> list[int]:
    seen = Sighting("soc", "12025|NB", "open_sections", "trace", tx.now(), None)
    return events.append(tx, seen, [edge(name) for name in names])


def read_all(store: Store, cursor: int) -> list[int]:
    page, _ = store.read_now(event_feed.after, cursor, 200)
    return [event.id for event in page]


def test_a_transaction_that_began_first_and_commits_last_is_not_skipped(postgres_store: Store) -> None:
    """The first draws its number and dawdles; the second wants one as well. Without the emitters' lock the second
    would commit the higher number first, and a reader would step over the lower one."""
    store = postgres_store
    drawn, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> list[int]:
        numbers = append(tx, "slow")
        drawn.set()
        assert go_on.wait(30)
        return numbers

    def quick(tx: Tx) -> list[int]:
        return append(tx, "quick")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(store.write_now, slow)
        assert drawn.wait(30)
        second = threads.submit(store.write_now, quick)
        # As far as a reader can see, nothing was committed: neither the slow one nor, before it, the quick one.
        assert read_all(store, 0) == []
        assert not second.done()
        go_on.set()
        numbers = [*first.result(30), *second.result(30)]
    assert numbers == sorted(numbers)
    assert read_all(store, 0) == numbers


def test_a_reader_beside_many_writers_misses_none(store: Store) -> None:
    seen: list[int] = []
    done = threading.Event()

    def read() -> None:
        while True:
            finished = done.is_set()
            seen.extend(read_all(store, seen[-1] if seen else 0))
            if finished:
                return

    def write(writer: int) -> None:
        for n in range(25):
            store.write_now(append, f"{writer}-{n}-a", f"{writer}-{n}-b")

    with ThreadPoolExecutor(5) as threads:
        reader = threads.submit(read)
        writers = [threads.submit(write, writer) for writer in range(4)]
        try:
            for writer in writers:
                writer.result(60)
        finally:
            done.set()
        reader.result(60)
    assert len(seen) == 200
    assert seen == sorted(set(seen))


def test_a_rolled_back_emitter_leaves_a_gap_and_no_event(store: Store, clock: ManualClock) -> None:
    class GaveUpError(Exception):
        pass

    def give_up(tx: Tx) -> None:
        append(tx, "never")
        raise GaveUpError

    with pytest.raises(GaveUpError):
        store.write_now(give_up)
    (number,) = store.write_now(append, "after")
    assert read_all(store, 0) == [number]
