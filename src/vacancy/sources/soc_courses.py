"""One course object of the catalogue: what must be in it, and what it means to us."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from vacancy.model.catalogue import Course, Encoded, Section, words
from vacancy.sources.soc_meetings import MeetingRow, delivery_of, read_meetings, summary

# Raise it with every change of meaning in these modules: every stored course is then read again.
RULES: Final = 1
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_BREAK: Final = re.compile(r"(?i)<(br|/p|/div|/li)\b[^<>]*>")
_PLACE: Final = re.compile(r"sections\[([0-9]+)\]")
_ARRANGED: Final = "BA"

# The lengths are those of the columns: PostgreSQL refuses what is longer, and then nothing could be taken in.
Code = Annotated[str, Meta(max_length=8)]
Index = Annotated[str, Meta(pattern=r"^[0-9]{5}\Z")]


class MalformedError(ValueError):
    """One line that names the course, the section if it lies there, and the field."""


class Place(Struct, gc=False):
    code: Code
    description: str | None = None


class School(Struct, gc=False):
    code: Code | None = None
    description: str | None = None


class CreditsRow(Struct, gc=False):
    code: str | None = None
    description: str | None = None


class CoreCode(Struct, rename="camel", gc=False):
    core_code: Annotated[str, Meta(min_length=1, max_length=16)]


class Instructor(Struct, gc=False):
    name: str


class SectionRow(Struct, rename="camel", gc=False):
    index: Index
    number: Code
    open_status: bool
    instructors: tuple[Instructor, ...] | None = None
    instructors_text: str | None = None
    exam_code: Annotated[str, Meta(max_length=4)] | None = None
    exam_code_text: str | None = None
    section_course_type: Code | None = None
    subtitle: str | None = None
    section_notes: str | None = None
    comments_text: str | None = None
    section_eligibility: str | None = None
    open_to_text: str | None = None
    special_permission_add_code_description: str | None = None
    special_permission_drop_code_description: str | None = None
    cross_listed_sections_text: str | None = None
    session_dates: str | None = None
    meeting_times: tuple[MeetingRow, ...] | None = None


class CourseRow(Struct, rename="camel", gc=False):
    course_string: Annotated[str, Meta(min_length=1, max_length=16)]
    title: str
    subject: Code
    course_number: Code
    sections: tuple[SectionRow, ...]
    subject_description: str | None = None
    expanded_title: str | None = None
    supplement_code: Code | None = None
    level: Code | None = None
    credits: Annotated[float, Meta(ge=0, lt=1000)] | None = None
    credits_object: CreditsRow | None = None
    core_codes: tuple[CoreCode, ...] | None = None
    campus_locations: tuple[Place, ...] | None = None
    school: School | None = None
    pre_req_notes: str | None = None
    synopsis_url: str | None = None
    course_description: str | None = None
    course_notes: str | None = None
    subject_notes: str | None = None
    unit_notes: str | None = None


_decoder: Final = msgspec.json.Decoder(CourseRow)


def fingerprint(text: bytes | msgspec.Raw) -> str:
    return hashlib.sha256(text).hexdigest()[:32]


def read_course(raw: msgspec.Raw, content_hash: str) -> Course:
    try:
        row = _decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise _malformed(raw, str(error)) from error
    except RecursionError as error:
        raise MalformedError("a course is nested too deeply") from error
    return _course(row, content_hash)


def _course(row: CourseRow, content_hash: str) -> Course:
    sections = _once(row, tuple(_section(row, section) for section in row.sections))
    title, supplement = clean(row.title), clean(row.supplement_code)
    course_string, subject = clean(row.course_string), clean(row.subject)
    tenths = None if row.credits is None else round(row.credits * 10)
    names = (name for section in sections for name in (section.index, section.instructors))
    said = (title, clean(row.expanded_title), subject, clean(row.subject_description), course_string, *names)
    facts = (
        course_string,
        f"{supplement}|{title}",
        subject,
        clean(row.subject_description),
        clean(row.course_number),
        title,
        clean(row.level),
        _credits(row),
        tenths,
        tenths,
        _distinct(code.core_code for code in row.core_codes or ()),
        _distinct(place.code for place in row.campus_locations or ()),
        bool(plain_text(row.pre_req_notes)),
        # Each text once: an instructor of sixty sections would otherwise fill the index.
        " ".join(word for text in dict.fromkeys(said) for word in words(text)),
        _course_payload(row, supplement),
    )
    return Course(*facts, content_hash, fingerprint(msgspec.json.encode(facts)), sections)


def _once(row: CourseRow, sections: Sequence[Section]) -> tuple[Section, ...]:
    by_index: dict[str, Section] = {}
    for section in sections:
        if by_index.setdefault(section.index, section) != section:
            raise MalformedError(
                f"course {clean(row.course_string)}: section {section.index} stands there twice, unlike"
            )
    return tuple(by_index.values())


def _section(course: CourseRow, row: SectionRow) -> Section:
    try:
        meetings = read_meetings(row.meeting_times or ())
    except ValueError as error:
        raise MalformedError(
            f"course {clean(course.course_string)}, section {row.index}: meetingTimes: {error}"
        ) from error
    delivery = delivery_of(row.section_course_type, meetings)
    starts = [meeting.start for meeting in meetings if meeting.start is not None]
    ends = [meeting.end for meeting in meetings if meeting.end is not None]
    mask = 0
    for meeting in meetings:
        mask |= meeting.days
    places = _distinct(meeting.location for meeting in meetings if meeting.location)
    facts = (
        clean(row.number),
        _instructors(row),
        summary(meetings, delivery),
        _encoded([meeting.as_payload() for meeting in meetings]),
        mask,
        min(starts, default=None),
        max(ends, default=None),
        "".join(f"|{place}|" for place in sorted(places)),
        delivery,
        clean(row.exam_code) or None,
    )
    payload = _section_payload(row)
    seal = fingerprint(msgspec.json.encode((row.index, facts, payload)))
    return Section(row.index, *facts, row.open_status, payload, seal)


def _instructors(row: SectionRow) -> str:
    names = _distinct(clean(person.name) for person in row.instructors or ())
    return "; ".join(names) or clean(row.instructors_text)


def _credits(row: CourseRow) -> str:
    if row.credits is not None:
        return f"{row.credits:g}"
    said = row.credits_object
    if said and said.code == _ARRANGED:
        return "by arrangement"
    return clean(said.description)[:32] if said else ""


def _course_payload(row: CourseRow, supplement: str) -> Encoded:
    return _filled(
        expandedTitle=clean(row.expanded_title),
        supplementCode=supplement,
        schoolCode=clean(row.school.code) if row.school else "",
        school=clean(row.school.description) if row.school else "",
        prerequisites=plain_text(row.pre_req_notes),
        synopsisUrl=_web_address(row.synopsis_url),
        description=plain_text(row.course_description),
        courseNotes=plain_text(row.course_notes),
        subjectNotes=plain_text(row.subject_notes),
        unitNotes=plain_text(row.unit_notes),
    )


def _section_payload(row: SectionRow) -> Encoded:
    return _filled(
        subtitle=clean(row.subtitle),
        notes=plain_text(row.section_notes),
        comments=plain_text(row.comments_text),
        eligibility=clean(row.section_eligibility),
        openTo=clean(row.open_to_text),
        exam=clean(row.exam_code_text),
        permissionToAdd=clean(row.special_permission_add_code_description),
        permissionToDrop=clean(row.special_permission_drop_code_description),
        crossListed=clean(row.cross_listed_sections_text),
        sessionDates=clean(row.session_dates),
    )


def _filled(**members: str) -> Encoded:
    return _encoded({name: value for name, value in members.items() if value})


def _encoded(value: Any) -> Encoded:
    return Encoded(msgspec.json.encode(value))


def _web_address(text: str | None) -> str:
    """It becomes a link on a page, where `javascript:` would be a script of somebody else's."""
    address = clean(text)
    return address if address.lower().startswith(("https://", "http://")) else ""


def _distinct(texts: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in map(clean, texts) if text))


def clean(text: str | None) -> str:
    """Trimmed, white space evened out, without the NUL that PostgreSQL cannot hold."""
    return " ".join(text.replace("\0", "").split()) if text else ""


def plain_text(markup: str | None) -> str:
    """`<em> OR </em>` becomes ` OR `; a lone `<` as in `GPA < 3` stays what it is."""
    return clean(html.unescape(_TAG.sub("", _BREAK.sub(" ", markup)))) if markup else ""


def _malformed(raw: msgspec.Raw, said: str) -> MalformedError:
    """Read once more without a type, to name the culprit; only ever done for the one course that was refused."""
    try:
        course = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return MalformedError(f"a course cannot be read: {said}")
    named = course.get("courseString") if isinstance(course, dict) else None
    where = f"course {named!s:.32}"
    place = _PLACE.search(said)
    if place:
        row = course["sections"][int(place[1])]
        where += f", section {row.get('index') if isinstance(row, dict) else row!s:.32}"
    return MalformedError(clean(f"{where}: {said.replace('`', '')}"))
