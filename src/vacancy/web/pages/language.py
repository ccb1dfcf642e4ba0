"""In which of our languages somebody reads, as far as the browser tells."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from vacancy.channels.words import locale_of

_LONGEST: Final = 16


def reader_locale(request: Request) -> str:
    """Browsers name the language that is liked best first."""
    first = request.headers.get("accept-language", "").partition(",")[0].partition(";")[0]
    return locale_of(first[:_LONGEST])
