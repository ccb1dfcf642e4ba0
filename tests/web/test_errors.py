from __future__ import annotations

import io
from typing import Any

import pytest
import structlog
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tests.web.calling import Answer, ask, broken

from vacancy.errors import CODES, StoreError
from vacancy.web.context import House


def assert_error(answer: Answer, code: str) -> dict[str, Any]:
    error = answer.error
    assert answer.status == CODES[code].status
    assert answer.headers["content-type"] == "application/json"
    assert error["code"] == code
    assert error["message"]
    assert error["traceId"] == answer.headers["x-trace-id"]
    assert set(error) <= {"code", "message", "traceId", "details"}
    return error


@pytest.mark.parametrize(
    "path", ["/nothing", "/api/nothing", "/api/events/", "/static/nothing.css", "/static/../app.py"]
)
def test_an_unknown_address(sqlite_app: FastAPI, path: str) -> None:
    assert_error(ask(sqlite_app, path), "not_found")


@pytest.mark.parametrize("path", ["/", "/api/events", "/api/targets", "/healthz", "/static/vacancy.css"])
def test_a_method_that_is_not_taken(sqlite_app: FastAPI, path: str) -> None:
    answer = ask(sqlite_app, path, "POST")
    assert_error(answer, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("/api/events?afterid=5", "afterid: there is no such parameter; did you mean after_id?"),
        ("/api/events?after_id=", "after_id: must be a whole number from 0 to 9223372036854775807"),
        ("/api/events?after_id=-1", "after_id: must be a whole number from 0 to 9223372036854775807"),
        ("/api/events?after_id=9223372036854775808", "after_id: must be a whole number from 0 to 9223372036854775807"),
        ("/api/events?after_id=%D9%A1", "after_id: must be a whole number from 0 to 9223372036854775807"),
        ("/api/events?after_id=1&after_id=2", "after_id: must not be given twice"),
        ("/api/events?limit=201", "limit: must be a whole number from 1 to 200"),
        ("/api/events?limit=0", "limit: must be a whole number from 1 to 200"),
        ("/api/events?wait=31", "wait: must be a whole number from 0 to 30"),
        ("/api/events?status=open", "status: must be Open or Closed"),
        ("/api/events?topic=,", "topic: must be a topic such as soc:12025:NB:12345"),
        ("/api/events?source=%00", "source: must be a source such as soc or json:NAME"),
        ("/api/events/stream?limit=5", "limit: there is no such parameter; known are after_id, source, topic, status"),
        ("/api/targets?al=1", "al: there is no such parameter; did you mean all?"),
        ("/api/targets?all=perhaps", "all: Input should be a valid boolean, unable to interpret input"),
    ],
)
def test_a_parameter_that_cannot_be_used(sqlite_app: FastAPI, target: str, line: str) -> None:
    error = assert_error(ask(sqlite_app, target), "validation_failed")
    assert error["details"] == [line]
    assert error["message"] == line


def test_every_bad_parameter_is_named(sqlite_app: FastAPI) -> None:
    error = assert_error(ask(sqlite_app, "/api/events?after_id=x&limit=x&weight=1"), "validation_failed")
    assert [line.split(":")[0] for line in error["details"]] == ["after_id", "limit", "weight"]


def test_a_header_that_cannot_be_used(sqlite_app: FastAPI) -> None:
    answer = ask(sqlite_app, "/api/events/stream", headers={"Last-Event-ID": "soon"})
    assert assert_error(answer, "validation_failed")["details"][0].startswith("Last-Event-ID: ")


@pytest.mark.parametrize("path", ["/api/events", "/api/targets", "/", "/api/events/stream"])
def test_a_database_that_does_not_answer(sqlite_app: FastAPI, sqlite_house: House, path: str) -> None:
    with broken(sqlite_house.store, StoreError("disk I/O error at /secret/place")):
        answer = ask(sqlite_app, path)
    assert "secret" not in assert_error(answer, "unavailable")["message"]
    assert answer.headers["retry-after"] == "5"


def test_our_own_fault_is_logged_and_not_shown(sqlite_app: FastAPI) -> None:
    async def explode(request: Request) -> Response:
        raise RuntimeError("the password is hunter2")

    sqlite_app.router.routes.insert(0, Route("/explode", explode))
    lines = io.StringIO()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(lines), cache_logger_on_first_use=False)
    try:
        answer = ask(sqlite_app, "/explode")
    finally:
        structlog.reset_defaults()
    error = assert_error(answer, "internal_error")
    assert "hunter2" not in answer.body.decode()
    assert "hunter2" in lines.getvalue()
    assert "Traceback" in lines.getvalue()
    assert error["traceId"] in lines.getvalue()


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/api/events", "/api/targets", "/healthz", "/readyz", "/metrics", "/openapi.json", "/no"]
)
def test_a_trace_id_comes_with_every_answer(sqlite_app: FastAPI, path: str) -> None:
    first, second = ask(sqlite_app, path), ask(sqlite_app, path)
    assert first.headers["x-trace-id"] != second.headers["x-trace-id"]
    assert first.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("abc-DEF-123", True), ("a" * 8, True), ("a" * 64, True), ("a" * 7, False), ("a" * 65, False),
     ("abcdefgh\n", False), ("abcd efgh", False), ("abcdefg_", False), ("", False)],
)  # fmt: skip
def test_a_caller_may_bring_its_own_trace_id(sqlite_app: FastAPI, sent: str, kept: bool) -> None:
    answer = ask(sqlite_app, "/api/events", headers={"X-Trace-Id": sent})
    assert (answer.headers["x-trace-id"] == sent) is kept
