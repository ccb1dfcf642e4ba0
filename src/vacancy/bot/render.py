"""An event as a message. What is missing leaves its line out; what comes from outside is escaped and cut. Pure."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from vacancy.bot.words import has, say
from vacancy.channels.telegram_text import LONGEST, cut
from vacancy.channels.words import one_line
from vacancy.model.bot import Event

LONGEST_TITLE: Final = 120
LONGEST_COMMENT: Final = 300
_LONGEST_LINK: Final = 1024
_LONGEST_WORD: Final = 64
_MOST_ACTIONS: Final = 8
_TIME: Final = "%Y-%m-%d %H:%M UTC"


def message_of(event: Event, locale: str) -> str:
    """As HTML that Telegram reads. Its limit is on what is left once it has, so escaping comes after cutting."""
    head, *lines = (html.escape(line, quote=False) for line in plain_of(event, locale).split("\n"))
    return "\n".join((f"<b>{head}</b>", *lines))


def plain_of(event: Event, locale: str) -> str:
    return cut("\n".join(_lines(event, locale)), LONGEST)


def line_of(event: Event, locale: str) -> str:
    """One of a list."""
    said = (_when(event), heading(event, locale), clip(title_of(event.payload), 60))
    return " · ".join(part for part in said if part)


def heading(event: Event, locale: str) -> str:
    kind = f"type_{event.event_type.upper()}"
    what = say(locale, kind if has(locale, kind) else "type_other")
    if event.task_id is None or event.task_id < 1:
        return what
    return say(locale, "of_task", what=what, number=event.task_id)


def status_of(code: object, locale: str) -> str:
    """In words, if we have some for it; else as it came. Empty when there is none."""
    if not isinstance(code, str):
        return ""
    name = f"status_{code.strip().upper()}"
    return say(locale, name) if has(locale, name) else clip(code, _LONGEST_WORD)


def title_of(payload: Mapping[str, Any]) -> str:
    return clip(_text(payload, "task_title") or _text(payload, "title"), LONGEST_TITLE)


def clip(text: object, most: int) -> str:
    """One line of at most so many characters; a loss is told by an ellipsis."""
    line = one_line(text if isinstance(text, str) else "")
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def web_link(value: object) -> str:
    """The address if a browser may be sent there, whole or not at all; else nothing."""
    link = one_line(value) if isinstance(value, str) else ""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    is_fit = parts.scheme in ("http", "https") and bool(parts.netloc) and len(link) <= _LONGEST_LINK and " " not in link
    return link if is_fit else ""


def _lines(event: Event, locale: str) -> Sequence[str]:
    payload = event.payload
    facts = (
        ("status", status_of(payload.get("status_to"), locale)),
        ("link", web_link(payload.get("report_link"))),
        ("comment", clip(_text(payload, "current_comment") or _text(payload, "comment"), LONGEST_COMMENT)),
        ("actions", _actions(payload.get("allowed_actions"))),
    )
    told = [say(locale, name, **{name: value}) for name, value in facts if value]
    return [line for line in (heading(event, locale), title_of(payload), *told, _when(event)) if line]


def _actions(given: object) -> str:
    """Only what the backend says: not everybody who hears of a report may judge it."""
    if not isinstance(given, list):
        return ""
    words = [clip(each, _LONGEST_WORD) for each in given[:_MOST_ACTIONS] if isinstance(each, str)]
    return ", ".join(word for word in words if word)


def _when(event: Event) -> str:
    return event.created_at.strftime(_TIME) if event.created_at else ""


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""
