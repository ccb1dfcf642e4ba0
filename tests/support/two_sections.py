"""Two sections of one course, both closed, in a list that was read before: where most stories of waiting begin."""

from __future__ import annotations

from typing import Final

from tests.support.lists import Hand, some
from vacancy.model.availability import Complete
from vacancy.pipeline.settle import Came

FULL: Final = some(*range(100, 140))
SEVEN, EIGHT = "00007", "00008"


def poll(hand: Hand, *answers: Complete) -> None:
    for answer in answers:
        assert hand.poll(answer).came is not Came.SUPERSEDED
        hand.clock.jump(15)  # type: ignore[attr-defined]
