"""From a template to an answer: escaped always, no script but our own files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from vacancy.web.trace import trace_id

STATIC: Final = Path(__file__).parent.parent / "static"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_WORKER_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'",
    "Cache-Control": "no-cache",
}
_FOR_EVER: Final = "public, max-age=31536000, immutable"


def page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> Response:
    html = _environment().get_template(template).render(root=root(request), trace_id=trace_id(request.scope), **values)
    return HTMLResponse(html, status, headers={**HEADERS, **(headers or {})})


def root(request: Request) -> str:
    """What a proxy put before our paths."""
    path: str = request.scope.get("root_path", "")
    return path.rstrip("/")


async def service_worker(_: Request) -> Response:
    """At the root, for it may only look after what lies below itself. It speaks with this site alone."""
    return FileResponse(STATIC / "sw.js", media_type="text/javascript", headers=_WORKER_HEADERS)


async def manifest(_: Request) -> Response:
    """At the root, for what it names is meant from there, whatever a proxy puts before it. By it a phone keeps the site
    like a program, which on some is the only way to be told by the browser."""
    path, kind = STATIC / "manifest.webmanifest", "application/manifest+json"
    return FileResponse(path, media_type=kind, headers={"Cache-Control": "no-cache"})


class Static(StaticFiles):
    """Our files, with an ETag. Pages name them with a hash of their content, so a browser may keep those for good."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = _FOR_EVER if scope["query_string"].startswith(b"v=") else "no-cache"
        return response


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("vacancy.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.globals["static"] = _static
    return environment


@cache
def _static(name: str) -> str:
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()
    return f"/static/{name}?v={digest[:12]}"
