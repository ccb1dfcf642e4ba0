"""Answers of JSON endpoints: what is taken, and what refuses the whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from vacancy.model.availability import Failed, Trouble
from vacancy.settings_json import JsonSettings
from vacancy.sources.json_plan import Plan, make_plan
from vacancy.sources.json_reader import MOST_ITEMS, Entry, read


def plan(**given: Any) -> Plan:
    return make_plan(JsonSettings(**{
        "name": "shop", "url": "https://shop.example/api/list?x=1", "items": "$.list[*]", "key": "id", "label": "name",
        "link": "to", "group": "in.hall", "open_when": "seats > 0", **given,
    }))  # fmt: skip


def taken(content: Any, **given: Any) -> Sequence[Entry]:
    found = read(plan(**given), json.dumps(content).encode())
    assert not isinstance(found, Failed), found
    return found


def refused(content: Any, **given: Any) -> str:
    found = read(plan(**given), content if isinstance(content, bytes) else json.dumps(content).encode())
    assert isinstance(found, Failed), found
    assert found.trouble is Trouble.UNREADABLE
    return found.message


def one(**given: Any) -> dict[str, Any]:
    return {"list": [{"id": "a", "seats": 1, **given}]}


def test_an_item_is_read_with_all_that_adorns_it() -> None:
    (entry,) = taken(one(name=" Hall\n A ", to="/book/a", **{"in": {"hall": 7}}))
    assert (entry.key, entry.is_open, entry.label, entry.group) == ("a", True, "Hall A", "7")
    assert entry.payload() == {"title": "Hall A", "lines": ["7"], "link": "https://shop.example/book/a"}


def test_what_only_adorns_is_left_out_where_it_cannot_be_used() -> None:
    (entry,) = taken(one(name={"en": "A"}, to=["x"], **{"in": "hall"}))
    assert (entry.label, entry.link, entry.group) == (None, None, None)
    assert entry.payload() == {"title": "a", "lines": [], "link": None}
    assert taken(one(name="x" * 1000))[0].label == "x" * 300


@pytest.mark.parametrize(
    ("link", "kept"),
    [
        ("https://other.example/x", "https://other.example/x"), ("http://other.example", "http://other.example"),
        ("//cdn.example/x", "https://cdn.example/x"), ("x?y=1", "https://shop.example/api/x?y=1"),
        ("javascript:alert(1)", None), ("data:text/html,x", None), ("https://", None), ("https://[", None),
        ("https://a.example/a b", None), ("https://a.example/ü", None), ("https://a.example/" + "x" * 2000, None),
        ("", None), (7, None), ("mailto:a@b.example", None),
    ],
)  # fmt: skip
def test_a_link_is_one_that_a_browser_may_open(link: object, kept: str | None) -> None:
    assert taken(one(to=link))[0].link == kept


@pytest.mark.parametrize(
    ("key", "kept"),
    [("a", "a"), (" a ", "a"), (17, "17"), (17.0, "17"), (1.5, "1.5"), ("x" * 200, "x" * 200), ("7", "7")],
)
def test_a_key_is_text_or_a_number(key: object, kept: str) -> None:
    assert taken(one(id=key))[0].key == kept


@pytest.mark.parametrize("key", [True, None, {}, [], "", "  ", "x" * 201, "a\nb", "a\u202eb", "\x00"])
def test_any_other_key_refuses_the_whole(key: object) -> None:
    content = {"list": [{"id": "fine", "seats": 1}, {"id": key, "seats": 1}]}
    assert refused(content).startswith("item 2 of 2: its key id ")


def test_a_key_that_is_not_there_refuses_the_whole() -> None:
    assert refused({"list": [{"seats": 1}]}) == "item 1 of 1: its key is not there: it has no id"
    assert refused({"list": ["a"]}) == "item 1 of 1: its key is not there: it has no id"


def test_the_same_key_twice_must_be_in_the_same_state() -> None:
    twice: dict[str, Any] = {"list": [{"id": 1, "seats": 1}, {"id": "1", "seats": 9}]}
    assert [entry.key for entry in taken(twice)] == ["1"]
    twice["list"][1]["seats"] = 0
    assert refused(twice) == "item 2 of 2: '1' was listed before, in another state"


def test_an_item_that_the_rule_cannot_decide_refuses_the_whole() -> None:
    said = refused({"list": [{"id": "a"}]})
    assert said == "item 1 of 1: 'a': it has no seats, which open_when compares; `exists seats` asks for it first"
    assert "cannot be compared by > with 0" in refused(one(seats="many"))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>", "cannot be read as JSON"), (b"", "cannot be read as JSON"),
        (b'{"list": [', "cannot be read as JSON"),
        (b"\xff", "cannot be read as JSON"), (b"[" * 100_000, "cannot be read as JSON"),
        (b"[" * 900 + b"]" * 900, "cannot be searched for $.list[*]: there is no list"),
        (b'{"error": "try again later"}', "cannot be searched for $.list[*]: there is no list"),
        (b'{"list": 3}', "list is neither a list nor an object"), (b"null", "there is no list"),
    ],
)  # fmt: skip
def test_bodies_that_are_no_answer(body: bytes, said: str) -> None:
    assert said in refused(body)


def test_too_deep_and_too_many() -> None:
    assert "recursion limit" in refused(b"[" * 900 + b"]" * 900, items="$..id", key="@", open_when=None)
    assert refused(list(range(MOST_ITEMS + 1)), items="$[*]", key="@", open_when=None).endswith("20000 items")


def test_a_list_taken_for_an_item_is_told_how_to_mend_it() -> None:
    assert refused({"list": []}, items="$.list") == "item 1 of 1: it is a list; items = '$.list[*]' takes its members"


def test_nothing_listed_is_an_answer_of_no_entries() -> None:
    assert taken({"list": []}) == taken({"list": None}) == []


def test_the_question_is_all_that_shapes_an_answer_and_no_secret() -> None:
    same = plan(headers={"X-Key": "one"})
    assert same.question() == plan(headers={"x-key": "two"}, interval_s=99, open_when="seats  >  0").question()
    others: list[dict[str, Any]] = [
        {}, {"url": "https://shop.example/"}, {"items": "$[*]"}, {"key": "no"}, {"label": "x"}, {"link": "x"},
        {"group": "x"}, {"open_when": "seats > 1"}, {"open_when": None}, {"headers": {"X-Other": "one"}},
    ]  # fmt: skip
    asked = {plan(**{"headers": {"X-Key": "one"}, **other} if other else {}).question() for other in others}
    assert len(asked | {same.question()}) == len(others) + 1
