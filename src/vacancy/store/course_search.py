"""Searching the catalogue. Fields AND, values OR; all that is asked of a section holds for one and the same section."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, Text, and_, case, func, or_, select, text, type_coerce

from vacancy.clock import iso
from vacancy.model.availability import OPEN
from vacancy.model.catalogue import Payload
from vacancy.store.engine import Tx
from vacancy.store.live_sections import Lists, live_columns, section_view
from vacancy.store.schema import availability, catalogues, courses, sections, targets

NEWEST_FIRST: Final = frozenset({"sectionsOpen", "updatedAt"})
_ALL_DAYS: Final = 127
_SQLITE_MATCH: Final = text("courses.course_id IN (SELECT rowid FROM course_search WHERE course_search MATCH :match)")
_POSTGRES_MATCH: Final = text("to_tsvector('simple', courses.search_text) @@ to_tsquery('simple', :match)")
_NOTHING: Final = text("1 = 0")


@dataclass(frozen=True, slots=True)
class Asked:
    """Empty and None mean that it does not matter. Credits are in tenths, times in minutes."""

    term: str
    campuses: Sequence[str]
    campus_locations: Sequence[str] = ()
    subjects: Sequence[tuple[str | None, str]] = ()  # school, subject
    phrases: Sequence[Sequence[str]] | None = None
    levels: Sequence[str] = ()
    core_codes: Sequence[str] = ()
    exam_codes: Sequence[str] = ()
    credits_min: int | None = None
    credits_max: int | None = None
    deliveries: Sequence[str] = ()
    has_open_section: bool | None = None
    has_prerequisite: bool | None = None
    days: int = 0
    start: int | None = None
    end: int | None = None
    places: Sequence[str] = ()
    sort_by: str = "subject"
    descending: bool = False
    page: int = 1
    page_size: int = 20
    sections_limit: int = 200
    include: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    items: Sequence[Payload]
    total: int
    version: str
    subjects: Sequence[Payload] | None


def campuses_of(tx: Tx, term: str) -> frozenset[str]:
    """Those that are polled, and those of which a catalogue is kept."""
    polled = tx.execute(select(targets.c.key).where(targets.c.source == "soc", targets.c.key.startswith(f"{term}|")))
    kept = tx.execute(select(catalogues.c.campus_code).where(catalogues.c.term_id == term))
    return frozenset(key.partition("|")[2] for key in polled.scalars()) | frozenset(kept.scalars())


def search(tx: Tx, asked: Asked) -> Found:
    lists = Lists.of(tx, asked.term, asked.campuses)
    wanted = _conditions(tx, asked, lists)
    query = select(courses).where(*wanted).order_by(*_order(asked, lists))
    offset = (asked.page - 1) * asked.page_size
    rows = tx.execute(query.limit(asked.page_size).offset(offset)).mappings().all()
    # A page that is not full is the last one, and tells the total by itself.
    total = offset + len(rows) if 0 < len(rows) < asked.page_size else _count(tx, wanted)
    items = {row["course_id"]: course_view(row) for row in rows}
    _add_sections(tx, asked, lists, items)
    subjects = _subjects(tx, wanted) if "subjects" in asked.include else None
    return Found(list(items.values()), total, _version(tx, asked), subjects)


def filters(tx: Tx, term: str, campuses: Sequence[str]) -> Payload:
    """Every value that a filter of this term and these campuses can match."""
    here = (courses.c.term_id == term, courses.c.campus_code.in_(campuses), courses.c.retired_at.is_(None))
    there = (sections.c.term_id == term, sections.c.campus_code.in_(campuses), sections.c.retired_at.is_(None))

    c, s = courses.c, sections.c
    # One pass over each table: the rows are wide, and walking them is what costs.
    of_courses = tx.execute(select(c.level, c.core_codes, c.locations).where(*here).distinct()).all()
    of_sections = tx.execute(select(s.exam_code, s.delivery, s.places).where(*there).distinct()).all()
    return {
        "term": term,
        "campuses": sorted(campuses),
        "subjects": _subjects(tx, here),
        "levels": _values(level for level, _, _ in of_courses),
        "coreCodes": _values(code for _, codes, _ in of_courses for code in codes),
        "campusLocations": _values(place for _, _, places in of_courses for place in places),
        "examCodes": _values(code for code, _, _ in of_sections),
        "deliveries": _values(delivery for _, delivery, _ in of_sections),
        "meetingCampuses": _values(place for _, _, places in of_sections for place in places.split("|")),
    }


def _values(found: Iterable[str | None]) -> list[str]:
    return sorted({value for value in found if value})


def course_view(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        "courseKey": row["course_key"],
        "courseString": row["course_string"],
        "term": row["term_id"],
        "campus": row["campus_code"],
        "subject": row["subject_code"],
        "subjectName": row["subject_name"],
        "courseNumber": row["course_number"],
        "title": row["title"],
        "level": row["level"],
        "credits": row["credits"],
        "creditsMin": _from_tenths(row["credits_min"]),
        "creditsMax": _from_tenths(row["credits_max"]),
        "coreCodes": row["core_codes"],
        "campusLocations": row["locations"],
        "hasPrerequisite": row["has_prerequisite"],
        "updatedAt": iso(row["updated_at"]),
        **row["payload"],
    }


def _from_tenths(tenths: int | None) -> float | None:
    return None if tenths is None else tenths / 10


def _conditions(tx: Tx, asked: Asked, lists: Lists) -> list[ColumnElement[bool]]:
    c = courses.c
    wanted: list[Any] = [
        c.term_id == asked.term,
        c.campus_code.in_(asked.campuses),
        c.retired_at.is_(None),
        *_match(tx, asked),
        *_section_conditions(asked, lists),
    ]
    if asked.subjects:
        wanted.append(or_(*(_subject(school, subject) for school, subject in asked.subjects)))
    if asked.levels:
        wanted.append(c.level.in_(asked.levels))
    if asked.core_codes:
        wanted.append(_lists_any(c.core_codes, asked.core_codes))
    if asked.campus_locations:
        wanted.append(_lists_any(c.locations, asked.campus_locations))
    if asked.credits_min is not None:
        wanted.append(c.credits_min >= asked.credits_min)
    if asked.credits_max is not None:
        wanted.append(c.credits_max <= asked.credits_max)
    if asked.has_prerequisite is not None:
        wanted.append(c.has_prerequisite.is_(asked.has_prerequisite))
    return wanted


def _match(tx: Tx, asked: Asked) -> list[Any]:
    """Each phrase's last word may go on. The words are letters and digits alone, so nothing in them is an operator."""
    if asked.phrases is None:
        return []
    if not asked.phrases:
        return [_NOTHING]
    if tx.dialect == "postgresql":
        said = " & ".join(" <-> ".join(f"'{word}'" for word in phrase) + ":*" for phrase in asked.phrases)
        return [_POSTGRES_MATCH.bindparams(match=said)]
    said = " AND ".join(f'"{" ".join(phrase)}" *' for phrase in asked.phrases)
    return [_SQLITE_MATCH.bindparams(match=said)]


