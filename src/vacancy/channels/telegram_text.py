"""A message as Telegram takes it: escaped, within its limits, with its buttons."""

from __future__ import annotations

import html
import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from vacancy.channels.short import Short, short
from vacancy.model.messages import Kind, Parcel
from vacancy.settings_sections import is_loopback_host

LONGEST: Final = 4096  # in units of UTF-16, which is how Telegram counts
GOT_IT: Final = "g"
SNOOZE: Final = "z"
STOP: Final = "s"
CONFIRM: Final = "v"
_LONGEST_TITLE: Final = 512
_LONGEST_TAIL: Final = 1024
_LONGEST_LINK: Final = 2048

Escape = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Draft:
    """`links` are addresses under a word, `presses` answers under a word; each inner tuple is a row of buttons."""

    title: str
    lines: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    presses: tuple[tuple[tuple[str, str], ...], ...]

    def formatted(self) -> dict[str, Any]:
        """An address that only this machine understands is told in the text: Telegram refuses it on a button."""
        shown = [link for link in self.links if is_for_button(link[1])]
        told = [link for link in self.links if link not in shown]
        text = _laid_out(self.title, self.lines, told, _escaped, ("<b>", "</b>"))
        return {"text": text, "parse_mode": "HTML", **_extras(_keyboard(shown, self.presses))}

    def plain(self) -> dict[str, Any]:
        """For when Telegram would not read the other: no marks, and no address that it could find fault with."""
        text = _laid_out(self.title, self.lines, self.links, str, ("", ""))
        return {"text": text, **_extras(_keyboard((), self.presses))}


def drafted(parcel: Parcel) -> Draft:
    said = short(parcel)
    return Draft(said.title, said.lines, _links(said), _presses(parcel, said.words))


def _links(said: Short) -> tuple[tuple[str, str], ...]:
    named = ((said.words["open"], said.url or ""), (said.words["manage"], said.manage_url))
    return tuple((word, url) for word, url in named if url and len(url) <= _LONGEST_LINK)


def _presses(parcel: Parcel, words: Mapping[str, str]) -> tuple[tuple[tuple[str, str], ...], ...]:
    number = parcel.person.subscription_id
    if parcel.kind is Kind.VERIFICATION:
        return (((words["open"], f"{CONFIRM}:{number}"),),)
    if parcel.kind is not Kind.ALERT:
        return ()
    return (
        ((words["got_it"], f"{GOT_IT}:{number}"), (words["snooze_1h"], f"{SNOOZE}:{number}")),
        ((words["stop"], f"{STOP}:{number}"),),
    )


def is_for_button(url: str) -> bool:
    """A name without a dot, or this machine, is `Wrong HTTP URL` to Telegram, and the whole message is refused."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or is_loopback_host(host):
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host.strip(".")


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2


def cut(text: str, room: int, escape: Escape = str) -> str:
    """As much as fits once it is escaped, its loss told by an ellipsis; what one character became stays whole."""
    whole = escape(text)
    if units(whole) <= room:
        return whole
    kept, left = [], room - 1
    for character in text:
        piece = escape(character)
        left -= units(piece)
        if left < 0:
            break
        kept.append(piece)
    return "".join(kept).rstrip() + "…" if room > 0 else ""


def _laid_out(
    title: str, lines: Sequence[str], links: Sequence[tuple[str, str]], escape: Escape, marks: tuple[str, str]
) -> str:
    head = marks[0] + cut(title, _LONGEST_TITLE, escape) + marks[1]
    tail = _told(links, escape)
    body = cut("\n".join(lines), LONGEST - units(head) - units(tail) - 2, escape)
    return "\n".join(filter(None, (head, body, tail)))


def _told(links: Sequence[tuple[str, str]], escape: Escape) -> str:
    """Whole or not at all: half an address leads nowhere."""
    told, room = [], _LONGEST_TAIL
    for word, url in links:
        line = escape(f"{word}: {url}")
        room -= units(line) + 1
        if room >= 0:
            told.append(line)
    return "\n".join(told)


def _keyboard(
    links: Sequence[tuple[str, str]], presses: Sequence[Sequence[tuple[str, str]]]
) -> list[list[dict[str, str]]]:
    rows = [[{"text": word, "url": url}] for word, url in links]
    answers = [[{"text": word, "callback_data": data} for word, data in row] for row in presses]
    # The registration comes first, the answers next, and what is seldom needed last.
    return [*rows[:1], *answers, *rows[1:]]


def _extras(keyboard: list[list[dict[str, str]]]) -> dict[str, Any]:
    extras: dict[str, Any] = {"link_preview_options": {"is_disabled": True}}
    return extras | {"reply_markup": {"inline_keyboard": keyboard}} if keyboard else extras


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
