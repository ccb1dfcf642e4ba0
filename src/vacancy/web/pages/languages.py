"""The language that a browser asks for, of those that a page speaks."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from vacancy.channels.words import DEFAULT_LOCALE, LOCALES, locale_of

_SPOKEN: Final = frozenset(locale.partition("-")[0] for locale in LOCALES)
_MOST: Final = 20


def language(request: Request) -> str:
    """The first that is spoken here, the most wanted first; a browser that says nothing is read to in English."""
    wanted = [_ranked(part) for part in request.headers.get("accept-language", "").split(",")[:_MOST]]
    for _, tag in sorted(wanted, key=lambda each: -each[0]):
        if tag.partition("-")[0].lower() in _SPOKEN:
            return locale_of(tag)
    return DEFAULT_LOCALE


def _ranked(part: str) -> tuple[float, str]:
    tag, _, weight = part.partition(";")
    try:
        return float(weight.strip().removeprefix("q=") or 1), tag.strip()
    except ValueError:
        return 0.0, tag.strip()
