"""Readers of tables: what just opened, what is open, how much of it there is."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, update
from tests.support.clock import ManualClock
from tests.support.open_tables import DAY, KEY, LATER_KEY, OTHER_DAY, OTHER_KEY, Maitre, table
from tests.support.rows import course_event, insert_events, prune_events
from tests.web.calling import Answer, ask, fill, get
from tests.web.conftest import make_house

from vacancy.model.availability import Complete, Failed, Trouble
from vacancy.store import bells, open_slots
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, targets
from vacancy.web.app import create_app
from vacancy.web.context import House

MINUTE = 60.0


@pytest.fixture
def house(store: Store, clock: ManualClock) -> House:
    made = make_house(store, clock)
    return House(store, made.settings, clock, made.desk, made.loops, intervals={"resy": 30.0})


@pytest.fixture
def maitre(house: House, clock: ManualClock) -> Maitre:
    return Maitre(house.store, clock, KEY, LATER_KEY, OTHER_KEY)


def days(app: FastAPI, path: str) -> dict[str, Any]:
    answer = ask(app, path)
    assert answer.status == 200, answer.body
    return {day["date"]: day for day in answer.json()["days"]}


def shown(app: FastAPI, path: str) -> set[tuple[str, str, str]]:
    """Each table that is shown: its day, its venue, its time."""
    return {
        (date[-2:], venue["venueId"], time)
        for date, day in days(app, path).items()
        for venue in day["venues"]
        for time in venue["times"]
    }


def just_opened(app: FastAPI, query: str = "") -> set[tuple[str, str, str]]:
    return shown(app, f"/api/just-opened?{query}")


def still_open(app: FastAPI, query: str = "") -> set[tuple[str, str, str]]:
    return shown(app, f"/api/still-open?{query}")


def test_a_venue_that_opened_is_shown_with_all_that_there_is_to_say(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "21:00", sizes=[4]), table("carbone", "20:30")]}, passes_s=1)
    found = days(app, "/api/just-opened")
    assert found[DAY] == {
        "date": DAY, "state": "fresh", "checkedAt": "2026-01-05T12:01:02.000Z", "venues": [{
            "venueId": "carbone", "name": "Carbone", "neighborhood": "Park Row", "times": ["20:30", "21:00"],
            "partySizes": [2, 4], "bookUrl": "https://resy.com/carbone?seats=2",
            "imageUrl": "https://images.example/carbone.jpg", "openedAt": "2026-01-05T12:01:33.000Z",
        }],
    }  # fmt: skip
    # A day on which nothing happened is there as well.
    assert found[OTHER_DAY]["venues"] == []
    assert days(app, "/api/still-open")[DAY] == found[DAY]


def test_what_was_open_and_what_joins_it_is_open_and_did_not_just_open(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=20 * MINUTE)
    maitre.now({KEY: [table("carbone", "20:30"), table("carbone", "21:00")]}, passes_s=1)
    assert just_opened(app) == set()
    assert just_opened(app, "minutes=60") == {("06", "carbone", "20:30")}
    assert still_open(app) == {("06", "carbone", "20:30"), ("06", "carbone", "21:00")}


def test_what_closed_is_shown_nowhere(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30"), table("carbone", "21:00")]})
    assert len(just_opened(app)) == 2
    maitre.now({KEY: [table("carbone", "21:00")]})
    assert just_opened(app) == still_open(app) == {("06", "carbone", "21:00")}


def test_an_opening_is_new_for_so_many_minutes_whether_or_not_anything_is_committed(
    app: FastAPI, maitre: Maitre, clock: ManualClock
) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=10 * MINUTE)
    assert just_opened(app) == {("06", "carbone", "20:30")}
    clock.pass_time(1)
    assert just_opened(app) == set()
    assert just_opened(app, "minutes=1440")
    clock.pass_time(24 * 60 * MINUTE)
    assert just_opened(app, "minutes=1440") == set()


@pytest.mark.parametrize(
    ("query", "times"),
    [
        ("", {"18:00", "20:30", "21:00", "22:00", "19:30"}),
        (f"date={DAY}", {"18:00", "20:30", "21:00", "22:00"}),
        (f"date={DAY},{OTHER_DAY}", {"18:00", "20:30", "21:00", "22:00", "19:30"}),
        (f"date={DAY}&date={OTHER_DAY}", {"18:00", "20:30", "21:00", "22:00", "19:30"}),
        ("date=2027-01-01", set()),
        ("time_slot=21:30", {"22:00", "21:00"}),
        ("time_slot=21:30&venue=carbone", {"21:00"}),
        ("party_size=6", {"22:00"}),
        ("party_size=6,2", {"22:00", "20:30", "21:00", "18:00", "19:30"}),
        ("party_size=5", set()),
        ("venue=lilia", {"22:00"}),
        ("venue=lilia,misi", {"22:00", "18:00", "19:30"}),
        ("neighborhood=OLD%20market", {"22:00"}),
        ("neighborhood=old", set()),
        (f"venue=misi&date={OTHER_DAY}&party_size=2&neighborhood=Park%20Row", {"19:30"}),
        ("venue=", {"18:00", "20:30", "21:00", "22:00", "19:30"}),
    ],
)
def test_filters_are_joined_by_and_and_their_values_by_or(
    app: FastAPI, maitre: Maitre, query: str, times: Collection[str]
) -> None:
    maitre.now({
        KEY: [table("carbone", "20:30"), table("carbone", "21:00"), table("misi", "18:00", sizes=[2])],
        LATER_KEY: [table("carbone", "21:00"), table("lilia", "22:00", sizes=[6], neighborhood="Old Market")],
        OTHER_KEY: [table("misi", "19:30", OTHER_DAY)],
    }, passes_s=1)  # fmt: skip
    assert {time for _, _, time in just_opened(app, query)} == times
    assert {time for _, _, time in still_open(app, query)} == times


def test_a_party_size_leaves_only_its_tables_of_a_venue(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("misi", "18:00", sizes=[2]), table("misi", "19:00", sizes=[4])]}, passes_s=1)
    (venue,) = days(app, "/api/just-opened?party_size=4")[DAY]["venues"]
    assert (venue["times"], venue["partySizes"]) == (["19:00"], [4])
    assert venue["bookUrl"].endswith("seats=4")


@pytest.mark.parametrize(
    "query",
    ["day=2026-01-06", "date=2026-02-30", "date=tomorrow", "time_slot=8pm", "party_size=0", "party_size=two",
     "minutes=0", "minutes=1441", "minutes=5&minutes=6", "venue=a%20b", "limit=5"],
)  # fmt: skip
def test_a_question_that_cannot_be_meant_is_refused(sqlite_app: FastAPI, query: str) -> None:
    for path in ("just-opened", "open-counts"):
        answer = ask(sqlite_app, f"/api/{path}?{query}")
        assert (answer.status, answer.error["code"]) == (422, "validation_failed")
        assert answer.error["details"]


def test_what_is_open_has_no_window(sqlite_app: FastAPI) -> None:
    assert ask(sqlite_app, "/api/still-open?minutes=5").status == 422


def test_a_table_in_two_buckets_is_one(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "21:00")], LATER_KEY: [table("carbone", "21:00")]}, passes_s=1)
    (venue,) = days(app, "/api/just-opened")[DAY]["venues"]
    assert venue["times"] == ["21:00"]
    # It has one event, which counts for both.
    assert just_opened(app, "time_slot=21:30") == just_opened(app, "time_slot=20:30") == {("06", "carbone", "21:00")}


def test_a_venue_opened_when_the_newest_of_its_tables_did_and_the_newest_comes_first(
    app: FastAPI, maitre: Maitre
) -> None:
    joined = table("carbone", "18:00"), table("carbone", "20:30")
    maitre.now({KEY: joined[1:]})
    maitre.now({KEY: joined})
    maitre.now({KEY: [*joined, table("zero", "20:30")]}, passes_s=1)
    openings = [(venue["venueId"], venue["openedAt"][11:19]) for venue in days(app, "/api/just-opened")[DAY]["venues"]]
    assert openings == [("zero", "12:02:35"), ("carbone", "12:01:33")]
    by_name = [(venue["venueId"], venue["openedAt"][11:19]) for venue in days(app, "/api/still-open")[DAY]["venues"]]
    assert by_name == [("carbone", "12:02:04"), ("zero", "12:02:35")]


def test_a_day_is_as_old_as_its_oldest_bucket_and_no_better_than_its_worst(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [], OTHER_KEY: []})
    maitre.now({KEY: []})
    found = days(app, "/api/still-open")
    assert (found[DAY]["checkedAt"], found[DAY]["state"]) == ("2026-01-05T12:01:02.000Z", "stale")
    assert (found[OTHER_DAY]["checkedAt"], found[OTHER_DAY]["state"]) == ("2026-01-05T12:01:33.000Z", "fresh")
    # Of its one fresh bucket alone:
    assert days(app, "/api/still-open?time_slot=20:30")[DAY]["state"] == "fresh"


def test_a_day_turns_stale_by_time_alone(app: FastAPI, maitre: Maitre, clock: ManualClock) -> None:
    maitre.now({KEY: [table("carbone", "20:30")], LATER_KEY: [], OTHER_KEY: []}, passes_s=75)
    assert {day["state"] for day in days(app, "/api/still-open").values()} == {"fresh"}
    clock.pass_time(1)
    assert {day["state"] for day in days(app, "/api/still-open").values()} == {"stale"}
    assert still_open(app) == {("06", "carbone", "20:30")}


def test_a_doubtful_answer_leaves_what_is_shown_and_says_so(app: FastAPI, maitre: Maitre, clock: ManualClock) -> None:
    maitre.now({KEY: [table("carbone", "20:30")], LATER_KEY: [], OTHER_KEY: []})
    maitre.hears(KEY, Complete(frozenset(), listed=0))
    clock.pass_time(1)
    assert days(app, "/api/still-open")[DAY]["state"] == "held"
    assert still_open(app) == {("06", "carbone", "20:30")}
    maitre.hears(OTHER_KEY, Failed(Trouble.UNAUTHORIZED, "the token has expired"))
    clock.pass_time(1)
    assert days(app, "/api/still-open")[OTHER_DAY]["state"] == "stale"


def test_a_bucket_that_is_no_longer_polled_is_shown_no_more(app: FastAPI, maitre: Maitre, clock: ManualClock) -> None:
    maitre.now({KEY: [table("carbone", "20:30")], OTHER_KEY: [table("misi", "19:30", OTHER_DAY)]}, passes_s=1)
    assert len(just_opened(app)) == 2
    maitre.source.keys = (LATER_KEY, OTHER_KEY)
    maitre.configure()
    assert just_opened(app) == still_open(app) == {("07", "misi", "19:30")}


def test_what_was_the_answer_to_another_question_is_not_shown(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]})
    assert still_open(app)
    maitre.source.question = "another box"
    maitre.configure()
    assert still_open(app) == set()
    assert days(app, "/api/still-open")[DAY]["state"] == "new"


def test_an_opening_by_hand_of_which_nothing_is_known_harms_nobody(app: FastAPI, maitre: Maitre, house: House) -> None:
    maitre.now({KEY: [table("carbone", "20:30"), table("misi", "18:00")]}, passes_s=1)

    def forget(tx: Tx) -> None:
        tx.execute(update(availability).where(availability.c.group_key == "misi").values(payload=None))
        tx.execute(update(targets).values(version=targets.c.version + 1))
        tx.ring(bells.TARGETS)

    house.store.write_now(forget)
    assert still_open(app) == {("06", "carbone", "20:30")}


def test_a_calendar_counts_venues_and_has_a_zero_for_a_day_without(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30"), table("carbone", "21:00")]}, passes_s=20 * MINUTE)
    maitre.now({KEY: [table("carbone", "20:30"), table("misi", "18:00")], LATER_KEY: [table("misi", "22:00")]}, 1)
    found = days(app, "/api/open-counts")
    assert (found[DAY]["venues"], found[DAY]["justOpened"]) == (2, 1)
    assert (found[OTHER_DAY]["venues"], found[OTHER_DAY]["justOpened"]) == (0, 0)
    assert days(app, "/api/open-counts?venue=carbone&minutes=60")[DAY]["justOpened"] == 1


def test_who_has_the_answer_is_told_so(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=1)
    for path in ("/api/just-opened", "/api/still-open?venue=carbone", "/api/open-counts"):
        first = ask(app, path)
        assert first.headers["cache-control"] == "no-cache"
        for known in (first.headers["etag"], f'"other", W/{first.headers["etag"]}', "*"):
            again = ask(app, path, headers={"If-None-Match": known})
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
        assert ask(app, path, headers={"If-None-Match": '"other"'}).body == first.body
    before = ask(app, "/api/still-open").headers["etag"]
    maitre.now({KEY: [table("carbone", "21:00")]}, passes_s=1)
    assert ask(app, "/api/still-open", headers={"If-None-Match": before}).status == 200


@pytest.fixture
def statements(store: Store) -> Iterator[list[str]]:
    """What readers ask of the database."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(store._reader, "before_cursor_execute", note)
    yield asked
    event.remove(store._reader, "before_cursor_execute", note)


