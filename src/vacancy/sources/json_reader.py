"""A JSON answer, item by item: what each is called, whether it is open and why. One that is odd refuses the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import msgspec

from vacancy.model.availability import Failed, Trouble
from vacancy.sources.json_paths import MISSING, PathError, Steps, shown_path, walk
from vacancy.sources.json_plan import Plan
from vacancy.sources.json_rules import UndecidedError, Verdict, decide

MOST_ITEMS: Final = 20_000
LONGEST_KEY: Final = 200
_LONGEST_WORDS: Final = 300
_LONGEST_LINK: Final = 2000
_LARGEST_WHOLE: Final = 2**53
_LISTED: Final = Verdict(is_open=True)


class _OddError(ValueError):
    """Says what is wrong with one item."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One item as the answer shows it."""

    key: str
    verdict: Verdict
    content: Any
    label: str | None = None
    link: str | None = None
    group: str | None = None

    @property
    def is_open(self) -> bool:
        return self.verdict.is_open

    def payload(self) -> Mapping[str, Any]:
        """As channels tell it."""
        return {"title": self.label or self.key, "lines": [self.group] if self.group else [], "link": self.link}


def read(plan: Plan, body: bytes) -> Sequence[Entry] | Failed:
    try:
        content = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _refused(f"the answer cannot be read as JSON: {error}")
    try:
        found = plan.items.of(content, MOST_ITEMS + 1)
    except PathError as error:
        return _refused(f"the answer cannot be searched for {plan.items.text}: {error}")
    if len(found) > MOST_ITEMS:
        return _refused(f"the answer has more than {MOST_ITEMS} items")
    entries: dict[str, Entry] = {}
    for number, item in enumerate(found, 1):
        try:
            entry = _read_item(plan, item)
            _refuse_contradiction(entries.setdefault(entry.key, entry), entry)
        except _OddError as odd:
            return _refused(f"item {number} of {len(found)}: {odd}")
    return list(entries.values())


def _refused(why: str) -> Failed:
    return Failed(Trouble.UNREADABLE, why)


def _read_item(plan: Plan, item: Any) -> Entry:
    if isinstance(item, list) and plan.items.is_of_one:
        raise _OddError(f"it is a list; items = '{plan.items.text}[*]' takes its members")
    key = _key(plan, item)
    try:
        verdict = decide(plan.rule, item) if plan.rule else _LISTED
    except UndecidedError as undecided:
        raise _OddError(f"{key!r}: {undecided}") from None
    label, group = _words(item, plan.label, _LONGEST_WORDS), _words(item, plan.group, LONGEST_KEY)
    return Entry(key, verdict, item, label, _link(plan, item), group)


def _refuse_contradiction(before: Entry, entry: Entry) -> None:
    if before.is_open != entry.is_open:
        raise _OddError(f"{entry.key!r} was listed before, in another state")


def _key(plan: Plan, item: Any) -> str:
    value, path = walk(item, plan.key), shown_path(plan.key, str.isidentifier)
    if value is MISSING:
        raise _OddError(f"its key is not there: it has no {path}")
    text = _text(value)
    if text is None:
        raise _OddError(f"its key {path} is neither text nor a number")
    key = text.strip()
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise _OddError(f"its key {path} must be 1 to {LONGEST_KEY} characters that can be shown, not {key[:20]!r}")
    return key


def _text(value: object) -> str | None:
    """12 and 12.0 are one number, and one key."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        value = int(value)
    return str(value)


def _words(item: Any, path: Steps | None, longest: int) -> str | None:
    """What only adorns is taken where it can be."""
    text = None if path is None else _text(walk(item, path))
    if not text:
        return None
    if not text.isprintable():
        text = "".join(mark if mark.isprintable() else " " for mark in text)
    return " ".join(text.split())[:longest].rstrip() or None


def _link(plan: Plan, item: Any) -> str | None:
    """Where a browser may be sent; one without a host is of the endpoint's own."""
    text = None if plan.link is None else walk(item, plan.link)
    if not isinstance(text, str) or not text.strip():
        return None
    link = text.strip()
    try:
        parts = urlsplit(link)
        if not parts.scheme:
            link = urljoin(plan.url, link)
            parts = urlsplit(link)
    except ValueError:
        return None
    is_fit = link.isascii() and link.isprintable() and " " not in link and len(link) <= _LONGEST_LINK
    return link if is_fit and parts.scheme in ("http", "https") and parts.hostname else None
