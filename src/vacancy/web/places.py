"""Sections by the fields that people and programs give, and what there is to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vacancy.subscriptions.rules import Desk

_SOURCE: Final = "soc"


def place_topic(term: str, campus: str, what: str) -> str:
    """`what` is a section's index, or `course/` and the course. Nothing is checked: that is the source's to do."""
    return ":".join([_SOURCE, *("".join(part.split()) for part in (term, campus, what))])


def places(desk: Desk) -> tuple[Sequence[str], Sequence[str]]:
    """The terms and the campuses that are watched."""
    source = desk.sources(_SOURCE)
    keys = [question.key.split("|") for question in source.questions()] if source else []
    return list(dict.fromkeys(term for term, _ in keys)), list(dict.fromkeys(campus for _, campus in keys))