def test_a_hundred_readers_cost_one_look(app: FastAPI, maitre: Maitre, statements: list[str]) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=1)

    async def story() -> list[Answer]:
        paths = ("/api/just-opened", "/api/still-open", "/api/open-counts", "/api/still-open?venue=carbone")
        return list(await asyncio.gather(*[get(app, paths[nth % 4]) for nth in range(100)]))

    answers = asyncio.run(story())
    assert {found.status for found in answers} == {200}
    # All but the counts say the same.
    assert len({found.body for found in answers}) == 2
    assert sum("FROM availability" in statement for statement in statements) == 1
    statements.clear()
    asyncio.run(story())
    assert not [statement for statement in statements if "availability" in statement or "targets" in statement]


def test_only_buckets_that_moved_are_read_again(app: FastAPI, maitre: Maitre, monkeypatch: pytest.MonkeyPatch) -> None:
    there = [table("carbone", "20:30")]
    maitre.now({KEY: there, OTHER_KEY: [table("misi", "19:30", OTHER_DAY)]})
    read: list[list[int]] = []
    venues = open_slots.venues

    def noting(tx: Tx, target_ids: list[int], *more: Any) -> Any:
        read.append(target_ids)
        return venues(tx, target_ids, *more)

    monkeypatch.setattr(open_slots, "venues", noting)
    still_open(app)
    assert [len(ids) for ids in read] == [3]
    maitre.now({KEY: there, LATER_KEY: [], OTHER_KEY: [table("misi", "20:00", OTHER_DAY)]})
    assert still_open(app) == {("06", "carbone", "20:30"), ("07", "misi", "20:00")}
    assert [len(ids) for ids in read] == [3, 1]


