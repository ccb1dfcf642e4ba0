"""When and where a section meets: from the upstream's rows of text to minutes, days and one line for people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta, Struct

from vacancy.model.catalogue import Payload, day_letters, day_mask

MIDNIGHT: Final = 24 * 60
_CLOCK: Final = re.compile(r"([0-9]{2})([0-9]{2})", re.ASCII)
_NOON_MINUTES: Final = 12 * 60
# Without pmCode 0830 is a morning and 0210 an afternoon: nothing begins between midnight and eight.
_FIRST_MORNING_HOUR: Final = 8
_ONLINE_MODES: Final = frozenset({"90", "92", "93"})
_ONLINE_PLACES: Final = frozenset({"O", "T"})
_HYBRID_MODE: Final = "91"
_NO_CAMPUS: Final = "** INVALID **"
_DELIVERY: Final = {"T": "in_person", "O": "online", "H": "hybrid"}

Short = Annotated[str, Meta(max_length=64)]


class MeetingRow(Struct, rename="camel", gc=False):
    meeting_day: Short | None = None
    start_time_military: Short | None = None
    end_time_military: Short | None = None
    start_time: Short | None = None
    end_time: Short | None = None
    pm_code: Short | None = None
    meeting_mode_code: Short | None = None
    meeting_mode_desc: str | None = None
    ba_class_hours: Short | None = None
    campus_abbrev: str | None = None
    campus_name: str | None = None
    campus_location: Short | None = None
    building_code: Short | None = None
    room_number: Short | None = None


@dataclass(frozen=True, slots=True)
class Meeting:
    days: int
    start: int | None
    end: int | None
    place: str
    location: str | None
    online: bool
    by_arrangement: bool
    mode_code: str
    mode: str

    def as_payload(self) -> Payload:
        return {
            "days": day_letters(self.days),
            "startMinutes": self.start,
            "endMinutes": self.end,
            "place": self.place or None,
            "campusLocation": self.location,
            "online": self.online,
            "byArrangement": self.by_arrangement,
            "modeCode": self.mode_code or None,
            "mode": self.mode or None,
        }


def minutes(text: str, *, is_end: bool) -> int:
    """Military text to minutes; 2400 ends a day and never begins one."""
    found = _CLOCK.fullmatch(text)
    total = int(found[1]) * 60 + int(found[2]) if found and int(found[2]) < 60 else -1
    if not 0 <= total < MIDNIGHT + is_end:
        raise ValueError(f"{text!r} is not a time of day such as 1410")
    return total


def span(row: MeetingRow) -> tuple[int, int] | None:
    """Start and end in minutes. The military fields are the truth; the 12-hour ones are read where those are empty."""
    military = _pair(row.start_time_military, row.end_time_military)
    if military:
        start, end = minutes(military[0], is_end=False), minutes(military[1], is_end=True)
    else:
        civil = _pair(row.start_time, row.end_time)
        if civil is None:
            return None
        start, end = _twelve_hours(*civil, _clean(row.pm_code).upper())
    if start >= end:
        raise ValueError(f"a meeting from {clock_text(start)} to {clock_text(end)} ends before it begins")
    return start, end


def _pair(start: str | None, end: str | None) -> tuple[str, str] | None:
    first, second = _clean(start), _clean(end)
    if bool(first) != bool(second):
        raise ValueError(f"a meeting has only one of start and end: {first or second!r}")
    return (first, second) if first else None


def _twelve_hours(start_text: str, end_text: str, pm_code: str) -> tuple[int, int]:
    """pmCode speaks of the start; the end is the next time that reads so."""
    if pm_code not in ("A", "P", ""):
        raise ValueError(f"{pm_code!r} is not a pmCode; it is A or P")
    start, end = _on_the_dial(start_text), _on_the_dial(end_text)
    afternoon = pm_code == "P" if pm_code else start < _FIRST_MORNING_HOUR * 60
    start += _NOON_MINUTES if afternoon else 0
    while end <= start:
        end += _NOON_MINUTES
    return start, min(end, MIDNIGHT)


def _on_the_dial(text: str) -> int:
    """12 is 0 on the dial, so noon and midnight differ by the code alone."""
    total = minutes(text, is_end=False)
    if not 60 <= total < 13 * 60:
        raise ValueError(f"{text!r} is not a time on a 12-hour clock such as 0210")
    return total % _NOON_MINUTES


def read_meetings(rows: Sequence[MeetingRow]) -> tuple[Meeting, ...]:
    """In the order of the week; rows that say nothing at all are dropped."""
    found = [meeting for row in rows if (meeting := _meeting(row)) is not None]
    return tuple(sorted(found, key=_by_week))


def _by_week(meeting: Meeting) -> tuple[bool, int, int, str]:
    first_day = meeting.days & -meeting.days
    return meeting.start is None, first_day, meeting.start or 0, meeting.place


def _meeting(row: MeetingRow) -> Meeting | None:
    days, time = day_mask(_clean(row.meeting_day)), span(row)
    mode, location = _clean(row.meeting_mode_code), _clean(row.campus_location).upper()
    online = (
        mode in _ONLINE_MODES or location in _ONLINE_PLACES or _clean(row.campus_name) == _NO_CAMPUS
    )  # fmt: skip
    arranged = _clean(row.ba_class_hours).upper() == "B"
    room = " ".join(filter(None, (_clean(row.building_code), _clean(row.room_number))))
    if not (days or time or online or arranged or room):
        return None
    campus = _clean(row.campus_abbrev)
    return Meeting(
        days=days,
        start=time[0] if time else None,
        end=time[1] if time else None,
        place="Online" if online else " ".join(filter(None, (campus, room))),
        location=None if online else location or None,
        online=online,
        by_arrangement=arranged and time is None,
        mode_code=mode,
        mode=_clean(row.meeting_mode_desc),
    )


def summary(meetings: Sequence[Meeting], delivery: str) -> str:
    """`T H 14:10-15:30 BUS XYZ 101; F 09:00-10:20 LIV ABC 5`."""
    spans: dict[tuple[int, int, str], int] = {}
    remarks: dict[str, None] = {}
    for meeting in meetings:
        if meeting.start is not None and meeting.end is not None:
            slot = (meeting.start, meeting.end, meeting.place)
            spans[slot] = spans.get(slot, 0) | meeting.days
        else:
            remarks[_untimed(meeting)] = None
    lines = [
        " ".join((*day_letters(days), f"{clock_text(start)}-{clock_text(end)}", *filter(None, (place,))))
        for (start, end, place), days in spans.items()
    ]
    said = [*lines, *(remark for remark in remarks if remark != "TBA" or not lines)]
    return "; ".join(said) or ("Online, no fixed hours" if delivery == "online" else "TBA")


def _untimed(meeting: Meeting) -> str:
    if meeting.online:
        return "Online, no fixed hours"
    if meeting.by_arrangement:
        return "Hours by arrangement"
    if meeting.days:
        return " ".join((*day_letters(meeting.days), "time TBA", *filter(None, (meeting.place,))))
    return "TBA"


def delivery_of(course_type: str | None, meetings: Sequence[Meeting]) -> str:
    """The section's own word; where it has none, what its meetings have in common."""
    said = _DELIVERY.get(_clean(course_type).upper())
    if said:
        return said
    online = sum(meeting.online for meeting in meetings)
    if any(meeting.mode_code == _HYBRID_MODE for meeting in meetings) or 0 < online < len(meetings):
        return "hybrid"
    return "online" if online else "in_person"


def clock_text(total: int) -> str:
    return f"{total // 60:02d}:{total % 60:02d}"


def _clean(text: str | None) -> str:
    return text.strip() if text else ""
