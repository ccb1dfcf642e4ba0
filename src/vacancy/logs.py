"""One way for all log lines, ours and the libraries', and one place where what is nobody's business is taken out."""

from __future__ import annotations

import functools
import json
import logging
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars, merge_contextvars
from structlog.types import EventDict, Processor, WrappedLogger

from vacancy.clock import iso

MASK: Final = "***"
DEEPEST: Final = 8
# At info SQLAlchemy would write every statement with its parameters, contacts among them.
_QUIET: Final = ("sqlalchemy", "aiogram", "aiohttp.access", "alembic", "uvicorn.error")
# Even their warnings quote addresses that hold tokens; what became of a message is told by its outcome.
_MUTE: Final = ("apprise", "oauthlib", "requests_oauthlib", "urllib3")
_PRIVATE: Final = (
    "token|secret|passw(?:or)?d|passphrase|authorization|auth|credential|cookie|contact|e?mail|signature"
    "|(?:api|private|signing|secret|session)[_-]?key"
)
# A word of the key itself, and not what merely counts or describes: contact_hash, token_id, email_count.
_PRIVATE_KEY: Final = re.compile(rf"(?:^|_)(?:{_PRIVATE})s?(?:_(?:value|address|header))?$")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_QUERY_WORDS: Final = rf"(?:[\w.-]{{0,40}}(?:{_PRIVATE}|key|code|auth|sig))"
_RULES: Final[tuple[tuple[str, re.Pattern[str], str], ...]] = tuple(
    (hint, re.compile(pattern, re.IGNORECASE), replacement)
    for hint, pattern, replacement in (
        ("://", r"(://)[^\s/?#\"']{1,300}@", rf"\1{MASK}@"),
        ("=", rf"([?&;]{_QUERY_WORDS}=)[^\s&;#\"']*", rf"\1{MASK}"),
        ("=", rf"\b((?:\w{{0,40}}_)?(?:{_PRIVATE})\s?=\s?)(?:\"[^\"]*\"|'[^']*'|[^\s,;&)]+)", rf"\1{MASK}"),
        (
            ":",
            rf"([\"'](?:\w{{0,40}}[_-])?(?:{_PRIVATE})[\"']\s?:\s?)(?:\"[^\"]*\"|'[^']*'|[^\s,}}]+)",
            rf"\1{MASK}",
        ),
        ("uthorization", r"(authorization[\"']?\s?[:=]\s?[\"']?)(?:\w+\s+)?[^\s\"',;]+", rf"\1{MASK}"),
        ("earer", r"\b(bearer\s+)[\w.~+/=-]{6,}", rf"\1{MASK}"),
        ("bot", r"(/bot)\d+:[\w-]+", rf"\1{MASK}"),
        ("whsec_", r"(whsec_)[A-Za-z0-9+/=_-]+", rf"\1{MASK}"),
        ("webhooks/", r"(/webhooks/\d+/)[\w-]+", rf"\1{MASK}"),
        ("@", r"(?<![\w.+%-])[\w.+%&!$#^~|-]{1,64}@[\w-]+(?:\.[\w-]+)*\.[^\W\d_][\w-]+", MASK),
        ("%40", r"(?<![\w.+-])[\w.+-]{1,64}%40[\w-]+(?:\.[\w-]+)*\.[^\W\d_][\w-]+", MASK),
    )
)
# A value may come from anyone; what steers a terminal must not reach it.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@functools.lru_cache(maxsize=2048)
def is_private_key(key: str) -> bool:
    return bool(_PRIVATE_KEY.search(_CAMEL.sub("_", key).replace("-", "_").replace(".", "_").lower()))


def redact_text(text: str) -> str:
    lowered = text.lower()
    for hint, pattern, replacement in _RULES:
        if hint in lowered:
            text = pattern.sub(replacement, text)
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def redact(value: object, depth: int = 0) -> Any:
    """The same in plain types, so that nothing is left whose repr() could say more later."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, datetime):
        return iso(value) if value.tzinfo else value.isoformat()
    if depth < DEEPEST:
        if isinstance(value, Mapping):
            return {redact_text(str(key)): _member(str(key), inner, depth) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [redact(inner, depth + 1) for inner in value]
    return redact_text(repr(value))


def _member(key: str, value: object, depth: int) -> Any:
    if is_private_key(key) and value is not None and not isinstance(value, bool):
        return MASK
    return redact(value, depth + 1)


def redactor(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: _member(key, value, 0) for key, value in event.items()}


def bind_trace(trace_id: str, **more: object) -> AbstractContextManager[None]:
    """Every line within carries the trace id, from tasks begun within as well."""
    return bound_contextvars(trace_id=trace_id, **more)


def bind_task(trace_id: str, **more: object) -> None:
    """The same for the rest of a task: it has a context of its own, and nothing to put back."""
    bind_contextvars(trace_id=trace_id, **more)


def configure(
    format: Literal["auto", "console", "json"],  # noqa: A002 - the setting's name
    level: str,
    stream: TextIO,
) -> None:
    console = format == "console" or (format == "auto" and stream.isatty())
    shared: list[Processor] = [
        merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _timestamp,
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            # Tracebacks become text before the redactor and not after it: they quote whatever was at hand.
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.StackInfoRenderer(),
                structlog.processors.format_exc_info,
                redactor,
                _console(stream) if console else structlog.processors.JSONRenderer(serializer=json.dumps),
            ],
        )
    )
    _take_over_stdlib(handler, level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _timestamp(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event["timestamp"] = iso(datetime.now(UTC))
    return event


def _console(stream: TextIO) -> structlog.dev.ConsoleRenderer:
    # The plain formatter: the rich one would print the values of local variables.
    return structlog.dev.ConsoleRenderer(
        colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback, timestamp_key="timestamp"
    )


def _take_over_stdlib(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for logger in root.manager.loggerDict.values():
        # A handler that a library brought along would be a way around the redactor.
        if isinstance(logger, logging.Logger):
            logger.handlers = []
            logger.propagate = True
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _MUTE:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
