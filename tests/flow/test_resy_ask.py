"""The search for tables, asked over HTTP from an upstream that misbehaves in every way that one was seen to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.tables import DAY, KEY, TOKEN, Desk, asking
from vacancy.model.availability import Complete, Failed, Partial, Trouble, Unchanged
from vacancy.simulator.resy_faults import FORMATS
from vacancy.simulator.resy_world import FIRST_NUMBER, SITTINGS
from vacancy.sources.tables import slot_id

EARLY = f"{DAY}_18:30"
SIZES = (2, 4)


def expected(desk: Desk, hours: range = range(19, 22)) -> dict[str, list[int]]:
    """What is free there at these hours for a size that is asked for, straight from the simulator's own books."""
    tables = desk.upstream.tables
    free = [(number, time) for number in tables.restaurants for time in tables.free(DAY, number)]
    slots = {}
    for number, time in free:
        sizes = [size for size in tables.sizes(DAY, number, time) if size in SIZES]
        if sizes and int(time[:2]) in hours:
            slots[slot_id("resy", str(number), f"{DAY} {time}:00")] = sizes
    return slots


def sizes_of(answer: Complete | Partial) -> dict[str, list[int]]:
    return {key: list(item.payload["partySizes"]) for key, item in answer.items.items()}


def test_a_poll_is_the_bucket_of_all_pages_and_party_sizes() -> None:
    async def story(desk: Desk) -> None:
        answer = await desk.whole()
        assert sizes_of(answer) == expected(desk)
        assert answer.keys == set(answer.items)
        assert {(query.page, query.slot_filter.party_size) for query in desk.upstream.queries} == {
            (page, size) for page in (1, 2, 3) for size in SIZES
        }
        item = next(iter(answer.items.values()))
        assert item.group == item.payload["venueId"]
        assert item.payload["bookUrl"].startswith("https://resy.com/cities/new-york-ny/venues/")
        assert item.payload["date"] == DAY

    asking(story)


def test_requests_come_one_after_the_other_with_a_gap_and_the_right_headers() -> None:
    async def story(desk: Desk) -> None:
        await desk.whole()
        assert desk.clock.gaps == [0.25] * 5
        assert desk.simulator.traffic.most_in_flight == 1
        headers = desk.simulator.requests[0].headers
        assert headers["Authorization"] == 'ResyAPI api_key="key-of-a-test"'
        assert headers["x-resy-auth-token"] == TOKEN
        assert (headers["Origin"], headers["Referer"]) == ("https://resy.com", "https://resy.com/")
        assert headers["Content-Type"] == "application/json"
        desk.clock.gaps.clear()
        await desk.ask(slowed=True)
        assert desk.clock.gaps == [0.5] * 5

    asking(story)


def test_the_question_is_the_one_that_the_settings_ask() -> None:
    async def story(desk: Desk) -> None:
        await desk.whole()
        (query,) = desk.upstream.queries
        assert [*query.geo.bounding_box] == [1, 2, 3, 4]
        assert (query.page, query.per_page, query.types, query.availability) == (1, 50, ["venue"], True)
        assert (query.slot_filter.day, query.slot_filter.party_size, query.slot_filter.time_filter) == (DAY, 6, None)

    asking(story, bounding_box=(1, 2, 3, 4), per_page=50, party_sizes=(6,))


def test_an_upstream_of_this_machine_is_asked_without_keys() -> None:
    async def story(desk: Desk) -> None:
        await desk.whole()
        assert not {"Authorization", "x-resy-auth-token"} & set(desk.simulator.requests[0].headers)

    asking(story, api_key=None, auth_token=None)


def says_the_same(answer: object, first: Complete) -> bool:
    """Other bytes, and nothing else in them."""
    assert isinstance(answer, Complete)
    return (answer.keys, answer.items) == (first.keys, first.items) and answer.mark != first.mark


