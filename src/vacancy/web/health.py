"""For machines that watch machines: alive, ready, and how it goes."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from vacancy.errors import StoreError
from vacancy.metrics import CONTENT_TYPE
from vacancy.store import migrate, target_overview
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
    try:
        views = await home.store.read(target_overview.overview, home.intervals, everything=True)
    except StoreError:
        # The counters are worth most just then; the gauges keep what they last showed.
        views = None
    if views is not None:
        home.metrics.forget_targets()
        for view in views:
            home.metrics.target(view.source, view.key, view.open_count, view.last_complete_at)
    return Response(home.metrics.text(), headers={**_NO_STORE, "Content-Type": CONTENT_TYPE})


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
