"""Cuts a catalogue's 20 MB into pieces of whole courses, so that nobody holds the interpreter for long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

_PIECE: Final = 1 << 20
_TRIES: Final = 8
# The first key of the first course: what most courses begin with.
_OPENING: Final = re.compile(rb'\s*\[(?:\s*\{\s*"([^"\\]{1,64})"\s*:)?')
_decoder: Final = msgspec.json.Decoder(list[msgspec.Raw])


class NotJsonError(ValueError):
    pass


def pieces(body: bytes, size: int = _PIECE) -> Iterator[Sequence[msgspec.Raw]]:
    """The members of the root array, undecoded, in order.

    Where to cut is a guess that decoding proves: text that begins at a member and reads as whole values between
    brackets ends at a member too, wherever in the body the separator was found. A wrong guess fails and costs
    one more try; where no guess holds, the rest is one piece.
    """
    opening = _OPENING.match(body)
    end = len(body.rstrip()) - 1
    if opening is None or body[end : end + 1] != b"]":
        raise NotJsonError("the body is not a JSON array, or it breaks off")
    separator = re.compile(rb',(?=\s*\{\s*"' + re.escape(opening[1]) + rb'"\s*:)') if opening[1] else None
    at = body.index(b"[") + 1
    while at < end:
        members, at = _piece(body, at, end, separator, size)
        yield members


def _piece(
    body: bytes, at: int, end: int, separator: re.Pattern[bytes] | None, size: int
) -> tuple[Sequence[msgspec.Raw], int]:
    guess = at + size
    for _ in range(_TRIES):
        cut = separator.search(body, guess, end) if separator else None
        if cut is None:
            break
        try:
            return _members(body, at, cut.start()), cut.end()
        except (msgspec.DecodeError, RecursionError):
            guess = cut.end()
    try:
        return _members(body, at, end), end
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotJsonError(f"the body is not JSON: {error}") from error


def _members(body: bytes, at: int, cut: int) -> Sequence[msgspec.Raw]:
    return _decoder.decode(b"[" + body[at:cut] + b"]")
