"""Restaurants and their free tables, for any day: the same for the same seed, until somebody moves them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vacancy.simulator.chance import Chance
from vacancy.simulator.errors import SimulatorError, UnknownTargetError

FULL_SIZE: Final = 320
SMALLEST: Final = 24
FIRST_NUMBER: Final = 834
# Share of venues that have nothing on a day, and of the times that are free where there is something.
BOOKED_OUT: Final = 0.4
FREE: Final = 0.3
SITTINGS: Final = tuple(f"{hour:02d}:{minute:02d}" for hour in range(11, 23) for minute in (0, 15, 30, 45))
SIZES: Final = ((2,), (2, 4), (4,), (2, 3, 4, 5, 6))
TRIES: Final = 64

_FIRST: Final = ("Blue", "Little", "Golden", "Corner", "Old", "Wild", "Silver", "North", "Quiet", "Paper", "Salt")
_SECOND: Final = ("Fern", "Harbor", "Lantern", "Orchard", "Sparrow", "Kettle", "Garden", "Anchor", "Fig", "Oven")
_KIND: Final = ("Kitchen", "Table", "Tavern", "Room", "Grill", "House")
_QUARTERS: Final = ("Riverside", "Old Market", "Hilltop", "Docklands", "Park Row")


@dataclass(frozen=True, slots=True)
class Restaurant:
    number: int
    name: str
    quarter: str
    price: int
    average: float
    votes: int

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-") + f"-{self.number}"


class Tables:
    """`term` and `campus` are what churn goes by; `campus` is the market here."""

    term: Final = "tables"

    def __init__(self, seed: int, scale: float, market: str) -> None:
        self.campus = market
        self._seed = seed
        self._chance = Chance(seed, market, "tables")
        count = max(SMALLEST, round(FULL_SIZE * scale))
        self.restaurants = {number: _restaurant(seed, number) for number in range(FIRST_NUMBER, FIRST_NUMBER + count)}
        self._free: dict[str, dict[int, set[str]]] = {}
        self._sizes: dict[tuple[str, int, str], tuple[int, ...]] = {}

    @property
    def days(self) -> tuple[str, ...]:
        """Those that somebody asked for or set."""
        return tuple(self._free)

    def free(self, day: str, number: int) -> frozenset[str]:
        return frozenset(self._times(day, number))

    def set_tables(self, day: str, number: int, opened: Iterable[str], closed: Iterable[str]) -> None:
        """Any time at all may open; one that is not free may be closed."""
        opened, closed = tuple(opened), tuple(closed)
        for time in (*opened, *closed):
            if len(time) != 5 or time[2] != ":" or not (time[:2] + time[3:]).isdecimal():
                raise SimulatorError(f"a time is written such as 20:30, {time!r} is not")
        times = self._times(day, number)
        times.update(opened)
        times.difference_update(closed)

    def open(self, day: str, number: int, *times: str) -> None:
        self.set_tables(day, number, times, ())

    def close(self, day: str, number: int, *times: str) -> None:
        self.set_tables(day, number, (), times)

    def close_all(self, day: str, number: int) -> None:
        self._times(day, number).clear()

    def step(self, *, openings: int = 0, closings: int = 0) -> int:
        """Let that many tables open and close on the days that are known; says how many did."""
        moved = 0
        for wanted, opening in ((openings, True), (closings, False)):
            for _ in range(wanted if self._free else 0):
                moved += self._move_one(opening=opening)
        return moved

    def _move_one(self, *, opening: bool) -> bool:
        for _ in range(TRIES):
            times = self._times(self._chance.pick(self.days), self._chance.pick(tuple(self.restaurants)))
            choices = sorted(set(SITTINGS) - times) if opening else sorted(times)
            if choices:
                (times.add if opening else times.discard)(self._chance.pick(choices))
                return True
        return False

    def sizes(self, day: str, number: int, time: str) -> Sequence[int]:
        """For how many people the table is; a seed settles it."""
        found = self._sizes.get((day, number, time))
        if found is None:
            found = self._sizes[day, number, time] = Chance(self._seed, number, day, time, "sizes").pick(SIZES)
        return found

    def listed(self, day: str, size: int, hour: str | None) -> list[dict[str, Any]]:
        """Every restaurant, those with something free first, as the upstream orders them."""
        hits = [self._hit(restaurant, day, size, hour) for restaurant in self.restaurants.values()]
        return sorted(hits, key=lambda hit: hit["availability"] is None)

    def _times(self, day: str, number: int) -> set[str]:
        if number not in self.restaurants:
            raise UnknownTargetError(f"there is no restaurant {number} here")
        if day not in self._free:
            self._free[day] = {each: self._drawn(day, each) for each in self.restaurants}
        return self._free[day][number]

    def _drawn(self, day: str, number: int) -> set[str]:
        chance = Chance(self._seed, number, day, "free")
        if chance.likely(BOOKED_OUT):
            return set()
        return {time for time in SITTINGS if chance.likely(FREE)}

    def _hit(self, restaurant: Restaurant, day: str, size: int, hour: str | None) -> dict[str, Any]:
        number = restaurant.number
        times = sorted(
            time
            for time in self._times(day, number)
            if size in self.sizes(day, number, time) and (hour is None or time[:2] == hour[:2])
        )
        slots = [_slot(number, day, time) for time in times]
        # Both ways of naming a venue are met with.
        named: dict[str, Any] = {"id": {"resy": number}} if number % 3 else {"venue": {"id": number}}
        return named | {
            "name": restaurant.name,
            "neighborhood": restaurant.quarter,
            "location": {"name": "New York", "url_slug": "new-york-ny"},
            "url_slug": restaurant.slug,
            "price_range": restaurant.price,
            "rating": {"average": restaurant.average, "count": restaurant.votes},
            "images": [f"https://image.resy.com/{number}/1.jpg"],
            "availability": {"slots": slots} if slots else None,
        }


def _slot(number: int, day: str, time: str) -> dict[str, Any]:
    return {
        "date": {"start": f"{day} {time}:00", "end": f"{day} 23:59:00"},
        "config": {"id": number, "token": f"rgs://resy/{number}/{day}/{time}:00", "type": "Dining Room"},
    }


def _restaurant(seed: int, number: int) -> Restaurant:
    chance = Chance(seed, "restaurant", number)
    name = f"{chance.pick(_FIRST)} {chance.pick(_SECOND)} {chance.pick(_KIND)}"
    votes = 20 + chance.below(4000)
    return Restaurant(number, name, chance.pick(_QUARTERS), 1 + chance.below(4), 3.5 + chance.below(15) / 10, votes)