def test_the_same_tables_are_unchanged_and_any_other_are_not() -> None:
    async def story(desk: Desk) -> None:
        tables = desk.upstream.tables
        tables.open(DAY, FIRST_NUMBER, "20:30")
        first = await desk.whole()
        assert isinstance(await desk.ask(last_mark=first.mark), Unchanged)
        tables.close(DAY, FIRST_NUMBER, "20:30")
        closed = await desk.ask(last_mark=first.mark)
        assert isinstance(closed, Complete)
        assert first.keys - closed.keys == {slot_id("resy", str(FIRST_NUMBER), f"{DAY} 20:30:00")}
        # Of another hour, and none of this bucket's business.
        tables.open(DAY, FIRST_NUMBER, "12:00")
        other_hour = await desk.ask(last_mark=closed.mark)
        assert says_the_same(other_hour, closed)

    asking(story, party_sizes=(2, 4, 6))


def test_a_table_that_is_for_other_people_now_is_the_same_slot_and_another_answer() -> None:
    async def story(desk: Desk) -> None:
        first = await desk.whole()
        tables = desk.upstream.tables
        both = next(key for key, sizes in sizes_of(first).items() if sizes == [2, 4])
        payload = first.items[both].payload
        tables._sizes[DAY, int(payload["venueId"]), payload["time"]] = (2,)
        second = await desk.ask(last_mark=first.mark)
        assert isinstance(second, Complete)
        assert second.keys == first.keys
        assert second.items[both].payload["partySizes"] == [2]

    asking(story)


@pytest.mark.parametrize("spelling", sorted(set(FORMATS) - {"zulu"}))
def test_a_drift_of_format_is_no_change(spelling: str) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.whole()
        assert first.keys
        desk.upstream.fault("time_format", format=spelling)
        drifted = await desk.ask(last_mark=first.mark)
        assert says_the_same(drifted, first)
        # Half of the pages in one way and half in the other.
        desk.upstream.faults.clear()
        desk.upstream.fault("time_format", format=spelling, page=2)
        drifted = await desk.ask(last_mark=first.mark)
        assert says_the_same(drifted, first)

    asking(story)


@pytest.mark.parametrize("fault", ["no_total", "total_elsewhere"])
def test_the_number_of_pages_may_stand_elsewhere_or_nowhere(fault: str) -> None:
    async def story(desk: Desk) -> None:
        first = await desk.whole()
        desk.upstream.fault(fault)
        assert says_the_same(await desk.ask(last_mark=first.mark), first)

    asking(story)


@pytest.mark.parametrize(
    ("fault", "arguments", "trouble"),
    [
        ("unauthorized", {}, Trouble.UNAUTHORIZED),
        ("forbidden", {}, Trouble.UNAUTHORIZED),
        ("session_over", {}, Trouble.UNAUTHORIZED),
        ("login", {}, Trouble.UNAUTHORIZED),
        ("redirect", {}, Trouble.REFUSED),
        ("rate_limited", {}, Trouble.RATE_LIMITED),
        ("unavailable", {}, Trouble.SERVER_ERROR),
        ("server_error", {}, Trouble.SERVER_ERROR),
        ("not_found", {}, Trouble.MISCONFIGURED),
        ("bad_request", {}, Trouble.MISCONFIGURED),
        ("reset", {}, Trouble.NETWORK),
        ("drop_midway", {}, Trouble.NETWORK),
        ("html", {}, Trouble.UNREADABLE),
        ("html_as_json", {}, Trouble.UNREADABLE),
        ("wrong_type", {}, Trouble.UNREADABLE),
        ("truncated", {}, Trouble.UNREADABLE),
        ("too_large", {"bytes": 9 * 1024 * 1024}, Trouble.UNREADABLE),
        ("bad_time", {}, Trouble.UNREADABLE),
        ("bad_id", {}, Trouble.UNREADABLE),
        ("other_day", {}, Trouble.UNREADABLE),
        ("time_format", {"format": "zulu"}, Trouble.UNREADABLE),
    ],
)
def test_where_nothing_is_read_it_failed_and_nothing_is_sold_out(
    fault: str, arguments: dict[str, Any], trouble: Trouble
) -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault(fault, page=1, **arguments)
        answer = await desk.ask()
        assert isinstance(answer, Failed), answer
        assert answer.trouble is trouble
        assert "\n" not in answer.message
        assert len(answer.message) < 400
        assert TOKEN not in answer.message
        assert "login" not in {record.endpoint for record in desk.simulator.requests}
        desk.simulator.clear_faults()
        assert isinstance(await desk.ask(), Complete)

    asking(story)


