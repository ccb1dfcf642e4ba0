"""`vacancy serve`"""

from __future__ import annotations

import asyncio
from pathlib import Path

from vacancy.app import PARTS
from vacancy.app import serve as run
from vacancy.commands.common import ERR, NAME_SOMETHING, prepare
from vacancy.errors import UserError
from vacancy.sources import anything_wanted


def serve(config: Path | None, only: str) -> int:
    parts = tuple(part.strip() for part in only.split(",") if part.strip()) or PARTS
    if unknown := set(parts) - set(PARTS):
        raise UserError("validation_failed", f"--only knows {', '.join(PARTS)}; not {', '.join(sorted(unknown))}")
    settings = prepare(config, quiet=False)
    if "poll" in parts and not anything_wanted(settings):
        ERR.print(
            f"Nothing is polled: {NAME_SOMETHING}. `vacancy demo` shows it at work.",
            soft_wrap=True,
        )
    return asyncio.run(run(settings, parts, lambda line: ERR.print(line, soft_wrap=True)))
