"""`GET /api/events`: the ordered feed. Plain ASGI, since every poller of the feed pays for each layer."""

from __future__ import annotations

from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.terms import normal_topic
from vacancy.store.event_feed import LARGEST, Only
from vacancy.web.api.tail import EventFeed, Page
from vacancy.web.context import House
from vacancy.web.parameters import Reader, matching, one_of, read_query, whole
from vacancy.web.patience import Patience

DEFAULT_LIMIT: Final = 50
MOST: Final = 200
LONGEST_WAIT_S: Final = 30

read_cursor: Final = whole(0, LARGEST)
# A needle without a colon could be the `","` that stands between two members of the stored text.
_topic_shape: Final = matching(r"[^\s:]+:(?s:.{1,300})", "must be a topic such as soc:12025:NB:12345")


def _read_topic(text: str) -> str:
    return normal_topic(_topic_shape(text))


FILTERS: Final[dict[str, Reader]] = {
    "source": matching(r"[a-z][a-z0-9_:.-]{0,63}", "must be a source such as soc or json:NAME"),
    "topic": _read_topic,
    "status": one_of(OPEN, CLOSED),
}
_PARAMETERS: Final[dict[str, Reader]] = {
    "after_id": read_cursor,
    "limit": whole(1, MOST),
    "wait": whole(0, LONGEST_WAIT_S),
    **FILTERS,
}


class EventPages:
    def __init__(self, house: House, feed: EventFeed) -> None:
        self._house = house
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        values = read_query(scope, _PARAMETERS)
        cursor: int = values.get("after_id", 0)
        limit: int = values.get("limit", DEFAULT_LIMIT)
        only = filters(values)
        page = await self._feed.page(cursor, limit, only)
        wait: int = values.get("wait", 0)
        if wait and not page.events and scope["method"] == "GET":
            page = await self._next_page(receive, page.seen, limit, only, wait)
        await Response(_body(page, cursor), headers=_HEADERS, media_type="application/json")(scope, receive, send)

    async def _next_page(self, receive: Receive, seen: int, limit: int, only: Only, wait: int) -> Page:
        """The first page with anything on it, or an empty one when the time is over."""
        clock = self._house.clock
        deadline = clock.monotonic() + wait
        async with Patience(self._house, receive) as patience:
            while True:
                heard = self._feed.bell.rings
                page = await self._feed.page(seen, limit, only)
                left = deadline - clock.monotonic()
                if page.events or left <= 0 or patience.over:
                    return page
                # What was looked through already is not looked through again for a filter that nothing meets.
                seen = page.seen
                await patience.wait(self._feed.bell, heard, left)


def filters(values: dict[str, Any]) -> Only:
    return Only(**{name: values[name] for name in FILTERS if name in values})


_HEADERS: Final = {"Cache-Control": "no-store"}


def _body(page: Page, cursor: int) -> bytes:
    # An empty page gives the cursor back, however far the table was looked through: the next one asks the same.
    last = page.events[-1].id if page.events else cursor
    return b'{"items":[%b],"nextAfterId":%d}' % (b",".join([event.encoded for event in page.events]), last)
