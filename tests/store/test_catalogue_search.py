"""What a search finds, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from tests.support.catalogues import Json, course, load, meeting, section
from tests.support.clock import START
from tests.support.rows import insert_target
from vacancy.clock import later
from vacancy.model.catalogue import day_mask, words
from vacancy.store import course_search
from vacancy.store.course_search import Asked
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, targets

AFTERNOON = section("00001", meetingTimes=[meeting("T"), meeting("H")], instructors=[{"name": "O'BRIEN, JOSÉ"}])
EVENING = section("00002", meetingTimes=[meeting("M", "1800", "2100", campusLocation="1")], examCode="A")
ONLINE = section("00003", meetingTimes=[meeting(None, None, None, meetingModeCode="90")], sectionCourseType="O")
MIXED = section("00004", meetingTimes=[meeting("F", "0900", "1000"), meeting("F", "2000", "2100", campusLocation="3")])
COURSES: list[Json] = [
    course("01:198:111", AFTERNOON, EVENING, title="INTRO COMPUTER SCI", credits=4, coreCodes=[{"coreCode": "QQ"}]),
    course("01:640:135", ONLINE, title="CALCULUS I", credits=1.5, coreCodes=[{"coreCode": "WCr"}, {"coreCode": "QQ"}]),
    course("14:198:500", MIXED, title="COMPUTER SYSTEMS", level="G", credits=3, preReqNotes="<em>x</em>",
           campusLocations=[{"code": "2", "description": "Busch"}]),
    course("01:220:102", title="100% ECONOMICS", credits=None, subjectDescription="Economics"),
]  # fmt: skip
NAMES = {"01:198:111": "intro", "01:640:135": "calculus", "14:198:500": "systems", "01:220:102": "economics"}


@pytest.fixture
def filled(store: Store) -> Store:
    load(store, COURSES)

    def put(tx: Tx) -> None:
        insert_target(tx, "soc", "12025|NB", baseline_at=START, last_complete_at=START)
        target = tx.execute(select(targets.c.target_id)).scalar_one()
        for index, state in (("00002", "Open"), ("00001", "Closed"), ("00003", "Open")):
            values = {"state": state, "opened_at": START, "last_seen_at": START, "episode": 1}
            tx.execute(availability.insert().values(target_id=target, item_key=index, **values))

    store.write_now(put)
    return store


def asked(**conditions: Any) -> Asked:
    q = conditions.pop("q", None)
    phrases = None if q is None else [phrase for word in q.split() if (phrase := words(word))]
    return Asked(term="12025", campuses=["NB"], phrases=phrases, **conditions)


def found(store: Store, **conditions: Any) -> list[str]:
    result = store.read_now(course_search.search, asked(**conditions))
    assert result.total == len(result.items) or "page_size" in conditions
    return [NAMES[item["courseString"]] for item in result.items]


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ("comp", ["intro", "systems"]),
        ("intro comp", ["intro"]),
        ("calculus systems", []),
        ("omputer", []),
        ("198", ["intro", "systems"]),
        ("01:198", ["intro"]),
        ("01:198:11", ["intro"]),
        ("198:111", ["intro"]),
        ("111:198", []),
        ("0000", ["intro", "calculus", "systems"]),
        ("00003", ["calculus"]),
        ("o'brien", ["intro"]),
        ("O'BRIEN, jose", ["intro"]),
        ("100%", ["economics"]),
        ("widget", ["intro", "calculus", "systems"]),
        ("%", []),
    ],
)
def test_words_are_prefixes_and_all_must_be_there(filled: Store, q: str, expected: list[str]) -> None:
    assert sorted(found(filled, q=q)) == sorted(expected)


HARMLESS = [
    '"',
    "'",
    "a OR b",
    "NEAR(a b)",
    "title:intro",
    "-intro",
    "^intro",
    "* *",
    "a AND",
    "(",
    "a:*",
    "&|!",
    "<->",
]


@pytest.mark.parametrize("q", HARMLESS)
def test_the_syntax_of_either_database_means_nothing(filled: Store, q: str) -> None:
    found(filled, q=q)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(q=st.text(max_size=40) | st.text("ab\"'*:&|!<>-() \\%_\0", max_size=20))
def test_any_text_is_a_harmless_query(filled: Store, q: str) -> None:
    found(filled, q=q)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"subjects": [(None, "198")]}, ["intro", "systems"]),
        ({"subjects": [("01", "198")]}, ["intro"]),
        ({"subjects": [("01", "198"), (None, "640")]}, ["intro", "calculus"]),
        ({"subjects": [("%", "198")]}, []),
        ({"levels": ["G"]}, ["systems"]),
        ({"core_codes": ["qq"]}, ["intro", "calculus"]),
        ({"core_codes": ["WCR", "XX"]}, ["calculus"]),
        ({"core_codes": ["%"]}, []),
        ({"campus_locations": ["2"]}, ["systems"]),
        ({"has_prerequisite": True}, ["systems"]),
        ({"has_prerequisite": False}, ["intro", "economics", "calculus"]),
        ({"credits_min": 20}, ["intro", "systems"]),
        ({"credits_min": 10, "credits_max": 30}, ["systems", "calculus"]),
        ({"exam_codes": ["A"]}, ["intro"]),
        ({"deliveries": ["online", "hybrid"]}, ["calculus"]),
        ({"days": day_mask("TH")}, []),
        ({"days": day_mask("T,H")}, ["intro"]),
        ({"days": day_mask("MTWTHF")}, ["intro", "systems"]),
        ({"start": 840, "end": 960}, ["intro"]),
        ({"start": 540, "end": 600}, []),
        ({"start": 540, "end": 1260}, ["intro", "systems"]),
        ({"places": ["1"]}, ["intro"]),
        ({"places": ["2"]}, ["intro"]),
        ({"places": ["2", "3"]}, ["intro", "systems"]),
        ({"has_open_section": True}, ["intro", "calculus"]),
        ({"has_open_section": False}, ["systems", "economics"]),
        ({"q": "comp", "levels": ["U"]}, ["intro"]),
    ],
)
def test_filters(filled: Store, conditions: Json, expected: list[str]) -> None:
    assert sorted(found(filled, **conditions)) == sorted(expected)


def test_all_that_is_asked_of_a_section_holds_for_the_same_one(filled: Store) -> None:
    """The course has an open section and one in the afternoon, and they are not the same."""
    assert found(filled, has_open_section=True, start=840, end=960) == []
    assert found(filled, has_open_section=False, start=840, end=960) == ["intro"]
    assert found(filled, exam_codes=["A"], places=["2"]) == []
    assert found(filled, has_open_section=True, exam_codes=["A"]) == ["intro"]


def test_the_live_list_counts_and_not_the_catalogue(filled: Store) -> None:
    """The catalogue says that all four are open."""
    assert found(filled, has_open_section=True) == ["intro", "calculus"]


def test_a_retired_course_or_section_is_not_found(filled: Store) -> None:
    fewer = [COURSES[0] | {"sections": [AFTERNOON]}, *COURSES[1:]]
    more = [course(f"01:001:{nth:03d}", section(f"{90000 + nth}"), title="OTHER") for nth in range(9)]
    load(filled, [*COURSES, *more])
    load(filled, [*fewer, *more])
    assert found(filled, subjects=[(None, "198")], has_open_section=True) == []
    load(filled, [*fewer[1:], *more])
    assert found(filled, q="intro") == []


@pytest.mark.parametrize(
    ("sort_by", "descending", "expected"),
    [
        ("subject", False, ["intro", "systems", "economics", "calculus"]),
        ("subject", True, ["calculus", "economics", "intro", "systems"]),
        ("courseNumber", False, ["economics", "intro", "calculus", "systems"]),
        ("title", False, ["economics", "calculus", "systems", "intro"]),
        ("credits", False, ["calculus", "systems", "intro", "economics"]),
        ("credits", True, ["intro", "systems", "calculus", "economics"]),
        ("sectionsOpen", True, ["intro", "calculus", "systems", "economics"]),
    ],
)
def test_orders(filled: Store, sort_by: str, descending: bool, expected: list[str]) -> None:
    assert found(filled, sort_by=sort_by, descending=descending) == expected


def test_what_was_updated_last_comes_first(filled: Store) -> None:
    load(filled, [*COURSES[:3], COURSES[3] | {"title": "MACRO"}], observed=later(START, 600))
    assert found(filled, sort_by="updatedAt", descending=True)[0] == "economics"


def test_pages_and_their_total(filled: Store) -> None:
    for page, expected in ((1, ["intro", "systems"]), (2, ["economics", "calculus"]), (3, [])):
        result = filled.read_now(course_search.search, asked(page=page, page_size=2))
        assert [NAMES[item["courseString"]] for item in result.items] == expected
        assert result.total == 4


def test_what_can_be_included(filled: Store) -> None:
    include = {"sections", "sectionsSummary", "subjects"}
    result = filled.read_now(course_search.search, asked(subjects=[(None, "198")], include=include, end=1260))
    first, second = result.items
    assert first["sectionsSummary"] == {"total": 2, "open": 1}
    assert second["sectionsSummary"] == {"total": 1, "open": 0}
    assert [(each["index"], each["status"]) for each in first["sections"]] == [("00001", "Closed"), ("00002", "Open")]
    assert first["sections"][1]["openedAt"] == "2026-01-05T12:00:00.000Z"
    assert result.subjects == [{"code": "198", "name": "Widgetry", "courses": 2}]
    narrow = filled.read_now(course_search.search, asked(q="intro", include={"sections"}, exam_codes=["A"]))
    assert [each["index"] for each in narrow.items[0]["sections"]] == ["00002"]
    capped = filled.read_now(course_search.search, asked(q="intro", include={"sections"}, sections_limit=1))
    assert len(capped.items[0]["sections"]) == 1


def test_the_version_moves_with_the_catalogue(filled: Store) -> None:
    before = filled.read_now(course_search.search, asked()).version
    load(filled, [*COURSES[:3], COURSES[3] | {"title": "MACRO"}])
    assert filled.read_now(course_search.search, asked()).version != before


def test_values_for_filters(filled: Store) -> None:
    assert filled.read_now(course_search.filters, "12025", ["NB"]) == {
        "term": "12025",
        "campuses": ["NB"],
        "subjects": [
            {"code": "198", "name": "Widgetry", "courses": 2},
            {"code": "220", "name": "Economics", "courses": 1},
            {"code": "640", "name": "Widgetry", "courses": 1},
        ],
        "levels": ["G", "U"],
        "coreCodes": ["QQ", "WCr"],
        "campusLocations": ["1", "2"],
        "examCodes": ["A", "C"],
        "deliveries": ["in_person", "online"],
        "meetingCampuses": ["1", "2", "3"],
    }
