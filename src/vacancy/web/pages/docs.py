"""`/docs`: the OpenAPI document as a page. No script and nothing from elsewhere, so it works offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from vacancy.errors import CODES
from vacancy.web.pages.render import page

_VERBS: Final = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Line:
    """A parameter, a field or an answer: its name, what it may be, what it means."""

    name: str
    kind: str
    what: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    verb: str
    path: str
    anchor: str
    summary: str
    what: str
    parameters: Sequence[Line]
    body: str | None
    answers: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    what: str
    fields: Sequence[Line]


async def docs(request: Request) -> Response:
    app: FastAPI = request.app
    document = app.openapi()
    return page(
        request,
        "docs.html",
        title=document["info"]["title"],
        version=document["info"]["version"],
        groups=_groups(document),
        shapes=[_shape(name, schema) for name, schema in sorted(document["components"]["schemas"].items())],
        codes=sorted(CODES.items(), key=lambda item: (item[1].status, item[0])),
    )


def _groups(document: Mapping[str, Any]) -> dict[str, list[Operation]]:
    groups: dict[str, list[Operation]] = {}
    for path, item in document["paths"].items():
        for verb in _VERBS:
            if verb in item:
                tag = (item[verb].get("tags") or ["others"])[0]
                groups.setdefault(tag, []).append(_operation(verb, path, item[verb]))
    return groups


def _operation(verb: str, path: str, found: Mapping[str, Any]) -> Operation:
    body = found.get("requestBody")
    return Operation(
        verb.upper(),
        path,
        found["operationId"],
        found.get("summary", path),
        found.get("description", ""),
        [_parameter(parameter) for parameter in found.get("parameters", ())],
        _content(body) if body else None,
        [
            Line(status, _content(answer), answer["description"])
            for status, answer in sorted(found["responses"].items())
        ],
    )


def _parameter(found: Mapping[str, Any]) -> Line:
    where = "" if found["in"] == "query" else f", in the {found['in']}"
    what = found.get("description") or found["schema"].get("description", "")
    return Line(found["name"], kind(found["schema"]) + where, what, found.get("required", False))


def _content(found: Mapping[str, Any]) -> str:
    return ", ".join(
        kind(media["schema"]) if name == "application/json" and media.get("schema") else name
        for name, media in found.get("content", {}).items()
    )


def _shape(name: str, schema: Mapping[str, Any]) -> Shape:
    required = schema.get("required", ())
    fields = [
        Line(field, kind(found), found.get("description", ""), field in required)
        for field, found in schema.get("properties", {}).items()
    ]
    return Shape(name, schema.get("description", ""), fields)


def kind(schema: Mapping[str, Any]) -> str:
    """A schema in a few words: `whole number, 1 to 200, else 50`."""
    words = [_type(schema)]
    if "minimum" in schema and "maximum" in schema:
        words.append(f"{schema['minimum']} to {schema['maximum']}")
    elif "minimum" in schema:
        words.append(f"at least {schema['minimum']}")
    if schema.get("default") is not None:
        words.append(f"else {schema['default']}")
    return ", ".join(words)


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "enum" in schema:
        return " or ".join(str(word) for word in schema["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[several]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    words = {"integer": "whole number", "string": "text", "boolean": "true or false"}
    return words.get(schema.get("type", ""), str(schema.get("type", "anything")))
