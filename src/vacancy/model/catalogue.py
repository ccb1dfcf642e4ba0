"""What a catalogue says of courses and sections, and what changed when a new one was taken in."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from vacancy.model.availability import Failed, Unchanged

Payload = Mapping[str, Any]
# JSON that is only passed on: a catalogue in small objects takes three times the memory, and leaves it in tatters.
Encoded = msgspec.Raw
DAY_BITS: Final = {"M": 1, "T": 2, "W": 4, "H": 8, "F": 16, "S": 32, "U": 64}
_DAY: Final = re.compile(r"TH|[MTWHFSU]")
_WORD: Final = re.compile(r"[^\W_]+")


def words(text: str) -> list[str]:
    """What search compares, of a document and of a query: plain words without case, accents or punctuation.

    Done here for both databases, whose own ideas of what a word is differ.
    """
    bare = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return _WORD.findall(bare.casefold())


def day_mask(text: str) -> int:
    """`MTWTHF`, `T,H` and `H` alike: the longest token first, so that TH is Thursday and not Tuesday and a stray H."""
    mask = 0
    for part in re.split(r"[\s,]+", text.upper()):
        at = 0
        while at < len(part):
            token = _DAY.match(part, at)
            if token is None:
                raise ValueError(f"{text[:32]!r} has no day at {part[at]!r}; days are M T W TH (or H) F S U")
            mask |= DAY_BITS["H" if token[0] == "TH" else token[0]]
            at = token.end()
    return mask


def day_letters(mask: int) -> tuple[str, ...]:
    return tuple(letter for letter, bit in DAY_BITS.items() if mask & bit)


@dataclass(frozen=True, slots=True)
class Section:
    index: str
    section_number: str
    instructors: str
    meeting_summary: str
    meetings: Encoded
    day_mask: int
    start_minutes: int | None
    end_minutes: int | None
    places: str  # location codes of the meetings on site, each between bars: |1||2|
    delivery: str
    exam_code: str | None
    is_open: bool
    payload: Encoded
    content_hash: str  # of all the above but is_open, which changes by itself


@dataclass(frozen=True, slots=True)
class Course:
    course_string: str
    variant: str  # tells courses of one course string apart, whatever their order
    subject_code: str
    subject_name: str
    course_number: str
    title: str
    level: str
    credits: str
    credits_min: int | None
    credits_max: int | None
    core_codes: tuple[str, ...]
    locations: tuple[str, ...]
    has_prerequisite: bool
    search_text: str
    payload: Encoded
    content_hash: str  # of the bytes it was read from
    facts_hash: str  # of what they mean, sections aside
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What the store holds, so that a reader can pass over what it has read before."""

    body_hash: str | None
    rules: int | None
    hashes: frozenset[str]


@dataclass(frozen=True, slots=True)
class CatalogueAnswer:
    """A whole catalogue, said as its difference to `base`: `kept` are the hashes of courses that read as before.

    `base` is the stored body's hash at the time of reading; `swap` refuses when it has moved.
    """

    term: str
    campus: str
    courses: tuple[Course, ...]
    kept: frozenset[str]
    base: str | None
    body_hash: str
    rules: int
    observed_at: datetime
    digest: bytes


CatalogueOutcome = CatalogueAnswer | Unchanged | Failed


@dataclass(frozen=True, slots=True)
class Swap:
    courses_changed: int
    sections_changed: int
    retired: int  # sections


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written. `code` is one of empty, shrunk, conflict, overtaken; `message` is one line for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class SectionFacts:
    section_id: int
    section_number: str
    course_string: str
    course_title: str
    subject: str
    meeting_summary: str
    instructors: str
    credits: str
    campus: str


@dataclass(frozen=True, slots=True)
class LiveState:
    """From the open list, never from the catalogue. `status` is Open, Closed or Unknown."""

    status: str
    episode: int = 0
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    last_seen_at: datetime | None = None
    last_checked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SectionDetail:
    """`section` and `course` are None for an index that only the open list knows."""

    term: str
    campus: str
    index: str
    section_id: int | None
    section: Payload | None
    course: Payload | None
    retired_at: datetime | None
    live: LiveState
    history: tuple[Payload, ...]
