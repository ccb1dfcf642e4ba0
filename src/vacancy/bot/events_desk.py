"""`/events`: the newest events, of all types or of one."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from vacancy.bot.answers import explain
from vacancy.bot.backend import Backend
from vacancy.bot.feed import Unreadable
from vacancy.bot.newest import Newest, newest
from vacancy.bot.render import line_of
from vacancy.bot.words import say
from vacancy.channels.telegram_text import LONGEST, units
from vacancy.model.bot import Event, Seat

MOST: Final = 50
_USUAL: Final = 10
_ROOM: Final = LONGEST - 200  # for the first line and the last
TYPES: Final = MappingProxyType({
    "report_submitted": "REPORT_SUBMITTED", "report": "REPORT_SUBMITTED", "submitted": "REPORT_SUBMITTED",
    "approved": "APPROVED", "approve": "APPROVED",
    "rejected": "REJECTED", "reject": "REJECTED",
    "archived": "ARCHIVED",
    "all": "", "*": "",
})  # fmt: skip
_SHOWN: Final = ("all", "report", "approved", "rejected", "archived")


@dataclass(frozen=True, slots=True)
class _Wish:
    event_type: str
    count: int

    def wants(self, event: Event) -> bool:
        return not self.event_type or event.event_type.upper() == self.event_type


class EventsDesk:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def reply(self, seat: Seat, text: str, locale: str) -> str:
        wish = _read(text)
        if wish is None:
            return say(locale, "events_how", types=", ".join(_SHOWN), most=MOST)
        found = await newest(self._backend, seat.user_id, seat.cursor, wish.count, wish.wants)
        if isinstance(found, Unreadable):
            return say(locale, "garbled")
        if not isinstance(found, Newest):
            return explain(found, locale)
        return _laid_out(found, locale)


def _read(text: str) -> _Wish | None:
    """`approved 20`, `20`, `approved` or nothing; None for what is none of these, for a slip must not mean "all"."""
    kind, count = "", _USUAL
    words = text.lower().split()
    if words and not words[0].isdecimal():
        first = words.pop(0)
        if first not in TYPES:
            return None
        kind = TYPES[first]
    if words:
        last = words.pop(0)
        if words or not (last.isascii() and last.isdecimal()):
            return None
        count = min(max(int(last[:9]), 1), MOST)
    return _Wish(kind, count)


def _laid_out(found: Newest, locale: str) -> str:
    """Oldest first, as in a chat; what does not fit is the oldest."""
    if not found.events:
        return say(locale, "events_none" if found.is_all else "events_far")
    lines: list[str] = []
    room = _ROOM
    for event in reversed(found.events):
        line = line_of(event, locale)
        room -= units(line) + 1
        if room < 0:
            break
        lines.insert(0, line)
    cut = len(found.events) - len(lines)
    notes = [say(locale, "events_cut", count=cut)] if cut else []
    if not found.is_all:
        notes.append(say(locale, "events_far"))
    return "\n".join((say(locale, "events"), *notes, *lines))
