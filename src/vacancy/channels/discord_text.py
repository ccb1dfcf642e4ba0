"""A message as Discord takes it: escaped, inside its limits, and calling nobody."""

from __future__ import annotations

import re
from typing import Any, Final

from vacancy.channels.short import Short

CONTENT_MOST: Final = 2000
DESCRIPTION_MOST: Final = 4096
_LINE_MOST: Final = 1000
_LINK_MOST: Final = 1500
# What marks text up, wherever it stands; a slash after a colon begins an address that would be fetched and shown.
_MARKS: Final = re.compile(r"[\\*_~`|<>\[\]@]|(?<=:)/|\A[#+-]")
_TOKENS: Final = re.compile(r"\\.|.", re.DOTALL)
# The letters that would end a link early.
_IN_LINK: Final = str.maketrans({letter: f"%{ord(letter):02X}" for letter in '()<>[]\\"` '})


def message(said: Short) -> dict[str, Any]:
    """The title stands outside the card, for it is all that a phone shows of it."""
    return {
        "content": fit(said.title, CONTENT_MOST),
        "embeds": [{"description": _description(said)}],
        "allowed_mentions": {"parse": []},
    }


def units(text: str) -> int:
    """Its length as Discord counts: what lies beyond the first plane counts twice."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def escaped(text: str) -> str:
    return _MARKS.sub(lambda mark: "\\" + mark[0], text)


def fit(text: str, most: int) -> str:
    """Escaped, and cut if need be, but never between a backslash and what it escapes."""
    whole = escaped(text[:most])
    if len(text) <= most and units(whole) <= most:
        return whole
    kept, room = [], most - 1
    for token in _TOKENS.findall(whole):
        room -= units(token)
        if room < 0:
            break
        kept.append(token)
    return "".join(kept) + "…"


def _description(said: Short) -> str:
    links = " · ".join(
        link
        for name, url in (("open", said.url), ("manage", said.manage_url))
        if (link := _link(said.words[name], url))
    )
    room = DESCRIPTION_MOST - units(links) - len("\n…\n\n")
    lines = _as_many(said.lines, room)
    return "\n\n".join(filter(None, ("\n".join(lines), links))) or "…"


def _as_many(lines: tuple[str, ...], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        text = fit(line, _LINE_MOST)
        room -= units(text) + 1
        if room < 0:
            return [*kept, "…"]
        kept.append(text)
    return kept


def _link(label: str, url: str | None) -> str:
    target = (url or "").translate(_IN_LINK)
    return f"[{escaped(label)}]({target})" if 0 < units(target) <= _LINK_MOST else ""
