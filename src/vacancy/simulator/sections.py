"""One section object of the catalogue, with the upstream's field names and how often each is filled."""

from __future__ import annotations

from typing import Final

from vacancy.simulator.chance import Chance
from vacancy.simulator.meetings import Json, meeting_rows
from vacancy.simulator.words import (
    CLOSING_SYLLABLES,
    COMMENTS,
    GIVEN_NAMES,
    LEADING_SYLLABLES,
    LOCATIONS,
    NOTES,
    ONLINE,
    OPEN_TO,
    SUBJECTS,
)

WAIT_LIST_EVERY: Final = 61


def build_section(chance: Chance, campus: str, index: str, number: str, position: int) -> Json:
    course_type = _course_type(chance)
    section: Json = {
        "sectionEligibility": "JUNIORS AND SENIORS " if chance.likely(0.07) else None,
        "sessionDatePrintIndicator": "N",
        "sessionDates": None,
        "examCode": chance.pick(("A", "C", "C", "F", "S")),
        "examCodeText": "During regular hour/one hour exam period",
        "specialPermissionAddCode": None,
        "specialPermissionAddCodeDescription": None,
        "specialPermissionDropCode": None,
        "specialPermissionDropCodeDescription": None,
        "courseFee": "0000.00",
        "courseFeeDescr": None,
        "openStatus": False,
        "openStatusText": "CLOSED",
        "index": index,
        "number": number,
        "subtitle": f"GROUP {number} MEETS SEPARATELY" if chance.likely(0.11) else "",
        "subtopic": None,
        "sectionNotes": chance.pick(NOTES) if chance.likely(0.32) else None,
        "legendKey": None,
        "finalExam": None,
        "printed": "Y" if chance.likely(0.9) else "N",
        "campusCode": campus,
        "crossListedSectionType": "",
        "sectionCourseType": course_type,
        "meetingTimes": meeting_rows(chance, campus, course_type, position),
    }
    _add_permissions(section, chance)
    _add_people(section, chance)
    _add_comments(section, chance)
    _add_audience(section, chance)
    _add_places(section, chance, campus)
    return section


def show_status(section: Json, is_open: bool) -> None:
    """A real bool beside a text; the text is now and then WAIT LIST, which still is closed."""
    section["openStatus"] = is_open
    closed = "WAIT LIST" if int(section["index"]) % WAIT_LIST_EVERY == 0 else "CLOSED"
    section["openStatusText"] = "OPEN" if is_open else closed


def _course_type(chance: Chance) -> str:
    drawn = chance.share()
    if drawn < 0.84:
        return "T"
    return "H" if drawn < 0.88 else "O"


def _add_permissions(section: Json, chance: Chance) -> None:
    if chance.likely(0.27):
        section["specialPermissionAddCode"] = "04"
        section["specialPermissionAddCodeDescription"] = "Department"
    if chance.likely(0.06):
        section["specialPermissionDropCode"] = "12"
        section["specialPermissionDropCodeDescription"] = "Program dean"


def _add_people(section: Json, chance: Chance) -> None:
    names: list[str] = []
    if chance.likely(0.92):
        names = [_person(chance) for _ in range(1 + chance.likely(0.12))]
    section["instructors"] = [{"name": name} for name in names]
    section["instructorsText"] = "; ".join(names)


def _person(chance: Chance) -> str:
    return f"{chance.pick(LEADING_SYLLABLES)}{chance.pick(CLOSING_SYLLABLES)}, {chance.pick(GIVEN_NAMES)}"


def _add_comments(section: Json, chance: Chance) -> None:
    picked = [chance.pick(COMMENTS)] if chance.likely(0.44) else []
    section["comments"] = [{"code": code, "description": text} for code, text in picked]
    section["commentsText"] = ", ".join(text for _, text in picked)


def _add_audience(section: Json, chance: Chance) -> None:
    majors = [chance.pick(SUBJECTS)[0] for _ in range(1 + chance.below(8))] if chance.likely(0.23) else []
    cross_listed = chance.likely(0.07)
    section["openToText"] = chance.pick(OPEN_TO) if majors or chance.likely(0.1) else ""
    section["majors"] = [{"code": code, "isMajorCode": True, "isUnitCode": False} for code in majors]
    section["unitMajors"] = [{"unitCode": "14", "majorCode": code} for code in majors[:2]] if chance.likely(0.4) else []
    section["minors"] = [{"code": chance.pick(SUBJECTS)[0]}] if chance.likely(0.01) else []
    section["honorPrograms"] = [{"code": "H1"}] if chance.likely(0.01) else []
    section["crossListedSections"] = [_cross_listing(chance)] if cross_listed else []
    section["crossListedSectionsText"] = "16:640:503:01" if cross_listed else ""


def _cross_listing(chance: Chance) -> Json:
    return {
        "registrationIndex": None,
        "primaryRegistrationIndex": None,
        "offeringUnitCode": "16",
        "offeringUnitCampus": None,
        "subjectCode": chance.pick(SUBJECTS)[0],
        "courseNumber": "503",
        "supplementCode": "  ",
        "sectionNumber": "01",
    }


def _add_places(section: Json, chance: Chance, campus: str) -> None:
    code, name, _ = ONLINE if section["sectionCourseType"] == "O" else chance.pick(LOCATIONS[campus])
    section["sectionCampusLocations"] = [{"code": code, "description": name}]
