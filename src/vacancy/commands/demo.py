"""`vacancy demo`: the whole product against a make-believe university on this machine."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from vacancy.app import PARTS, serve
from vacancy.clock import SystemClock
from vacancy.commands.common import ERR, prepare
from vacancy.settings import Settings
from vacancy.simulator.server import Simulator

_TERM: Final = "12025"
_CAMPUSES: Final = ("NB", "NK", "CM")
_EVERYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not bound
_CHANGES_PER_MINUTE: Final = 4.0
_TABLES_PER_MINUTE: Final = 120.0
_TICKETS_PER_MINUTE: Final = 6.0
_DAYS_OF_TABLES: Final = 2


def demo(config: Path | None, host: str | None, port: int | None, scale: float, keep: Path | None) -> int:
    with tempfile.TemporaryDirectory(prefix="vacancy-demo-") as folder:
        database = keep.absolute() if keep else Path(folder) / "demo.db"
        return asyncio.run(_demo(config, host, port, scale, database))


async def _demo(
    config: Path | None, host: str | None, port: int | None, scale: float, database: Path
) -> int:  # fmt: skip
    simulator = Simulator(
        SystemClock(),
        scale=scale,
        terms=[_TERM],
        campuses=_CAMPUSES,
        openings_per_minute=_CHANGES_PER_MINUTE,
        closings_per_minute=_CHANGES_PER_MINUTE,
        table_changes_per_minute=_TABLES_PER_MINUTE,
        board_changes_per_minute=_TICKETS_PER_MINUTE,
    )
    await simulator.start()
    try:
        return await serve(_settings(config, host, port, database, simulator), PARTS, _announce(simulator))
    finally:
        await simulator.stop()


def _settings(
    config: Path | None, host: str | None, port: int | None, database: Path, simulator: Simulator
) -> Settings:
    given = {"host": host, "port": port}
    overrides = {
        "database_url": f"sqlite:///{database}",
        "web": {name: value for name, value in given.items() if value is not None},
        "soc": {
            "enabled": True,
            "base_url": simulator.base_url,
            "terms": [_TERM],
            "campuses": list(_CAMPUSES),
            # The upstream is ours: no one is bothered by a quick look.
            "interval_s": 2.0,
            "catalogue_interval_s": 60.0,
        },
        "resy": {
            "enabled": True,
            "base_url": simulator.resy_url,
            "window_days": _DAYS_OF_TABLES,
            "time_slots": ["20:30"],
            "interval_s": 4.0,
        },
        "json": [_tickets(simulator)],
    }
    settings = prepare(config, overrides, quiet=False)
    web = settings.web
    # Of a port that is taken as it comes, nobody knows the number yet.
    if web.port == 0 or "base_url" in settings.model_fields_set:
        return settings
    # Links in mails lead to this page, wherever it is.
    return settings.model_copy(update={"base_url": f"http://{_named(web.host)}:{web.port}"})


def _tickets(simulator: Simulator) -> Mapping[str, object]:
    """As docs/sources.md describes such an endpoint."""
    return {
        "name": "tickets",
        "url": f"{simulator.json_url}/tickets",
        "items": "$.data.events[*]",
        "key": "id",
        "label": "title",
        "link": "url",
        "group": "venue.name",
        "open_when": 'status in ["ON_SALE", "LIMITED"]',
        "interval_s": 2.0,
    }


def _named(host: str) -> str:
    if host in _EVERYWHERE:
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _announce(simulator: Simulator) -> Callable[[str], None]:
    def say(line: str) -> None:
        for each in (
            line,
            f"A make-believe university answers on {simulator.base_url}; seats there open and close,",
            f"and so do tables in a make-believe town, and the shows of a ticket shop: {simulator.json_url}/tickets.",
            "Wait for a seat on /subscribe; the mails that would go out are on /outbox.",
            "The first opening shows within 20 s. Ctrl+C ends it.",
        ):
            ERR.print(each, soft_wrap=True)

    return say
