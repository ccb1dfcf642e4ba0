from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import msgspec
import pytest

from vacancy.simulator.catalogue import Catalogue, generate
from vacancy.simulator.meetings import add_minutes, twelve_hour
from vacancy.simulator.quirks import conflict, swap
from vacancy.simulator.world import build_world

# Changes only when the generator is changed on purpose; a new Python or another process must not change it.
DIGEST = "64c14f5e087fba7499413d40cfa2eb4338f34d974623ae72d76015bce000889a"


@pytest.fixture(scope="module")
def small() -> Catalogue:
    return generate(1, "12025", "NB", 0.05)


def sections_of(courses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [section for course in courses for section in course["sections"]]


def meetings_of(catalogue: Catalogue) -> list[dict[str, Any]]:
    return [row for section in sections_of(catalogue.courses) for row in section["meetingTimes"]]


def encoded(catalogue: Catalogue) -> bytes:
    return msgspec.json.encode(catalogue.courses)


def test_a_seed_gives_the_same_catalogue_everywhere() -> None:
    body = encoded(generate(7, "92025", "CM", 0.02))
    assert hashlib.sha256(body).hexdigest() == DIGEST
    assert build_world(7, "92025", "CM", 0.02).list_body() == build_world(7, "92025", "CM", 0.02).list_body()


def test_seed_term_and_campus_each_matter() -> None:
    assert encoded(generate(1, "12025", "NB", 0.02)) != encoded(generate(2, "12025", "NB", 0.02))
    assert encoded(generate(1, "12025", "NB", 0.02)) != encoded(generate(1, "92025", "NB", 0.02))


def test_indexes_are_unique_in_their_term_and_keep_their_zeros() -> None:
    campuses = [generate(1, "12025", campus, 0.05) for campus in ("NB", "NK", "CM")]
    indexes = [index for catalogue in campuses for index in (*catalogue.indexes, *catalogue.orphans)]
    assert len(indexes) == len(set(indexes))
    assert all(len(index) == 5 and index.isdigit() for index in indexes)
    assert any(index.startswith("0") for index in indexes)


def test_every_index_has_a_section_and_orphans_have_none(small: Catalogue) -> None:
    found = {section["index"] for section in sections_of(small.courses)}
    assert found == set(small.indexes)
    assert small.orphans
    assert not found & set(small.orphans)


def test_a_campus_can_really_be_empty() -> None:
    world = build_world(1, "92025", "H", 1.0)
    assert world.list_body() == world.catalogue_body() == b"[]"


def test_courses_share_subject_and_number_in_both_ways(small: Catalogue) -> None:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for course in small.courses:
        groups.setdefault((course["subject"], course["courseNumber"]), []).append(course)
    pairs = [group for group in groups.values() if len(group) == 2]
    assert any(first["supplementCode"] != second["supplementCode"] for first, second in pairs)
    assert any(first["courseString"] != second["courseString"] for first, second in pairs)
    assert all(first["title"] != second["title"] for first, second in pairs)


def test_one_or_two_sections_stand_in_two_courses(small: Catalogue) -> None:
    sections = sections_of(small.courses)
    counts = Counter(section["index"] for section in sections)
    twice = [index for index, count in counts.items() if count > 1]
    assert 1 <= len(twice) <= 2
    first, second = (section for section in sections if section["index"] == twice[0])
    assert first == second


def test_course_quirks(small: Catalogue) -> None:
    courses = small.courses
    padded = [course["expandedTitle"] for course in courses if course["expandedTitle"]]
    assert padded
    assert all(len(title) >= 80 and title.endswith(" ") for title in padded if len(title.rstrip()) < 80)
    by_arrangement = [course for course in courses if course["creditsObject"]["code"] == "BA"]
    assert any("credits" not in course for course in by_arrangement)
    assert any(course.get("credits", 0) is None for course in by_arrangement)
    cores = [core for course in courses for core in course["coreCodes"]]
    assert cores
    assert all("code" not in core and core["coreCode"] for core in cores)
    assert any("<em> OR </em>" in (course["preReqNotes"] or "") for course in courses)
    assert all(course["offeringUnitTitle"] is None for course in courses)


def test_meeting_quirks(small: Catalogue) -> None:
    rows = meetings_of(small)
    timed = [row for row in rows if row["startTimeMilitary"]]
    assert {"M", "T", "W", "H", "F", "S", "U"} == {row["meetingDay"] for row in timed}
    assert any("pmCode" not in row for row in timed)
    assert any(row["endTimeMilitary"] == "2400" for row in timed)
    assert any(row["campusName"] == "** INVALID **" for row in rows)
    assert any(row["baClassHours"] == "B" for row in rows)
    shells = [row for row in rows if not row["meetingDay"] and not row["baClassHours"] and not row["campusName"]]
    assert shells
    assert all(row["startTimeMilitary"] < row["endTimeMilitary"] <= "2400" for row in timed)


@pytest.mark.parametrize(
    ("military", "expected"),
    [("1410", ("0210", "P")), ("1200", ("1200", "P")), ("0030", ("1230", "A")), ("2400", ("1200", "A"))],
)
def test_twelve_hour_times(military: str, expected: tuple[str, str]) -> None:
    assert twelve_hour(military) == expected


def test_add_minutes_crosses_the_hour() -> None:
    assert add_minutes("1920", 180) == "2220"


def test_open_status_is_a_bool_with_a_text() -> None:
    world = build_world(1, "12025", "NB", 0.2)
    courses = msgspec.json.decode(world.catalogue_body())
    sections = sections_of(courses)
    assert {section["openStatus"] for section in sections} == {True, False}
    assert {section["openStatusText"] for section in sections} == {"OPEN", "CLOSED", "WAIT LIST"}
    assert all((section["index"] in world.open_indexes) is section["openStatus"] for section in sections)
    assert sum(course["openSections"] for course in courses) == sum(section["openStatus"] for section in sections)


def test_shares_are_close_to_what_was_measured() -> None:
    world = build_world(1, "12025", "NB", 0.2)
    rows = meetings_of(world.catalogue)
    sections = sections_of(world.catalogue.courses)
    open_share = len(world.open_indexes) / len(world.catalogue_indexes)
    assert open_share == pytest.approx(0.70, abs=0.03)
    assert sum(row["startTimeMilitary"] is not None for row in rows) / len(rows) == pytest.approx(0.63, abs=0.05)
    assert len(rows) / len(sections) == pytest.approx(1.45, abs=0.1)
    assert sum(bool(section["instructorsText"]) for section in sections) / len(sections) == pytest.approx(
        0.92, abs=0.03
    )


def test_the_next_generation_drops_adds_and_renames() -> None:
    world = build_world(1, "12025", "NB", 0.05)
    before = msgspec.json.decode(world.catalogue_body())
    after = swap(msgspec.json.decode(world.catalogue_body()), 0.1, world.catalogue.spares, set[str]().__contains__)
    old = {section["index"] for section in sections_of(before)}
    new = {section["index"] for section in sections_of(after)}
    assert old - new
    assert new - old
    assert old & new
    assert {course["title"] for course in after} - {course["title"] for course in before}


def test_a_conflict_is_one_index_with_two_meanings() -> None:
    courses = generate(1, "12025", "CM", 0.02).courses
    conflict(courses)
    first, twin = courses[0]["sections"][0], courses[-1]["sections"][-1]
    assert first["index"] == twin["index"]
    assert first["number"] != twin["number"]
