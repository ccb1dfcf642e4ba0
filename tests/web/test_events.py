from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.clock import ManualClock
from tests.support.rows import course_event, insert_events, prune_events
from tests.web.calling import ask, begin, fill, get, until_waiting

from vacancy.store.engine import Store, Tx, connect_sqlite
from vacancy.web.api import tail
from vacancy.web.app import create_app
from vacancy.web.context import House
from vacancy.web.openapi import OpenEvent

NUMBERS = itertools.count(1)
TOPICS = (
    "soc:12025:NB:12345",
    "soc:12025:NB:1234",
    "soc:12025:NB:1234_",
    'json:x:"quoted"',
    "json:x:猫",
    "SOC:12025:NB:12345",
)
EVENT = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["soc", "resy", "json:x"]),
        "status_after": st.sampled_from(["Open", "Closed"]),
        "topics": st.lists(st.sampled_from(TOPICS), max_size=3, unique=True),
        "payload": st.dictionaries(st.text(max_size=5), st.text(max_size=8), max_size=2),
    }
)


def walk(app: FastAPI, cursor: int, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = ask(app, f"/api/events?after_id={cursor}{query}").json()
        if not page["items"]:
            assert page["nextAfterId"] == cursor
            return found
        assert page["nextAfterId"] == page["items"][-1]["openEventId"]
        found += page["items"]
        cursor = page["nextAfterId"]


def test_an_event_is_shown_as_its_row(app: FastAPI, house: House, clock: ManualClock) -> None:
    columns = course_event(9214, snapshot_id=7, section_id=3, lead_event_id=1, group_key="g")
    (number,) = fill(house, insert_events, [columns])
    answer = ask(app, "/api/events")
    (item,) = answer.json()["items"]
    assert list(item) == list(OpenEvent.model_json_schema(by_alias=True)["properties"])
    assert item == {
        "openEventId": number, "sectionId": 3, "termId": "12025", "campusCode": "NB", "indexNumber": "09214",
        "subscriptionId": None, "statusBefore": "Closed", "statusAfter": "Open", "seatDelta": 1,
        "eventAt": "2026-01-05T12:00:00.000Z", "detectedBy": "open_sections", "snapshotId": 7,
        "dedupeKey": "key-9214", "traceId": f"{9214:032x}", "payload": columns["payload"], "source": "soc",
        "targetKey": "12025|NB", "itemKey": "09214", "groupKey": "g", "episode": 1, "leadEventId": 1,
        "topics": columns["topics"],
    }  # fmt: skip
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"


def test_the_default_page_has_fifty(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(number) for number in range(60)])
    assert len(ask(app, "/api/events").json()["items"]) == 50
    assert len(ask(app, "/api/events?after_id=0&limit=200").json()["items"]) == 60


def test_a_cursor_beyond_the_newest_comes_back(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(1)])
    assert ask(app, "/api/events?after_id=4711").json() == {"items": [], "nextAfterId": 4711}


def test_a_closing_is_an_event_too(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(1), course_event(2, status_before="Open", status_after="Closed")])
    assert [item["statusAfter"] for item in ask(app, "/api/events").json()["items"]] == ["Open", "Closed"]
    assert [item["itemKey"] for item in ask(app, "/api/events?status=Closed").json()["items"]] == ["00002"]


