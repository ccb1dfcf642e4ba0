"""A message in a few plain lines, for channels with little room: chats and browsers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from vacancy.channels.told import SOC, Told, shared_title, tell_all, web_link
from vacancy.channels.words import WORDS, fact_moment, locale_of, moment, one_line, reason
from vacancy.model.messages import Kind, Notice, Opening, Parcel

VERIFICATION_HOURS: Final = 24
NOTICES: Final = ("ended", "source_unreadable", "source_readable", "trouble", "trouble_over", "test")
_BUTTONS: Final = ("open", "manage", "got_it", "snooze_1h", "stop", "unsubscribe")


@dataclass(frozen=True, slots=True)
class Short:
    """Plain text: whoever sends it escapes it in his own way. No text has a line end in it."""

    title: str
    lines: tuple[str, ...]
    url: str | None  # where to act: to register, to book, to confirm
    manage_url: str
    words: Mapping[str, str]  # for buttons: open, manage, got_it, snooze_1h, stop, unsubscribe


def short(parcel: Parcel) -> Short:
    locale = locale_of(parcel.person.locale)
    words = WORDS[locale]
    if parcel.kind is Kind.VERIFICATION:
        title, lines, url = words["verification"], _verification(words), parcel.person.verify_url or None
    elif parcel.opening is not None:
        title, lines, url = _opening(parcel.opening, locale)
        lines = (*lines, words["last"]) if parcel.is_last else lines
    elif parcel.notice is not None:
        title, lines = _notice(parcel.notice, locale)
        url = web_link(parcel.notice.facts)
    else:
        raise ValueError(f"a parcel of kind {parcel.kind} with neither an opening nor a notice")
    return Short(title, lines, url, parcel.person.manage_url, _buttons(parcel, locale))


def _verification(words: Mapping[str, str]) -> tuple[str, ...]:
    return words["verification_line"], words["verification_good_for"].format(hours=VERIFICATION_HOURS)


def _opening(opening: Opening, locale: str) -> tuple[str, tuple[str, ...], str | None]:
    words, told = WORDS[locale], tell_all(opening, locale)
    when = moment(opening.event_at, opening.time_zone, locale)
    url = next((one.link for one in told if one.link), None)
    if len(told) == 1:
        return headline(told, locale), (*told[0].lines, words["seen"].format(when=when)), url
    shared = shared_title(told)
    lines = [" · ".join((one.named(locale, without=shared), *one.lines)) for one in told]
    return headline(told, locale), (*lines, words["seen_some"].format(when=when)), url


def headline(told: tuple[Told, ...], locale: str) -> str:
    """`Open: Data Structures, section 03 (12345)`; for several what they share, if they share anything."""
    words = WORDS[locale]
    if len(told) == 1:
        return words["one_open"].format(what=told[0].named(locale))
    shared = shared_title(told)
    return words["some_open" if shared else "some_open_mixed"].format(count=len(told), what=shared)


def _notice(notice: Notice, locale: str) -> tuple[str, tuple[str, ...]]:
    words, facts = WORDS[locale], notice.facts
    names = ("title", "what") if notice.code == "ended" else ("what", "title")
    what = one_line(next(filter(None, map(facts.get, names)), notice.code))
    if notice.code not in NOTICES:  # a word that was added later than this module
        return what, tuple(filter(None, (one_line(facts.get("detail") or ""),)))
    since = facts.get("since")
    when = fact_moment(since, str(facts.get("time_zone") or "UTC"), locale) if since else ""
    lines = _notice_lines(notice, locale, when)
    return words[notice.code].format(what=what, title=what), tuple(filter(None, lines))


def _notice_lines(notice: Notice, locale: str, when: str) -> tuple[str, ...]:
    words, detail = WORDS[locale], one_line(notice.facts.get("detail") or "")
    if notice.code == "ended":
        return reason(str(notice.facts.get("reason") or ""), locale), words["ended_line"]
    if notice.code == "source_unreadable":
        return words["source_unreadable_since"].format(since=when) if when else "", words["source_unreadable_line"]
    if notice.code == "test":
        return words["test_line"], words["test_sent"].format(when=when) if when else ""
    if notice.code == "source_readable":
        return (words["source_readable_line"],)
    since = words["since" if notice.code == "trouble" else "began"].format(since=when) if when else ""
    return detail, since


def _buttons(parcel: Parcel, locale: str) -> Mapping[str, str]:
    words = WORDS[locale]
    kind = ""
    if parcel.kind is Kind.VERIFICATION:
        kind = "_verification"
    elif parcel.opening is not None and parcel.opening.source != SOC:
        kind = "_other"
    return MappingProxyType({name: words[name + kind] if name == "open" else words[name] for name in _BUTTONS})
