from __future__ import annotations

import msgspec

from tests.support.rows import course_event, insert_events, insert_target, prune_events
from vacancy.store import event_feed, target_overview
from vacancy.store.engine import Store
from vacancy.store.event_feed import Only
from vacancy.store.schema import open_events


def ids(found: tuple[list[event_feed.FeedEvent], int]) -> list[int]:
    return [event.id for event in found[0]]


def test_every_column_but_the_pipelines_own_is_shown(store: Store) -> None:
    store.write_now(insert_events, [course_event(1)])
    events, _ = store.read_now(event_feed.after, 0, 10)
    shown = msgspec.json.decode(events[0].encoded)
    names = [column.name for column in open_events.c if column.name not in event_feed.HIDDEN]
    assert list(shown) == [_camel(name) for name in names]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_after_is_exclusive_limited_and_bounded(store: Store) -> None:
    store.write_now(insert_events, [course_event(number) for number in range(1, 8)])
    assert ids(store.read_now(event_feed.after, 2, 3)) == [3, 4, 5]
    assert ids(store.read_now(event_feed.after, 2, 30, Only(), 4)) == [3, 4]
    assert ids(store.read_now(event_feed.after, 7, 3)) == []


def test_the_newest_come_in_order(store: Store) -> None:
    store.write_now(insert_events, [course_event(number) for number in range(1, 8)])
    assert ids(store.read_now(event_feed.newest, 3)) == [5, 6, 7]


def test_a_topic_is_met_exactly(store: Store) -> None:
    topics = ["json:x:a%", "json:x:a_", "json:x:ab", "json:x:A%", 'json:x:"', "json:x:\\", "json:x:é"]
    store.write_now(insert_events, [course_event(n, topics=["other:y", topic]) for n, topic in enumerate(topics, 1)])
    for number, topic in enumerate(topics, 1):
        assert ids(store.read_now(event_feed.after, 0, 10, Only(topic=topic))) == [number]
    assert ids(store.read_now(event_feed.after, 0, 10, Only(topic="json:x:"))) == []


def test_filters_join(store: Store) -> None:
    store.write_now(
        insert_events,
        [course_event(1), course_event(2, source="resy"), course_event(3, status_after="Closed")],
    )
    assert ids(store.read_now(event_feed.after, 0, 10, Only(source="soc", status="Open"))) == [1]
    assert ids(store.read_now(event_feed.newest, 10, Only(source="resy"))) == [2]


def test_what_was_pruned_is_told(store: Store) -> None:
    assert store.read_now(event_feed.oldest_kept) == 1
    store.write_now(insert_events, [course_event(number) for number in range(1, 5)])
    assert store.read_now(event_feed.after, 0, 10)[1] == 0
    store.write_now(prune_events, 2)
    assert store.read_now(event_feed.after, 0, 10)[1] == 2
    assert store.read_now(event_feed.oldest_kept) == 3
    store.write_now(prune_events, 4)
    assert store.read_now(event_feed.oldest_kept) == 5


def test_a_page_of_one_source_goes_by_number_and_sorts_nothing(sqlite_store: Store) -> None:
    statement = event_feed._statement("sqlite", frozenset({"source", "needle", "status"}), newest_first=False)
    compiled = str(statement.compile(sqlite_store._reader, compile_kwargs={"literal_binds": False}))
    values = {"source": "soc", "needle": "x", "status": "Open", "cursor": 1, "up_to": 9, "most": 5}
    with sqlite_store._reader.begin() as connection:
        names = [values.get(name, 0) for name in _positions(compiled, statement, sqlite_store)]
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", tuple(names)).all()
    assert [row[3] for row in plan] == ["SEARCH open_events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]


def _positions(compiled: str, statement: object, store: Store) -> list[str]:
    found = statement.compile(store._reader).positiontup  # type: ignore[attr-defined]
    return list(found or [])


def test_targets_are_sorted_alike_on_both_databases(store: Store) -> None:
    for source, key in (("soc", "a"), ("json:b", "z"), ("json:B", "z"), ("soc", "B")):
        store.write_now(insert_target, source, key)
    views = store.read_now(target_overview.overview, {})
    assert [(view.source, view.key) for view in views] == [("json:B", "z"), ("json:b", "z"), ("soc", "B"), ("soc", "a")]
