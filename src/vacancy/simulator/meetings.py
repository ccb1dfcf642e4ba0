"""Rows of `meetingTimes`: timed on site, by arrangement, online, and the empty shells the upstream also sends."""

from __future__ import annotations

from typing import Any, Final

from vacancy.simulator.chance import Chance
from vacancy.simulator.words import BUILDINGS, INVALID_CAMPUS, LOCATIONS, MODES, ONLINE

Json = dict[str, Any]

DAYS: Final = ("M", "T", "W", "H", "M", "T", "W", "H", "F", "F", "S", "U")
STARTS: Final = ("0830", "0840", "0950", "1020", "1140", "1210", "1400", "1410", "1550", "1730", "1800", "1920")
LENGTHS: Final = (55, 80, 80, 80, 160, 180)
SHELL_EVERY: Final = 23
NO_PM_CODE_EVERY: Final = 29
MIDNIGHT_EVERY: Final = 37


def twelve_hour(military: str) -> tuple[str, str]:
    """The 12-hour text and its A or P: 1410 is 0210 P, 0000 and 2400 are 1200 A."""
    hour = int(military[:2]) % 24
    return f"{hour % 12 or 12:02d}{military[2:]}", "P" if hour >= 12 else "A"


def add_minutes(military: str, minutes: int) -> str:
    total = int(military[:2]) * 60 + int(military[2:]) + minutes
    return f"{total // 60:02d}{total % 60:02d}"


def blank(mode: str) -> Json:
    return {
        "campusLocation": None,
        "roomNumber": None,
        "campusAbbrev": None,
        "campusName": None,
        "startTimeMilitary": None,
        "endTimeMilitary": None,
        "meetingModeDesc": MODES[mode],
        "meetingModeCode": mode,
        "baClassHours": None,
        "meetingDay": None,
        "startTime": None,
        "endTime": None,
        "pmCode": None,
        "buildingCode": None,
    }


def set_time(row: Json, day: str, start: str, end: str) -> None:
    start_text, pm_code = twelve_hour(start)
    row.update(
        meetingDay=day,
        startTimeMilitary=start,
        endTimeMilitary=end,
        startTime=start_text,
        endTime=twelve_hour(end)[0],
        pmCode=pm_code,
    )


def meeting_rows(chance: Chance, campus: str, course_type: str, position: int) -> list[Json]:
    """Position counts the sections of one catalogue; quirks sit at fixed positions so that small ones show them too."""
    if position % SHELL_EVERY == 5:
        return [blank("19")]
    if course_type == "O":
        return [_online(chance)]
    if chance.likely(0.47):
        return [_by_arrangement(chance, campus)]
    rows = [_on_site(chance, campus, "02") for _ in range(1 + chance.likely(0.75) + chance.likely(0.4))]
    if len(rows) > 1:
        mode = chance.pick(("03", "05"))
        rows[-1].update(meetingModeCode=mode, meetingModeDesc=MODES[mode])
    if course_type == "H":
        rows.append(_by_arrangement(chance, campus) | {"meetingModeCode": "91", "meetingModeDesc": MODES["91"]})
    _bend(rows[0], position)
    return rows


def _bend(row: Json, position: int) -> None:
    if position % MIDNIGHT_EVERY == 9:
        set_time(row, "H", "2100", "2400")
    if position % NO_PM_CODE_EVERY == 11:
        del row["pmCode"]


def _on_site(chance: Chance, campus: str, mode: str) -> Json:
    row = blank(mode)
    start = chance.pick(STARTS)
    set_time(row, chance.pick(DAYS), start, add_minutes(start, chance.pick(LENGTHS)))
    _place(row, chance, campus)
    row["buildingCode"] = chance.pick(BUILDINGS)
    row["roomNumber"] = f"{1 + chance.below(4)}{chance.below(40):02d}"
    return row


def _by_arrangement(chance: Chance, campus: str) -> Json:
    row = blank(chance.pick(("19", "23", "80", "04")))
    row["baClassHours"] = "B"
    if chance.likely(0.5):
        _place(row, chance, campus)
    return row


def _online(chance: Chance) -> Json:
    with_time = chance.likely(0.35)
    row = blank(chance.pick(("90", "92") if with_time else ("90", "93")))
    if with_time:
        start = chance.pick(STARTS)
        set_time(row, chance.pick(DAYS), start, add_minutes(start, 80))
    else:
        row["baClassHours"] = "B"
    row.update(campusLocation=ONLINE[0], campusAbbrev=INVALID_CAMPUS, campusName=INVALID_CAMPUS)
    return row


def _place(row: Json, chance: Chance, campus: str) -> None:
    code, name, short = chance.pick(LOCATIONS[campus])
    row.update(campusLocation=code, campusName=name.upper(), campusAbbrev=short)
