"""Where things stand in a JSON answer: RFC 9535 for the items, and what leads to one member inside an item."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.segments import JSONPathChildSegment, JSONPathSegment
from jsonpath.selectors import IndexSelector, NameSelector

Steps = tuple[str | int, ...]


class PathError(ValueError):
    """Not a path, or not one of this kind."""


class _Missing:
    """What is not there at all: null is."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()
_ENVIRONMENT: Final = JSONPathEnvironment(strict=True)


def walk(value: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
        else:
            is_there = isinstance(value, list) and -len(value) <= step < len(value)
            value = value[step] if is_there else MISSING
        if value is MISSING:
            return MISSING
    return value


def shown_path(steps: Steps, is_plain: Callable[[str], bool], reserved: Collection[str] = ()) -> str:
    first = steps[0] if steps else None
    if isinstance(first, str) and is_plain(first) and first not in reserved:
        return first + "".join(_shown_step(step, is_plain) for step in steps[1:])
    return "@" + "".join(_shown_step(step, is_plain) for step in steps)


def _shown_step(step: str | int, is_plain: Callable[[str], bool]) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if is_plain(step) else f"[{json.dumps(step, ensure_ascii=False)}]"


class Items:
    """The items of an answer. RFC 9535, and nothing beyond it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._path = _compiled(text)
        self.is_of_one = self._path.singular_query()
        self._place = _certain_steps(self._path)

    def of(self, content: Any, at_most: int) -> Sequence[Any]:
        """PathError if there is no place for items at all, which is another answer than that there are none."""
        place = walk(content, self._place)
        if place is None and not self.is_of_one:
            return []  # as some write an empty list
        if place is MISSING or not (self.is_of_one or isinstance(place, list | dict)):
            where = shown_path(self._place, str.isidentifier)
            raise PathError(f"there is no {where}" if place is MISSING else f"{where} is neither a list nor an object")
        if not isinstance(content, list | dict):
            return [content]
        try:
            return [match.obj for match in itertools.islice(self._path.finditer(content), at_most)]
        except JSONPathError as error:
            raise PathError(_why(error)) from None


def read_member(text: str) -> Steps:
    """`@`, `@.venue.id` or `venue.id`: one member of an item."""
    if text.startswith("$"):
        raise PathError("is looked for inside each item: write @.id, or id; @ is the item itself")
    rooted = "$" + (text[1:] if text.startswith("@") else f".{text}")
    path = _compiled(rooted, shift=1 - (len(rooted) - len(text)))
    if not path.singular_query():
        raise PathError("must lead to one member, without wildcards, filters and slices")
    return _certain_steps(path)


def _certain_steps(path: JSONPath) -> Steps:
    """As far as it leads to one place."""
    steps: list[str | int] = []
    for segment in path.segments:
        step = _only_step(segment)
        if step is None:
            break
        steps.append(step)
    return tuple(steps)


def _only_step(segment: JSONPathSegment) -> str | int | None:
    """Where the segment leads to one member at most."""
    selector = segment.selectors[0] if len(segment.selectors) == 1 else None
    if isinstance(segment, JSONPathChildSegment) and isinstance(selector, NameSelector):
        return selector.name
    return selector.index if isinstance(segment, JSONPathChildSegment) and isinstance(selector, IndexSelector) else None


def _compiled(text: str, shift: int = 1) -> JSONPath:
    try:
        path = _ENVIRONMENT.compile(text)
    except JSONPathError as error:
        at = error.token.index if error.token else -1
        # Its end has no index there.
        column = f"column {(at if at >= 0 else len(text)) + shift}: "
        raise PathError(f"is no JSONPath: {column}{_why(error)}") from None
    if not isinstance(path, JSONPath):
        raise PathError("must be one path")
    return path


def _why(error: JSONPathError) -> str:
    """Its first line. The library's own `str` draws the place, and fails on an empty text."""
    return str(error.args[0]).splitlines()[0]
