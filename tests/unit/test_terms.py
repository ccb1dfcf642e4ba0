"""Terms come in many spellings and have one inside; what reads two ways, or none, is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from vacancy.model.terms import end_of, normal_topic, parse_campus, parse_term


@pytest.mark.parametrize(
    "text",
    ["12025", "20251", " 12025 ", "SP2025", "sp2025", "S 2025", "spring-2025", "Spring_2025", "SPR2025", "2025SP",
     "2025 spring"],
)  # fmt: skip
def test_spellings_of_one_term(text: str) -> None:
    assert parse_term(text) == "12025"


@pytest.mark.parametrize(
    ("text", "term"),
    [("W2027", "02027"), ("19991", "11999"), ("SU2025", "72025"), ("fall 2024", "92024"), ("20247", "72024")],
)
def test_the_other_seasons(text: str, term: str) -> None:
    assert parse_term(text) == term


@pytest.mark.parametrize(
    "text",
    ["22026", "20262", "91899", "12100", "", "2025", "120255", "SP25", "XX2025", "1202５", "1.2025", "12025;"],
)
def test_what_is_no_term(text: str) -> None:
    with pytest.raises(ValueError, match="is not a term"):
        parse_term(text)


@pytest.mark.parametrize("text", ["N B", "1", "", "NB;", "N" * 17, "ñb"])
def test_what_is_no_campus(text: str) -> None:
    with pytest.raises(ValueError, match="is not a campus"):
        parse_campus(text)


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("soc:20251:nb:12345", "soc:12025:NB:12345"),
        ("soc:SP2025:NB:course/01:198:1a1", "soc:12025:NB:course/01:198:1A1"),
        ("resy:venue/834", "resy:venue/834"),
        ("json:soc:a:b", "json:soc:a:b"),
    ],
)
def test_topics_in_their_one_spelling(name: str, topic: str) -> None:
    assert normal_topic(name) == topic


def test_a_topic_of_no_term() -> None:
    with pytest.raises(ValueError, match="22026"):
        normal_topic("soc:22026:NB:12345")


def test_a_term_is_over_after_its_last_day() -> None:
    assert end_of("12025") == datetime(2025, 6, 1, tzinfo=UTC)