def _subject(school: str | None, subject: str) -> ColumnElement[bool]:
    here = courses.c.subject_code == subject
    return here if school is None else and_(here, courses.c.course_string.startswith(f"{school}:", autoescape=True))


def _lists_any(column: Any, values: Sequence[str]) -> ColumnElement[bool]:
    """Core codes are mixed case upstream and typed in any case."""
    said = func.lower(type_coerce(column, Text))
    return or_(*(said.contains(f'"{value.lower()}"', autoescape=True) for value in values))


def _section_conditions(asked: Asked, lists: Lists) -> list[ColumnElement[bool]]:
    one = _one_section(asked)
    if asked.has_open_section is None:
        return [_some_section(one)] if one else []
    some_open = _some_section([*one, lists.is_open()])
    if asked.has_open_section:
        return [some_open]
    return [~some_open, *([_some_section(one)] if one else [])]


def _some_section(conditions: Sequence[Any]) -> ColumnElement[bool]:
    here = (sections.c.course_id == courses.c.course_id, sections.c.retired_at.is_(None))
    return select(sections.c.section_id).where(*here, *conditions).correlate(courses).exists()


def _one_section(asked: Asked) -> list[Any]:
    """A section of which days, times or places are not known matches none of these filters."""
    s = sections.c
    wanted: list[Any] = []
    if asked.exam_codes:
        wanted.append(s.exam_code.in_(asked.exam_codes))
    if asked.deliveries:
        wanted.append(s.delivery.in_(asked.deliveries))
    if asked.days:
        wanted += [s.day_mask != 0, s.day_mask.bitwise_and(_ALL_DAYS & ~asked.days) == 0]
    if asked.start is not None:
        wanted.append(s.start_minutes >= asked.start)
    if asked.end is not None:
        wanted.append(s.end_minutes <= asked.end)
    if asked.places:
        # What is left after taking out every place that was asked for lies elsewhere.
        rest: Any = s.places
        for place in asked.places:
            rest = func.replace(rest, f"|{place}|", "")
        wanted += [s.places != "", rest == ""]
    return wanted


