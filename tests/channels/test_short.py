"""What chats and browsers say, in a few plain lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.channels.letter_parcels import (
    ADA,
    FACTS,
    TABLE,
    alert,
    every_kind,
    notice,
    section,
    trouble,
    unknown_section,
    verification,
)
from vacancy.channels.short import short
from vacancy.channels.told import target_title, tell, topic_title
from vacancy.channels.words import LOCALES, WORDS, locale_of, one_line
from vacancy.model.messages import Kind, OpenItem, Parcel

CHINESE = ADA._replace(locale="zh-CN")


def test_a_section() -> None:
    said = short(alert())
    assert said.title == "Open: Data Structures, section 03 (12345)"
    assert said.lines == (
        "01:198:112 · New Brunswick, Spring 2025",
        "M H 14:10-15:30 TIL 232",
        "DOE, JANE",
        "Seen open Mon, Jan 5, 7:00 AM EST. It may be gone already.",
    )
    assert said.url == "https://sis.example/soc/#keyword=12345&semester=12025"
    assert said.manage_url == ADA.manage_url


def test_a_section_in_chinese() -> None:
    said = short(alert(person=CHINESE))
    assert said.title == "有空位了：Data Structures 03 班 (12345)"
    assert said.lines[0] == "01:198:112 · New Brunswick, 2025 年春季"
    assert said.lines[-1] == "1月5日 周一 07:00 EST 看到有空位，现在可能已经没有了。"
    assert said.url == short(alert()).url


def test_a_section_that_the_catalogue_does_not_know() -> None:
    said = short(alert(unknown_section()))
    assert said.title == "Open: section 54321"
    assert said.lines[0] == "New Brunswick, Spring 2025"


def test_several_sections_of_one_course_say_its_title_once() -> None:
    said = short(alert(section(), section("00042", sectionNumber="04")))
    assert said.title == "2 are open: Data Structures"
    assert [line.split(" · ")[0] for line in said.lines[:2]] == ["section 03 (12345)", "section 04 (00042)"]
    assert said.lines[2].startswith("Seen open ")
    assert said.url is not None
    assert "12345" in said.url


def test_several_that_share_nothing_are_all_named() -> None:
    said = short(alert(section(), section("00042", courseTitle="Calculus")))
    assert said.title == "2 are open"
    assert "Data Structures" in said.lines[0]
    assert "Calculus" in said.lines[1]


def test_another_source_is_told_in_its_own_words() -> None:
    said = short(alert(TABLE, source="resy"))
    assert (said.title, said.lines[0], said.url) == ("Open: Carbone", "20:30", "https://book.example/834?d=1&s=2")
    assert said.words["open"] == "See it and book"


def test_the_last_alert_says_so() -> None:
    assert short(alert()).lines[-1] != WORDS["en-US"]["last"]
    assert short(alert(is_last=True)).lines[-1] == WORDS["en-US"]["last"]


def test_a_verification_leads_to_its_link() -> None:
    said = short(verification())
    assert said.url == ADA.verify_url
    assert said.words["open"] == "Confirm"


def test_notices_tell_their_facts() -> None:
    assert short(notice("ended")).title == "It ended: Data Structures"
    assert "The term is over." in short(notice("ended")).lines
    assert "Since Mon, Jan 5, 7:00 AM EST we get no answer from it." in short(notice("source_unreadable")).lines
    assert short(notice("source_readable")).title == "We can look again: the open list of NB"
    assert short(trouble()).lines == ("no answer within 15 s", "Since Mon, Jan 5, 7:00 AM EST.")
    assert short(trouble()).manage_url == ""


def test_a_notice_that_is_not_known_here_still_says_something() -> None:
    said = short(notice("manage", {"title": "News", "detail": "Something"}))
    assert (said.title, said.lines) == ("News", ("Something",))


def test_a_parcel_about_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="neither an opening nor a notice"):
        short(Parcel(1, Kind.ALERT, "k", "t", 1, ADA))


@pytest.mark.parametrize("link", ["javascript:alert(1)", "https://a.example/ b", "ftp://a.example", "//a", 5, None])
def test_only_web_links_are_offered(link: object) -> None:
    assert short(alert(section(link=link))).url is None


@pytest.mark.parametrize("locale", LOCALES)
def test_all_is_said_in_every_language(locale: str) -> None:
    assert set(WORDS[locale]) == set(WORDS["en-US"])
    buttons = {"open", "manage", "got_it", "snooze_1h", "stop", "unsubscribe"}
    for parcel in every_kind(locale):
        said = short(parcel)
        assert set(said.words) == buttons
        assert all((said.title, *said.lines, *said.words.values()))
        assert "{" not in "".join((said.title, *said.lines))


@given(st.text(), st.sampled_from(["courseTitle", "sectionNumber", "meetingSummary", "index"]))
def test_no_text_has_a_line_end(text: str, name: str) -> None:
    said = short(alert(section(**{name: text})))
    for line in (said.title, *said.lines):
        assert line.splitlines() in ([], [line])
        line.encode("utf-8")


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("en-US", "en-US"), ("zh-CN", "zh-CN"), ("zh", "zh-CN"), ("zh_CN", "zh-CN"), ("ZH-cn", "zh-CN"),
        ("zh-TW", "zh-CN"), ("zh-Hant-HK", "zh-CN"), ("en", "en-US"), ("en-GB", "en-US"), ("EN_us", "en-US"),
        ("fr", "en-US"), ("", "en-US"), ("zhuang", "en-US"), ("x" * 500, "en-US"),
    ],
)  # fmt: skip
def test_the_nearest_language(wanted: str, given: str) -> None:
    assert locale_of(wanted) == given


def test_a_time_zone_that_nobody_knows_is_utc() -> None:
    parcel = alert()
    assert parcel.opening is not None
    nowhere = parcel._replace(opening=replace(parcel.opening, time_zone="Mars/Olympus"))
    assert "12:00 PM UTC" in short(nowhere).lines[-1]


def test_one_line() -> None:
    assert one_line(" a\r\nb\u2028c\u202e\ufdd0d\ud800 ") == "a b cd?"
    assert one_line(5) == "5"


def test_facts_without_a_time_are_told_as_they_are() -> None:
    said = short(notice("source_unreadable", {**FACTS, "since": "this morning"}))
    assert "Since this morning we get no answer from it." in said.lines


@pytest.mark.parametrize(
    ("topic", "locale", "said"),
    [
        ("soc:12025:NB:12345", "en-US", "section 12345, New Brunswick, Spring 2025"),
        ("soc:12025:NB:12345", "zh-CN", "索引号 12345, New Brunswick, 2025 年春季"),
        ("soc:12025:NK:course/01:198:111", "en-US", "01:198:111, Newark, Spring 2025"),
        ("resy:venue/834", "en-US", "venue 834"),
        ("resy:venue/834@2026-02-28", "en-US", "venue 834, 2026-02-28"),
        ("resy:venue/834@2026-02-28", "zh-CN", "餐厅 834, 2026-02-28"),
        ("json:tickets", "en-US", "tickets"),
        ("json:tickets:gala-sat", "en-US", "gala-sat, tickets"),
        ("soc:odd", "en-US", "odd"),
    ],
)
def test_what_somebody_waits_for_is_named_by_its_address_alone(topic: str, locale: str, said: str) -> None:
    assert topic_title(topic, locale) == said


def test_what_is_polled_is_named_as_its_people_would() -> None:
    assert target_title("soc", "12025|CM", "en-US") == "Camden, Spring 2025"
    assert target_title("json:pool", "all", "en-US") == "pool"
    assert target_title("resy", "2026-02-28_20:30", "en-US") == "tables around Sat, Feb 28, 8:30 PM"
    assert target_title("resy", "2026-02-28_20:30", "zh-CN") == "2月28日 周六 20:30 前后的餐位"
    assert target_title("resy", "odd_key", "en-US") == "tables around odd key"
    assert target_title("bot", "chat", "en-US") == "bot chat"


@pytest.mark.parametrize(
    ("locale", "lines"),
    [
        ("en-US", ("Sat, Feb 28, 8:30 PM", "for 2 or 4", "Riverside")),
        ("zh-CN", ("2月28日 周六 20:30", "2 或 4 人", "Riverside")),
    ],
)
def test_a_table_is_told_in_the_readers_language(locale: str, lines: tuple[str, ...]) -> None:
    payload = {
        "title": "Carbone", "lines": ["2026-02-28 20:30", "for 2 or 4", "Riverside"], "venueName": "Carbone",
        "date": "2026-02-28", "time": "20:30", "partySizes": [2, 4], "neighborhood": "Riverside",
    }  # fmt: skip
    told = tell("resy", OpenItem("a" * 32, 1, payload), locale)
    assert (told.title, told.lines) == ("Carbone", lines)
    assert tell("resy", OpenItem("a" * 32, 1, {**payload, "partySizes": None}), locale).lines == (lines[0], lines[2])
