"""One GET to the Schedule of Classes, and what its answer means. Open lists and catalogues share it."""

from __future__ import annotations

from typing import Final

from vacancy.model.availability import Failed, Trouble
from vacancy.net.client import Client, NetTrouble, Reach, Response
from vacancy.net.headers import retry_after_s

_HEADERS: Final = {"Accept": "application/json"}
_EXCERPT: Final = 200
_NET: Final = {
    "timeout": Trouble.TIMEOUT,
    "network": Trouble.NETWORK,
    "refused": Trouble.REFUSED,
    "too_large": Trouble.UNREADABLE,
}
_STATUS: Final = {
    400: Trouble.MISCONFIGURED,
    401: Trouble.UNAUTHORIZED,
    403: Trouble.UNAUTHORIZED,
    404: Trouble.MISCONFIGURED,
    408: Trouble.SERVER_ERROR,
    429: Trouble.RATE_LIMITED,
}


async def fetch(
    client: Client, url: str, *, reach: Reach, timeout_s: float, max_bytes: int, connect_timeout_s: float = 5
) -> Response | Failed:
    """A 200 with a JSON content type, or what is wrong. Whether the body can be read is the caller's to find out."""
    try:
        response = await client.get(
            url,
            reach=reach,
            timeout_s=timeout_s,
            connect_timeout_s=connect_timeout_s,
            max_bytes=max_bytes,
            headers=_HEADERS,
        )
    except NetTrouble as trouble:
        return Failed(_NET[trouble.kind], _one_line(str(trouble)))
    return response if _is_json(response) else _failed(response)


def _is_json(response: Response) -> bool:
    return response.status == 200 and _content_type(response) == "application/json"


def _failed(response: Response) -> Failed:
    trouble = _trouble(response.status)
    wait = None
    if trouble in (Trouble.RATE_LIMITED, Trouble.SERVER_ERROR):
        wait = retry_after_s(response.headers.get("Retry-After"), response.received_at)
    return Failed(trouble, _message(response, trouble), wait)


def _trouble(status: int) -> Trouble:
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return Trouble.SERVER_ERROR
    # A redirect is not followed: it would lead to an address that nobody configured.
    return Trouble.UNREADABLE if status < 300 else Trouble.REFUSED


def _message(response: Response, trouble: Trouble) -> str:
    excerpt = _one_line(response.body[:_EXCERPT].decode("utf-8", "replace"))
    if trouble is Trouble.UNREADABLE:
        said = f"answered {response.status} with {_content_type(response) or 'no content type'}, not 200 with JSON"
    elif 300 <= response.status < 400:
        said = f"answered {response.status}, a redirect, which is not followed"
    else:
        said = f"answered {response.status}"
    return f"{said}: {excerpt}" if excerpt else said


def _content_type(response: Response) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _one_line(text: str) -> str:
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())[:_EXCERPT]
