"""docs/states.md draws the moves of a subscription, and of a task, as the code has them."""

from __future__ import annotations

import re
from pathlib import Path

from vacancy.model import tasks
from vacancy.model.subscriptions import MOVES, Status

PAGE = (Path(__file__).parents[2] / "docs" / "states.md").read_text("utf-8")


def _section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


TEXT, TASK = _section("A subscription"), _section("A task")


def test_every_state_is_told() -> None:
    told = re.findall(r"^\| `(\w+)` \| [^`]", TEXT, re.MULTILINE)
    assert told == list(Status)


def test_every_move_is_told_and_no_other() -> None:
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| \S", TEXT, re.MULTILINE)
    assert sorted(told) == sorted((source, to) for source, targets in MOVES.items() for to in targets)


def test_every_state_of_a_task_is_told() -> None:
    told = re.findall(r"^\| `(\w+)` \| [^`]", TASK, re.MULTILINE)
    assert told == list(tasks.Status)


def test_every_move_of_a_task_is_told_and_no_other() -> None:
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", TASK, re.MULTILINE)
    moves = tasks.MOVES.items()
    assert told == [(source, move.to, action, move.event) for action, move in moves for source in move.of]
