"""For machines that watch machines: alive, ready, and how it goes."""

from __future__ import annotations

from contextlib import suppress

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from vacancy.errors import StoreError
from vacancy.metrics import CONTENT_TYPE
from vacancy.store import migrate, queue, target_overview
from vacancy.web.context import House, house
from vacancy.web.errors import error_response

_NO_STORE = {"Cache-Control": "no-store"}


async def healthz(_: Request) -> Response:
    """The process answers. It asks nothing of the database, whose trouble a restart would not mend."""
    return PlainTextResponse("alive\n", headers=_NO_STORE)


async def readyz(request: Request) -> Response:
    checks = await _checks(house(request))
    failed = [name for name, found in checks.items() if found != "ok"]
    if failed:
        message = f"not ready: {', '.join(failed)}"
        return error_response(request.scope, "unavailable", message, checks)
    return JSONResponse({"status": "ready", "checks": checks}, headers=_NO_STORE)


async def metrics(request: Request) -> Response:
    home = house(request)
    # Without a database the counters are worth most; the gauges keep what they last showed.
    with suppress(StoreError):
        await _set_gauges(home)
    return Response(home.metrics.text(), headers={**_NO_STORE, "Content-Type": CONTENT_TYPE})


async def _set_gauges(home: House) -> None:
    views = await home.store.read(target_overview.overview, home.intervals, everything=True)
    waiting = await home.store.read(queue.facts)
    home.metrics.forget_targets()
    for view in views:
        home.metrics.target(view.source, view.key, view.open_count, view.last_complete_at)
    home.metrics.forget_queue()
    for channel, (count, oldest) in waiting.items():
        age = (home.clock.now() - oldest).total_seconds() if oldest else 0.0
        home.metrics.queue(channel, count, max(0.0, age))


async def _checks(home: House) -> dict[str, str]:
    """Check -> `ok`, or what is wrong. A dead upstream is none of them: it is no fault of this process."""
    checks = {"database": "ok", "schema": "ok", "loops": "ok", "serving": "ok"}
    try:
        at = await home.store.read(migrate.current)
    except StoreError as error:
        checks["database"], checks["schema"] = str(error), "unknown"
    else:
        if at != migrate.HEAD:
            checks["schema"] = f"the database is at {at}, this version needs {migrate.HEAD}"
    idle = [f"{name} is {state}" for name, state in home.loops().items() if state != "running"]
    if idle:
        checks["loops"] = ", ".join(idle)
    if home.stopping.is_set():
        checks["serving"] = "stopping"
    return checks
