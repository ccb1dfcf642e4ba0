"""What a backend answered, in words for a chat. Pure; what it says itself is cut, and never laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from vacancy.bot.backend import Answer, Lost, Said
from vacancy.bot.render import clip, status_of
from vacancy.bot.words import has, say

_LONGEST_DETAIL: Final = 300
# With a 409 and a 422 the backend itself says best what is wrong.
_TOLD: Final = (409, 422)
_PARTS: Final = ("message", "reason", "hint")


def explain(answer: Answer, locale: str, number: int | None = None) -> str:
    """Of an answer that is not the wanted one."""
    if isinstance(answer, Lost):
        if answer.begun and number is not None:
            return say(locale, "unsure", number=number)
        return say(locale, "unreachable")
    if answer.is_good:
        return say(locale, "garbled")
    said = _by_status(answer.status, locale, number)
    detail = _detail(answer.body) if answer.status in _TOLD else ""
    lines = [say(locale, "with_detail", message=said, detail=detail) if detail else said]
    status = status_of(_fields(_member(answer.body, "detail")).get("current_status"), locale)
    if status and number is not None:
        lines.append(say(locale, "now_status", number=number, status=status))
    return "\n".join(lines)


def reading(answer: Answer) -> Answer:
    """A question that changes nothing can simply be asked again: what became of it is no riddle."""
    return Lost(answer.kind, answer.why, begun=False) if isinstance(answer, Lost) else answer


def mapping(answer: Answer) -> Mapping[str, Any] | None:
    """The object that was asked for; None if something else came."""
    if isinstance(answer, Said) and answer.is_good and isinstance(answer.body, dict):
        return answer.body
    return None


def sequence(answer: Answer) -> Sequence[Mapping[str, Any]] | None:
    """The list that was asked for, bare or as `items`."""
    if not isinstance(answer, Said) or not answer.is_good:
        return None
    members = answer.body if isinstance(answer.body, list) else _member(answer.body, "items")
    return [each for each in members if isinstance(each, dict)] if isinstance(members, list) else None


def _by_status(status: int, locale: str, number: int | None) -> str:
    if status >= 500:
        return say(locale, "error_5xx", status=status)
    if status == 404 and number is None:
        return say(locale, "error_404_plain")
    name = f"error_{status}"
    return say(locale, name, number=number) if has(locale, name) else say(locale, "error_other", status=status)


def _detail(body: object) -> str:
    """ADR-003's object, a plain sentence, or the list that a framework makes of what it could not read."""
    detail = _member(body, "detail")
    if isinstance(detail, str):
        return clip(detail, _LONGEST_DETAIL)
    if isinstance(detail, list):
        parts = [_member(each, "msg") for each in detail[:3]]
    else:
        parts = [_member(detail, part) for part in _PARTS]
    return clip(" — ".join(part for part in parts if isinstance(part, str) and part.strip()), _LONGEST_DETAIL)


def _member(holder: object, name: str) -> object:
    return holder.get(name) if isinstance(holder, dict) else None


def _fields(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
