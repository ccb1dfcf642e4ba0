"""Preferences as people type them: how many alerts, and the hours in which it is to be quiet.

What is kept is the other way round: the window in which messages may come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from vacancy.model.subscriptions import DAY_MINUTES, Preferences
from vacancy.web.pages.problems import Problem

MOST_ALERTS: Final = 10
_ALERTS: Final = re.compile(r"[0-9]{1,3}", re.ASCII)
# Some browsers send the seconds as well.
_TIME: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::00)?", re.ASCII)


def fields_of(preferences: Preferences) -> dict[str, str]:
    start, end = preferences.window_start % DAY_MINUTES, preferences.window_end % DAY_MINUTES
    quiet = ("", "") if start == end else (_clock(end), _clock(start))
    return {"alerts": str(preferences.max_notifications), "quietFrom": quiet[0], "quietTo": quiet[1]}


def typed(form: Mapping[str, str], before: Preferences) -> dict[str, str]:
    """What a form leaves out stays as it was."""
    return {name: form.get(name, kept).strip() for name, kept in fields_of(before).items()}


def read_fields(fields: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Problem]]:
    """In the words of Preferences; or what is wrong with each field."""
    changes: dict[str, Any] = {}
    problems: dict[str, Problem] = {}
    alerts = fields["alerts"]
    if _ALERTS.fullmatch(alerts) and 1 <= int(alerts) <= MOST_ALERTS:
        changes["max_notifications"] = int(alerts)
    else:
        problems["alerts"] = Problem.ALERTS_WRONG
    window = _window(fields["quietFrom"], fields["quietTo"])
    if isinstance(window, dict):
        problems |= window
    else:
        changes["window_start"], changes["window_end"] = window
    return changes, problems


def _window(quiet_from: str, quiet_to: str) -> tuple[int, int] | dict[str, Problem]:
    if not quiet_from and not quiet_to:
        return 0, DAY_MINUTES
    times = {"quietFrom": quiet_from, "quietTo": quiet_to}
    problems = {name: Problem.QUIET_HALF for name, text in times.items() if not text}
    problems |= {name: Problem.TIME_WRONG for name, text in times.items() if text and not _TIME.fullmatch(text)}
    if problems:
        return problems
    begins, ends = _minutes(quiet_from), _minutes(quiet_to)
    return {"quietTo": Problem.QUIET_ALWAYS} if begins == ends else (ends, begins or DAY_MINUTES)


def _minutes(text: str) -> int:
    hours, minutes = text.split(":")[:2]
    return int(hours) * 60 + int(minutes)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
