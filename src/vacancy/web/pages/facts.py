"""A thing in a few words, out of its payload: a title, facts beside it. static/board.js says it in the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vacancy.model.terms import CAMPUS_NAMES


def title_of(payload: Mapping[str, Any], index: str | None, fallback: str) -> str:
    for name in ("courseTitle", "title", "label"):
        if payload.get(name):
            return str(payload[name])
    return f"Index {index}" if index else fallback


def facts_of(payload: Mapping[str, Any], index: str | None) -> list[str]:
    """Of one item; what a payload does not tell is left out."""
    section = payload.get("sectionNumber")
    facts = [
        payload.get("courseString"),
        f"Section {section}" if section else None,
        f"Index {index}" if index and payload.get("courseTitle") else None,
        payload.get("meetingSummary"),
        *_lines(payload),
    ]
    return [str(fact) for fact in facts if fact]


def _lines(payload: Mapping[str, Any]) -> list[Any]:
    """What a source of other things than sections has to say."""
    lines = payload.get("lines")
    return lines if isinstance(lines, list) else []


def facts_of_many(payload: Mapping[str, Any], count: int) -> list[str]:
    """Of whatever takes in several: any of them will do."""
    course = payload.get("courseString")
    if not course:
        return []
    return [str(course), f"Any of {count} sections"] if count > 1 else [str(course)]


def campus_of(code: str | None) -> str | None:
    return CAMPUS_NAMES.get(code, code) if code else None


def verb_of(source: str) -> str:
    """What is done with something that is open. static/board.js says the same."""
    return {"soc": "Register", "resy": "Book"}.get(source, "Go there")


def web_address(link: object) -> str | None:
    # Upstream text: a link that is not a web address may be a script.
    return link if isinstance(link, str) and link.startswith(("https://", "http://")) else None
