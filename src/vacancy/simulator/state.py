"""Everything the simulator holds, without HTTP: worlds made on first use, churn, faults, traffic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from vacancy.clock import Clock
from vacancy.simulator.catalogue import SIZES
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.errors import SimulatorError, UnknownTargetError
from vacancy.simulator.faults import Fault, Faults, read_fault
from vacancy.simulator.traffic import Traffic
from vacancy.simulator.world import World, build_world

TERM: Final = re.compile(r"[0179]\d{4}", re.ASCII)


class State:
    def __init__(
        self, clock: Clock, seed: int, scale: float, terms: Sequence[str], campuses: Sequence[str], rates: Rates
    ) -> None:
        _check_targets(terms, campuses)
        self.clock = clock
        self.terms = tuple(terms)
        self.campuses = tuple(campuses)
        self._seed = seed
        self._scale = scale
        self._worlds: dict[tuple[str, str], World] = {}
        self.faults: Faults[Fault] = Faults()
        self.traffic = Traffic(clock)
        self.churn = Churn(clock, rates, self.built_worlds)

    def built_worlds(self) -> Iterable[World]:
        return tuple(self._worlds.values())

    def world(self, term: str, campus: str) -> World:
        """Made on first use: a New Brunswick of full size takes about a second."""
        if term not in self.terms or campus not in self.campuses:
            raise UnknownTargetError(f"there is no term {term!r} with campus {campus!r} here")
        if (term, campus) not in self._worlds:
            self._worlds[term, campus] = build_world(self._seed, term, campus, self._scale)
        return self._worlds[term, campus]

    def other_world(self, world: World, campus: str | None) -> World:
        others = [name for name in self.campuses if name != world.campus]
        if campus is None and not others:
            raise UnknownTargetError(f"{world.campus} is the only campus here")
        return self.world(world.term, campus or others[0])

    def add_fault(self, kind: str, args: dict[str, object]) -> None:
        fault = read_fault(kind, args)
        for name in (fault.campus, fault.args.get("other")):
            if name is not None and name not in self.campuses:
                raise UnknownTargetError(f"there is no campus {name!r} here")
        if fault.term is not None and fault.term not in self.terms:
            raise UnknownTargetError(f"there is no term {fault.term!r} here")
        if fault.name == "other_campus" and len(self.campuses) == 1:
            raise UnknownTargetError("other_campus: there is only one campus here")
        self.faults.add(fault)

    def shown(self) -> dict[str, Any]:
        return {
            "terms": self.terms,
            "campuses": self.campuses,
            "worlds": [
                {
                    "term": world.term,
                    "campus": world.campus,
                    "sections": len(world.catalogue_indexes),
                    "open": len(world.open_indexes),
                    "orphans": len(world.orphans),
                    "overridden": world.overridden,
                }
                for world in self.built_worlds()
            ],
            "churn": {"enabled": self.churn.enabled} | {campus: self._rates_shown(campus) for campus in self.campuses},
            "faults": self.faults.shown(),
        } | self.traffic.shown()

    def _rates_shown(self, campus: str) -> dict[str, float]:
        rates = self.churn.rates_of(campus)
        return {
            "openings_per_minute": rates.openings_per_minute,
            "closings_per_minute": rates.closings_per_minute,
        }


def _check_targets(terms: Sequence[str], campuses: Sequence[str]) -> None:
    for term in terms:
        if TERM.fullmatch(term) is None:
            raise SimulatorError(f"term {term!r}: must be a digit of 0, 1, 7, 9 and a year, such as 12025")
    for campus in campuses:
        if campus not in SIZES:
            raise SimulatorError(f"campus {campus!r}: must be one of {', '.join(SIZES)}")