@pytest.mark.parametrize("fault", ["hang", "slow_body"])
def test_an_upstream_that_dawdles_is_given_up_with_all_its_pages(fault: str) -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault(fault)
        answer = await desk.ask()
        assert isinstance(answer, Failed)
        assert answer.trouble is Trouble.TIMEOUT
        assert len(desk.upstream.queries) == 1

    asking(story, fetch_timeout_s=0.4)


def test_a_page_that_dawdles_leaves_what_was_read_before() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault("hang", page=2)
        part = await desk.part()
        assert set(part.keys) < set(expected(desk))

    asking(story, fetch_timeout_s=1)


@pytest.mark.parametrize(("header", "seconds"), [("30", 30.0), ("soon", None), ("-1", None)])
def test_how_long_to_rest_reaches_the_engine_whichever_page_it_was(header: str, seconds: float | None) -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault("rate_limited", retry_after=header, page=2, times=1)
        answer = await desk.ask()
        assert isinstance(answer, Failed)
        assert (answer.trouble, answer.retry_after_s) == (Trouble.RATE_LIMITED, seconds)
        # Whoever asks for rest is asked no more.
        assert len(desk.upstream.queries) == 2

    asking(story)


def test_a_token_that_expires_is_a_failure_even_between_two_pages() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.accepted = frozenset({TOKEN})
        assert isinstance(await desk.ask(), Complete)
        desk.upstream.expire_tokens()
        expired = await desk.ask()
        assert isinstance(expired, Failed)
        assert expired.trouble is Trouble.UNAUTHORIZED
        assert "renew resy.api_key and resy.auth_token" in expired.message
        desk.upstream.accepted = None
        desk.upstream.fault("login", page=2, party_size=4)
        assert isinstance(await desk.ask(), Failed)

    asking(story)


@pytest.mark.parametrize(
    ("fault", "arguments"),
    [
        ("server_error", {"page": 2}), ("bad_request", {"page": 3}), ("reset", {"page": 2}), ("truncated", {"page": 2}),
        ("html", {"page": 3}), ("bad_time", {"page": 1, "party_size": 4}), ("short_page", {"page": 1}),
        ("short_page", {"page": 2}), ("empty", {"page": 2}), ("total_changes", {}), ("total_changes", {"by": -1}),
        ("total_changes", {"by": 1, "since": 3}), ("hop", {}), ("hop", {"page": 3, "party_size": 4}),
        ("no_total", {"page": 2}), ("server_error", {"party_size": 4}), ("server_error", {"party_size": 2}),
        ("empty", {"page": 3}),
    ],
)  # fmt: skip
def test_what_may_not_be_all_is_a_part_and_never_the_whole(fault: str, arguments: dict[str, Any]) -> None:
    async def story(desk: Desk) -> None:
        whole = expected(desk)
        desk.upstream.fault(fault, **arguments)
        part = await desk.part()
        assert part.keys
        assert part.keys <= set(whole)
        for key, sizes in sizes_of(part).items():
            assert set(sizes) <= set(whole[key])

    asking(story)


def test_a_party_size_that_fails_leaves_the_other() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault("server_error", party_size=2)
        part = await desk.part()
        assert sizes_of(part) == {key: [4] for key, sizes in expected(desk).items() if 4 in sizes}

    asking(story)


def test_a_first_page_that_was_cut_off_before_a_short_last_one_is_found_out() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault("short_page", page=1)
        await desk.part()

    asking(story, per_page=20)


