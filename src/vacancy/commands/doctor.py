"""`vacancy doctor`: look at all that it takes to notice an opening and to tell of it; say what to do about the rest."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.markup import escape

from vacancy.app import Engine, engine
from vacancy.commands.common import NAME_SOMETHING, OUT, as_json, prepare
from vacancy.commands.doctor_delivery import examine_delivery
from vacancy.commands.finding import Finding
from vacancy.model.availability import Claim, Failed
from vacancy.settings import Settings
from vacancy.sources.base import Asked
from vacancy.store import target_overview, upkeep

_SIGNS: Final = {"ok": "[green]ok  [/]", "warn": "[yellow]look[/]", "bad": "[red]bad [/]"}
_LOW_SPACE: Final = 500 * 1024 * 1024
_CLOCK_OFF_S: Final = 5.0


def doctor(config: Path | None, *, json: bool) -> int:
    findings = asyncio.run(_examine(prepare(config)))
    if json:
        as_json({"findings": [{"state": f.state, "what": f.what, "advice": f.advice} for f in findings]})
    else:
        for finding in findings:
            advice = f"\n      {escape(finding.advice)}" if finding.advice else ""
            OUT.print(f"{_SIGNS[finding.state]}  {escape(finding.what)}{advice}", soft_wrap=True)
    return 1 if any(finding.state == "bad" for finding in findings) else 0


async def _examine(settings: Settings) -> list[Finding]:
    async with engine(settings) as parts:
        return [
            *_database(parts), *_clock(parts), *_targets(parts), *await _upstreams(parts),
            *await examine_delivery(parts),
        ]  # fmt: skip


def _database(parts: Engine) -> Iterator[Finding]:
    store = parts.store
    problems = upkeep.check(store)
    where = str(store.path) if store.path else "PostgreSQL"
    if problems:
        yield Finding("bad", f"the database {where} is damaged: {problems[0]}", "stop, and put back the last backup")
    else:
        yield Finding("ok", f"the database {where} is sound and up to date")
    if store.path and shutil.disk_usage(store.path.absolute().parent).free < _LOW_SPACE:
        yield Finding("bad", "less than 500 MB are free beside the database", "make room, or alerts will be lost")


def _clock(parts: Engine) -> Iterator[Finding]:
    off = abs((parts.store.read_now(lambda tx: tx.now()) - datetime.now(UTC)).total_seconds())
    if off > _CLOCK_OFF_S:
        yield Finding("warn", f"this machine's clock is {off:.0f} s off the database's", "let NTP set it")


def _targets(parts: Engine) -> Iterator[Finding]:
    for view in parts.store.read_now(target_overview.overview, parts.intervals, everything=True):
        name = f"{view.source} {view.key}"
        if view.state == "stale" and view.last_error:
            yield Finding("warn", f"{name}: {view.last_error['code']}: {view.last_error['message']}")
        elif view.state == "stale":
            yield Finding("warn", f"{name} has no recent answer", "is `vacancy serve` running?")
        elif view.state == "held":
            yield Finding("warn", f"{name}: an answer is held back", "`vacancy targets release` believes it now")
        elif view.state == "paused":
            yield Finding("warn", f"{name} is paused", f"vacancy targets resume {view.source} '{view.key}'")
        else:
            yield Finding("ok", f"{name} is {view.state}")


async def _upstreams(parts: Engine) -> list[Finding]:
    """One question to each source, as the poller would ask it; nothing is written."""
    if not parts.lists:
        return [Finding("warn", "the settings name nothing to poll", NAME_SOMETHING)]
    return [await _ask(source) for source in parts.lists]


async def _ask(source: Asked) -> Finding:
    questions = source.questions()
    if not questions:
        return Finding("warn", f"{source.name} has nothing to ask", "see its settings")
    key = questions[0].key
    claim = Claim(0, source.name, key, 0, 0, "doctor", "doctor", False, (), None, 0, None, False)
    answer = await source.ask(claim, None)
    if isinstance(answer, Failed):
        return Finding("bad", f"{source.name} {key} cannot be read: {answer.trouble}: {answer.message}")
    return Finding("ok", f"{source.name} {key} answers")
