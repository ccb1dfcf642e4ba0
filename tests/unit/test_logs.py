"""Whatever is logged, by whomever: nothing that identifies or admits somebody gets out."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
import structlog

from vacancy.logs import bind_trace, configure, is_private_key, redact, redact_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(format_: Literal["auto", "json"] = "json", level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    configure(format_, level, stream)
    return stream


def test_a_line_for_machines_has_level_time_and_name() -> None:
    stream = configured("auto")
    structlog.stdlib.get_logger("vacancy.x").info("polled", target="12025|NB", ms=44)
    structlog.stdlib.get_logger("vacancy.x").debug("not written")
    (line,) = lines(stream)
    assert datetime.fromisoformat(line.pop("timestamp")).tzinfo is UTC
    assert line == {"event": "polled", "target": "12025|NB", "ms": 44, "level": "info", "logger": "vacancy.x"}


def test_a_terminal_gets_colours_and_no_control_characters_of_others() -> None:
    stream = Terminal()
    configure("auto", "info", stream)
    structlog.stdlib.get_logger().info("hello", name="a\x1b]0;title\x07", email="ann@example.org")
    shown = stream.getvalue()
    assert "\x1b[" in shown
    assert "\x1b]" not in shown
    assert "ann" not in shown


def test_nested_keys_are_masked() -> None:
    stream = configured()
    structlog.stdlib.get_logger().info(
        "x",
        request={"headers": [{"Set-Cookie": "s3cret", "authToken": "s3cret"}], "apiKey": "s3cret"},
        contact="s3cret",
        contact_hash="kept",
        passwords=["s3cret"],
        ok=({"smtp_password": 3},),
    )
    (line,) = lines(stream)
    assert "s3cret" not in stream.getvalue()
    assert line["contact_hash"] == "kept"
    assert line["ok"] == [{"smtp_password": "***"}]


def test_the_text_of_exceptions_is_masked_even_where_the_traceback_quotes_code() -> None:
    stream = configured()
    try:
        raise ValueError("postgresql://u:s3cret@h/d refused ann@example.org; Bearer s3cret-s3cret")
    except ValueError:
        structlog.stdlib.get_logger().exception("it broke")
    (line,) = lines(stream)
    assert "ValueError: postgresql://***@h/d refused ***; Bearer ***" in line["exception"]
    assert "s3cret" not in stream.getvalue()


@pytest.mark.parametrize("name", ["uvicorn.access", "uvicorn.error", "aiohttp.client", "somebody"])
def test_records_of_libraries_go_the_same_way(name: str) -> None:
    logging.getLogger(name).handlers = [logging.NullHandler()]
    logging.getLogger(name).propagate = name == "somebody"
    stream = configured()
    logging.getLogger(name).warning('%s "GET %s"', "1.2.3.4", "/verify?token=s3cret&page=2")
    try:
        raise KeyError("ann@example.org")
    except KeyError:
        logging.getLogger(name).exception("with %s", {"password": "s3cret"})
    first, second = lines(stream)
    assert first["event"] == '1.2.3.4 "GET /verify?token=***&page=2"'
    assert first["logger"] == name
    assert "KeyError: '***'" in second["exception"]
    assert "s3cret" not in stream.getvalue()


def test_statements_and_their_parameters_are_never_written() -> None:
    stream = configured(level="debug")
    logging.getLogger("sqlalchemy.engine.Engine").info("[generated] ('ann@example.org', 't0ken')")
    assert stream.getvalue() == ""


def test_the_trace_id_follows_into_tasks_and_ends_with_its_block() -> None:
    stream = configured()

    async def child() -> None:
        structlog.stdlib.get_logger().info("inside")

    async def main() -> None:
        with bind_trace("abc", target="12025|NB"):
            await asyncio.create_task(child())
        structlog.stdlib.get_logger().info("outside")

    asyncio.run(main())
    inside, outside = lines(stream)
    assert (inside["trace_id"], inside["target"]) == ("abc", "12025|NB")
    assert "trace_id" not in outside


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("to Ann.O+x@mail.example.org now", "to *** now"),
        ("/stop/ann%40example.org", "/stop/***"),
        ("resy:venue/834@2026-02-28", "resy:venue/834@2026-02-28"),
        ("https://u:p@ss@h.org/p?a=1&api_key=k&b=2", "https://***@h.org/p?a=1&api_key=***&b=2"),
        ("GET /x?sendgrid.key=k&b=2", "GET /x?sendgrid.key=***&b=2"),
        ("https://api.telegram.org/bot123456:AAF-x_y/sendMessage", "https://api.telegram.org/bot***/sendMessage"),
        ("https://discord.com/api/webhooks/12/a-b_c?wait=1", "https://discord.com/api/webhooks/12/***?wait=1"),
        ("signed with whsec_a+b/c==, it says", "signed with whsec_***, it says"),
        ("authorization: Basic dTpw", "authorization: ***"),
        ('{"manage_token": "a b", "n": 1}', '{"manage_token": ***, "n": 1}'),
        ("password='a b' secret_key=c", "password=*** secret_key=***"),
        ("11423 open of 12025|NB, tokens: none", "11423 open of 12025|NB, tokens: none"),
    ],
)
def test_secrets_inside_text(text: str, kept: str) -> None:
    assert redact_text(text) == kept


def test_names_that_describe_are_no_secrets() -> None:
    private = [
        "token",
        "X-Auth-Token",
        "authToken",
        "secret_key",
        "Cookie",
        "contact_value",
        "email",
        "api_key",
        "auth",
    ]
    public = ["contact_hash", "contact_type", "token_id", "emails_sent", "key", "item_key", "dedupe_key", "author"]
    assert all(map(is_private_key, private))
    assert not any(map(is_private_key, public))


def test_objects_become_text_before_they_are_looked_at() -> None:
    class Row:
        def __repr__(self) -> str:
            return "Row(contact='ann@example.org')"

    assert redact({"row": Row(), "at": datetime(2026, 1, 5, tzinfo=UTC), "n": None}) == {
        "row": "Row(contact=***)",
        "at": "2026-01-05T00:00:00.000Z",
        "n": None,
    }
    endless: list[object] = []
    endless.append(endless)
    assert "[...]" in str(redact(endless))
