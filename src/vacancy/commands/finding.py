"""One thing that `vacancy doctor` has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    state: Literal["ok", "warn", "bad"]
    what: str
    advice: str = ""
