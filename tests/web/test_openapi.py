from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Mount, Route
from tests.web.calling import ask

TASK_ERRORS = {"403": "TaskRefused", "409": "TaskRefused", "422": "TaskInvalid"}


@pytest.fixture
def document(sqlite_app: FastAPI) -> dict[str, Any]:
    found: dict[str, Any] = ask(sqlite_app, "/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(verb, path, found) for path, item in document["paths"].items() for verb, found in item.items()]


def paths(routes: list[BaseRoute]) -> set[str]:
    found = set()
    for route in routes:
        if isinstance(route, APIRoute | Route):
            found.add(route.path)
        elif not isinstance(route, Mount):
            # An included router.
            found |= paths(route.original_router.routes)  # type: ignore[attr-defined]
    return found


def test_every_route_is_described(sqlite_app: FastAPI, document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == paths(sqlite_app.routes) - {"/openapi.json"}


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    def references(found: object) -> list[str]:
        if isinstance(found, dict):
            return [str(found["$ref"])] if "$ref" in found else [r for v in found.values() for r in references(v)]
        return [r for v in found for r in references(v)] if isinstance(found, list) else []

    used = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert used <= set(document["components"]["schemas"])
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_every_answer_is_documented(document: dict[str, Any]) -> None:
    names = [found["operationId"] for _, _, found in operations(document)]
    assert len(names) == len(set(names))
    for verb, path, found in operations(document):
        where = f"{verb} {path}"
        assert found["summary"], where
        assert "500" in found["responses"], where
        if path.startswith(("/api/", "/tasks")):
            assert {"422", "503"} <= set(found["responses"]), where
        for status, answer in found["responses"].items():
            assert answer["description"], where
            if int(status) >= 400:
                ((kind, media),) = answer["content"].items()
                # A page says in a page what is wrong.
                assert kind == "application/json" or (kind, found["tags"]) == ("text/html", ["pages"]), where
                if kind == "application/json":
                    shape = TASK_ERRORS.get(status, "TaskError") if path.startswith("/tasks") else "Error"
                    assert media["schema"] == {"$ref": f"#/components/schemas/{shape}"}, where


def test_the_feed_says_that_a_cursor_can_expire(document: dict[str, Any]) -> None:
    for path in ("/api/events", "/api/events/stream"):
        assert "cursor_expired" in document["paths"][path]["get"]["responses"]["410"]["description"]


def test_the_page_lists_all_of_it(sqlite_app: FastAPI, document: dict[str, Any]) -> None:
    answer = ask(sqlite_app, "/docs")
    html = answer.body.decode()
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for _, path, found in operations(document):
        assert f'id="{found["operationId"]}"' in html
        assert path in html
        for parameter in found.get("parameters", ()):
            assert f"<code>{parameter['name']}</code>" in html
    for name in document["components"]["schemas"]:
        assert f'id="shape-{name}"' in html
    # It works offline: nothing comes from anywhere else, and no script is needed.
    assert "<script" not in html
    assert "//" not in html.replace("http://www.w3.org", "")
