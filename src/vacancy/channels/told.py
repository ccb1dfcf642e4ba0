"""An item that opened, in words: what every channel says of it, however much room it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from vacancy.channels.words import WORDS, campus, one_line, term, wall_moment
from vacancy.model.messages import Opening, OpenItem

SOC: Final = "soc"
RESY: Final = "resy"
JSON: Final = "json"
_TITLES: Final = ("title", "label", "name", "venueName", "venue_name")
_LINKS: Final = ("link", "bookUrl", "book_url", "url")
_MORE: Final = ("date", "time")


@dataclass(frozen=True, slots=True)
class Told:
    """`lines` are the facts, shortest first. `index` and what follows are a course section's alone."""

    title: str
    lines: tuple[str, ...]
    link: str | None
    index: str = ""
    section: str = ""
    people: str = ""
    place: str = ""

    def named(self, locale: str, *, without: str = "") -> str:
        """Enough to know it by: `Data Structures, section 03 (12345)`; `without` a title that was said already."""
        if not self.index:
            return self.title
        section = WORDS[locale]["section"].format(section=self.section) if self.section else ""
        title = "" if self.title == without else self.title
        name = (", " if locale == "en-US" else " ").join(filter(None, (title, section)))
        return f"{name} ({self.index})" if name else WORDS[locale]["a_section"].format(index=self.index)


def tell_all(opening: Opening, locale: str) -> tuple[Told, ...]:
    return tuple(tell(opening.source, item, locale) for item in opening.items)


def tell(source: str, item: OpenItem, locale: str) -> Told:
    if source == SOC:
        return _section(item, locale)
    return _table(item, locale) if source == RESY and item.payload.get("date") else _other(item)


def topic_title(topic: str, locale: str) -> str:
    """What somebody waits for, by its address alone: its source may have forgotten it by now."""
    source, _, rest = topic.partition(":")
    if source == RESY and rest.startswith("venue/"):
        return _venue_title(rest, locale)
    if source == JSON:
        name, _, item = rest.partition(":")
        return one_line(", ".join(filter(None, (item, name))) or topic)
    if source != SOC or rest.count(":") < 2:
        return one_line(rest or topic)
    term_id, campus_code, item = rest.split(":", 2)
    course = item.removeprefix("course/")
    what = course if course != item else WORDS[locale]["a_section"].format(index=item)
    return ", ".join((one_line(what), _where(term_id, campus_code, locale)))


def target_title(source: str, key: str, locale: str) -> str:
    """What is polled, as those who wait for something in it would call it."""
    term_id, bar, campus_code = key.partition("|")
    if source == SOC and bar:
        return _where(term_id, campus_code, locale)
    day, underscore, time = key.partition("_")
    if source == RESY and underscore:
        return WORDS[locale]["a_bucket"].format(when=wall_moment(day, time, locale))
    # An endpoint has one target, whose key says nothing.
    return one_line(source.partition(":")[2] or f"{source} {key}")


def _venue_title(rest: str, locale: str) -> str:
    venue, _, day = rest.removeprefix("venue/").partition("@")
    return ", ".join(filter(None, (WORDS[locale]["a_venue"].format(venue=one_line(venue)), one_line(day))))


def shared_title(told: Sequence[Told]) -> str:
    """What several sections of one course are called; nothing, where they differ."""
    titles = {one.title for one in told}
    return titles.pop() if len(titles) == 1 else ""


def web_link(payload: Mapping[str, Any]) -> str | None:
    """Only what a browser may open from a mail: a source's word is no reason to offer `javascript:`."""
    for name in _LINKS:
        link = payload.get(name)
        if isinstance(link, str) and link.isascii() and link.isprintable() and " " not in link:
            try:
                if urlsplit(link).scheme in ("http", "https"):
                    return link
            except ValueError:
                continue
    return None


def _section(item: OpenItem, locale: str) -> Told:
    payload = item.payload
    index = _text(payload, "index") or one_line(item.index_number or item.item_key)
    place = ", ".join(filter(None, (_campus(item), _term(item, locale))))
    course = " · ".join(filter(None, (_text(payload, "courseString"), place)))
    people = _people(payload.get("instructors"))
    lines = tuple(filter(None, (course, _text(payload, "meetingSummary"), people)))
    title, section = _text(payload, "courseTitle"), _text(payload, "sectionNumber")
    return Told(title, lines, web_link(payload), index, section, people, place)


def _table(item: OpenItem, locale: str) -> Told:
    payload, words = item.payload, WORDS[locale]
    when = wall_moment(_text(payload, "date"), _text(payload, "time"), locale)
    sizes = payload.get("partySizes")
    many = words["or"].join(map(one_line, sizes)) if isinstance(sizes, list | tuple) else ""
    people = words["for_people"].format(sizes=many) if many else ""
    lines = tuple(filter(None, (when, people, _text(payload, "neighborhood"))))
    return Told(_title_of(item), lines, web_link(payload))


def _title_of(item: OpenItem) -> str:
    return next(filter(None, (_text(item.payload, name) for name in _TITLES)), "") or one_line(item.item_key)


def _other(item: OpenItem) -> Told:
    """The words of a source that we know nothing of: `title`, `lines` and `link`, or what comes nearest."""
    payload = item.payload
    given = payload.get("lines")
    if isinstance(given, list | tuple):
        lines = tuple(filter(None, map(one_line, given)))
    else:
        lines = tuple(filter(None, (" ".join(filter(None, (_text(payload, name) for name in _MORE))),)))
    return Told(_title_of(item), lines, web_link(payload))


def _campus(item: OpenItem) -> str:
    return campus(item.campus_code or _text(item.payload, "campus"))


def _term(item: OpenItem, locale: str) -> str:
    return _term_words(item.term_id or _text(item.payload, "term"), locale)


def _where(term_id: str, campus_code: str, locale: str) -> str:
    return ", ".join(filter(None, (campus(campus_code), _term_words(term_id, locale))))


def _term_words(code: str, locale: str) -> str:
    try:
        return term(code, locale)
    except (KeyError, IndexError):
        return one_line(code)


def _people(names: object) -> str:
    if isinstance(names, list | tuple):
        return "; ".join(filter(None, map(one_line, names)))
    return one_line(names or "")


def _text(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return "" if value is None else one_line(value)
