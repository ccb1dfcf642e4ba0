"""The catalogue: search, one section with its history, and the values that filters can take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Query
from starlette.responses import Response

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.model.catalogue import SectionDetail
from vacancy.model.terms import parse_campus, parse_term
from vacancy.store import course_search
from vacancy.store.catalogue import section_detail
from vacancy.store.course_search import Asked, Found, course_view
from vacancy.store.engine import Tx
from vacancy.store.live_sections import when
from vacancy.web.api.course_parameters import (
    CampusChoice,
    CoursePage,
    CourseParameters,
    Filters,
    SectionPage,
    TermChoice,
    asked_of,
)
from vacancy.web.context import HouseDep
from vacancy.web.errors import documented

router = APIRouter(prefix="/api", tags=["courses"])

_INDEX: Final = re.compile(r"[0-9]{5}", re.ASCII)
_ERRORS: Final = documented("validation_failed", "section_not_found")


@router.get("/courses", summary="Search the courses", response_model=CoursePage, responses=_ERRORS)
async def courses(house: HouseDep, parameters: Annotated[CourseParameters, Query()]) -> Response:
    """Fields are joined by and, the values of one field by or. All that is asked of a section, its live state
    included, holds for one and the same section; one whose days, times or places are not known matches no filter
    on them.
    """
    asked = asked_of(parameters)
    found = await house.store.read(_search, asked)
    body: dict[str, Any] = {"items": found.items, "meta": _meta(asked, found, iso(house.clock.now()))}
    if found.subjects is not None:
        body["subjects"] = found.subjects
    return _json(body)


@router.get("/sections/{term}/{campus}/{index}", summary="One section", response_model=SectionPage, responses=_ERRORS)
async def section(house: HouseDep, term: str, campus: str, index: str) -> Response:
    """With its course, its meetings, its state in the open list, and the last 50 events of it, newest first."""
    try:
        place = parse_term(term), parse_campus(campus)
    except ValueError as problem:
        raise UserError("section_not_found", str(problem)) from problem
    if not _INDEX.fullmatch(index):
        raise UserError("section_not_found", f"{index[:32]!r} is not a section's index; it has five digits")
    detail = await house.store.read(section_detail, *place, index)
    if detail is None:
        raise UserError("section_not_found", f"there is no section {index} in {place[0]} at {place[1]}")
    return _json(_detail_view(detail))


@router.get("/filters", summary="What filters can match", response_model=Filters, responses=_ERRORS)
async def filters(house: HouseDep, term: TermChoice, campus: CampusChoice) -> Response:
    return _json(await house.store.read(_filters, term, campus))


def _search(tx: Tx, asked: Asked) -> Found:
    return course_search.search(tx, replace(asked, campuses=_campuses(tx, asked.term, asked.campuses)))


def _filters(tx: Tx, term: str, campuses: list[str]) -> Any:
    return course_search.filters(tx, term, _campuses(tx, term, campuses))


def _campuses(tx: Tx, term: str, asked: Sequence[str]) -> list[str]:
    """Those asked for, or all of the term. A term or a campus that is not kept here is told from an empty result."""
    kept = course_search.campuses_of(tx, term)
    strange = sorted(set(asked) - kept)
    if strange or not kept:
        what = f"campus {strange[0]} in term {term}" if strange else f"term {term}"
        raise UserError("section_not_found", f"there is no catalogue of {what} here")
    return sorted(set(asked) or kept)


def _meta(asked: Asked, found: Found, now: str) -> dict[str, Any]:
    return {
        "page": asked.page,
        "pageSize": asked.page_size,
        "total": found.total,
        "hasNext": asked.page * asked.page_size < found.total,
        "generatedAt": now,
        "version": found.version,
    }


def _detail_view(detail: SectionDetail) -> dict[str, Any]:
    live, section = detail.live, detail.section
    body: dict[str, Any] = {
        "term": detail.term,
        "campus": detail.campus,
        "index": detail.index,
        "sectionId": detail.section_id,
        "sectionResolved": section is not None,
        "retiredAt": when(detail.retired_at),
        "status": live.status,
        "episode": live.episode,
        "openedAt": when(live.opened_at),
        "closedAt": when(live.closed_at),
        "lastSeenAt": when(live.last_seen_at),
        "lastCheckedAt": when(live.last_checked_at),
        "registrationLink": f"https://sis.rutgers.edu/soc/#keyword={detail.index}&semester={detail.term}",
        "course": course_view(detail.course) if detail.course else None,
        "history": detail.history,
    }
    if section is not None:
        body |= {
            "sectionNumber": section["section_number"],
            "instructors": section["instructors"],
            "meetingSummary": section["meeting_summary"],
            "meetings": section["meetings"],
            "delivery": section["delivery"],
            "examCode": section["exam_code"],
            **section["payload"],
        }
    return body


def _json(body: Any) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers={"Cache-Control": "no-store"})
