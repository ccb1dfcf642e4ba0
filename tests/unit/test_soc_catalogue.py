"""The quirks of the upstream's catalogue, one by one."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.catalogues import Json, course, encoded, meeting, section, several

from vacancy.model.catalogue import Course, Section, day_letters, day_mask, words
from vacancy.sources.soc_catalogue import Reading
from vacancy.sources.soc_courses import MalformedError, plain_text
from vacancy.sources.soc_meetings import MeetingRow, clock_text, minutes, span
from vacancy.sources.soc_split import NotJsonError, pieces


def read_all(body: bytes, size: int = 1 << 20) -> tuple[Course, ...]:
    reading, members = Reading(frozenset()), pieces(body, size)
    while reading.take_next(members):
        pass
    return reading.courses()


def read_one(**members: Any) -> Course:
    (found,) = read_all(encoded([course("01:998:205", section()) | members]))
    return found


def read_section(**members: Any) -> Section:
    (found,) = read_all(encoded([course("01:998:205", section(**members))]))
    return found.sections[0]


def said(found: Course | Section) -> Json:
    said: Json = msgspec.json.decode(found.payload)
    return said


def refusal(body: bytes) -> str:
    with pytest.raises((MalformedError, NotJsonError)) as caught:
        read_all(body)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- days and times


@pytest.mark.parametrize(("text", "mask"), [("H", 8), ("TH", 8), ("T", 2), ("S", 32), ("U", 64), ("MTWTHF", 31)])
def test_thursday_is_h_or_th_saturday_s_and_sunday_u(text: str, mask: int) -> None:
    assert day_mask(text) == mask


@given(st.integers(0, 127))
def test_days_survive_being_written(mask: int) -> None:
    assert day_mask(" ".join(day_letters(mask))) == mask
    assert day_mask(",".join(day_letters(mask))) == mask


def test_an_unknown_day_letter_refuses_the_whole() -> None:
    said = refusal(encoded([*several(3), course("01:998:205", section(meetingTimes=[meeting("X")]))]))
    assert said.startswith("course 01:998:205, section 04321: meetingTimes: 'X' has no day at 'X'")


@given(st.integers(0, 24 * 60 - 2), st.integers(1, 24 * 60))
def test_military_times_are_read_to_the_minute(start: int, length: int) -> None:
    end = min(start + length, 24 * 60)
    texts = [clock_text(moment).replace(":", "") for moment in (start, end)]
    assert span(MeetingRow(start_time_military=texts[0], end_time_military=texts[1])) == (start, end)


@given(st.text(max_size=6))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 0 <= minutes(text, is_end=True) <= 24 * 60
        assert len(text) == 4


def twelve(moment: int) -> tuple[str, str]:
    hour = moment // 60 % 24
    return f"{hour % 12 or 12:02d}{moment % 60:02d}", "P" if hour >= 12 else "A"


@given(st.integers(0, 24 * 60 - 2), st.integers(1, 11 * 60))
def test_twelve_hour_times_are_read_where_the_military_ones_are_empty(start: int, length: int) -> None:
    end = min(start + length, 24 * 60)
    row = MeetingRow(
        start_time_military=" ", start_time=twelve(start)[0], end_time=twelve(end)[0], pm_code=twelve(start)[1]
    )
    assert span(row) == (start, end)


@pytest.mark.parametrize(
    ("start", "end", "code", "expected"),
    [
        ("1200", "0120", "P", "12:00-13:20"),
        ("1200", "0120", "A", "00:00-01:20"),
        ("1140", "0100", "A", "11:40-13:00"),
        ("0210", "0330", None, "14:10-15:30"),
        ("0830", "0950", None, "08:30-09:50"),
        ("1210", "0130", None, "12:10-13:30"),
        ("0900", "1200", "P", "21:00-24:00"),
    ],
)
def test_noon_midnight_and_a_missing_pm_code(start: str, end: str, code: str | None, expected: str) -> None:
    found = span(MeetingRow(start_time=start, end_time=end, pm_code=code))
    assert found is not None
    assert "-".join(map(clock_text, found)) == expected


def test_military_times_win_over_the_twelve_hour_ones() -> None:
    row = MeetingRow(start_time_military="1410", end_time_military="1530", start_time="0910", end_time="1030")
    assert span(row) == (850, 930)


def test_2400_ends_a_meeting_and_never_begins_one() -> None:
    assert span(MeetingRow(start_time_military="2100", end_time_military="2400")) == (1260, 1440)
    with pytest.raises(ValueError, match="2400"):
        span(MeetingRow(start_time_military="2400", end_time_military="2400"))


@pytest.mark.parametrize(("start", "end"), [("1530", "1410"), ("1410", "1410"), ("1410", None), ("1260", "1530")])
def test_a_meeting_without_a_sensible_span_is_refused(start: str, end: str | None) -> None:
    with pytest.raises(ValueError, match=r"before it begins|only one of|not a time"):
        span(MeetingRow(start_time_military=start, end_time_military=end))


# --- meetings


def test_the_summary_puts_days_of_one_time_and_place_together() -> None:
    rows = [meeting("F", "0900", "1020", buildingCode="ABC", roomNumber="5"), meeting("H"), meeting("T")]
    assert read_section(meetingTimes=rows).meeting_summary == "T H 14:10-15:30 BUS XYZ 101; F 09:00-10:20 BUS ABC 5"


EMPTY: Json = meeting(
    None, None, None, campusAbbrev=None, campusName=None, campusLocation=None, buildingCode=None, roomNumber=None
)


def test_empty_shells_are_dropped() -> None:
    found = read_section(meetingTimes=[EMPTY | {"meetingModeCode": "19"}])
    assert (bytes(found.meetings), found.meeting_summary, found.day_mask, found.start_minutes) == (
        b"[]",
        "TBA",
        0,
        None,
    )


def test_hours_by_arrangement() -> None:
    assert read_section(meetingTimes=[EMPTY | {"baClassHours": "B"}]).meeting_summary == "Hours by arrangement"


def test_online_rows_have_no_place() -> None:
    row = EMPTY | {"meetingModeCode": "90", "baClassHours": "B", "campusName": "** INVALID **", "campusLocation": "O"}
    found = read_section(meetingTimes=[row], sectionCourseType="O")
    assert (found.meeting_summary, found.places, found.delivery) == ("Online, no fixed hours", "", "online")
    timed = meeting("T", campusName="** INVALID **", campusAbbrev="** INVALID **", buildingCode=None, roomNumber=None)
    assert read_section(meetingTimes=[timed]).meeting_summary == "T 14:10-15:30 Online"


def test_earliest_start_latest_end_and_all_days() -> None:
    rows = [meeting("M", "0900", "1000"), meeting("U", "1800", "2400", campusLocation="1")]
    found = read_section(meetingTimes=rows)
    assert (found.day_mask, found.start_minutes, found.end_minutes, found.places) == (65, 540, 1440, "|1||2|")


@pytest.mark.parametrize(("code", "delivery"), [("T", "in_person"), ("O", "online"), ("H", "hybrid")])
def test_delivery_is_the_sections_own_word(code: str, delivery: str) -> None:
    assert read_section(sectionCourseType=code).delivery == delivery


@pytest.mark.parametrize(
    ("modes", "delivery"),
    [(["02"], "in_person"), (["90", "92"], "online"), (["02", "93"], "hybrid"), (["91"], "hybrid"), ([], "in_person")],
)
def test_delivery_falls_back_to_the_meetings(modes: list[str], delivery: str) -> None:
    rows = [meeting(meetingModeCode=mode) for mode in modes]
    assert read_section(sectionCourseType=None, meetingTimes=rows).delivery == delivery


# --- courses and sections


def test_padded_titles_are_trimmed() -> None:
    found = read_one(title="INTRO  WIDGETS   ", expandedTitle="INTRODUCTION TO WIDGETS".ljust(80))
    assert (found.title, said(found)["expandedTitle"]) == ("INTRO WIDGETS", "INTRODUCTION TO WIDGETS")


def test_credits_may_be_missing() -> None:
    body = course("01:998:205", section(), creditsObject={"code": "BA", "description": "Credits by arrangement"})
    del body["credits"]
    (found,) = read_all(encoded([body]))
    assert (found.credits, found.credits_min, found.credits_max) == ("by arrangement", None, None)
    half = read_one(credits=1.5)
    assert (half.credits, half.credits_min) == ("1.5", 15)


def test_core_codes_are_in_the_member_core_code() -> None:
    assert read_one(coreCodes=[{"code": None, "coreCode": "AHo"}, {"coreCode": "WCr"}]).core_codes == ("AHo", "WCr")


def test_prerequisites_are_markup() -> None:
    found = read_one(preReqNotes="(01:640:135 CALC I )<em> OR </em>(01:640:151 CALC &amp; MORE )")
    assert said(found)["prerequisites"] == "(01:640:135 CALC I ) OR (01:640:151 CALC & MORE )"
    assert found.has_prerequisite
    assert not read_one(preReqNotes=" <em> </em> ").has_prerequisite
    assert plain_text("GPA < 3.0<br/>or <b>more</b>") == "GPA < 3.0 or more"


def test_a_link_that_is_a_script_is_left_out() -> None:
    assert "synopsisUrl" not in said(read_one(synopsisUrl="javascript:alert(1)"))
    assert said(read_one(synopsisUrl="https://x.example/"))["synopsisUrl"] == "https://x.example/"


def test_instructors_are_all_named_once() -> None:
    found = read_section(instructors=[{"name": "DOE, JANE"}, {"name": "ROE, SAM "}, {"name": "DOE, JANE"}])
    assert found.instructors == "DOE, JANE; ROE, SAM"
    assert read_section(instructors=[], instructorsText="POE").instructors == "POE"


def test_a_course_without_sections_is_fine() -> None:
    assert read_one(sections=[]).sections == ()


def test_nul_which_postgresql_cannot_hold_is_taken_out() -> None:
    assert read_one(title="A\0B").title == "AB"


@pytest.mark.parametrize("status", ["OPEN", "CLOSED", 1, None])
def test_the_open_status_must_be_a_bool(status: object) -> None:
    said = refusal(encoded([course("01:998:205", section(), section("04322", openStatus=status))]))
    assert said.startswith("course 01:998:205, section 04322: Expected bool")
    assert "openStatus" in said


@pytest.mark.parametrize(
    ("members", "field"),
    [({"title": 5}, "title"), ({"courseNumber": "1" * 9}, "courseNumber"), ({"credits": "3"}, "credits"),
     ({"coreCodes": [{"code": "QQ"}]}, "coreCode"), ({"sections": None}, "sections"),
     ({"sections": [section("4321")]}, "index"), ({"sections": [section("043211")]}, "index"),
     ({"sections": [section("04321\n")]}, "index"), ({"sections": [section(number=7)]}, "number")],
)  # fmt: skip
def test_one_malformed_member_refuses_the_whole_and_is_named(members: Json, field: str) -> None:
    said = refusal(encoded([*several(2), course("01:998:205") | members]))
    assert said.startswith("course 01:998:205")
    assert field in said


def test_a_course_that_is_no_object_is_refused() -> None:
    assert "Expected object" in refusal(b'[{"a":1},5]') or "courseString" in refusal(b'[{"a":1},5]')
    assert "a course cannot be read" in refusal(b"[[[]]]") or "course None" in refusal(b"[[[]]]")


def test_the_same_section_twice_is_collapsed() -> None:
    (found,) = read_all(encoded([course("01:998:205", section(), section())]))
    assert len(found.sections) == 1


def test_the_same_section_in_two_courses_belongs_to_the_first_of_them_in_any_order() -> None:
    pair = [course("01:998:205", section()), course("16:998:205", section(), section("04322"))]
    for body in (pair, pair[::-1]):
        first, second = read_all(encoded(body))
        assert [each.index for each in first.sections] == ["04321"]
        assert [each.index for each in second.sections] == ["04322"]


@pytest.mark.parametrize("unlike", [{"number": "02"}, {"openStatus": False}, {"meetingTimes": []}])
def test_the_same_index_with_two_meanings_refuses_the_whole(unlike: Json) -> None:
    one, two = section(), section(**unlike)
    assert "section 04321 stands there twice" in refusal(encoded([course("01:998:205", one, two)]))
    said = refusal(encoded([course("01:998:205", one), course("01:998:206", two)]))
    assert "course 01:998:206: section 04321 stands in another course" in said


def test_variants_are_told_apart_by_supplement_and_title() -> None:
    variants = [course(title="A"), course(title="A", supplementCode="LB"), course(title="B")]
    random.Random(1).shuffle(variants)
    assert [found.variant for found in read_all(encoded(variants))] == ["LB|A", "|A", "|B"]


def test_what_is_open_and_how_it_is_spelt_does_not_change_what_a_section_means() -> None:
    assert read_section().content_hash == read_section(openStatus=False, openStatusText="WAIT LIST").content_hash
    assert read_section().content_hash != read_section(instructors=[]).content_hash


def test_search_text_is_plain_words() -> None:
    found = read_one(title="Économie & O'Brien", expandedTitle=None)
    assert found.search_text == "economie o brien 998 widgetry 01 998 205 04321 doe jane"


@given(st.text())
def test_words_are_letters_and_digits_alone(text: str) -> None:
    assert all(word.isalnum() and word == word.casefold() for word in words(text) if word.isascii())
    assert not any(set(word) & set("'\"*:()&|!<>-_ \\\0") for word in words(text))


# --- cutting the body into pieces


@given(st.integers(1, 60), st.integers(1, 4000), st.booleans(), st.randoms(use_true_random=False))
def test_pieces_of_any_size_are_the_same_courses(count: int, size: int, pretty: bool, chance: random.Random) -> None:
    tricky = '},{"courseString":"01:000:000"},{"courseString":"'
    members = [
        course(f"01:640:{nth:03d}", title=chance.choice(["PLAIN", tricky, "]", '"}]']), extra=[course()] * (nth % 3))
        for nth in range(count)
    ]
    body = encoded(members)
    body = msgspec.json.format(body, indent=2) if pretty else body
    found = [raw for piece in pieces(body, size) for raw in piece]
    assert [msgspec.json.decode(raw) for raw in found] == members


def test_a_large_body_is_cut() -> None:
    body = encoded(several(400))
    assert len(list(pieces(body, len(body) // 10))) >= 9
    assert len(list(pieces(b" [ " + body[1:-1] + b" ] \n", len(body) // 10))) >= 9


@pytest.mark.parametrize("body", [b"[]", b" [ ] ", b"\n[]\n"])
def test_an_empty_catalogue_is_no_error(body: bytes) -> None:
    assert read_all(body) == ()


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"null", b"<html>", b"[", b"]", b"[" * 9999 + b"]" * 9999, b"[1", b'["]', b"\xff", b'{"a":[]']
)
def test_a_body_that_is_no_array_is_refused(body: bytes) -> None:
    assert "the body is not" in refusal(body)


@given(st.integers(0, 10_000), st.sampled_from([b"", b"]", b"}", b",", b"{", b'"', b"]["]))
def test_a_damaged_body_is_refused(at: int, put: bytes) -> None:
    body = encoded(several(5))
    at %= len(body)
    damaged = body[:at] + put + body[at + 1 :]
    try:
        whole = msgspec.json.decode(damaged)
    except msgspec.DecodeError:
        refusal(damaged)
        return
    found = [msgspec.json.decode(raw) for piece in pieces(damaged, 700) for raw in piece]
    assert found == whole
