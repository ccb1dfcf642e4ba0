"""What the course endpoints take and give: read by pydantic at the edge, with messages of our own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from vacancy.errors import UserError
from vacancy.model.catalogue import day_mask, words
from vacancy.model.terms import parse_campus, parse_term
from vacancy.store.course_search import NEWEST_FIRST, Asked

MOST_PAGE: Final = 100_000
_NUMBER: Final = {
    int: re.compile(r"-?[0-9]{1,9}", re.ASCII),
    float: re.compile(r"-?[0-9]{1,4}(\.[0-9]{1,4})?", re.ASCII),
}
_SUBJECT: Final = re.compile(r"(?:([0-9A-Za-z]{1,8}):)?([0-9A-Za-z]{1,8})", re.ASCII)
_LEVELS: Final = {"UG": "U", "U": "U", "GR": "G", "G": "G", "N/A": ""}
# The names on the buses, for those who do not know the codes.
_PLACES: Final = {"CAC": "1", "BUS": "2", "LIV": "3", "D/C": "4", "CD": "4", "DNB": "5", "OFF": "Z"}
_EXAMS: Final = frozenset("ABCDFGIJMOQSTU")
_SUBJECT_SHAPE: Final = "must be a subject such as 198, or with its school 01:198"

Read = Callable[[str], Any]


def _refusing(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def validate(value: Any) -> Any:
        try:
            return read(value)
        except ValueError as problem:
            raise PydanticCustomError("refused", "{problem}", {"problem": str(problem)}) from problem

    return validate


def _number(least: int, most: int, kind: type[int] | type[float], name: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        if not _NUMBER[kind].fullmatch(str(value)):
            raise ValueError(f"must be a {name} from {least} to {most}")
        number = kind(value)
        if number < least:
            raise ValueError(f"must be at least {least}")
        if number > most:
            raise ValueError(f"must be at most {most}")
        return number

    return BeforeValidator(_refusing(read))


def _whole(least: int, most: int) -> BeforeValidator:
    return _number(least, most, int, "whole number")


def _from_to(kind: str, least: int, most: int) -> WithJsonSchema:
    return WithJsonSchema({"type": kind, "minimum": least, "maximum": most})


def _values(read: Read) -> BeforeValidator:
    """Given several times, or once with commas between."""

    def read_all(value: Any) -> list[Any]:
        texts = [value] if isinstance(value, str) else value
        members = [member.strip() for text in texts for member in text.split(",")]
        return list(dict.fromkeys(read(member) for member in members if member))

    return BeforeValidator(_refusing(read_all))


def _choice(allowed: dict[str, str], what: str) -> BeforeValidator:
    def read(text: str) -> str:
        found = allowed.get(text) if text in allowed else allowed.get(text.upper())
        if found is None:
            raise ValueError(f"must be {what}")
        return found

    return _values(read)


def _same(*choices: str) -> dict[str, str]:
    return {choice: choice for choice in choices}


def _short(text: str) -> str:
    if len(text) > 32:
        raise ValueError("must be at most 32 characters long")
    if not text.isprintable():
        raise ValueError("must be plain text")
    return text


def _subject(text: str) -> str:
    if not _SUBJECT.fullmatch(text):
        raise ValueError(_SUBJECT_SHAPE)
    return text.upper()


def _day_texts(value: Any) -> str:
    text = ",".join([value] if isinstance(value, str) else value)
    day_mask(text)
    return text


def _keyword(value: Any) -> Any:
    text = str(value).strip()
    if len(text) < 2:
        raise ValueError("must have at least 2 characters")
    if len(text) > 200:
        raise ValueError("must be at most 200 characters long")
    return text


Texts = list[str]
Minutes = Annotated[int, _whole(0, 1440), _from_to("integer", 0, 1440)]
Page = Annotated[int, _whole(1, MOST_PAGE), _from_to("integer", 1, MOST_PAGE)]
PageSize = Annotated[int, _whole(1, 100), _from_to("integer", 1, 100)]
SectionsLimit = Annotated[int, _whole(1, 300), _from_to("integer", 1, 300)]
Credits = Annotated[float, _number(0, 20, float, "number"), _from_to("number", 0, 20)]
Term = Annotated[str, AfterValidator(_refusing(parse_term))]
Campuses = Annotated[Texts, _values(parse_campus)]
TermChoice = Annotated[Term, Query(description="Such as 12025 for spring 2025.", examples=["12025"])]
CampusChoice = Annotated[Campuses, Query(default_factory=list, description="All of the term's when left out.")]


class CourseParameters(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_default=False)

    term: Term = Field(description="Such as 12025 for spring 2025.", examples=["12025"])
    campus: Campuses = Field(default_factory=list, description="Such as NB. This or `subject` is needed.")
    campus_location: Annotated[Texts, _values(_short)] = Field(
        default_factory=list, description="Codes of the course's campus locations, such as 1 for College Avenue."
    )
    subject: Annotated[Texts, _values(_subject)] = Field(default_factory=list, description="`198` or `01:198`.")
    q: Annotated[str | None, BeforeValidator(_refusing(_keyword))] = Field(
        default=None,
        description="Words, each the beginning of one in the title, subject, course number, a section's index or an "
        "instructor's name. All must be there.",
        min_length=2,
        max_length=200,
    )
    level: Annotated[Texts, _choice(_LEVELS, "UG, GR or N/A")] = Field(default_factory=list, description="UG, GR, N/A.")
    core_code: Annotated[Texts, _values(_short)] = Field(default_factory=list, description="Such as QQ, in any case.")
    exam_code: Annotated[Texts, _choice(_same(*_EXAMS), f"one of {' '.join(sorted(_EXAMS))}")] = Field(
        default_factory=list, description="Such as C."
    )
    credits_min: Credits | None = Field(default=None, description="No course with fewer, or with an unknown number.")
    credits_max: Credits | None = Field(default=None, description="No course with more, or with an unknown number.")
    delivery: Annotated[
        Texts,
        _choice({f"{key}": key.lower() for key in ("IN_PERSON", "ONLINE", "HYBRID")}, "in_person, online or hybrid"),
    ] = Field(default_factory=list, description="in_person, online, hybrid.")
    has_open_section: bool | None = Field(default=None, description="By the open list as it is now.")
    has_prerequisite: bool | None = None
    meeting_days: Annotated[str | None, BeforeValidator(_refusing(_day_texts))] = Field(
        default=None, description="Days as in MTWTHF: a section meets on these alone."
    )
    meeting_start: Minutes | None = Field(default=None, description="Minutes after midnight: nothing begins sooner.")
    meeting_end: Minutes | None = Field(default=None, description="Minutes after midnight: nothing ends later.")
    meeting_campus: Annotated[Texts, _values(_short)] = Field(
        default_factory=list, description="Codes such as 2, or BUS: every meeting on site is at one of these."
    )
    sort_by: Literal["subject", "courseNumber", "title", "credits", "sectionsOpen", "updatedAt"] = "subject"
    sort_dir: Literal["asc", "desc"] | None = Field(
        default=None, description="The last two sorts are descending at first, the others ascending."
    )
    page: Page = 1
    page_size: PageSize = 20
    include: Annotated[
        Texts,
        _choice(
            {name.upper(): name for name in ("sectionsSummary", "subjects", "sections")},
            "sectionsSummary, subjects or sections",
        ),
    ] = Field(default_factory=list, description="sectionsSummary, subjects, sections.")
    sections_limit: SectionsLimit = Field(default=200, description="Sections of one course.")


def asked_of(given: CourseParameters) -> Asked:
    _refuse_contradictions(given)
    return Asked(
        term=given.term,
        campuses=given.campus,
        campus_locations=given.campus_location,
        subjects=[_split_subject(text) for text in given.subject],
        phrases=None if given.q is None else [phrase for word in given.q.split() if (phrase := words(word))],
        levels=given.level,
        core_codes=given.core_code,
        exam_codes=given.exam_code,
        credits_min=_tenths(given.credits_min),
        credits_max=_tenths(given.credits_max),
        deliveries=given.delivery,
        has_open_section=given.has_open_section,
        has_prerequisite=given.has_prerequisite,
        days=day_mask(given.meeting_days or ""),
        start=given.meeting_start,
        end=given.meeting_end,
        places=[_PLACES.get(place.upper(), place.upper()) for place in given.meeting_campus],
        sort_by=given.sort_by,
        descending=given.sort_by in NEWEST_FIRST if given.sort_dir is None else given.sort_dir == "desc",
        page=given.page,
        page_size=given.page_size,
        sections_limit=given.sections_limit,
        include=frozenset(given.include),
    )


def _refuse_contradictions(given: CourseParameters) -> None:
    problems = []
    if not given.campus and not given.subject:
        problems.append("campus: must be given, unless there is a subject")
    if given.credits_min is not None and given.credits_max is not None and given.credits_min > given.credits_max:
        problems.append("creditsMin: must be at most creditsMax")
    if given.meeting_start is not None and given.meeting_end is not None and given.meeting_start > given.meeting_end:
        problems.append("meetingStart: must be at most meetingEnd")
    if problems:
        raise UserError("validation_failed", problems[0], problems)


def _split_subject(text: str) -> tuple[str | None, str]:
    school, _, subject = text.rpartition(":")
    return school or None, subject


def _tenths(number: float | None) -> int | None:
    return None if number is None else round(number * 10)


class _Shown(BaseModel):
    """For the OpenAPI document alone: answers are encoded from plain dictionaries."""

    model_config = ConfigDict(alias_generator=to_camel, extra="allow")


class SubjectShown(_Shown):
    code: str
    name: str
    courses: int


class SectionsSummary(_Shown):
    total: int
    open: int


class SectionShown(_Shown):
    index: str = Field(examples=["09214"])
    section_number: str
    status: Literal["Open", "Closed", "Unknown"]
    opened_at: str | None
    last_checked_at: str | None
    instructors: str
    meeting_summary: str = Field(examples=["T H 14:10-15:30 BUS XYZ 101"])
    meetings: list[dict[str, Any]]
    delivery: str
    exam_code: str | None


class CourseShown(_Shown):
    course_key: str
    course_string: str = Field(examples=["01:198:111"])
    term: str
    campus: str
    subject: str
    subject_name: str
    course_number: str
    title: str
    level: str
    credits: str
    credits_min: float | None
    credits_max: float | None
    core_codes: list[str]
    campus_locations: list[str]
    has_prerequisite: bool
    updated_at: str
    sections_summary: SectionsSummary | None = None
    sections: list[SectionShown] | None = None


class PageMeta(_Shown):
    page: int
    page_size: int
    total: int
    has_next: bool
    generated_at: str
    version: str = Field(description="Changes with every catalogue that was taken in.")


class CoursePage(_Shown):
    items: list[CourseShown]
    meta: PageMeta
    subjects: list[SubjectShown] | None = None


class HistoryShown(_Shown):
    open_event_id: int
    event_at: str
    status_before: str
    status_after: str
    detected_by: str
    episode: int


class SectionPage(_Shown):
    term: str
    campus: str
    index: str
    section_id: int | None
    section_resolved: bool = Field(description="False for an index that only the open list knows.")
    retired_at: str | None
    status: Literal["Open", "Closed", "Unknown"]
    episode: int
    opened_at: str | None
    closed_at: str | None
    last_seen_at: str | None
    last_checked_at: str | None
    registration_link: str
    course: CourseShown | None
    history: list[HistoryShown]


class Filters(_Shown):
    term: str
    campuses: list[str]
    subjects: list[SubjectShown]
    levels: list[str]
    core_codes: list[str]
    campus_locations: list[str]
    exam_codes: list[str]
    deliveries: list[str]
    meeting_campuses: list[str]
