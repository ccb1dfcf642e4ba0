"""Catalogues of a few courses: written as the upstream writes them, and read as the product reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from tests.support.clock import START
from vacancy.model.catalogue import CatalogueAnswer, Refused, Swap
from vacancy.sources.soc_catalogue import Reading
from vacancy.sources.soc_courses import RULES, fingerprint
from vacancy.sources.soc_split import pieces
from vacancy.store import catalogue
from vacancy.store.engine import Store

Json = dict[str, Any]


def meeting(day: str | None = "H", start: str | None = "1410", end: str | None = "1530", **members: Any) -> Json:
    return {
        "meetingDay": day, "startTimeMilitary": start, "endTimeMilitary": end, "startTime": None, "endTime": None,
        "pmCode": None, "meetingModeCode": "02", "meetingModeDesc": "LEC", "baClassHours": None,
        "campusAbbrev": "BUS", "campusName": "BUSCH", "campusLocation": "2", "buildingCode": "XYZ",
        "roomNumber": "101", **members,
    }  # fmt: skip


def section(index: str = "04321", **members: Any) -> Json:
    return {
        "index": index, "number": "01", "openStatus": True, "openStatusText": "OPEN", "examCode": "C",
        "instructors": [{"name": "DOE, JANE"}], "sectionCourseType": "T", "meetingTimes": [meeting()], **members,
    }  # fmt: skip


def course(string: str = "01:998:205", *sections: Json, **members: Any) -> Json:
    school, subject, number = string.split(":")
    return {
        "courseString": string, "title": "INTRO WIDGETS", "subject": subject, "subjectDescription": "Widgetry",
        "courseNumber": number, "offeringUnitCode": school, "school": {"code": school, "description": "Arts"},
        "supplementCode": "  ", "level": "U", "credits": 3, "creditsObject": {"code": "3_0", "description": "3.0"},
        "coreCodes": [], "campusLocations": [{"code": "1", "description": "College Avenue"}],
        "openSections": len(sections), "sections": list(sections), **members,
    }  # fmt: skip


def several(count: int, first: int = 100) -> list[Json]:
    """So many courses of one section each: enough for one of them to change without the whole having shrunk."""
    return [
        course(f"01:640:{first + nth}", section(f"{20000 + first + nth}"), title=f"ALGEBRA {nth}")
        for nth in range(count)
    ]


def encoded(courses: list[Json]) -> bytes:
    return msgspec.json.encode(courses)


def read(
    store: Store, courses: list[Json], campus: str = "NB", term: str = "12025", observed: datetime = START
) -> CatalogueAnswer:
    """What the source would answer to this body, given what the store holds."""
    body = encoded(courses)
    known = store.read_now(catalogue.known_hashes, term, campus, RULES)
    reading, members = Reading(known.hashes), pieces(body)
    while reading.take_next(members):
        pass
    return CatalogueAnswer(
        term,
        campus,
        reading.courses(),
        frozenset(reading.kept),
        known.body_hash,
        fingerprint(body),
        RULES,
        observed,
        b"",
    )


def load(
    store: Store, courses: list[Json], campus: str = "NB", term: str = "12025", observed: datetime = START
) -> Swap | Refused:
    return store.write_now(catalogue.swap, observed, read(store, courses, campus, term, observed))


def taken(result: Swap | Refused) -> Swap:
    assert isinstance(result, Swap), result
    return result
