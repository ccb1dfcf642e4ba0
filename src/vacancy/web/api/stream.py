"""`GET /api/events/stream`: the same feed as server-sent events.

A stream holds a cursor and nothing else. It pulls from the table what its client is ready to take, so a slow client
costs one page of memory, and one that comes back with its last id misses nothing.
"""

from __future__ import annotations

from typing import Final

from starlette.types import Receive, Scope, Send

from vacancy.errors import UserError
from vacancy.model.availability import OPEN
from vacancy.store.event_feed import FeedEvent, Only
from vacancy.web.api.events import FILTERS, filters, read_cursor
from vacancy.web.api.tail import EventFeed
from vacancy.web.context import House
from vacancy.web.parameters import read_query
from vacancy.web.patience import Patience

_PAGE: Final = 100
_HEARTBEAT_S: Final = 15.0
_RETRY_MS: Final = 3000
_PARAMETERS: Final = {"after_id": read_cursor, **FILTERS}
_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # nginx would hold events back until its buffer is full.
    (b"x-accel-buffering", b"no"),
)


class EventStream:
    def __init__(self, house: House, feed: EventFeed) -> None:
        self._house = house
        self._feed = feed
        self._most = house.settings.web.max_streams
        self._open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        values = read_query(scope, _PARAMETERS)
        cursor = _last_event_id(scope)
        if cursor is None:
            cursor = values.get("after_id")
        if cursor is None:
            cursor = (await self._feed.tail()).newest
        # An expired cursor must be told before the answer begins; afterwards there is no status any more.
        await self._feed.page(cursor, 1)
        if self._open >= self._most:
            raise UserError("too_many_streams", "All streams are taken; come back in a few seconds.")
        self._count(+1)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
            if scope["method"] == "GET":
                await self._pump(receive, send, cursor, filters(values))
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._count(-1)

    async def _pump(self, receive: Receive, send: Send, cursor: int, only: Only) -> None:
        # An id without data: a client that loses us before the first event comes back to this place.
        await _say(send, b"retry: %d\nid: %d\n\n" % (_RETRY_MS, cursor))
        told, beat_at = cursor, self._next_beat()
        async with Patience(self._house, receive) as patience:
            while not patience.over:
                heard = self._feed.bell.rings
                page = await self._feed.page(cursor, _PAGE, only)
                cursor = page.seen
                if page.events:
                    await _say(send, b"".join([_block(event) for event in page.events]))
                    told, beat_at = page.events[-1].id, self._next_beat()
                if len(page.events) == _PAGE:
                    continue
                left = beat_at - self._house.clock.monotonic()
                if left <= 0:
                    # The id moves on even where the filter lets nothing through, or it would expire some day.
                    await _say(send, b": still here\n\n" if told == cursor else b": still here\nid: %d\n\n" % cursor)
                    told, beat_at = cursor, self._next_beat()
                else:
                    await patience.wait(self._feed.bell, heard, left)

    def _next_beat(self) -> float:
        return self._house.clock.monotonic() + _HEARTBEAT_S

    def _count(self, change: int) -> None:
        self._open += change
        self._house.metrics.streaming(self._open)


async def _say(send: Send, text: bytes) -> None:
    await send({"type": "http.response.body", "body": text, "more_body": True})


def _block(event: FeedEvent) -> bytes:
    kind = b"opening" if event.status == OPEN else b"closing"
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (event.id, kind, event.encoded)


def _last_event_id(scope: Scope) -> int | None:
    """The header of a browser that comes back; it wins over the address, which still names where it once began."""
    for name, value in scope["headers"]:
        if name == b"last-event-id" and value:
            try:
                return int(read_cursor(value.decode("latin-1")))
            except ValueError as problem:
                line = f"Last-Event-ID: {problem}"
                raise UserError("validation_failed", line, [line]) from problem
    return None
