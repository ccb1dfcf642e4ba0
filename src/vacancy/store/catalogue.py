"""The catalogue: taken in as a whole, in the caller's one transaction, or not at all."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, insert, select, text, update

from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.catalogue import CatalogueAnswer, Course, Known, Refused, Section, SectionFacts, Swap
from vacancy.store import subscriptions
from vacancy.store.catalogue_plan import (
    CourseRow,
    Placed,
    Plan,
    SectionRow,
    Stored,
    is_shared,
    make_plan,
)
from vacancy.store.engine import Tx
from vacancy.store.live_sections import section_detail
from vacancy.store.schema import catalogues, courses, section_status_events, sections, targets

__all__ = [
    "Known",
    "Refused",
    "SectionFacts",
    "Swap",
    "describe",
    "known_hashes",
    "known_indexes",
    "section_detail",
    "swap",
]

STATUS_SOURCE: Final = "courses.json"
# Two machines may bring two campuses at a time, and an index may have moved between them.
_LOCK: Final = text("SELECT pg_advisory_xact_lock(7310592048)")
# Beyond this many, reading the campus costs less than asking for each.
_MANY: Final = 500
_BATCH: Final = 500
# Built once: putting it together costs half as much as running it, and every poll with an edge asks.
_FACTS: Final = (
    select(
        sections.c.index_number, sections.c.section_id, sections.c.section_number, courses.c.course_string,
        courses.c.title, courses.c.subject_code, sections.c.meeting_summary, sections.c.instructors,
        courses.c.credits, sections.c.campus_code,
    )
    .join_from(sections, courses, sections.c.course_id == courses.c.course_id)
    .where(sections.c.term_id == bindparam("term"), sections.c.campus_code == bindparam("campus"))
)  # fmt: skip
_FACTS_OF_SOME: Final = _FACTS.where(sections.c.index_number.in_(bindparam("wanted", expanding=True)))


def known_hashes(tx: Tx, term: str, campus: str, rules: int) -> Known:
    """What a reader may pass over; nothing that was read under other rules."""
    row = tx.execute(
        select(catalogues.c.body_hash, catalogues.c.rules).where(
            catalogues.c.term_id == term, catalogues.c.campus_code == campus
        )
    ).one_or_none()
    if row is None or row.rules != rules:
        return Known(row.body_hash if row else None, row.rules if row else None, frozenset())
    hashes = tx.execute(
        select(courses.c.content_hash).where(
            courses.c.term_id == term, courses.c.campus_code == campus, courses.c.retired_at.is_(None)
        )
    ).scalars()
    return Known(row.body_hash, row.rules, frozenset(each for each in hashes if each and not is_shared(each)))


def known_indexes(tx: Tx, term: str, campus: str) -> frozenset[str]:
    return frozenset(
        tx.execute(
            select(sections.c.index_number).where(
                sections.c.term_id == term, sections.c.campus_code == campus, sections.c.retired_at.is_(None)
            )
        ).scalars()
    )


def describe(tx: Tx, term: str, campus: str, indexes: Iterable[str]) -> Mapping[str, SectionFacts]:
    """For events. A section that was retired a moment ago still has its name."""
    wanted = frozenset(indexes)
    asked = {"term": term, "campus": campus}
    if len(wanted) <= _MANY:
        rows = tx.execute(_FACTS_OF_SOME, {**asked, "wanted": tuple(wanted)})
    else:
        rows = tx.execute(_FACTS, asked)
    return {row[0]: SectionFacts(*row[1:]) for row in rows if row[0] in wanted}


def swap(tx: Tx, now: datetime, answer: CatalogueAnswer, *, despite_shrinking: bool = False) -> Swap | Refused:
    """Make the stored catalogue this one. What vanished is retired and never deleted: subscriptions hold on to it."""
    if tx.dialect == "postgresql":
        tx.execute(_LOCK)
    base = tx.execute(
        select(catalogues.c.body_hash).where(
            catalogues.c.term_id == answer.term, catalogues.c.campus_code == answer.campus
        )
    ).scalar()
    if base != answer.base:
        return Refused("overtaken", "another catalogue was taken in while this one was read")
    plan = make_plan(answer, _stored(tx, answer), despite_shrinking=despite_shrinking)
    if isinstance(plan, Refused):
        return plan
    _write_courses(tx, now, answer, plan)
    _write_sections(tx, now, answer, plan)
    _write_status_events(tx, answer, plan)
    # The targets' rows before those of subscriptions, as a poll with an edge locks them.
    _tell_targets(tx, answer, plan)
    if plan.indexes_changed:
        subscriptions.settle_sections(tx, now, answer.term, answer.campus)
    _write_catalogue(tx, now, answer, plan, exists=base is not None)
    return Swap(
        courses_changed=len(plan.new_courses) + len(plan.changed_courses) + len(plan.retired_courses),
        sections_changed=len(plan.new_sections) + len(plan.changed_sections),
        retired=len(plan.retired_sections),
    )


def _stored(tx: Tx, answer: CatalogueAnswer) -> Stored:
    c, s = courses.c, sections.c
    course_rows = tx.execute(
        select(
            c.course_id, c.course_key, c.course_string, c.variant, c.content_hash, c.facts_hash,
            c.retired_at.is_not(None),
        ).where(c.term_id == answer.term, c.campus_code == answer.campus)
    )  # fmt: skip
    section_rows = tx.execute(
        select(
            s.section_id, s.index_number, s.campus_code, s.course_id, s.content_hash, s.catalogue_open,
            s.retired_at.is_not(None),
        ).where(s.term_id == answer.term)
    )  # fmt: skip
    return Stored([CourseRow(*row) for row in course_rows], {row[1]: SectionRow(*row) for row in section_rows})


def _write_courses(tx: Tx, now: datetime, answer: CatalogueAnswer, plan: Plan) -> None:
    address = {"term_id": answer.term, "campus_code": answer.campus}
    _many(
        tx,
        insert(courses),
        (
            {**address, "course_key": place.course_key, **_course_values(place.course, now)}
            for place in plan.new_courses
        ),
    )
    _many(
        tx,
        _update_courses(*_COURSE_COLUMNS),
        ({"id": row.course_id, **_course_values(place.course, now)} for place, row in plan.changed_courses),
    )
    _many(
        tx,
        _update_courses("content_hash"),
        [{"id": row.course_id, "content_hash": place.course.content_hash} for place, row in plan.rehashed_courses]
        # Read again next time, whatever their bytes: they may still claim what has moved here.
        + [{"id": course_id, "content_hash": ""} for course_id in sorted(plan.robbed_courses)],
    )
    _many(
        tx,
        _update_courses("retired_at", "updated_at"),
        [{"id": row.course_id, "retired_at": now, "updated_at": now} for row in plan.retired_courses],
    )


def _write_sections(tx: Tx, now: datetime, answer: CatalogueAnswer, plan: Plan) -> None:
    ids = _new_course_ids(tx, answer, plan)

    def values(place: Placed, section: Section) -> dict[str, Any]:
        course_id = place.row.course_id if place.row else ids[place.course_key]
        return {"course_id": course_id, "campus_code": answer.campus, **_section_values(section)}

    _many(
        tx,
        insert(sections),
        (
            {"term_id": answer.term, "index_number": section.index, **values(place, section)}
            for place, section in plan.new_sections
        ),
    )
    _many(
        tx,
        _update_sections("course_id", "campus_code", *_SECTION_COLUMNS),
        ({"id": row.section_id, **values(place, section)} for place, section, row in plan.changed_sections),
    )
    _many(
        tx,
        _update_sections("catalogue_open"),
        [{"id": row.section_id, "catalogue_open": section.is_open} for section, row in plan.flips],
    )
    _many(
        tx,
        _update_sections("retired_at"),
        [{"id": row.section_id, "retired_at": now} for row in plan.retired_sections],
    )


def _write_status_events(tx: Tx, answer: CatalogueAnswer, plan: Plan) -> None:
    _many(
        tx,
        insert(section_status_events),
        [
            {
                "section_id": row.section_id,
                "previous_status": OPEN if row.is_open else CLOSED,
                "current_status": OPEN if section.is_open else CLOSED,
                "source": STATUS_SOURCE,
                "snapshot_term": answer.term,
                "snapshot_campus": answer.campus,
                "snapshot_received_at": answer.observed_at,
            }
            for section, row in plan.flips
        ],
    )


def _tell_targets(tx: Tx, answer: CatalogueAnswer, plan: Plan) -> None:
    """Open lists are held against what the catalogue knows; a poller looks again when this number moves."""
    if not plan.indexes_changed:
        return
    keys = [f"{answer.term}|{campus}" for campus in sorted({answer.campus, *plan.moved_from})]
    tx.execute(
        update(targets)
        .where(targets.c.source == "soc", targets.c.key.in_(keys))
        .values(known_version=targets.c.known_version + 1)
    )


def _write_catalogue(tx: Tx, now: datetime, answer: CatalogueAnswer, plan: Plan, *, exists: bool) -> None:
    values = {
        "body_hash": answer.body_hash,
        "rules": answer.rules,
        "course_count": plan.course_count,
        "section_count": plan.section_count,
        "observed_at": answer.observed_at,
        "loaded_at": now,
    }
    address = {"term_id": answer.term, "campus_code": answer.campus}
    if exists:
        here = (catalogues.c.term_id == answer.term) & (catalogues.c.campus_code == answer.campus)
        tx.execute(update(catalogues).where(here).values(**values))
    else:
        tx.execute(insert(catalogues).values(**address, **values))


def _new_course_ids(tx: Tx, answer: CatalogueAnswer, plan: Plan) -> Mapping[str, int]:
    if not plan.new_courses:
        return {}
    rows = tx.execute(
        select(courses.c.course_key, courses.c.course_id).where(
            courses.c.term_id == answer.term, courses.c.campus_code == answer.campus
        )
    )
    return {row.course_key: row.course_id for row in rows}


_COURSE_COLUMNS: Final = (
    "course_string", "variant", "subject_code", "subject_name", "course_number", "title", "level", "credits",
    "credits_min", "credits_max", "core_codes", "locations", "has_prerequisite", "search_text", "payload",
    "content_hash", "facts_hash", "updated_at", "retired_at",
)  # fmt: skip
_SECTION_COLUMNS: Final = (
    "section_number", "instructors", "meeting_summary", "meetings", "day_mask", "start_minutes", "end_minutes",
    "places", "delivery", "exam_code", "catalogue_open", "payload", "content_hash", "retired_at",
)  # fmt: skip


def _course_values(course: Course, now: datetime) -> dict[str, Any]:
    own = _COURSE_COLUMNS[:-2]
    return {**{name: getattr(course, name) for name in own}, "updated_at": now, "retired_at": None}


def _section_values(section: Section) -> dict[str, Any]:
    own = (name for name in _SECTION_COLUMNS if name not in ("catalogue_open", "retired_at"))
    return {**{name: getattr(section, name) for name in own}, "catalogue_open": section.is_open, "retired_at": None}


def _update_courses(*columns: str) -> Any:
    return update(courses).where(courses.c.course_id == bindparam("id")).values({c: bindparam(c) for c in columns})


def _update_sections(*columns: str) -> Any:
    return update(sections).where(sections.c.section_id == bindparam("id")).values({c: bindparam(c) for c in columns})


def _many(tx: Tx, statement: Any, rows: Iterable[Mapping[str, Any]]) -> None:
    """A batch at a time: a first load's rows all at once are a heap of objects for the collector to walk."""
    rest = iter(rows)
    while batch := list(itertools.islice(rest, _BATCH)):
        tx.execute(statement, batch)