def test_a_close_that_another_process_commits_is_seen_within_two_seconds(
    app: FastAPI, maitre: Maitre, database_url: str, clock: ManualClock
) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]})
    assert still_open(app)
    other = Store(database_url, clock, database_time=False)
    try:
        maitre.store = other
        for hand in maitre._hands.values():
            hand.store = other
        maitre.now({KEY: []}, passes_s=1)
    finally:
        other.close()
    assert still_open(app) == set()


def test_an_event_after_the_answer_is_met_by_who_goes_on_from_it(app: FastAPI, maitre: Maitre) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=1)
    told = ask(app, "/api/just-opened").json()
    (venue,) = told["days"][0]["venues"]
    assert venue["venueId"] == "carbone"
    # Opens after the answer was made, and is gone before the next one.
    maitre.now({KEY: [table("carbone", "20:30"), table("misi", "18:00")]})
    maitre.now({KEY: [table("carbone", "20:30")]})
    page = ask(app, f"/api/events?after_id={told['asOfEventId']}&source=resy").json()
    assert [item["groupKey"] for item in page["items"]] == ["misi"]
    for path in ("/api/just-opened", "/api/still-open", "/api/open-counts"):
        assert ask(app, path).json()["asOfEventId"] == page["nextAfterId"]


def test_no_moment_between_two_answers_is_lost(app: FastAPI, maitre: Maitre) -> None:
    """A reader that keeps what it saw, and follows events from there, has seen whatever was ever told."""
    seen: set[str] = set()
    cursor = 0
    for nth in range(6):
        maitre.now({KEY: [table(f"venue{nth}", "20:30")]}, passes_s=0)
        page = ask(app, f"/api/events?after_id={cursor}").json()
        seen |= {item["groupKey"] for item in page["items"]}
        maitre.now({KEY: [table(f"other{nth}", "20:30")]}, passes_s=0)
        told = ask(app, "/api/just-opened?minutes=1440").json()
        seen |= {venue["venueId"] for day in told["days"] for venue in day["venues"]}
        cursor = told["asOfEventId"]
    assert seen == {f"{kind}{nth}" for kind in ("venue", "other") for nth in range(6)}


