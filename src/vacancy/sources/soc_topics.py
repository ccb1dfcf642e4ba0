"""What can be waited for in the Schedule of Classes: a section by its index, or a course and any section of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlalchemy import select

from vacancy.errors import UserError
from vacancy.model.terms import end_of, parse_campus, parse_term
from vacancy.model.topics import ItemName, Topic
from vacancy.settings_sections import SocSettings
from vacancy.store.engine import Tx
from vacancy.store.schema import courses, sections

SOURCE: Final = "soc"
_NAME: Final = re.compile(r"soc:(\S{1,40}?):([^:\s]{1,16}):(?:([0-9]{5})|course/(\S{1,16}))", re.ASCII)
_COURSE: Final = re.compile(r"[0-9A-Z]{2}:[0-9A-Z]{3}:[0-9A-Z]{3}", re.ASCII)


def section_link(term: str, index: str) -> str:
    return f"https://sis.rutgers.edu/soc/#keyword={index}&semester={term}"


def course_link(term: str, course: str) -> str:
    return f"https://sis.rutgers.edu/soc/#keyword={course}&semester={term}"


def read_topic(settings: SocSettings, name: str) -> Topic:
    found = _NAME.fullmatch(name)
    if found is None:
        raise UserError(
            "validation_failed", "topic: must be soc:TERM:CAMPUS:INDEX or soc:TERM:CAMPUS:course/COURSE",
            ["topic: must be soc:TERM:CAMPUS:INDEX or soc:TERM:CAMPUS:course/COURSE"],
        )  # fmt: skip
    term, campus = _place(settings, found[1], found[2])
    key = f"{term}|{campus}"
    if found[3]:
        index = found[3]
        name, link = f"soc:{term}:{campus}:{index}", section_link(term, index)
        return Topic(name, SOURCE, key, index, term, campus, index, link, end_of(term))
    course = found[4].upper()
    if not _COURSE.fullmatch(course):
        wrong = f"topic: {found[4]!r} is no course; write school:subject:number, such as 01:198:111"
        raise UserError("validation_failed", wrong, [wrong])
    name = f"soc:{term}:{campus}:course/{course}"
    return Topic(name, SOURCE, key, None, term, campus, None, course_link(term, course), end_of(term))


def _place(settings: SocSettings, term: str, campus: str) -> tuple[str, str]:
    """Only what is polled: for anything else nobody could ever be told."""
    try:
        place = parse_term(term), parse_campus(campus)
    except ValueError as problem:
        raise UserError("section_not_found", str(problem)) from problem
    if place[0] not in settings.terms or place[1] not in settings.campuses:
        raise UserError("section_not_found", f"term {place[0]} at campus {place[1]} is not watched here")
    return place


def section_of(tx: Tx, topic: Topic) -> int | None:
    """Its row in the catalogue. An index is unique in a term: that of another campus would never open here."""
    if topic.index_number is None:
        return None
    row = tx.execute(
        select(sections.c.section_id, sections.c.campus_code).where(
            sections.c.term_id == topic.term_id, sections.c.index_number == topic.index_number
        )
    ).one_or_none()
    if row is None:
        return None
    if row.campus_code != topic.campus_code:
        raise UserError(
            "section_conflict",
            f"section {topic.index_number} of term {topic.term_id} is at campus {row.campus_code}, "
            f"not {topic.campus_code}",
            {"campus": row.campus_code, "term": topic.term_id},
        )
    return int(row.section_id)


def items_of(tx: Tx, topic: Topic) -> Sequence[ItemName]:
    key = f"{topic.term_id}|{topic.campus_code}"
    if topic.item_key is not None:
        return [ItemName(key, topic.item_key)]
    course = topic.name.partition(":course/")[2]
    indexes = tx.execute(
        select(sections.c.index_number)
        .join_from(sections, courses, sections.c.course_id == courses.c.course_id)
        .where(
            courses.c.term_id == topic.term_id,
            courses.c.campus_code == topic.campus_code,
            courses.c.course_string == course,
            sections.c.retired_at.is_(None),
        )
    ).scalars()
    return [ItemName(key, index) for index in indexes]
