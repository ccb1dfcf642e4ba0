"""Who asked for what and when, and how many at once: tests judge a client's politeness by this."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from vacancy.clock import Clock

KEPT_RECORDS: Final = 10_000


@dataclass(slots=True, eq=False)
class Record:
    """`arrived` is monotonic time of the simulator's clock; `status` stays None while nothing was answered."""

    endpoint: str
    term: str
    campus: str
    arrived: float
    headers: Mapping[str, str]
    status: int | None = None
    faults: list[str] = field(default_factory=list)

    @property
    def target(self) -> str:
        return f"{self.term}/{self.campus}"


class Traffic:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.records: deque[Record] = deque(maxlen=KEPT_RECORDS)
        self.served: Counter[str] = Counter()
        self.in_flight = 0
        self.most_in_flight = 0
        self._target_in_flight: Counter[str] = Counter()
        self.most_in_flight_by_target: Counter[str] = Counter()

    @contextmanager
    def arrival(self, endpoint: str, term: str, campus: str, headers: Mapping[str, str]) -> Iterator[Record]:
        record = Record(endpoint, term, campus, self._clock.monotonic(), headers)
        self.records.append(record)
        self.served[f"{endpoint} {record.target}"] += 1
        self._count(f"{endpoint} {record.target}", 1)
        try:
            yield record
        finally:
            self._count(f"{endpoint} {record.target}", -1)

    def _count(self, target: str, change: int) -> None:
        self.in_flight += change
        self._target_in_flight[target] += change
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        most = self.most_in_flight_by_target
        most[target] = max(most[target], self._target_in_flight[target])

    def shown(self) -> dict[str, Any]:
        by_endpoint: Counter[str] = Counter()
        for key, count in self.served.items():
            by_endpoint[key.split(" ")[0]] += count
        return {
            "served": dict(self.served),
            "served_by_endpoint": dict(by_endpoint),
            "in_flight": self.in_flight,
            "max_in_flight": self.most_in_flight,
            "max_in_flight_by_target": dict(self.most_in_flight_by_target),
            "arrivals": [
                {"endpoint": record.endpoint, "target": record.target, "at": record.arrived, "status": record.status}
                for record in self.records
            ],
        }