def _order(asked: Asked, lists: Lists) -> list[Any]:
    c = courses.c
    by: dict[str, Any] = {
        "subject": (c.subject_code,),
        "courseNumber": (c.course_number,),
        "title": (c.title,),
        "credits": (c.credits_min,),
        "sectionsOpen": (_open_count(lists),),
        "updatedAt": (c.updated_at,),
    }
    first = [column.desc().nulls_last() if asked.descending else column.nulls_last() for column in by[asked.sort_by]]
    if asked.sort_by == "subject" and not asked.descending:
        first = [c.subject_code]  # never null; said plainly, the index gives the order
    return [*first, c.subject_code, c.course_number, c.course_key, c.course_id]


def _open_count(lists: Lists) -> Any:
    here = (sections.c.course_id == courses.c.course_id, sections.c.retired_at.is_(None))
    return select(func.count()).select_from(sections).where(*here, lists.is_open()).correlate(courses).scalar_subquery()


def _count(tx: Tx, wanted: Sequence[ColumnElement[bool]]) -> int:
    counted: int = tx.execute(select(func.count()).select_from(courses).where(*wanted)).scalar_one()
    return counted


def _add_sections(tx: Tx, asked: Asked, lists: Lists, items: Mapping[int, dict[str, Any]]) -> None:
    if "sectionsSummary" in asked.include:
        for item in items.values():
            item["sectionsSummary"] = {"total": 0, "open": 0}
        for course_id, total, open_ones in tx.execute(_summary(lists, items)):
            items[course_id]["sectionsSummary"] = {"total": total, "open": open_ones}
    if "sections" in asked.include:
        for item in items.values():
            item["sections"] = []
        for row in tx.execute(_matching_sections(asked, lists, items)).mappings():
            listed = items[row["course_id"]]["sections"]
            if len(listed) < asked.sections_limit:
                listed.append(section_view(row, lists))


def _summary(lists: Lists, items: Mapping[int, Any]) -> Select[Any]:
    return (
        select(sections.c.course_id, func.count(), func.sum(case((availability.c.state == OPEN, 1), else_=0)))
        .outerjoin_from(sections, availability, lists.joins())
        .where(sections.c.course_id.in_(items), sections.c.retired_at.is_(None))
        .group_by(sections.c.course_id)
    )


def _matching_sections(asked: Asked, lists: Lists, items: Mapping[int, Any]) -> Select[Any]:
    wanted = _one_section(asked)
    if asked.has_open_section:
        wanted.append(lists.is_open())
    return (
        select(sections, *live_columns())
        .outerjoin_from(sections, availability, lists.joins())
        .where(sections.c.course_id.in_(items), sections.c.retired_at.is_(None), *wanted)
        .order_by(sections.c.course_id, sections.c.section_number, sections.c.index_number)
    )


def _subjects(tx: Tx, wanted: Sequence[ColumnElement[bool]]) -> list[Payload]:
    c = courses.c
    rows = tx.execute(
        select(c.subject_code, func.max(c.subject_name), func.count())
        .where(*wanted)
        .group_by(c.subject_code)
        .order_by(c.subject_code)
    )
    return [{"code": code, "name": name, "courses": count} for code, name, count in rows]


def _version(tx: Tx, asked: Asked) -> str:
    """Changes with every catalogue that was taken in."""
    hashes = tx.execute(
        select(catalogues.c.body_hash)
        .where(catalogues.c.term_id == asked.term, catalogues.c.campus_code.in_(asked.campuses))
        .order_by(catalogues.c.campus_code)
    ).scalars()
    return ".".join(each[:12] for each in hashes) or "none"
