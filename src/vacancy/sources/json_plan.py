"""One JSON endpoint as the settings want it asked and read: paths and the rule compiled, headers put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from vacancy.errors import SettingsError
from vacancy.settings_json import JsonSettings, header_of
from vacancy.sources.json_paths import Items, PathError, Steps, read_member
from vacancy.sources.json_rules import Rule, RuleError, parse, shown

# What an answer is read into; a change of it is a changed question.
_NORMALISER: Final = 1
_LARGEST_FILE: Final = 65_536
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """`rule` is None where whatever is listed is open."""

    name: str
    url: str
    headers: Mapping[str, str]
    items: Items
    key: Steps
    label: Steps | None
    link: Steps | None
    group: Steps | None
    rule: Rule | None
    empty_is_valid: bool
    timeout_s: float

    @property
    def secrets(self) -> tuple[str, ...]:
        """What is not repeated if the endpoint does. A query may hold a key, too."""
        return tuple(filter(None, (*self.headers.values(), urlsplit(self.url).query)))

    def question(self) -> str:
        """A hash of all that shapes the answer. Of headers the names alone: values are secrets, and are renewed."""
        asked = (
            _NORMALISER, self.url, sorted(name.lower() for name in self.headers), self.items.text,
            self.key, self.label, self.link, self.group, self.rule and shown(self.rule),
        )  # fmt: skip
        return sha1(msgspec.json.encode(asked), usedforsecurity=False).hexdigest()


def make_plan(settings: JsonSettings) -> Plan:
    """SettingsError with a line for each thing that is wrong."""
    problems: list[str] = []

    def read(name: str, reader: Callable[[str], T], text: str | None) -> T | None:
        try:
            return None if text is None else reader(text)
        except (PathError, RuleError) as wrong:
            problems.append(f"[[json]] {settings.name}: {name}: {wrong}")
            return None

    items, key = read("items", Items, settings.items), read("key", read_member, settings.key)
    label, link = read("label", read_member, settings.label), read("link", read_member, settings.link)
    group, rule = read("group", read_member, settings.group), read("open_when", parse, settings.open_when)
    given = {name: value.get_secret_value() for name, value in settings.headers.items()}
    given |= _headers_in(settings, given, problems)
    # In one spelling, so that an `accept` takes the place of our own.
    headers = {name.title(): value for name, value in given.items()}
    if problems or items is None or key is None:
        raise SettingsError("\n".join(problems))
    return Plan(
        settings.name, settings.url, headers, items, key, label, link, group, rule, settings.empty_is_valid,
        settings.fetch_timeout_s,
    )  # fmt: skip


def _headers_in(settings: JsonSettings, given: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """What is wrong is told by its line: what stands there may be a secret."""
    taken: dict[str, str] = {}
    if settings.headers_file is None:
        return taken
    where = f"[[json]] {settings.name}: headers_file: {settings.headers_file}"
    try:
        with settings.headers_file.open("rb") as file:
            lines = file.read(_LARGEST_FILE).decode().splitlines()
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else "it is not text"
        problems.append(f"{where} cannot be read ({reason})")
        return taken
    names = {name.lower() for name in given}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        try:
            if not colon:
                raise ValueError("must be written `Name: value`")
            taken[name] = header_of(name, value)
        except ValueError as wrong:
            problems.append(f"{where}, line {number}: {wrong}")
        if name.lower() in names:
            problems.append(f"{where}, line {number}: names a header that is set already")
        names.add(name.lower())
    return taken
