"""Faults on demand: the table of kinds, and which of them meet a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Generic, Protocol, TypeVar

from vacancy.simulator import effects
from vacancy.simulator.answers import COURSES, ENDPOINTS, OPEN_SECTIONS, Manner
from vacancy.simulator.effects import Effect
from vacancy.simulator.errors import SimulatorError


@dataclass(frozen=True, slots=True)
class Arg:
    """The type of an argument, its default and, for numbers, its bounds; for words, which there are."""

    kind: type[str] | type[int] | type[float]
    default: str | float | None = None
    low: float = 0
    high: float = 1e12
    choices: tuple[str, ...] = ()

    def read(self, name: str, value: object) -> Any:
        accepted: tuple[type, ...] = (int, float) if self.kind is float else (self.kind,)
        if not isinstance(value, accepted) or isinstance(value, bool):
            raise SimulatorError(f"{name}: must be of type {self.kind.__name__}")
        if isinstance(value, (int, float)) and not self.low <= value <= self.high:
            raise SimulatorError(f"{name}: must be from {self.low:g} to {self.high:g}")
        if self.choices and value not in self.choices:
            raise SimulatorError(f"{name}: must be one of {', '.join(self.choices)}")
        return value


@dataclass(frozen=True, slots=True)
class Kind:
    effect: Effect
    args: Mapping[str, Arg] = field(default_factory=dict)
    endpoints: tuple[str, ...] = ENDPOINTS


LIST_ONLY: Final = (OPEN_SECTIONS,)
CATALOGUE_ONLY: Final = (COURSES,)

KINDS: Final[Mapping[str, Kind]] = {
    "latency": Kind(effects.latency, {"seconds": Arg(float, 1.0)}),
    "rate_limited": Kind(effects.rate_limited, {"retry_after": Arg(str)}),
    "unavailable": Kind(effects.refuse(HTTPStatus.SERVICE_UNAVAILABLE)),
    "server_error": Kind(effects.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)),
    "not_found": Kind(effects.refuse(HTTPStatus.NOT_FOUND)),
    "bad_request": Kind(effects.refuse(HTTPStatus.BAD_REQUEST)),
    "unauthorized": Kind(effects.refuse(HTTPStatus.UNAUTHORIZED)),
    "forbidden": Kind(effects.refuse(HTTPStatus.FORBIDDEN)),
    "redirect": Kind(effects.redirect),
    "reset": Kind(effects.behave(Manner.RESET)),
    "hang": Kind(effects.behave(Manner.HANG)),
    "drop_midway": Kind(effects.behave(Manner.MIDWAY)),
    "slow_body": Kind(effects.slow_body, {"seconds": Arg(float, 1.0), "pieces": Arg(int, 10, 1, 10_000)}),
    "too_large": Kind(effects.too_large, {"bytes": Arg(int, 65 * 1024 * 1024, 1)}),
    "html": Kind(effects.html),
    "html_as_json": Kind(effects.html_as_json),
    "wrong_type": Kind(effects.wrong_type),
    "truncated": Kind(effects.truncated),
    "empty": Kind(effects.empty),
    "not_an_array": Kind(effects.not_an_array),
    "other_campus": Kind(effects.other_campus, {"other": Arg(str)}),
    "age": Kind(effects.age, {"seconds": Arg(int, 600)}),
    "partial": Kind(effects.partial, {"keep": Arg(float, 0.7, 0, 1), "count": Arg(int)}, LIST_ONLY),
    "numbers": Kind(effects.numbers, {}, LIST_ONLY),
    "four_digits": Kind(effects.four_digits, {}, LIST_ONLY),
    "all_open": Kind(effects.all_open, {}, LIST_ONLY),
    "catalogue_swap": Kind(effects.catalogue_swap, {"share": Arg(float, 0.1, 0.001, 0.5)}, CATALOGUE_ONLY),
    "shrunk": Kind(effects.shrunk, {"drop": Arg(float, 0.5, 0, 1)}, CATALOGUE_ONLY),
    "conflicting_duplicate": Kind(effects.conflicting_duplicate, {}, CATALOGUE_ONLY),
}


@dataclass(slots=True, eq=False)
class Fault:
    name: str
    kind: Kind
    args: Mapping[str, Any]
    term: str | None
    campus: str | None
    endpoint: str | None
    times: int | None

    def meets(self, endpoint: str, term: str, campus: str) -> bool:
        return (
            endpoint in ((self.endpoint,) if self.endpoint else self.kind.endpoints)
            and self.term in (None, term)
            and self.campus in (None, campus)
        )

    def shown(self) -> dict[str, Any]:
        where = {"term": self.term, "campus": self.campus, "endpoint": self.endpoint, "times": self.times}
        return {"kind": self.name} | where | dict(self.args)


def read_fault(name: str, given: Mapping[str, object]) -> Fault:
    """Wrong kinds, places and arguments are named instead of being ignored: a fault that never fires hides bugs."""
    kind = KINDS.get(name)
    if kind is None:
        raise SimulatorError(f"kind: {name!r} is not one of {', '.join(KINDS)}")
    rest = dict(given)
    place = {part: _text(part, rest.pop(part, None)) for part in ("term", "campus", "endpoint")}
    times = rest.pop("times", None)
    endpoint = place["endpoint"]
    if endpoint is not None and endpoint not in kind.endpoints:
        raise SimulatorError(f"endpoint: {name} works on {' and '.join(kind.endpoints)}, not on {endpoint!r}")
    return Fault(
        name,
        kind,
        read_args(name, kind.args, rest),
        place["term"],
        place["campus"],
        endpoint,
        read_times(times),
    )


def read_times(value: object) -> int | None:
    return None if value is None else Arg(int, low=1).read("times", value)


def read_args(name: str, taken: Mapping[str, Arg], given: Mapping[str, object]) -> dict[str, Any]:
    unknown = [arg for arg in given if arg not in taken]
    if unknown:
        raise SimulatorError(f"{unknown[0]}: {name} takes {', '.join(taken) or 'no arguments'}")
    args: dict[str, Any] = {arg: spec.default for arg, spec in taken.items()}
    args.update((arg, taken[arg].read(arg, value)) for arg, value in given.items() if value is not None)
    return args


def _text(part: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SimulatorError(f"{part}: must be a string")
    return value


class Counted(Protocol):
    times: int | None  # that it will still be met; None is for ever

    def shown(self) -> dict[str, Any]: ...


F = TypeVar("F", bound=Counted)


class Faults(Generic[F]):
    """The active faults. Several can meet one request; they apply in the order in which they were added."""

    def __init__(self) -> None:
        self._active: list[F] = []
        self._cleared = asyncio.Event()

    def add(self, fault: F) -> None:
        self._active.append(fault)

    def clear(self) -> None:
        """Also lets go of the requests that hang."""
        self._active.clear()
        self._cleared.set()
        self._cleared = asyncio.Event()

    def take(self, meets: Callable[[F], bool]) -> list[F]:
        """The faults that a request meets, each counted as used once."""
        met = [fault for fault in self._active if meets(fault)]
        for fault in met:
            if fault.times is not None:
                fault.times -= 1
        self._active = [fault for fault in self._active if fault.times != 0]
        return met

    def released(self) -> asyncio.Event:
        """Is set when the faults that are active now have been cleared."""
        return self._cleared

    def shown(self) -> list[dict[str, Any]]:
        return [fault.shown() for fault in self._active]
