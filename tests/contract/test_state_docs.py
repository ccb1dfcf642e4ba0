"""docs/states.md draws the moves of a subscription as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

from vacancy.model.subscriptions import MOVES, Status

TEXT = (Path(__file__).parents[2] / "docs" / "states.md").read_text("utf-8").split("\n## A subscription\n", 1)[1]


def test_every_state_is_told() -> None:
    told = re.findall(r"^\| `(\w+)` \| [^`]", TEXT, re.MULTILINE)
    assert told == list(Status)


def test_every_move_is_told_and_no_other() -> None:
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| \S", TEXT, re.MULTILINE)
    assert sorted(told) == sorted((source, to) for source, targets in MOVES.items() for to in targets)
