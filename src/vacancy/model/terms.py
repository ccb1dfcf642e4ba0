"""Terms and campuses of the Schedule of Classes. Inside, a term is digit-first: 12025 is spring 2025."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_SEASONS: Final = {
    "W": "0", "WI": "0", "WINTER": "0",
    "S": "1", "SP": "1", "SPR": "1", "SPRING": "1",
    "SU": "7", "SUM": "7", "SUMMER": "7",
    "F": "9", "FA": "9", "FALL": "9",
}  # fmt: skip
_LAST_DAYS: Final = {"0": (1, 31), "1": (5, 31), "7": (8, 31), "9": (12, 31)}
_NAMES: Final = {"0": "Winter", "1": "Spring", "7": "Summer", "9": "Fall"}
# Years outside this span are typing mistakes; without it `19991` would read as term 1 of the year 9991.
_YEARS: Final = range(1990, 2100)
_CAMPUS: Final = re.compile(r"[A-Z][A-Z_]{0,15}", re.ASCII)
CAMPUS_NAMES: Final = {"NB": "New Brunswick", "NK": "Newark", "CM": "Camden"}


def parse_term(text: str) -> str:
    """`12025`, `20251`, `SP2025`, `spring 2025` and the like -> `12025`; ValueError for anything else."""
    squeezed = re.sub(r"[-_\s]", "", text).upper()
    if re.fullmatch(r"[0-9]{5}", squeezed, re.ASCII):
        for digit, year in ((squeezed[0], squeezed[1:]), (squeezed[4], squeezed[:4])):
            if digit in _NAMES and int(year) in _YEARS:
                return digit + year
    named = re.fullmatch(r"([A-Z]+)([0-9]{4})", squeezed, re.ASCII) or _reversed(squeezed)
    if named and named[1] in _SEASONS and int(named[2]) in _YEARS:
        return _SEASONS[named[1]] + named[2]
    raise ValueError(f"{text!r} is not a term; write the season's digit and the year, such as 12025 for spring 2025")


def parse_campus(text: str) -> str:
    campus = text.strip().upper()
    if not _CAMPUS.fullmatch(campus):
        raise ValueError(f"{text!r} is not a campus code; write NB, NK or CM")
    return campus


def normal_topic(name: str) -> str:
    """A topic of the Schedule of Classes as events carry it, however its term and campus are spelt; any other as it
    is. ValueError for one that nothing could ever carry."""
    parts = name.split(":", 3)
    if parts[0] != "soc" or len(parts) < 4:
        return name
    _, term, campus, what = parts
    if what.startswith("course/"):
        what = f"course/{what.removeprefix('course/').upper()}"
    return f"soc:{parse_term(term)}:{parse_campus(campus)}:{what}"


def end_of(term: str) -> datetime:
    """When it is surely over: after the last day on which anybody could still want to get in, and some more."""
    month, day = _LAST_DAYS[term[0]]
    return datetime(int(term[1:]), month, day, tzinfo=UTC) + timedelta(days=1)


def term_name(term: str) -> str:
    return f"{_NAMES[term[0]]} {term[1:]}"


def _reversed(squeezed: str) -> re.Match[str] | None:
    return re.fullmatch(r"([A-Z]+)([0-9]{4})", re.sub(r"^([0-9]{4})([A-Z]+)$", r"\2\1", squeezed), re.ASCII)
