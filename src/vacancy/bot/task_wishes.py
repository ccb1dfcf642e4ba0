"""What stands behind `/tasks`, read. Pure: whatever is written, a wish or the word that names the mistake comes out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from vacancy.bot.render import web_link
from vacancy.model.bot import LARGEST

LONGEST_TEXT: Final = 2000
_NUMBER: Final = re.compile(r"#?([0-9]{1,19})", re.ASCII)
_FIELD: Final = re.compile(r"(?:^|\s)(title|desc|description)=", re.IGNORECASE)
_FIELDS: Final = {"title": "title", "desc": "description", "description": "description"}
_QUOTES: Final = ('""', "''", "“”", "«»")


@dataclass(frozen=True, slots=True)
class Everything:
    pass


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class One:
    number: int


@dataclass(frozen=True, slots=True)
class History:
    number: int


@dataclass(frozen=True, slots=True)
class Update:
    number: int
    changes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Act:
    """report, approve or reject."""

    number: int
    action: str
    link: str
    comment: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """`word` is what is answered; see words.py."""

    word: str
    number: int = 0
    action: str = ""


Wish = Everything | Help | One | History | Update | Act | Wrong


def read_wish(text: str) -> Wish:
    first, rest = _head(text)
    if not first or first.lower() == "list":
        return Everything()
    if first.lower() == "help":
        return Help()
    found = _NUMBER.fullmatch(first)
    number = int(found[1]) if found else 0
    if not 1 <= number <= LARGEST:
        return Wrong("bad_number")
    if len(rest) > LONGEST_TEXT:
        return Wrong("long_text")
    return _about(number, *_head(rest))


def _about(number: int, action: str, rest: str) -> Wish:
    match action.lower():
        case "":
            return One(number)
        case "history":
            return History(number)
        case "update":
            changes = _changes(rest)
            return Update(number, changes) if changes else Wrong("bad_update", number)
        case "report":
            link, comment = _head(rest)
            return Act(number, "report", link, comment) if web_link(link) else Wrong("bad_link", number)
        case "approve" | "reject":
            return Act(number, action.lower(), "", rest)
        case _:
            return Wrong("bad_action", number, action[:32])


def _changes(text: str) -> Mapping[str, str]:
    """`title=A title desc="more of it"`: a value goes on until the next name."""
    found = list(_FIELD.finditer(text))
    if not found or text[: found[0].start()].strip():
        return {}
    ends = [each.start() for each in found[1:]] + [len(text)]
    return {
        _FIELDS[each[1].lower()]: _bare(text[each.end() : end].strip())
        for each, end in zip(found, ends, strict=True)
    }  # fmt: skip


def _bare(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] + value[-1] in _QUOTES
    return value[1:-1] if is_quoted else value


def _head(text: str) -> tuple[str, str]:
    first, *rest = text.strip().split(maxsplit=1) or [""]
    return first, rest[0] if rest else ""
