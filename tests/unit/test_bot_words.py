"""What the bot makes of what it is given: pages, wishes, messages. Whatever comes in, something sensible comes out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacancy.bot.answers import explain
from vacancy.bot.backend import Lost, Said
from vacancy.bot.feed import Unreadable, read_page
from vacancy.bot.render import line_of, message_of, plain_of, web_link
from vacancy.bot.task_wishes import Act, Update, read_wish
from vacancy.channels.telegram_text import units
from vacancy.model.bot import Event, Page
from vacancy.simulator.telegram_rules import visible_text

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("task_title", "title", "status_to", "report_link", "current_comment", "comment", "allowed_actions")
TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("<>&😀\n\"'"), max_size=5000)
PAYLOAD = st.dictionaries(st.sampled_from(NAMES), ANYTHING | TEXT | st.lists(TEXT, max_size=20))


def page(*members: Any, after: int = 0, limit: int = 50) -> Page | Unreadable:
    return read_page(json.dumps(members).encode(), after, limit)


@given(st.lists(ANYTHING | st.fixed_dictionaries({"event_id": st.integers(-5, 5) | ANYTHING}), max_size=5))
def test_every_member_of_a_page_is_an_event_or_garbled_or_past(members: list[Any]) -> None:
    found = page(*members, after=2)
    if isinstance(found, Page):
        ids = [event.event_id for event in found.events]
        assert ids == sorted(set(ids))
        assert all(number > 2 for number in ids)
        numbers = [each.get("event_id") for each in members if isinstance(each, dict)]
        old = [number for number in numbers if type(number) is int and number in (1, 2)]
        assert len(found.events) + len(found.garbled) + len(old) == len(members)


@given(st.binary(max_size=60))
def test_bytes_that_are_no_page(body: bytes) -> None:
    assert isinstance(read_page(body, 0, 50), Page | Unreadable)


def test_a_page_that_is_not_ascending_is_not_believed() -> None:
    assert page({"event_id": 2}, {"event_id": 1}) == Unreadable("its events are not in ascending order")
    assert page({"event_id": 1}, {"event_id": 1}) == Unreadable("its events are not in ascending order")


def test_a_backend_that_does_not_heed_the_cursor_is_noticed() -> None:
    assert isinstance(page({"event_id": 1}, {"event_id": 2}, after=2, limit=2), Unreadable)
    assert page({"event_id": 1}, {"event_id": 2}, after=2) == Page([], [], is_full=False)


@given(PAYLOAD, TEXT, st.none() | st.integers(-(2**63), 2**63 - 1), st.sampled_from(["en-US", "zh-CN"]))
def test_whatever_an_event_holds_telegram_takes_it(
    payload: dict[str, Any], kind: str, task: int | None, locale: str
) -> None:
    event = Event(1, kind[:64], task, None, payload)
    plain = plain_of(event, locale)
    assert units(visible_text({"text": plain})) <= 4096
    assert visible_text({"text": message_of(event, locale), "parse_mode": "HTML"}) == plain
    assert "\n" not in line_of(event, locale)


def test_a_message_says_what_there_is_and_no_more() -> None:
    payload = {
        "task_title": "x" * 121, "current_comment": "y" * 301, "report_link": "javascript:alert(1)",
        "status_to": "SOMETHING", "allowed_actions": ["approve", 5],
    }  # fmt: skip
    lines = message_of(Event(9, "REPORT_SUBMITTED", 4, None, payload), "en-US").splitlines()
    assert lines == [
        "<b>Report submitted · task #4</b>", "x" * 119 + "…", "Status: SOMETHING", "Comment: " + "y" * 299 + "…",
        "You can: approve",
    ]  # fmt: skip
    assert message_of(Event(9, "REPORT_SUBMITTED", 4), "en-US") == "<b>Report submitted · task #4</b>"
    assert message_of(Event(9, "<NEW>", 0), "en-US") == "<b>Update</b>"


def test_no_length_makes_markup_of_what_somebody_wrote() -> None:
    payload = {
        "report_link": "https://a.example/?" + "&" * 1000,
        "current_comment": '<a href="https://b.example">press here to approve</a>',
    }  # fmt: skip
    event = Event(1, "REPORT_SUBMITTED", 4, None, payload)
    said = message_of(event, "en-US")
    assert "<a" not in said
    assert visible_text({"text": said, "parse_mode": "HTML"}) == plain_of(event, "en-US")


@pytest.mark.parametrize(
    ("created_at", "said"),
    [
        ("2026-02-01T10:00:00+03:00", "2026-02-01 07:00 UTC"),
        ("2026-02-01T10:00:00Z", "2026-02-01 10:00 UTC"),
        ("0001-01-01T00:00:00+14:00", ""),
    ],
)
@pytest.mark.parametrize("more", [{"event_type": "APPROVED", "task_id": 4, "payload": {}}, {}])
def test_whatever_zone_a_backend_writes_the_time_is_utc(created_at: str, said: str, more: dict[str, Any]) -> None:
    found = page({"event_id": 1, "created_at": created_at, **more})
    assert isinstance(found, Page)
    _, _, last = message_of(found.events[0], "en-US").partition("\n")
    assert last == said


@pytest.mark.parametrize(
    "link", ["https://", "ftp://a.example", "//a.example", "https://a.example/" + "x" * 2000, "https://[", 5, None]
)
def test_links_that_are_none(link: object) -> None:
    assert web_link(link) == ""


@given(st.text(max_size=80))
def test_whatever_stands_behind_tasks_is_a_wish(text: str) -> None:
    read_wish(text)


def test_wishes() -> None:
    assert read_wish("#7 update title=A b desc='c d'") == Update(7, {"title": "A b", "description": "c d"})
    assert read_wish("7 APPROVE\nall\nwell") == Act(7, "approve", "", "all\nwell")


@given(st.integers(100, 599), ANYTHING | st.fixed_dictionaries({"detail": ANYTHING}), st.none() | st.integers(1, 9))
def test_every_answer_has_words(status: int, body: Any, number: int | None) -> None:
    assert explain(Said(status, body), "en-US", number)


def test_an_answer_that_never_came_is_no_yes() -> None:
    assert "Nothing was done" in explain(Lost("network", "away", begun=False), "en-US", 3)
    assert "not known" in explain(Lost("timeout", "slow", begun=True), "en-US", 3)


def test_numbers_that_no_database_could_hold() -> None:
    found = page({"event_id": 2**63}, {"event_id": True}, {"event_id": 1.0}, {"event_id": 3})
    assert isinstance(found, Page)
    assert ([event.event_id for event in found.events], len(found.garbled)) == ([3], 3)
    assert msgspec.json.encode(found.events[0].payload) == b"{}"
