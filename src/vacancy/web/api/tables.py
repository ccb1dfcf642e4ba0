"""`GET /api/just-opened`, `/api/still-open`, `/api/open-counts`: tables that are free now. Plain ASGI."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vacancy.web.api.open_tables import OpenTables, Question, View
from vacancy.web.api.slot_days import Asked
from vacancy.web.parameters import Reader, matching, read_query, several, whole

DEFAULT_MINUTES: Final = 10
MOST_MINUTES: Final = 1440
MOST_PEOPLE: Final = 100
TIME_SLOT: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
VENUE: Final = r"[0-9A-Za-z_.~-]{1,200}"

_date_shape: Final = matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "must be a day such as 2026-02-28")


def _read_date(text: str) -> str:
    day = _date_shape(text)
    try:
        date.fromisoformat(day)
    except ValueError:
        raise ValueError(f"there is no day {day}") from None
    return str(day)


def _read_neighborhood(text: str) -> str:
    if not 1 <= len(text) <= 200:
        raise ValueError("must be a name of 1 to 200 characters")
    return text.casefold()


FILTERS: Final[Mapping[str, Reader]] = {
    "date": _read_date,
    "time_slot": matching(TIME_SLOT, "must be a time of day such as 20:30"),
    "party_size": whole(1, MOST_PEOPLE),
    "venue": matching(VENUE, "must be a venue's id"),
    "neighborhood": _read_neighborhood,
}
_MINUTES: Final[Mapping[str, Reader]] = {"minutes": whole(1, MOST_MINUTES)}


class TablePages:
    def __init__(self, tables: OpenTables, view: View) -> None:
        self._tables = tables
        self._view = view
        known = {name: several(read) for name, read in FILTERS.items()}
        # What is open has no window.
        self._known = known if view is View.STILL_OPEN else {**known, **_MINUTES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        values = read_query(scope, self._known, repeatable=FILTERS)
        rendered = await self._tables.answer(
            Question(self._view, asked(values), values.get("minutes", DEFAULT_MINUTES))
        )
        headers = {"ETag": rendered.etag, "Cache-Control": "no-cache"}
        if _has_it(scope, rendered.etag):
            response = Response(status_code=304, headers=headers)
        else:
            response = Response(rendered.body, headers=headers, media_type="application/json")
        await response(scope, receive, send)


def asked(values: Mapping[str, Any]) -> Asked:
    return Asked(*(frozenset(values.get(name, ())) for name in FILTERS))


def _has_it(scope: Scope, etag: str) -> bool:
    given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match"]
    known = [tag.strip().removeprefix("W/") for tag in ",".join(given).split(",")]
    return etag in known or "*" in known
