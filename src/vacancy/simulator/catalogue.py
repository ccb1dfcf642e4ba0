"""Invented catalogues, shaped and sized like the real ones: the same seed, term and campus always give the same one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vacancy.simulator.chance import Chance
from vacancy.simulator.meetings import Json
from vacancy.simulator.quirks import add_variants, pad_titles, share_sections
from vacancy.simulator.sections import build_section
from vacancy.simulator.words import (
    CORE_CODES,
    DESCRIPTIONS,
    LOCATIONS,
    NOTES,
    SCHOOLS,
    SUBJECTS,
    TITLE_ENDINGS,
    TITLE_OPENINGS,
    TITLE_SUBJECTS,
)


@dataclass(frozen=True, slots=True)
class Size:
    """Index ranges of campuses do not meet: an index is unique in its term."""

    courses: int
    sections: int
    open_share: float
    first_index: int
    last_index: int


SIZES: Final = {
    "NB": Size(4400, 12000, 0.70, 101, 29999),
    "CM": Size(900, 1850, 0.79, 30001, 39999),
    "NK": Size(1300, 2550, 0.73, 40001, 59999),
    # The upstream lists a campus that offers nothing: an empty answer there is the truth.
    "H": Size(0, 0, 0.0, 60001, 60999),
}
SMALLEST: Final = 12
ORPHANS_PER_THOUSAND: Final = 2


@dataclass(frozen=True, slots=True)
class Catalogue:
    term: str
    campus: str
    courses: list[Json]
    indexes: tuple[str, ...]
    orphans: tuple[str, ...]
    spares: tuple[str, ...]


def generate(seed: int, term: str, campus: str, scale: float = 1.0) -> Catalogue:
    size = SIZES[campus]
    chance = Chance(seed, term, campus)
    course_count = _scaled(size.courses, scale)
    section_count = max(_scaled(size.sections, scale), course_count)
    pool = [f"{number:05d}" for number in range(size.first_index, size.last_index + 1)]
    chance.shuffle(pool)
    orphan_count = 1 + section_count * ORPHANS_PER_THOUSAND // 1000 if section_count else 0
    indexes, rest = tuple(pool[:section_count]), pool[section_count:]
    courses = [_course(chance, term, campus, place) for place in _places(chance, course_count)]
    _fill(chance, campus, courses, indexes)
    courses = add_variants(courses)
    share_sections(courses)
    pad_titles(courses)
    return Catalogue(term, campus, courses, indexes, tuple(rest[:orphan_count]), tuple(rest[orphan_count:]))


def _scaled(count: int, scale: float) -> int:
    return max(SMALLEST, round(count * scale)) if count else 0


@dataclass(frozen=True, slots=True)
class Place:
    position: int
    subject: str
    subject_name: str
    number: str


def _places(chance: Chance, count: int) -> Iterator[Place]:
    """Spread the courses over the subjects, each subject's numbers rising as in the real list."""
    subjects = SUBJECTS[: max(1, min(len(SUBJECTS), count // 6))]
    position = 0
    for nth, (code, name) in enumerate(subjects):
        share = count // len(subjects) + (nth < count % len(subjects))
        for number in sorted(chance.sample(range(100, 800), share)):
            # The lowest numbers keep their zeros: "020" is not 20.
            yield Place(position, code, name, f"{number - 80 if number < 130 else number:03d}")
            position += 1


def _fill(chance: Chance, campus: str, courses: list[Json], indexes: tuple[str, ...]) -> None:
    """One section a course, then the rest unevenly: a few large lectures hold most of them."""
    order = list(range(len(courses)))
    chance.shuffle(order)
    for position, index in enumerate(indexes):
        if position < len(courses):
            course = courses[position]
        else:
            course = courses[order[int(len(order) * chance.share() ** 1.6)]]
        sections = course["sections"]
        number = f"{len(sections) + 1:02d}" if len(sections) < 60 or position % 3 else f"A{len(sections) % 10}"
        sections.append(build_section(chance, campus, index, number, position))


def _course(chance: Chance, term: str, campus: str, place: Place) -> Json:
    school, school_name = chance.pick(SCHOOLS)
    title = f"{chance.pick(TITLE_OPENINGS)} {chance.pick(TITLE_SUBJECTS)}{chance.pick(TITLE_ENDINGS)}"
    code, location, _ = chance.pick(LOCATIONS[campus])
    course: Json = {
        "campusLocations": [{"code": code, "description": location}],
        "subject": place.subject,
        "openSections": 0,
        "synopsisUrl": _synopsis(chance, school, place),
        "subjectGroupNotes": None,
        "offeringUnitCode": school,
        "offeringUnitTitle": None,
        "title": title[:20].rstrip(),
        "courseDescription": chance.pick(DESCRIPTIONS) if chance.likely(0.1) else "",
        "preReqNotes": _prerequisites(chance, place) if chance.likely(0.28) else None,
        "courseString": f"{school}:{place.subject}:{place.number}",
        "school": {"code": school, "description": school_name},
        "courseNumber": place.number,
        "supplementCode": "  ",
        "campusCode": campus,
        "mainCampus": campus,
        "level": "G" if place.number >= "500" else "U",
        "subjectDescription": place.subject_name.title(),
        "coreCodes": _core_codes(chance, term, place) if chance.likely(0.16) or place.position % 19 == 4 else [],
        "expandedTitle": f"{title} IN {place.subject_name}" if chance.likely(0.65) else None,
        "courseFee": None,
        "courseFeeDescr": None,
        "courseNotes": chance.pick(NOTES) if chance.likely(0.03) else None,
        "subjectNotes": chance.pick(NOTES) if chance.likely(0.08) else None,
        "unitNotes": chance.pick(NOTES) if chance.likely(0.02) else None,
        "sections": [],
    }
    _add_credits(course, chance, place.position)
    return course


def _add_credits(course: Json, chance: Chance, position: int) -> None:
    """By arrangement there is no number: sometimes null, sometimes the member is missing altogether."""
    if position % 9 == 2:
        course["creditsObject"] = {"code": "BA", "description": "Credits by arrangement"}
        if position % 18 == 2:
            course["credits"] = None
        return
    amount = chance.pick((1, 1.5, 3, 3, 3, 3, 4, 4))
    whole, half = int(amount), int(amount * 10 % 10)
    course["credits"] = amount
    course["creditsObject"] = {"code": f"{whole}_{half}", "description": f"{whole}.{half} credits"}


def _synopsis(chance: Chance, school: str, place: Place) -> str | None:
    if not chance.likely(0.57):
        return None
    return f"https://synopsis.example.edu/{school}/{place.subject}/{place.number}.html"


def _prerequisites(chance: Chance, place: Place) -> str:
    numbers = [f"{100 + chance.below(300)}" for _ in range(2)]
    first, second = (f"(01:{place.subject}:{number} {chance.pick(TITLE_SUBJECTS)})" for number in numbers)
    return f"{first}<em> OR </em>{second}" if chance.likely(0.7) else f"Any Course EQUAL or GREATER Than: {first}"


def _core_codes(chance: Chance, term: str, place: Place) -> list[Json]:
    code, description = chance.pick(CORE_CODES)
    return [
        {
            "id": f"{term}{place.subject}{place.number}",
            "year": term[1:],
            "term": term[0],
            "description": description,
            "lastUpdated": 1700000000000,
            "offeringUnitCode": "01",
            "offeringUnitCampus": "NB",
            "unit": "01",
            "course": place.number,
            "subject": place.subject,
            "effective": "20159",
            "coreCodeReferenceId": str(10 + chance.below(60)),
            "coreCode": code,
            "coreCodeDescription": description,
        }
    ]
