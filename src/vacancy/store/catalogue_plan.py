"""What taking a catalogue in would change. Pure: rows as they are and an answer in, a plan or a refusal out."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vacancy.model.catalogue import CatalogueAnswer, Course, Refused, Section

# A catalogue that lost a fifth or more is taken for a broken answer and not for a quiet year.
_SHRINKING_PARTS: Final = 5


@dataclass(frozen=True, slots=True)
class CourseRow:
    course_id: int
    course_key: str
    course_string: str
    variant: str
    content_hash: str
    facts_hash: str
    retired: bool


@dataclass(frozen=True, slots=True)
class SectionRow:
    section_id: int
    index: str
    campus: str
    course_id: int
    content_hash: str
    is_open: bool
    retired: bool


@dataclass(slots=True)
class Stored:
    """Every course of the campus, and every section of the term: an index may come from another campus."""

    courses: Sequence[CourseRow]
    sections: Mapping[str, SectionRow]


@dataclass(frozen=True, slots=True)
class Placed:
    """A course and the row it goes to; a new course has a key and no row yet."""

    course: Course
    course_key: str
    row: CourseRow | None


@dataclass(slots=True)
class Plan:
    new_courses: list[Placed] = field(default_factory=list)
    changed_courses: list[tuple[Placed, CourseRow]] = field(default_factory=list)
    rehashed_courses: list[tuple[Placed, CourseRow]] = field(default_factory=list)  # other bytes, same meaning
    retired_courses: list[CourseRow] = field(default_factory=list)
    new_sections: list[tuple[Placed, Section]] = field(default_factory=list)
    changed_sections: list[tuple[Placed, Section, SectionRow]] = field(default_factory=list)
    flips: list[tuple[Section, SectionRow]] = field(default_factory=list)
    retired_sections: list[SectionRow] = field(default_factory=list)
    moved_from: set[str] = field(default_factory=set)  # campuses that lost a section to this one
    robbed_courses: set[int] = field(default_factory=set)
    indexes_changed: bool = False
    course_count: int = 0
    section_count: int = 0


def make_plan(answer: CatalogueAnswer, stored: Stored, *, despite_shrinking: bool) -> Plan | Refused:
    live = {row.content_hash: row for row in stored.courses if not row.retired}
    kept = {live[content_hash].course_id for content_hash in answer.kept if content_hash in live}
    if len(kept) != len(answer.kept):
        return Refused("overtaken", "the stored catalogue changed while this one was read")
    courses, shared = _collapse(answer, stored, kept)
    if shared:
        return Refused("conflict", f"section {shared} stands in two courses, unlike")
    plan = Plan()
    placed = _place(courses, stored.courses, kept)
    _compare_sections(plan, answer.campus, placed, stored)
    _retire(plan, answer.campus, placed, stored, kept)
    refused = None if despite_shrinking else _shrinking(plan, answer.campus, stored)
    if refused:
        return refused
    _compare_courses(plan, placed)
    return plan


def shared_hash(content_hash: str) -> str:
    """Of a course whose sections partly stand in another: marked, so that its bytes never count as known.

    Passed over unread, it could not claim them when the other course lets them go.
    """
    return content_hash if is_shared(content_hash) else f"shared:{content_hash}"


def is_shared(content_hash: str) -> bool:
    return content_hash.startswith("shared:")


def without(course: Course, indexes: Iterable[str]) -> Course:
    """The course without sections that another course holds."""
    dropped = frozenset(indexes)
    own = tuple(section for section in course.sections if section.index not in dropped)
    return replace(course, sections=own, content_hash=shared_hash(course.content_hash))


def _collapse(answer: CatalogueAnswer, stored: Stored, kept: set[int]) -> tuple[list[Course], str | None]:
    """Take out of the changed courses what a kept one holds; the index of the first that reads otherwise there."""
    courses = []
    for course in answer.courses:
        held = []
        for section in course.sections:
            row = stored.sections.get(section.index)
            if row is None or row.retired or row.course_id not in kept:
                continue
            if (row.content_hash, row.is_open) != (section.content_hash, section.is_open):
                return [], section.index
            held.append(section.index)
        courses.append(without(course, held) if held else course)
    return courses, None


def _place(courses: Sequence[Course], stored: Sequence[CourseRow], kept: set[int]) -> list[Placed]:
    free: dict[str, list[CourseRow]] = defaultdict(list)
    for row in sorted(stored, key=lambda row: (row.retired, len(row.course_key), row.course_key)):
        if row.course_id not in kept:
            free[row.course_string].append(row)
    keys = {row.course_key for row in stored}
    return [
        placed
        for course_string, variants in _by_string(courses)
        for placed in _place_variants(variants, free[course_string], keys)
    ]


def _by_string(courses: Sequence[Course]) -> Iterable[tuple[str, list[Course]]]:
    groups: dict[str, list[Course]] = defaultdict(list)
    for course in courses:
        groups[course.course_string].append(course)
    return groups.items()


def _place_variants(courses: Sequence[Course], free: list[CourseRow], keys: set[str]) -> Iterable[Placed]:
    """First by what tells variants apart; then a course that was renamed takes over a row that nobody claims."""
    homeless = []
    for course in courses:
        row = next((row for row in free if row.variant == course.variant), None)
        if row is None:
            homeless.append(course)
            continue
        free.remove(row)
        yield Placed(course, row.course_key, row)
    for course in homeless:
        if free:
            row = free.pop(0)
            yield Placed(course, row.course_key, row)
        else:
            yield Placed(course, _new_key(course.course_string, keys), None)


def _new_key(course_string: str, keys: set[str]) -> str:
    numbered = (f"{course_string}#{number}" for number in itertools.count(2))
    key = next(key for key in itertools.chain((course_string,), numbered) if key not in keys)
    keys.add(key)
    return key


def _compare_sections(plan: Plan, campus: str, placed: Sequence[Placed], stored: Stored) -> None:
    for place in placed:
        for section in place.course.sections:
            row = stored.sections.get(section.index)
            if row is None:
                plan.new_sections.append((place, section))
                plan.indexes_changed = True
                continue
            _compare_section(plan, campus, place, section, row)


def _compare_section(plan: Plan, campus: str, place: Placed, section: Section, row: SectionRow) -> None:
    at_home = place.row is not None and row.course_id == place.row.course_id
    if row.retired or row.campus != campus:
        plan.indexes_changed = True
    if row.campus != campus:
        plan.moved_from.add(row.campus)
        plan.robbed_courses.add(row.course_id)
    if row.is_open != section.is_open:
        plan.flips.append((section, row))
    if row.retired or row.campus != campus or not at_home or row.content_hash != section.content_hash:
        plan.changed_sections.append((place, section, row))


def _retire(plan: Plan, campus: str, placed: Sequence[Placed], stored: Stored, kept: set[int]) -> None:
    claimed = {section.index for place in placed for section in place.course.sections}
    here = [row for row in stored.sections.values() if row.campus == campus and not row.retired]
    plan.retired_sections = [row for row in here if row.course_id not in kept and row.index not in claimed]
    taken = kept | {place.row.course_id for place in placed if place.row}
    plan.retired_courses = [row for row in stored.courses if not row.retired and row.course_id not in taken]
    plan.indexes_changed = plan.indexes_changed or bool(plan.retired_sections)
    plan.course_count = len(kept) + len(placed)
    plan.section_count = sum(row.course_id in kept for row in here) + len(claimed)


def _shrinking(plan: Plan, campus: str, stored: Stored) -> Refused | None:
    courses = sum(not row.retired for row in stored.courses)
    sections = sum(row.campus == campus and not row.retired for row in stored.sections.values())
    if courses and not plan.course_count:
        return Refused("empty", f"the new catalogue is empty; the stored one has {courses} courses")
    for before, after, what in ((courses, plan.course_count, "courses"), (sections, plan.section_count, "sections")):
        if before > after and (before - after) * _SHRINKING_PARTS >= before:
            return Refused("shrunk", f"the new catalogue has {after} {what}; the stored one has {before}")
    return None


def _compare_courses(plan: Plan, placed: Sequence[Placed]) -> None:
    touched = {place.course_key for place, _ in plan.new_sections if place.row}
    touched |= {place.course_key for place, _, _ in plan.changed_sections if place.row}
    lost = {row.course_id for row in plan.retired_sections}
    for place in placed:
        row, course = place.row, place.course
        if row is None:
            plan.new_courses.append(place)
        elif row.retired or row.facts_hash != course.facts_hash or place.course_key in touched or row.course_id in lost:
            plan.changed_courses.append((place, row))
        elif row.content_hash != course.content_hash:
            plan.rehashed_courses.append((place, row))
