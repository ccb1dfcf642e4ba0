"""The newest events of a user, from a feed that only goes forwards: from a guess on, and further back if that was too
near."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vacancy.bot.backend import PAGE, Backend, Lost, Said
from vacancy.bot.feed import Unreadable
from vacancy.model.bot import Event, Page

_FIRST_SPAN: Final = 500
_WIDER: Final = 8
MOST_REQUESTS: Final = 40


@dataclass(frozen=True, slots=True)
class Newest:
    """Ascending. `is_all`: whether there is surely nothing newer, and nothing older that was asked for."""

    events: tuple[Event, ...]
    is_all: bool


@dataclass(slots=True)
class _Budget:
    requests: int = MOST_REQUESTS


@dataclass(frozen=True, slots=True)
class _Part:
    events: deque[Event]
    is_whole: bool


Trouble = Said | Lost | Unreadable


async def newest(
    backend: Backend, user_id: int, near: int, count: int, wanted: Callable[[Event], bool]
) -> Newest | Trouble:
    """`near` is a number close to the end, such as the chat's cursor."""
    budget, span, after, until = _Budget(), _FIRST_SPAN, near, 0
    found: deque[Event] = deque(maxlen=count)
    while True:
        part = await _between(backend, user_id, (after, until), budget, lambda: deque(maxlen=count), wanted)
        if not isinstance(part, _Part):
            return part
        if part.is_whole or not until:
            # With a gap between the two, the older part would be no more than a riddle.
            found = deque([*part.events, *found], maxlen=count)
        if not part.is_whole or len(found) == count or not after:
            return Newest(tuple(found), part.is_whole)
        until, after, span = after, max(0, near - span), span * _WIDER


async def _between(
    backend: Backend,
    user_id: int,
    bounds: tuple[int, int],
    budget: _Budget,
    room: Callable[[], deque[Event]],
    wanted: Callable[[Event], bool],
) -> _Part | Trouble:
    """The newest ones that were wanted after the first and up to the second; to the end of the feed if that is 0."""
    (after, until), found = bounds, room()
    while budget.requests > 0:
        budget.requests -= 1
        page = await backend.events(user_id, after, PAGE)
        if not isinstance(page, Page):
            return page
        found.extend(event for event in page.events if wanted(event) and (not until or event.event_id <= until))
        if not page.is_full or not page.events or 0 < until <= page.events[-1].event_id:
            return _Part(found, is_whole=True)
        after = page.events[-1].event_id
    return _Part(found, is_whole=False)