@pytest.mark.parametrize("kept", [4, 5000])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(st.lists(EVENT, min_size=1, max_size=6), max_size=4),
    limit=st.integers(1, 7),
    source=st.sampled_from([None, "soc", "json:x"]),
    topic=st.sampled_from([None, *TOPICS]),
    status=st.sampled_from([None, "Open", "Closed"]),
)
def test_concatenated_pages_are_the_table(
    app: FastAPI,
    house: House,
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
    batches: list[list[dict[str, Any]]],
    limit: int,
    source: str | None,
    topic: str | None,
    status: str | None,
) -> None:
    """Whether a page comes from memory, from the table, or from both; with commits between pages."""
    monkeypatch.setattr(tail, "_KEPT", kept)
    query = f"&limit={limit}"
    for name, value in (("source", source), ("topic", topic), ("status", status)):
        query += "" if value is None else f"&{name}={_quoted(value)}"
    cursor = start = _newest(app)
    wanted: list[int] = []
    found: list[int] = []
    for batch in batches:
        events = [course_event(next(NUMBERS), **columns) for columns in batch]
        ids = fill(house, insert_events, events)
        wanted += [
            number
            for number, event in zip(ids, events, strict=True)
            if source in (None, event["source"])
            and status in (None, event["status_after"])
            and (topic is None or topic in event["topics"])
        ]
        page = ask(app, f"/api/events?after_id={cursor}{query}").json()
        found += [item["openEventId"] for item in page["items"]]
        cursor = page["nextAfterId"]
    found += [item["openEventId"] for item in walk(app, cursor, query)]
    assert found == wanted
    assert [item["openEventId"] for item in walk(app, start, query)] == wanted


def _quoted(topic: str) -> str:
    return "".join(f"%{byte:02X}" for byte in topic.encode())


def _newest(app: FastAPI) -> int:
    return int(asyncio.run(app.state.feed.tail()).newest)


def test_a_cursor_that_was_pruned_past_is_gone(app: FastAPI, house: House, clock: ManualClock) -> None:
    fill(house, insert_events, [course_event(number) for number in range(1, 11)])
    assert len(ask(app, "/api/events").json()["items"]) == 10
    fill(house, prune_events, 4)
    clock.pass_time(1)  # Nobody rings for a pruning: until PostgreSQL is asked again, memory still has the events.
    answer = ask(app, "/api/events?after_id=3")
    assert answer.status == 410
    assert answer.error["code"] == "cursor_expired"
    assert answer.error["details"] == {"oldestEventId": 5}
    assert ask(app, "/api/events/stream?after_id=3").status == 410
    assert [item["openEventId"] for item in ask(app, "/api/events?after_id=4").json()["items"]] == [5, 6, 7, 8, 9, 10]
    # 0 means from the oldest kept, whatever is gone.
    assert [item["openEventId"] for item in ask(app, "/api/events").json()["items"]] == [5, 6, 7, 8, 9, 10]


def test_a_gap_in_the_numbers_is_no_pruning(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(1, open_event_id=5), course_event(2, open_event_id=900)])
    assert [item["openEventId"] for item in ask(app, "/api/events?after_id=2").json()["items"]] == [5, 900]


def test_when_everything_was_pruned_the_next_number_is_named(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(number) for number in range(1, 4)])
    fill(house, prune_events, 3)
    answer = ask(app, "/api/events?after_id=1")
    assert answer.error["details"] == {"oldestEventId": 4}
    assert ask(app, "/api/events?after_id=3").json() == {"items": [], "nextAfterId": 3}
    assert ask(app, "/api/events").json() == {"items": [], "nextAfterId": 0}


def _lay_out_by_hand(tx: Tx) -> None:
    tx.connection.exec_driver_sql('UPDATE open_events SET payload = \'{\n  "label":\r\n "two words"\n}\'')


def test_a_payload_laid_out_by_hand_stays_one_line(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(1)])
    house.store.write_now(_lay_out_by_hand)
    answer = ask(app, "/api/events")
    assert b"\n" not in answer.body
    assert answer.json()["items"][0]["payload"] == {"label": "two words"}


def test_a_commit_of_another_process_is_seen_at_once(sqlite_app: FastAPI, sqlite_house: House) -> None:
    """Nobody rings here: SQLite's own count of commits is enough."""
    fill(sqlite_house, insert_events, [course_event(1)])
    assert len(ask(sqlite_app, "/api/events").json()["items"]) == 1
    assert sqlite_house.store.path is not None
    other = connect_sqlite(sqlite_house.store.path, read_only=False)
    other.execute("UPDATE open_events SET open_event_id = 77")
    other.execute("INSERT INTO house VALUES ('events_pruned_to', '50')")
    other.close()
    assert ask(sqlite_app, "/api/events?after_id=49").status == 410


