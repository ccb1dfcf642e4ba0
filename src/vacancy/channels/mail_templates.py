"""The words of mails: one template for each kind and language, all compiled and tried out before the first is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import css_inline
from jinja2 import Environment, StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta

from vacancy.channels.words import LOCALES, WORDS, one_line
from vacancy.errors import SettingsError

ROOT: Final = Path(__file__).parent / "templates" / "mail"
# What a mailbox shows in one line; more would only push the sender out of sight.
LONGEST_SUBJECT: Final = 150
_PLACE: Final = "[[words]]"
_TAGS: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_FRAME: Final = frozenset({"locale", "subject", "words", "lit", "hasManage", "hasUnsubscribe"})
_LINKS: Final = frozenset({"manageUrl", "unsubscribeUrl"})


@dataclass(frozen=True, slots=True)
class Needs:
    """`given` has to come with every mail; each body has to say what is in `said`."""

    given: frozenset[str]
    said: frozenset[str]
    samples: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Words:
    subject: str
    text: str
    html: str


class MissingVariableError(Exception):
    """The message names the template and the variable, and no value."""


_SECTION: Final = {
    "courseTitle": "Data Structures", "courseString": "01:198:112", "sectionIndex": "12345", "sectionNumber": "03",
    "meetingSummary": "T H 14:10-15:30 BUS XYZ 101", "instructors": "DOE, JANE", "link": "https://example.test/12345",
}  # fmt: skip
_COURSE: Final = {name: value for name, value in _SECTION.items() if name not in ("instructors", "link")}
_SEAT: Final = {
    **_COURSE, "sections": [_SECTION], "seenAt": "7:00", "place": "New Brunswick", "what": "Data Structures",
    "sharedTitle": "", "isLast": False,
}  # fmt: skip
_OPENING: Final = {"title": "A table", "lines": ["20:30"], "link": "https://example.test/"}
_OPENINGS: Final = {"seenAt": "7:00", "sharedTitle": "", "isLast": False, "openings": [_OPENING]}
_ENDED: Final = {"title": "Data Structures", "reason": "The term is over."}
_TROUBLE: Final = {"what": "the open list", "since": "7:00", "detail": "no answer"}


def _needs(sample: Mapping[str, Any], *, said: Iterable[str], variants: Iterable[Mapping[str, Any]] = ()) -> Needs:
    samples = (sample, *({**sample, **variant} for variant in variants))
    return Needs(frozenset(sample), frozenset(said), samples)


_BARE: Final = dict.fromkeys(_SECTION, "") | {"sectionIndex": "12345"}
TEMPLATES: Final[Mapping[str, Needs]] = MappingProxyType({
    "open-seat": _needs(
        _SEAT, said={"sections", "seenAt", "isLast", *_LINKS},
        variants=[{"sections": [_SECTION, _BARE], "isLast": True, "courseTitle": ""}],
    ),
    "opening": _needs(
        _OPENINGS, said={"openings", "seenAt", "isLast", *_LINKS},
        variants=[{"openings": [_OPENING, {"title": "B", "lines": [], "link": ""}], "isLast": True}],
    ),
    "verification": _needs(
        {"verificationUrl": "https://example.test/v", "expirationMinutes": 1440, "contactValue": "a@example.test"},
        said={"verificationUrl", "expirationMinutes", "contactValue"},
    ),
    "ended": _needs(_ENDED, said={"title", "reason", *_LINKS}),
    "source_unreadable": _needs({"what": "the open list", "since": "7:00"}, said={"what", "since", *_LINKS}),
    "source_readable": _needs({"what": "the open list"}, said={"what", *_LINKS}),
    "trouble": _needs(_TROUBLE, said={"what", "since", "detail"}),
    "trouble_over": _needs(_TROUBLE, said={"what", "since", "detail"}),
    "test": _needs({"since": "7:00"}, said={"since"}),
})  # fmt: skip


class MailTemplates:
    """SettingsError, from the constructor alone, names the one file that is missing or wrong."""

    def __init__(self, root: Path | None = None) -> None:
        self._root = root or ROOT
        self._plain = _environment(autoescape=False)
        self._escaped = _environment(autoescape=True)
        self._inliner = css_inline.CSSInliner(keep_at_rules=True, load_remote_stylesheets=False)
        frames = {kind: self._read(f"frame.{kind}.j2") for kind in ("html", "txt")}
        self._made = {(name, locale): self._make(name, locale, frames) for name in TEMPLATES for locale in LOCALES}
        self._try_all()

    def render(self, name: str, locale: str, values: Mapping[str, Any]) -> Words:
        missing = sorted(each for each in TEMPLATES[name].given if values.get(each) is None)
        if missing:
            raise MissingVariableError(f"template {name} needs {missing[0]}")
        subject, text, html = self._made[name, locale]
        known = {"locale": locale, "words": WORDS[locale], **values}
        try:
            title = _shortened(one_line(subject.render(known)))
            known["subject"] = title
            return Words(title, text.render(known), html.render(known))
        except TemplateError as problem:
            raise MissingVariableError(f"template {name} in {locale}: {problem}") from problem

    def _make(self, name: str, locale: str, frames: Mapping[str, str]) -> tuple[Template, Template, Template]:
        subject = self._compiled(self._plain, f"{name}.{locale}.subject", name, body=False)
        text = self._compiled(self._plain, f"{name}.{locale}.txt", name, frame=frames["txt"])
        html = self._compiled(self._escaped, f"{name}.{locale}.html", name, frame=frames["html"], inline=True)
        return subject, text, html

    def _compiled(
        self, env: Environment, file: str, name: str, *, frame: str = _PLACE, inline: bool = False, body: bool = True
    ) -> Template:
        file += ".j2"
        source = frame.replace(_PLACE, self._read(file).rstrip("\n"))
        self._check_variables(env, source, file, name, body=body)
        # The style sheet goes into the template's own elements, so that no mail pays for it.
        return env.from_string(self._inlined(source, file) if inline else source)

    def _inlined(self, source: str, file: str) -> str:
        inlined = self._inliner.inline(source)
        if _TAGS.findall(inlined) != _TAGS.findall(source):
            raise self._wrong(file, "has a template tag where HTML has no room for text")
        return inlined

    def _check_variables(self, env: Environment, source: str, file: str, name: str, *, body: bool) -> None:
        needs = TEMPLATES[name]
        try:
            used = meta.find_undeclared_variables(env.parse(source))
        except TemplateSyntaxError as problem:
            raise self._wrong(file, f"line {problem.lineno}: {problem.message}") from problem
        if strange := sorted(used - needs.given - _LINKS - _FRAME):
            raise self._wrong(file, f"uses {strange[0]!r}, which no {name} mail has")
        if body and (unsaid := sorted(needs.said - used)):
            raise self._wrong(file, f"does not use {unsaid[0]!r}, which every {name} mail has to say")

    def _try_all(self) -> None:
        links = {"manageUrl": "https://m.test", "unsubscribeUrl": "https://u.test", "lit": True}
        for name, locale in self._made:
            for shown in (True, False):
                for sample in TEMPLATES[name].samples:
                    try:
                        self.render(name, locale, {**links, "hasManage": shown, "hasUnsubscribe": shown, **sample})
                    except MissingVariableError as problem:
                        raise SettingsError(f"mail templates in {self._root}: {problem}") from problem

    def _read(self, file: str) -> str:
        try:
            return (self._root / file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise self._wrong(file, "cannot be read; every template is there in every language") from problem

    def _wrong(self, file: str, problem: str) -> SettingsError:
        return SettingsError(f"mail template {self._root / file}: {problem}")


def _shortened(subject: str) -> str:
    return subject if len(subject) <= LONGEST_SUBJECT else subject[: LONGEST_SUBJECT - 1].rstrip() + "…"


def _environment(*, autoescape: bool) -> Environment:
    return Environment(
        autoescape=autoescape,  # noqa: S701 - subjects and texts are not HTML
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        keep_trailing_newline=True,
    )
