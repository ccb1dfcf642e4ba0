"""What JSON endpoints show: a ticket shop, a campsite, a list of names. Each thing there is open or closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from vacancy.simulator.chance import Chance
from vacancy.simulator.errors import SimulatorError, UnknownTargetError

OPEN_AT_FIRST: Final = 0.4
_SHOWS: Final = ("gala", "quartet", "matinee", "recital", "revue", "premiere")
_DAYS: Final = ("fri", "sat", "sun")
_HALLS: Final = ("Great Hall", "Studio")
_LOOPS: Final = ("Riverside", "Meadow", "Pines")
_SITES: Final = 36
_NAMES: Final = ("alder", "birch", "cedar", "elm", "hazel", "linden", "maple", "oak", "rowan", "willow")

Content = Any


@dataclass(frozen=True, slots=True)
class Thing:
    key: str
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """How a board is written as JSON. `member` is the name under which a thing's key stands, if it has one; `state`
    the one that says whether it is open."""

    write: Callable[[list[tuple[Thing, bool]]], Content]
    listed: Callable[[Content], list[Any]]
    member: str | None = None
    state: str | None = None


class Board:
    """`term` and `campus` are what churn goes by; `campus` is the board's name here."""

    term: Final = "json"

    def __init__(self, seed: int, name: str, shape: Shape, things: Iterable[Thing]) -> None:
        self.campus = self.name = name
        self.shape = shape
        self.things = {thing.key: thing for thing in things}
        self._chance = Chance(seed, "json", name)
        self.open_keys = {key for key in self.things if self._chance.likely(OPEN_AT_FIRST)} or {next(iter(self.things))}

    def content(self) -> Content:
        return self.shape.write([(thing, key in self.open_keys) for key, thing in self.things.items()])

    def open(self, *keys: str) -> None:
        self.set_items(keys, ())

    def close(self, *keys: str) -> None:
        self.set_items((), keys)

    def set_items(self, opened: Iterable[str], closed: Iterable[str]) -> None:
        """What is not on the board yet comes to it."""
        opened, closed = tuple(opened), tuple(closed)
        if not all((*opened, *closed)):
            raise SimulatorError("an item has a name")
        self.things |= {key: Thing(key, key) for key in (*opened, *closed) if key not in self.things}
        self.open_keys = (self.open_keys | set(opened)) - set(closed)

    def step(self, *, openings: int = 0, closings: int = 0) -> int:
        """Let that many things open and close; says how many did."""
        moved = 0
        for _ in range(openings):
            moved += self._move(sorted(set(self.things) - self.open_keys), self.open_keys.add)
        for _ in range(closings):
            moved += self._move(sorted(self.open_keys), self.open_keys.discard)
        return moved

    def _move(self, choices: list[str], move: Callable[[str], None]) -> bool:
        if choices:
            move(self._chance.pick(choices))
        return bool(choices)


class Boards:
    def __init__(self, seed: int) -> None:
        made = (
            Board(seed, "tickets", _TICKETS, _tickets()),
            Board(seed, "campsites", _CAMPSITES, _campsites(seed)),
            Board(seed, "names", _LIST, (Thing(name, name) for name in _NAMES)),
        )
        self.every: Mapping[str, Board] = {board.name: board for board in made}

    def board(self, name: str) -> Board:
        if name not in self.every:
            raise UnknownTargetError(f"there is no board {name!r} here; there are {', '.join(self.every)}")
        return self.every[name]


def _tickets() -> Iterable[Thing]:
    for number, show in enumerate(_SHOWS):
        for day in _DAYS:
            yield Thing(f"{show}-{day}", f"{show.title()}, {day.title()}", _HALLS[number % len(_HALLS)])


def _campsites(seed: int) -> Iterable[Thing]:
    for number in range(1, _SITES + 1):
        yield Thing(str(number), f"Site {number}", Chance(seed, "loop", number).pick(_LOOPS))


def _write_tickets(things: list[tuple[Thing, bool]]) -> Content:
    events = [
        {
            "id": thing.key,
            "title": thing.label,
            "venue": {"name": thing.group},
            "status": ("LIMITED" if len(thing.key) % 2 else "ON_SALE") if is_open else "SOLD_OUT",
            "seats": len(thing.key) if is_open else 0,
            "url": f"/shows/{thing.key}",
        }
        for thing, is_open in things
    ]
    return {"data": {"events": events}, "page": {"size": len(events)}}


def _write_campsites(things: list[tuple[Thing, bool]]) -> Content:
    return {
        "sites": [
            {
                "site_id": int(thing.key) if thing.key.isdecimal() else thing.key,
                "name": thing.label,
                "loop": thing.group,
                "available": is_open,
                "book_url": f"https://campsites.example/book/{thing.key}",
            }
            for thing, is_open in things
        ]
    }


_TICKETS: Final = Shape(_write_tickets, lambda content: content["data"]["events"], "id", "status")
_CAMPSITES: Final = Shape(_write_campsites, lambda content: content["sites"], "site_id", "available")
_LIST: Final = Shape(
    lambda things: [thing.key for thing, is_open in things if is_open], lambda content: content
)  # fmt: skip
