"""Query parameters are known or refused: a misspelt cursor must not mean "from the start". Only pages pass over what
they do not know: a link that was shared comes back with marks of whoever counts its visitors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Cookie, Header, Path
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import Scope

from vacancy.errors import UserError

Reader = Callable[[str], Any]

_WHOLE: Final = re.compile(r"[0-9]{1,19}", re.ASCII)


def whole(least: int, most: int) -> Reader:
    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text) or not least <= int(text) <= most:
            raise ValueError(f"must be a whole number from {least} to {most}")
        return int(text)

    return read


def one_of(*words: str) -> Reader:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be {' or '.join(words)}")
        return text

    return read


def matching(pattern: str, problem: str) -> Reader:
    compiled = re.compile(pattern, re.ASCII)

    def read(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(problem)
        return text

    return read


def several(read: Reader) -> Reader:
    """Values with commas between."""

    def read_all(text: str) -> list[Any]:
        return [read(member) for member in (part.strip() for part in text.split(",")) if member]

    return read_all


def read_query(
    scope: Scope, known: Mapping[str, Reader], repeatable: Container[str] = (), *, strict: bool = True
) -> dict[str, Any]:
    """The parameters of a plain route, each read by its reader. One that is repeatable is read into a list."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, text in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if name not in known:
            problems += [_unknown(name, known)] if strict else []
        elif name in values and name not in repeatable:
            problems.append(f"{name}: must not be given twice")
        else:
            try:
                value = known[name](text)
                values[name] = [*values.get(name, ()), *value] if name in repeatable else value
            except ValueError as problem:
                problems.append(f"{name}: {problem}")
    refuse(problems)
    return values


def only_known_parameters(request: Request) -> None:
    """A dependency of every FastAPI route."""
    route = request.scope.get("route")
    if not isinstance(route, APIRoute) or not request.scope["query_string"]:
        return
    fields = get_flat_params(route.dependant)
    # What is left is the query's, whether a route names each parameter or a model of them.
    known = [field.alias for field in fields if not isinstance(field.field_info, Path | Header | Cookie)]
    refuse([_unknown(name, known) for name in dict.fromkeys(request.query_params) if name not in known])


def refuse(problems: list[str]) -> None:
    if problems:
        raise UserError("validation_failed", problems[0], problems)


def _unknown(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}" if known else "there are none here"
    return f"{name[:64]}: there is no such parameter; {hint}"
