"""`vacancy poll --once`"""

from __future__ import annotations

import asyncio
from pathlib import Path

from vacancy.app import engine
from vacancy.commands.common import ERR, NAME_SOMETHING, OUT, as_json, prepare
from vacancy.errors import UserError
from vacancy.pipeline.poll import Polled
from vacancy.settings import Settings


def poll(config: Path | None, *, once: bool, json: bool) -> int:
    if not once:
        raise UserError("validation_failed", "`poll` takes --once; for a steady watch, run `vacancy serve --only poll`")
    polled = asyncio.run(_poll(prepare(config), json=json))
    if json:
        as_json({"items": [_facts(each) for each in polled]})
    elif not polled:
        ERR.print(f"Nothing is configured to be polled: {NAME_SOMETHING}.", soft_wrap=True)
    return 1 if any(each.failed for each in polled) else 0


async def _poll(settings: Settings, *, json: bool) -> list[Polled]:
    async with engine(settings) as parts:
        return await parts.poller.poll_once((lambda _: None) if json else _say)


def _say(each: Polled) -> None:
    said = f"{each.failed.trouble}: {each.failed.message}" if each.failed else each.came.value
    OUT.print(f"{each.source} {each.key}  {said}  {each.opened} opened, {each.closed} closed", markup=False)


def _facts(each: Polled) -> dict[str, object]:
    return {
        "source": each.source,
        "key": each.key,
        "outcome": each.came.value,
        "opened": each.opened,
        "closed": each.closed,
        "error": {"code": each.failed.trouble.value, "message": each.failed.message} if each.failed else None,
    }
