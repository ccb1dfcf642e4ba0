"""What Telegram refuses of a message: marks that it cannot read, too much text, buttons that lead nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import urlsplit

from vacancy.simulator.errors import SimulatorError

LONGEST: Final = 4096
LONGEST_DATA: Final = 64
_TAGS: Final = ("b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "code", "pre", "a", "tg-spoiler")


class Refusal(SimulatorError):  # noqa: N818 - Telegram's no, on its way to whoever asked
    def __init__(self, code: int, description: str, parameters: Mapping[str, int] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters or {}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as it is called
        if tag not in _TAGS:
            raise _unreadable(f'Unsupported start tag "{tag}" at byte offset {self.getpos()[1]}')
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            raise _unreadable(f"Unexpected end tag at byte offset {self.getpos()[1]}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def finish(self) -> str:
        self.close()
        if self._open:
            raise _unreadable(f'Can\'t find end tag corresponding to start tag "{self._open[-1]}"')
        return "".join(self.text)


def visible_text(given: Mapping[str, Any]) -> str:
    text = given.get("text", "")
    if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
        raise Refusal(400, "Bad Request: strings must be encoded in UTF-8")
    if given.get("parse_mode") == "HTML":
        reader = _Reader()
        reader.feed(text)
        text = reader.finish()
    elif "parse_mode" in given:
        raise Refusal(400, "Bad Request: unsupported parse_mode")
    if not text.strip():
        raise Refusal(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > LONGEST:
        raise Refusal(400, "Bad Request: message is too long")
    return text.strip()


def check_keyboard(given: Mapping[str, Any]) -> list[list[dict[str, str]]]:
    rows: list[list[dict[str, str]]] = given.get("reply_markup", {}).get("inline_keyboard", [])
    for button in (button for row in rows for button in row):
        if "url" in button:
            _check_url(button["url"])
        elif not 1 <= len(button["callback_data"].encode()) <= LONGEST_DATA:
            raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
    return rows


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https", "tg"):
        raise Refusal(400, f"Bad Request: inline keyboard button URL '{url}' is invalid: Unsupported URL protocol")
    if parts.scheme != "tg" and ("." not in host.strip(".") or host.startswith("127.")):
        raise Refusal(400, f"Bad Request: inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")


def _unreadable(what: str) -> Refusal:
    return Refusal(400, f"Bad Request: can't parse entities: {what}")
