"""How long ago something was, in words; static/board.js says it in the same ones."""

from __future__ import annotations

from datetime import datetime

_STEPS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def ago(now: datetime, then: datetime) -> str:
    # A clock that was set back must not say "in the future".
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in _STEPS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"