def test_more_pages_than_are_read_are_a_part() -> None:
    async def story(desk: Desk) -> None:
        part = await desk.part()
        assert set(part.keys) < set(expected(desk))
        assert len(desk.upstream.queries) == 2

    asking(story, max_pages=1)


def test_a_venue_that_hops_between_pages_is_found_out_and_counted_once() -> None:
    async def story(desk: Desk) -> None:
        whole = await desk.whole()
        desk.upstream.fault("hop", page=2)
        part = await desk.part()
        assert part.keys < whole.keys
        desk.upstream.faults.clear()
        assert (await desk.whole()).keys == whole.keys

    asking(story)


def test_flicker_is_told_as_it_is_with_the_same_ids_before_and_after() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.tables.open(DAY, FIRST_NUMBER, "20:30", "21:00")
        before = await desk.whole()
        desk.upstream.fault("vanish", venue=FIRST_NUMBER)
        between = await desk.whole()
        gone = before.keys - between.keys
        assert gone
        assert {before.items[key].group for key in gone} == {str(FIRST_NUMBER)}
        desk.upstream.faults.clear()
        assert isinstance(await desk.ask(last_mark=before.mark), Unchanged)

    asking(story)


def test_an_empty_first_answer_is_complete_and_empty() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault("empty")
        answer = await desk.whole()
        assert answer.keys == frozenset()
        assert answer.mark

    asking(story)


def test_sold_out_is_another_answer_than_no_venue_at_all() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.fault("empty")
        nobody = await desk.whole()
        desk.upstream.faults.clear()
        desk.upstream.fault("sold_out")
        sold_out = await desk.whole()
        assert nobody.keys == sold_out.keys == frozenset()
        assert nobody.mark != sold_out.mark

    asking(story)


def test_a_slot_in_two_buckets_has_one_id() -> None:
    async def story(desk: Desk) -> None:
        desk.upstream.tables.open(DAY, FIRST_NUMBER, *SITTINGS)
        evening, early = await desk.whole(), await desk.whole(EARLY)
        both = evening.keys & early.keys
        assert both
        assert {evening.items[key].payload["time"][:2] for key in both} == {"19"}
        assert all(evening.items[key] == early.items[key] for key in both)

    asking(story, time_slots=("18:30", "20:30"))


def test_days_move_on_at_midnight_of_the_market() -> None:
    async def story(desk: Desk) -> None:
        desk.clock.today = datetime(2026, 1, 8, 4, 59, tzinfo=UTC)
        assert [question.key for question in desk.source.questions()] == [
            "2026-01-07_15:00", "2026-01-07_20:30", "2026-01-08_15:00", "2026-01-08_20:30",
        ]  # fmt: skip
        hashes = {question.key: question.hash for question in desk.source.questions()}
        desk.clock.today = datetime(2026, 1, 8, 5, 0, tzinfo=UTC)
        later = {question.key: question.hash for question in desk.source.questions()}
        assert set(later) == {"2026-01-08_15:00", "2026-01-08_20:30", "2026-01-09_15:00", "2026-01-09_20:30"}
        # What stays in the window is the same question as before, and keeps its baseline.
        assert all(later[key] == hashes[key] for key in set(later) & set(hashes))

    asking(story, window_days=2)


def test_what_shapes_an_answer_shapes_the_question() -> None:
    def hashes(**given: Any) -> set[str]:
        async def story(desk: Desk) -> set[str]:
            return {question.hash for question in desk.source.questions() if question.key == KEY}

        return asking(story, **{"base_url": "http://127.0.0.1:9", **given})

    usual = hashes()
    assert len(usual) == 1
    assert hashes() == usual
    assert hashes(interval_s=60, max_pages=9, jitter=0, auth_token="another") == usual
    for changed in (
        {"base_url": "http://127.0.0.1:8"}, {"market": "miami"}, {"bounding_box": (1, 2, 3, 4)}, {"party_sizes": (2,)},
    ):  # fmt: skip
        assert not hashes(**changed) & usual
