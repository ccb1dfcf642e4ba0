"""Repeatable chance. Built on `Random.random()` alone: the one generator method whose values Python keeps stable."""

from __future__ import annotations

import random
from collections.abc import MutableSequence, Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    def __init__(self, *parts: object) -> None:
        # A string seed goes through SHA-512 and not through hash(), so every process draws the same numbers.
        self._draw = random.Random("/".join(str(part) for part in parts)).random

    def share(self) -> float:
        return self._draw()

    def below(self, limit: int) -> int:
        return int(self._draw() * limit)

    def likely(self, share: float) -> bool:
        return self._draw() < share

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self._draw() * len(choices))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        for last in range(len(items) - 1, 0, -1):
            other = int(self._draw() * (last + 1))
            items[last], items[other] = items[other], items[last]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        pool = list(items)
        self.shuffle(pool)
        return pool[:count]
