"""What makes the real feed awkward, put at fixed positions so that even a small catalogue has each of them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Final

from vacancy.simulator.meetings import Json
from vacancy.simulator.sections import show_status

VARIANT_EVERY: Final = 25
VARIANT_AT: Final = 3
SHARED_SECTIONS: Final = 2
TITLE_WIDTH: Final = 80


def add_variants(courses: list[Json]) -> list[Json]:
    """Some courses come as two objects with one subject and number: half differ in supplement, half in school."""
    result: list[Json] = []
    for position, course in enumerate(courses):
        result.append(course)
        if position % VARIANT_EVERY == VARIANT_AT and len(course["sections"]) > 1:
            result.append(_variant(course, by_school=position // VARIANT_EVERY % 2 == 1))
        elif position % VARIANT_EVERY == VARIANT_AT:
            course["supplementCode"] = "LB"
    return result


def _variant(course: Json, *, by_school: bool) -> Json:
    """The variant takes the last section over, so that no section is counted twice."""
    variant = dict(course)
    variant["sections"] = [course["sections"].pop()]
    variant["title"] = f"{course['title'][:14]} (ALT)"
    if by_school:
        variant["school"] = {"code": "16", "description": "Graduate School"}
        variant["offeringUnitCode"] = "16"
        variant["courseString"] = f"16:{course['subject']}:{course['courseNumber']}"
    else:
        variant["supplementCode"] = "LB"
    return variant


def share_sections(courses: list[Json]) -> None:
    """The very same section stands in two course objects, once or twice in a catalogue."""
    pairs = [
        (first, second)
        for first, second in itertools.pairwise(courses)
        if (first["subject"], first["courseNumber"]) == (second["subject"], second["courseNumber"])
    ]
    for first, second in pairs[:SHARED_SECTIONS]:
        second["sections"].append(first["sections"][0])


def pad_titles(courses: list[Json]) -> None:
    for course in courses:
        if course["expandedTitle"] is not None:
            course["expandedTitle"] = course["expandedTitle"].ljust(TITLE_WIDTH)


def swap(courses: list[Json], share: float, spares: Sequence[str], is_open: Callable[[str], bool]) -> list[Json]:
    """The next generation: every n-th section vanishes, every n-th gets a new neighbour, every n-th title changes."""
    every = max(2, round(1 / share))
    fresh = iter(spares)
    position = 0
    for nth, course in enumerate(courses):
        kept: list[Json] = []
        for section in course["sections"]:
            if position % every:
                kept.append(section)
            if position % every == 1:
                kept.append(_newcomer(section, next(fresh), is_open))
            position += 1
        course["sections"] = kept
        if nth % every == 0:
            course["title"] = f"{course['title'][:16]} NEW"
    return [course for course in courses if course["sections"]]


def _newcomer(section: Json, index: str, is_open: Callable[[str], bool]) -> Json:
    newcomer = copy.deepcopy(section) | {"index": index, "number": f"N{index[-1]}"}
    show_status(newcomer, is_open(index))
    return newcomer


def conflict(courses: list[Json]) -> None:
    """One index with two meanings: such a catalogue cannot be trusted."""
    if courses:
        twin = copy.deepcopy(courses[0]["sections"][0])
        twin.update(number="X9", instructorsText="OTHER, PERSON", instructors=[{"name": "OTHER, PERSON"}])
        twin["meetingTimes"] = []
        courses[-1]["sections"].append(twin)