def test_another_machine_is_believed_after_a_second_without_a_ring(
    postgres_store: Store, clock: ManualClock, sqlite_house: House
) -> None:
    house = House(postgres_store, sqlite_house.settings, clock, sqlite_house.desk, loops=dict)
    app = create_app(house)
    other = Store(postgres_store.url, clock)
    try:
        assert ask(app, "/api/events").json()["items"] == []
        other.write_now(insert_events, [course_event(1)])
        clock.pass_time(1)
        assert len(ask(app, "/api/events").json()["items"]) == 1
    finally:
        other.close()


def test_unchanged_events_are_served_without_the_database(sqlite_app: FastAPI, sqlite_house: House) -> None:
    fill(sqlite_house, insert_events, [course_event(number) for number in range(5)])
    first = ask(sqlite_app, "/api/events")
    sqlite_house.store._reader.dispose()
    sqlite_house.store._read_threads.close()
    assert ask(sqlite_app, "/api/events").body == first.body


def test_a_long_poll_wakes_with_the_commit(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> Any:
        call = begin(app, "/api/events?after_id=0&wait=30")
        await until_waiting(clock)
        assert not call.task.done()
        await house.store.write(insert_events, [course_event(1)])
        return (await call.answer()).json()

    page = asyncio.run(scenario())
    assert [item["itemKey"] for item in page["items"]] == ["00001"]
    assert clock.monotonic() == 0


@pytest.mark.parametrize("topic", ["soc:20251:NB:00001", "soc:SP2025:nb:00001"])
def test_a_topic_is_read_in_any_spelling_of_its_term(app: FastAPI, house: House, topic: str) -> None:
    fill(house, insert_events, [course_event(1), course_event(2)])
    found = ask(app, f"/api/events?topic={topic}").json()["items"]
    assert [item["itemKey"] for item in found] == ["00001"]


def test_a_topic_of_no_term_is_refused(app: FastAPI) -> None:
    answer = ask(app, "/api/events?topic=soc:22026:NB:00001")
    assert answer.status == 422
    assert "22026" in answer.json()["error"]["message"]


def test_a_long_poll_with_something_to_say_does_not_wait(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(1)])
    assert len(ask(app, "/api/events?after_id=0&wait=30").json()["items"]) == 1


def test_a_long_poll_passes_over_what_it_did_not_ask_for(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> Any:
        call = begin(app, "/api/events?wait=30&topic=soc:12025:NB:00002")
        await until_waiting(clock)
        await house.store.write(insert_events, [course_event(1)])
        await until_waiting(clock)
        assert not call.task.done()
        await house.store.write(insert_events, [course_event(2)])
        return (await call.answer()).json()

    assert [item["itemKey"] for item in asyncio.run(scenario())["items"]] == ["00002"]


def test_a_long_poll_gives_the_cursor_back_when_its_time_is_over(
    app: FastAPI, house: House, clock: ManualClock
) -> None:
    fill(house, insert_events, [course_event(1)])

    async def scenario() -> Any:
        call = begin(app, "/api/events?after_id=0&wait=20&source=resy")
        await until_waiting(clock)
        await clock.advance(19)
        assert not call.task.done()
        await clock.advance(1)
        return (await call.answer()).json()

    assert asyncio.run(scenario()) == {"items": [], "nextAfterId": 0}


def test_a_client_that_leaves_frees_its_place(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> None:
        call = begin(app, "/api/events?wait=30")
        await until_waiting(clock)
        call.gone.set()
        await call.answer()
        await until_waiting(clock, 0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(scenario())


def test_a_drain_ends_a_long_poll(app: FastAPI, house: House, clock: ManualClock) -> None:
    async def scenario() -> Any:
        call = begin(app, "/api/events?after_id=6&wait=30")
        await until_waiting(clock)
        house.stopping.set()
        return (await call.answer()).json()

    assert asyncio.run(scenario()) == {"items": [], "nextAfterId": 6}


def test_head_has_no_wait(app: FastAPI) -> None:
    async def scenario() -> int:
        return (await get(app, "/api/events?wait=30", "HEAD")).status

    assert asyncio.run(scenario()) == 200
