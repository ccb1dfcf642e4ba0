"""The grammar that says when an item is open: what it takes, what it says of the rest, and what a rule comes to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacancy.sources.json_paths import Items, PathError, read_member
from vacancy.sources.json_rules import (
    DEEPEST,
    Compare,
    Every,
    Exists,
    Not,
    OneOf,
    Rule,
    RuleError,
    Some,
    UndecidedError,
    Verdict,
    decide,
    explain,
    parse,
    shown,
)

NAMES = st.one_of(
    st.sampled_from(["a", "b", "in", "not", "true", "a b", "ä", "a-b", '"', "'", "", "0", "[0]"]), st.text()
)
STEPS = st.lists(st.one_of(NAMES, st.integers(-99, 99)), max_size=3).map(tuple)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["OPEN", "FEW", "1", "true"]), st.text(),
)  # fmt: skip
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def rules(paths: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    leaves = st.one_of(
        st.builds(Exists, paths),
        st.builds(Compare, paths, SIGNS, SCALARS),
        st.builds(OneOf, paths, st.lists(SCALARS, min_size=1, max_size=3).map(tuple)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.builds(Every, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Some, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=4,
    )


@settings(deadline=None)
@given(rules(STEPS))
def test_what_is_written_is_read_back_as_the_same_rule(rule: Rule) -> None:
    text = shown(rule)
    try:
        assert parse(text) == rule
    except RuleError as refused:
        assert len(text) > 500, refused  # noqa: PT017 - a rule may be longer than one is allowed to be


SIMPLE = st.sampled_from([(), ("a",), ("b",), ("c", 0), ("c", "x")])
ITEMS = st.one_of(
    SCALARS,
    st.fixed_dictionaries(
        {}, optional={"a": SCALARS, "b": SCALARS, "c": st.one_of(SCALARS, st.lists(SCALARS), st.just({"x": 1}))}
    ),
)


def by_hand(rule: Any, item: Any) -> bool:
    """The same in plain Python; KeyError where the item does not say."""
    match rule:
        case Not(inner):
            return not by_hand(inner, item)
        case Every(parts):
            return all(by_hand(part, item) for part in parts)
        case Some(parts):
            return any(by_hand(part, item) for part in parts)
    try:
        value = led_to(item, rule.path)
    except (KeyError, IndexError):
        if isinstance(rule, Exists):
            return False
        raise KeyError(rule.path) from None
    return isinstance(rule, Exists) or leaf_by_hand(rule, value)


def led_to(item: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        if not isinstance(item, dict if isinstance(step, str) else list):
            raise KeyError(step)
        item = item[step]
    return item


def leaf_by_hand(leaf: OneOf | Compare, value: Any) -> bool:
    match leaf:
        case OneOf(_, choices):
            return any(alike(value, choice) for choice in choices)
        case Compare(_, ("==" | "!=") as sign, literal):
            return alike(value, literal) == (sign == "==")
        case Compare(_, sign, literal):
            if value is None:
                return False
            if kind(value) != kind(literal) or kind(value) not in ("number", "text"):
                raise KeyError(sign)
            return bool(eval(f"value {sign} literal", {"value": value, "literal": literal}))  # noqa: S307 - the oracle's


def kind(value: Any) -> str:
    names = {bool: "truth", int: "number", float: "number", str: "text", type(None): "nothing"}
    return names.get(type(value), "more")


def alike(value: Any, literal: Any) -> bool:
    return kind(value) == kind(literal) and value == literal


@settings(deadline=None)
@given(rules(SIMPLE), ITEMS)
def test_a_rule_comes_to_what_python_comes_to(rule: Rule, item: Any) -> None:
    try:
        wanted = by_hand(rule, item)
    except KeyError:
        with pytest.raises(UndecidedError):
            decide(rule, item)
        return
    found = decide(rule, item)
    assert found.is_open is wanted
    assert found.because
    assert all(explain(leaf, item) for leaf in found.because)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("available == true", Compare(("available",), "==", True)),
        ('status in ["OPEN", \'FEW\']', OneOf(("status",), ("OPEN", "FEW"))),
        ('status not in ["GONE"]', Not(OneOf(("status",), ("GONE",)))),
        ("in-stock == -0.5", Compare(("in-stock",), "==", -0.5)),
        ('@ != ""', Compare((), "!=", "")),
        ('a.b["x y"][0].in == null', Compare(("a", "b", "x y", 0, "in"), "==", None)),
        ("exists a or b == 1 and c == 2",
         Some((Exists(("a",)), Every((Compare(("b",), "==", 1), Compare(("c",), "==", 2)))))),
        ("not not exists a", Not(Not(Exists(("a",))))),
        ("  ( exists a )  ", Exists(("a",))),
    ],
)  # fmt: skip
def test_what_can_be_said(text: str, rule: Rule) -> None:
    assert parse(text) == rule


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 1: expected the name of a member, `exists`, `not` or `(`, found the end"),
        ("a", "column 2: expected ==, !=, <, <=, >, >= or `in`, such as == true, found the end"),
        ("a = 1", "column 3: `= 1` is nothing that a rule is made of; write == to compare"),
        ("a == 1 && b == 1", "column 8: `&& b == 1` is nothing that a rule is made of; write `and`, `or`, `not`"),
        ("a ==", 'column 5: expected a value such as "OPEN", 3, true or null, found the end'),
        ("a == b", 'column 6: expected a value such as "OPEN", 3, true or null, found `b`'),
        ("a == 01", "column 6: `01` is nothing that a rule is made of"),
        ("a == 1e999", "column 6: 1e999 is too large a number"),
        ('a == "x', 'column 6: `"x` is nothing that a rule is made of; its quotation mark is never closed'),
        ('a == "\\ud800"', 'column 6: "\\ud800" is no text as JSON writes it'),
        ("a in []", 'column 7: expected a value such as "OPEN", 3, true or null, found `]`'),
        ("a in [1", "column 8: expected `,` or `]`, found the end"),
        ("a not == 1", "column 7: expected `in`, found `==`"),
        ("(a == 1", "column 8: expected `)`, `and` or `or`, found the end"),
        ("a == 1 b", "column 8: expected `and`, `or` or the end, found `b`"),
        ("exists not", "column 8: expected the name of a member, found `not`"),
        ("a == 1; import os", "column 7: `; import o` is nothing that a rule is made of"),
        ("__import__('os')", "column 11: expected ==, !=, <, <=, >, >= or `in`, such as == true, found `(`"),
        ("a" * 501, "must be at most 500 characters long"),
        ("(" * 20 + "exists a" + ")" * 20, f"column 12: is more than {DEEPEST} deep"),
        ("not " * 20 + "exists a", f"column 45: is more than {DEEPEST} deep"),
        (f"a in [{', '.join('1' * 51)}]", "column 159: lists more than 50 values"),
    ],
)
def test_what_cannot_is_told_by_its_column(text: str, said: str) -> None:
    with pytest.raises(RuleError) as wrong:
        parse(text)
    assert str(wrong.value) == said


def test_the_parts_that_settled_it_are_named() -> None:
    rule = parse('status in ["OPEN"] and (seats > 0 or exists waiting)')
    gone = {"status": "GONE"}
    assert decide(rule, gone) == Verdict(False, (OneOf(("status",), ("OPEN",)),))
    assert explain(OneOf(("status",), ("OPEN",)), gone) == 'status in ["OPEN"] is false: status is "GONE"'
    few = decide(rule, {"status": "OPEN", "seats": 2})
    assert [shown(leaf) for leaf in few.because] == ['status in ["OPEN"]', "seats > 0"]
    none = decide(rule, {"status": "OPEN", "seats": 0})
    assert [shown(leaf) for leaf in none.because] == ["seats > 0", "exists waiting"]
    assert explain(Exists(("waiting",)), {}) == "exists waiting is false"


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("@ == 1", 1, True), ("@ == 1", 1.0, True), ("@ == 1", True, False), ("@ == true", 1, False),
        ("@ == true", True, True), ("@ == true", "true", False), ("@ == 0", False, False), ("@ == null", None, True),
        ("@ == null", 0, False), ('@ == ""', None, False), ("@ != 1", "1", True), ("@ in [0, 1]", False, False),
        ("@ in [false]", 0, False), ("@ == 1", [1], False), ("@ < 1", None, False), ("@ >= 1", 1.0, True),
        ('@ > "a"', "b", True), ('@ == "a"', {"a": 1}, False), ("exists @", None, True), ("not @ == 1", 2, True),
    ],
)  # fmt: skip
def test_values_are_the_same_as_json_has_it(text: str, value: Any, *, holds: bool) -> None:
    assert decide(parse(text), value).is_open is holds


def test_what_the_left_side_settled_is_not_looked_at() -> None:
    assert not decide(parse("exists seats and seats > 0"), {}).is_open
    assert decide(parse("not exists seats or seats > 0"), {}).is_open
    with pytest.raises(UndecidedError, match=r"it has no seats, .* `exists seats` asks for it first"):
        decide(parse("seats > 0"), {})
    with pytest.raises(UndecidedError, match=r"its seats cannot be compared by > with 0"):
        decide(parse("seats > 0"), {"seats": "3"})


@pytest.mark.parametrize(
    ("text", "steps"),
    [("@", ()), ("id", ("id",)), ("@.a.b", ("a", "b")), ('venue["x y"][-1]', ("venue", "x y", -1)), ("@[0]", (0,))],
)
def test_members_of_an_item(text: str, steps: tuple[str | int, ...]) -> None:
    assert read_member(text) == steps


@pytest.mark.parametrize("text", ["$.id", "a[*]", "@..a", "a[?@.b]", "a[0,1]", "a[0:2]", "", "a b", "@x", "a |b"])
def test_paths_that_lead_to_no_one_member(text: str) -> None:
    with pytest.raises(PathError):
        read_member(text)


@pytest.mark.parametrize("text", ["x", "$[", "$.a |$.b", "$.~", " $", "@.a", ""])
def test_items_are_where_the_standard_says(text: str) -> None:
    with pytest.raises(PathError, match="is no JSONPath"):
        Items(text)


@pytest.mark.parametrize(
    ("path", "content", "found"),
    [
        ("$[*]", ["a", "b"], ["a", "b"]),
        ("$[*]", {"a": 1}, [1]),
        ("$.a[*]", {"a": None}, []),
        ("$.a[?@.b > 1].c", {"a": [{"b": 1, "c": 2}, {"b": 2, "c": 3}]}, [3]),
        ("$..id", {"x": [{"id": 1}], "id": 2}, [2, 1]),
        ("$", 3, [3]),
    ],
)
def test_items_of_an_answer(path: str, content: Any, found: list[Any]) -> None:
    assert Items(path).of(content, 10) == found


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("$.a[*]", {"error": 1}, "there is no a"),
        ("$.a.b[*]", {"a": []}, "there is no a.b"),
        ("$.a[*]", {"a": "x"}, "a is neither a list nor an object"),
        ("$[*]", 3, "@ is neither a list nor an object"),
        ("$.a", {}, "there is no a"),
    ],
)
def test_an_answer_without_the_place_for_items_is_none(path: str, content: Any, said: str) -> None:
    with pytest.raises(PathError, match=said):
        Items(path).of(content, 10)