def test_the_cursor_of_an_answer_has_never_expired(app: FastAPI, maitre: Maitre, house: House) -> None:
    maitre.now({KEY: [table("carbone", "20:30")]}, passes_s=1)
    numbers = fill(house, insert_events, [course_event(number) for number in range(3)])
    fill(house, prune_events, numbers[-1])
    told = ask(app, "/api/just-opened").json()
    assert told["asOfEventId"] == numbers[-1]
    assert ask(app, f"/api/events?after_id={told['asOfEventId']}").status == 200


def test_without_tables_there_are_no_days(app: FastAPI) -> None:
    for path in ("/api/just-opened", "/api/still-open", "/api/open-counts"):
        assert ask(app, path).json() == {"days": [], "asOfEventId": 0}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    polls=st.lists(
        st.tuples(
            st.sampled_from([KEY, LATER_KEY, OTHER_KEY]),
            st.sets(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["20:30", "21:00"]))),
            st.sampled_from([1.0, 31.0, 700.0]),
        ),
        max_size=8,
    )
)
def test_what_is_kept_is_what_anybody_else_would_read(
    house: House, clock: ManualClock, polls: list[tuple[str, set[tuple[str, str]], float]]
) -> None:
    maitre = Maitre(house.store, clock, KEY, LATER_KEY, OTHER_KEY)
    app = create_app(house)
    try:
        for key, free, passes_s in polls:
            maitre.now({key: [table(venue, at, key[:10]) for venue, at in sorted(free)]}, passes_s)
            fresh = create_app(house)
            for path in ("/api/just-opened", "/api/still-open", "/api/open-counts", "/api/still-open?venue=a"):
                assert ask(app, path).body == ask(fresh, path).body
            fresh.state.feed.close()
    finally:
        app.state.feed.close()
