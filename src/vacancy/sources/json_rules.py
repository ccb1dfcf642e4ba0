"""When an item of a JSON endpoint is open, in a closed grammar: nothing in it runs, calls or reads anything else.

rule   := part ("or" part)*            part   := term ("and" term)*
term   := "not" term | "(" rule ")" | "exists" path | path sign literal | path ["not"] "in" "[" literal, … "]"
path   := "@" or a name, then .name ["name"] [0] …       sign := == != < <= > >=
literal := "text" 'text' 12 -0.5 true false null
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from vacancy.sources.json_paths import MISSING, Steps, shown_path, walk

Literal = str | int | float | bool | None

LONGEST: Final = 500
DEEPEST: Final = 10
_MOST_CHOICES: Final = 50
_LONGEST_SHOWN: Final = 60
_WORDS: Final = ("and", "or", "not", "in", "exists", "true", "false", "null")
_CONSTANTS: Final[Mapping[str, Literal]] = MappingProxyType({"true": True, "false": False, "null": None})
_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)
_SIGNS: Final = ("==", "!=", *_ORDERS)
_NAME: Final = r"[^\W\d][\w-]*"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"|\'[^\']*\''
_STEP: Final = re.compile(rf"\.({_NAME})|\[(-?[0-9]{{1,6}})\]|\[({_QUOTED})\]")
_TOKEN: Final = re.compile(
    rf"""(?P<space>\s+)
    |(?P<word>(?:{"|".join(_WORDS)})(?![\w.-]))
    |(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<text>{_QUOTED})
    |(?P<path>(?:@|{_NAME})(?:\.{_NAME}|\[-?[0-9]{{1,6}}\]|\[(?:{_QUOTED})\])*)
    |(?P<sign>[=!<>]=|[<>()\[\],])""",
    re.VERBOSE,
)
_PLAIN: Final = re.compile(_NAME)


class RuleError(ValueError):
    """Says at which column, counted from 1, and what was expected there."""


class UndecidedError(ValueError):
    """The rule asks for what this item does not have, or compares what cannot be compared."""


@dataclass(frozen=True, slots=True)
class Exists:
    path: Steps


@dataclass(frozen=True, slots=True)
class Compare:
    path: Steps
    sign: str
    literal: Literal


@dataclass(frozen=True, slots=True)
class OneOf:
    path: Steps
    choices: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Not:
    inner: Rule


@dataclass(frozen=True, slots=True)
class Every:
    parts: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Some:
    parts: tuple[Rule, ...]


Leaf = Exists | Compare | OneOf
Rule = Leaf | Not | Every | Some


@dataclass(frozen=True, slots=True)
class Verdict:
    """`because` are the parts that settled it, in the order in which they were looked at."""

    is_open: bool
    because: tuple[Leaf, ...] = ()


def decide(rule: Rule, item: object) -> Verdict:
    """UndecidedError if the item does not say. What was settled by the parts before it is not looked at."""
    if isinstance(rule, Not):
        inner = decide(rule.inner, item)
        return Verdict(not inner.is_open, inner.because)
    if isinstance(rule, Every | Some):
        return _decide_all(rule, item)
    return Verdict(_holds(rule, item), (rule,))


def _decide_all(rule: Every | Some, item: object) -> Verdict:
    settles = isinstance(rule, Some)
    because: list[Leaf] = []
    for part in rule.parts:
        found = decide(part, item)
        if found.is_open is settles:
            return found
        because += found.because
    return Verdict(not settles, tuple(because))


def _holds(leaf: Leaf, item: object) -> bool:
    value = walk(item, leaf.path)
    if isinstance(leaf, Exists):
        return value is not MISSING
    if value is MISSING:
        path = shown(leaf.path)
        raise UndecidedError(f"it has no {path}, which open_when compares; `exists {path}` asks for it first")
    if isinstance(leaf, OneOf):
        return any(_same(value, choice) for choice in leaf.choices)
    if leaf.sign in ("==", "!="):
        return _same(value, leaf.literal) is (leaf.sign == "==")
    return _in_order(leaf, value)


def _in_order(leaf: Compare, value: object) -> bool:
    """Nothing is neither more nor less. Text beside a number is another answer than the one the rule was made for."""
    if value is None:
        return False
    if _is_number(value) and _is_number(leaf.literal):
        return _ORDERS[leaf.sign](value, leaf.literal)
    if isinstance(value, str) and isinstance(leaf.literal, str):
        return _ORDERS[leaf.sign](value, leaf.literal)
    raise UndecidedError(
        f"its {shown(leaf.path)} cannot be compared by {leaf.sign} with {_shown_literal(leaf.literal)}"
    )


def _same(value: object, literal: Literal) -> bool:
    """As JSON has it: true is not 1, and 1 is 1.0."""
    if _is_number(value) and _is_number(literal):
        return value == literal
    return type(value) is type(literal) and value == literal


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def explain(leaf: Leaf, item: object) -> str:
    """`seats > 0 is false: seats is 0`"""
    said = f"{shown(leaf)} is {'true' if _holds(leaf, item) else 'false'}"
    if isinstance(leaf, Exists):
        return said
    value = "".join(mark for mark in json.dumps(walk(item, leaf.path), ensure_ascii=False) if mark.isprintable())
    return f"{said}: {shown(leaf.path)} is {value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + '…'}"


def shown(rule: Rule | Steps) -> str:
    """In its one spelling: it parses back to the same."""
    if isinstance(rule, tuple):
        return shown_path(rule, lambda name: bool(_PLAIN.fullmatch(name)), _WORDS)
    if isinstance(rule, Exists):
        return f"exists {shown(rule.path)}"
    if isinstance(rule, Compare):
        return f"{shown(rule.path)} {rule.sign} {_shown_literal(rule.literal)}"
    if isinstance(rule, OneOf):
        return f"{shown(rule.path)} in [{', '.join(map(_shown_literal, rule.choices))}]"
    if isinstance(rule, Not):
        return f"not {_within(rule.inner)}"
    return (" and " if isinstance(rule, Every) else " or ").join(map(_within, rule.parts))


def _within(rule: Rule) -> str:
    return f"({shown(rule)})" if isinstance(rule, Every | Some) else shown(rule)


def _shown_literal(literal: Literal) -> str:
    return json.dumps(literal, ensure_ascii=False)


def parse(text: str) -> Rule:
    """RuleError says where it went wrong."""
    if len(text) > LONGEST:
        raise RuleError(f"must be at most {LONGEST} characters long")
    return _Parser(text).whole()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def whole(self) -> Rule:
        rule = self._rule(0)
        if self._next.kind != "end":
            raise self._expected("`and`, `or` or the end")
        return rule

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *texts: str) -> bool:
        """Of a mark or a word; a text in quotation marks is neither."""
        if self._next.kind in ("word", "sign") and self._next.text in texts:
            self._at += 1
            return True
        return False

    def _rule(self, depth: int) -> Rule:
        parts = [self._part(depth)]
        while self._take("or"):
            parts.append(self._part(depth))
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _part(self, depth: int) -> Rule:
        parts = [self._term(depth)]
        while self._take("and"):
            parts.append(self._term(depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _term(self, depth: int) -> Rule:
        if depth > DEEPEST:
            raise RuleError(f"column {self._next.column}: is more than {DEEPEST} deep")
        if self._take("not"):
            return Not(self._term(depth + 1))
        if self._take("("):
            rule = self._rule(depth + 1)
            if not self._take(")"):
                raise self._expected("`)`, `and` or `or`")
            return rule
        if self._take("exists"):
            return Exists(self._path("the name of a member"))
        return self._comparison()

    def _comparison(self) -> Rule:
        path = self._path("the name of a member, `exists`, `not` or `(`")
        if self._next.kind == "sign" and self._next.text in _SIGNS:
            sign = self._next.text
            self._at += 1
            return Compare(path, sign, self._literal())
        denied = self._take("not")
        if not self._take("in"):
            raise self._expected("`in`" if denied else "==, !=, <, <=, >, >= or `in`, such as == true")
        found = OneOf(path, self._choices())
        return Not(found) if denied else found

    def _choices(self) -> tuple[Literal, ...]:
        if not self._take("["):
            raise self._expected("`[`")
        found = [self._literal()]
        while self._take(","):
            found.append(self._literal())
        if not self._take("]"):
            raise self._expected("`,` or `]`")
        if len(found) > _MOST_CHOICES:
            raise RuleError(f"column {self._next.column}: lists more than {_MOST_CHOICES} values")
        return tuple(found)

    def _path(self, wanted: str) -> Steps:
        if self._next.kind != "path":
            raise self._expected(wanted)
        token = self._next
        self._at += 1
        return _steps(token)

    def _literal(self) -> Literal:
        token = self._next
        value: Literal
        if token.kind == "number":
            value = _number(token)
        elif token.kind == "text":
            value = _unquoted(token.text, token.column)
        elif token.kind == "word" and token.text in _CONSTANTS:
            value = _CONSTANTS[token.text]
        else:
            raise self._expected('a value such as "OPEN", 3, true or null')
        self._at += 1
        return value

    def _expected(self, what: str) -> RuleError:
        token = self._next
        found = "the end" if token.kind == "end" else f"`{token.text}`"
        return RuleError(f"column {token.column}: expected {what}, found {found}")


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise RuleError(
                f"column {at + 1}: `{text[at : at + 10]}` is nothing that a rule is made of{_hint(text, at)}"
            )
        if found.lastgroup != "space":
            tokens.append(_Token(str(found.lastgroup), found[0], at + 1))
        at = found.end()
    return [*tokens, _Token("end", "", len(text) + 1)]


def _hint(text: str, at: int) -> str:
    if text[at] == "=":
        return "; write == to compare"
    if text[at] in "&|!":
        return "; write `and`, `or`, `not`"
    if text[at] in "\"'":
        return "; its quotation mark is never closed"
    return ""


def _steps(token: _Token) -> Steps:
    head = _PLAIN.match(token.text)
    steps: list[str | int] = [head[0]] if head else []
    for name, index, quoted in _STEP.findall(token.text, head.end() if head else 1):
        steps.append(name or (_unquoted(quoted, token.column) if quoted else int(index)))
    return tuple(steps)


def _number(token: _Token) -> int | float:
    value = float(token.text)
    if not math.isfinite(value):
        raise RuleError(f"column {token.column}: {token.text} is too large a number")
    return int(token.text) if token.text.lstrip("-").isdecimal() else value


def _unquoted(text: str, column: int) -> str:
    """As JSON between double marks; between single ones nothing has a meaning of its own."""
    if text[0] == "'":
        return text[1:-1]
    try:
        value = str(json.loads(text))
        value.encode()  # half a surrogate pair stands for nothing
    except ValueError:
        raise RuleError(f"column {column}: {text} is no text as JSON writes it") from None
    return value
