"""One term and campus: its catalogue, which seats are open now, and both as the bytes that are served."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from vacancy.simulator.catalogue import SIZES, Catalogue, generate
from vacancy.simulator.chance import Chance
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.meetings import Json
from vacancy.simulator.sections import show_status

INDEX_LENGTH: Final = 5


class World:
    def __init__(self, catalogue: Catalogue, open_share: float, chance: Chance) -> None:
        self.term = catalogue.term
        self.campus = catalogue.campus
        self.catalogue = catalogue
        self._chance = chance
        self._listing = [*catalogue.indexes, *catalogue.orphans]
        # One shuffle for good: the list is unsorted, yet the same seats always give the same bytes.
        chance.shuffle(self._listing)
        self._known = set(self._listing)
        self._open = {index for index in catalogue.indexes if chance.likely(open_share)} | set(catalogue.orphans)
        self._override: tuple[str, ...] | None = None
        self._courses = _courses_by_index(catalogue.courses)
        self._list_body: bytes | None = None
        self._catalogue_body: bytes | None = None

    @property
    def catalogue_indexes(self) -> tuple[str, ...]:
        return self.catalogue.indexes

    @property
    def orphans(self) -> tuple[str, ...]:
        """Indexes that no catalogue section has."""
        return self.catalogue.orphans

    @property
    def open_indexes(self) -> frozenset[str]:
        """What the open list says now; an override counts."""
        return frozenset(self._open if self._override is None else self._override)

    @property
    def overridden(self) -> bool:
        return self._override is not None

    def course_of(self, index: str) -> Json:
        try:
            return self._courses[index]
        except KeyError:
            raise SimulatorError(f"{self.term} {self.campus} has no section {index}") from None

    def open(self, *indexes: str) -> None:
        """Open seats; an index outside the catalogue becomes one more orphan. Under an override it shows later."""
        self.set_seats(indexes, ())

    def close(self, *indexes: str) -> None:
        self.set_seats((), indexes)

    def set_seats(self, opened: Iterable[str], closed: Iterable[str]) -> None:
        """Both at once, or neither when a member is malformed."""
        opened, closed = tuple(opened), tuple(closed)
        _check_indexes((*opened, *closed))
        for index in opened:
            if index not in self._known:
                self._known.add(index)
                self._listing.append(index)
        self._open.update(opened)
        self._open.difference_update(closed)
        self._forget_bodies()

    def override(self, indexes: Iterable[str] | None) -> None:
        """Serve exactly these members in this order, whatever they are; None returns to the world's own seats."""
        self._override = None if indexes is None else tuple(indexes)
        self._forget_bodies()

    def step(self, *, openings: int = 0, closings: int = 0) -> tuple[list[str], list[str]]:
        """Let that many catalogue seats open and close, none of them both ways; says which."""
        closed_now = [index for index in self.catalogue.indexes if index not in self._open] if openings else []
        open_now = [index for index in self.catalogue.indexes if index in self._open] if closings else []
        opened = self._chance.sample(closed_now, openings)
        closed = self._chance.sample(open_now, closings)
        self.set_seats(opened, closed)
        return opened, closed

    def listed(self) -> list[str]:
        """The members of the open list in the order they are served, with the one duplicate of the real list."""
        if self._override is not None:
            return list(self._override)
        members = [index for index in self._listing if index in self._open]
        return [*members, members[0]] if len(members) > 1 else members

    def list_body(self) -> bytes:
        if self._list_body is None:
            self._list_body = msgspec.json.encode(self.listed())
        return self._list_body

    def catalogue_body(self) -> bytes:
        if self._catalogue_body is None:
            self._show_seats()
            self._catalogue_body = msgspec.json.encode(self.catalogue.courses)
        return self._catalogue_body

    def _show_seats(self) -> None:
        open_now = self.open_indexes
        for course in self.catalogue.courses:
            for section in course["sections"]:
                show_status(section, section["index"] in open_now)
            course["openSections"] = sum(section["openStatus"] for section in course["sections"])

    def _forget_bodies(self) -> None:
        self._list_body = None
        self._catalogue_body = None


def build_world(seed: int, term: str, campus: str, scale: float) -> World:
    catalogue = generate(seed, term, campus, scale)
    return World(catalogue, SIZES[campus].open_share, Chance(seed, term, campus, "seats"))


def _courses_by_index(courses: Sequence[Json]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for course in courses:
        for section in course["sections"]:
            found.setdefault(section["index"], course)
    return found


def _check_indexes(indexes: Iterable[str]) -> None:
    for index in indexes:
        if len(index) != INDEX_LENGTH or not (index.isascii() and index.isdigit()):
            raise SimulatorError(f"an index has five digits, {index!r} has not")
