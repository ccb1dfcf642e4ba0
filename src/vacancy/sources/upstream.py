"""One request to an upstream, and what its answer means. Sources share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from vacancy.model.availability import Failed, Trouble
from vacancy.net.client import NO_HEADERS, Client, NetTrouble, Reach, Response
from vacancy.net.headers import retry_after_s

_JSON: Final = "application/json"
_HEADERS: Final = {"Accept": _JSON}
_EXCERPT: Final = 200
_READ_FOR_EXCERPT: Final = 65_536
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
    419: Trouble.UNAUTHORIZED,
    429: Trouble.RATE_LIMITED,
}
# Where a request is sent whose session is over.
_LOGINS: Final = ("login", "signin", "sign-in")


async def fetch(
    client: Client,
    url: str,
    *,
    reach: Reach,
    timeout_s: float,
    max_bytes: int,
    connect_timeout_s: float = 5,
    headers: Mapping[str, str] = NO_HEADERS,
    secrets: Sequence[str] = (),
    any_json: bool = False,
) -> Response | Failed:
    """A 200 with a JSON content type, or what is wrong. Whether the body can be read is the caller's to find out.
    `any_json` takes types such as application/geo+json as well."""
    try:
        response = await client.get(
            url,
            reach=reach,
            timeout_s=timeout_s,
            connect_timeout_s=min(connect_timeout_s, timeout_s),
            max_bytes=max_bytes,
            headers={**_HEADERS, **headers},
        )
    except NetTrouble as trouble:
        return _unreached(trouble)
    return response if _is_json(response, any_json=any_json) else _failed(response, secrets)


async def post(
    client: Client,
    url: str,
    *,
    reach: Reach,
    timeout_s: float,
    max_bytes: int,
    body: bytes,
    headers: Mapping[str, str],
    secrets: Sequence[str] = (),
    connect_timeout_s: float = 5,
) -> Response | Failed:
    """The same for a question that is JSON itself. An upstream that repeats our secrets must not get them logged."""
    try:
        response = await client.post(
            url,
            reach=reach,
            timeout_s=timeout_s,
            connect_timeout_s=min(connect_timeout_s, timeout_s),
            max_bytes=max_bytes,
            body=body,
            content_type=_JSON,
            headers={**_HEADERS, **headers},
        )
    except NetTrouble as trouble:
        return _unreached(trouble)
    return response if _is_json(response) else _failed(response, secrets)


def _unreached(trouble: NetTrouble) -> Failed:
    return Failed(_NET[trouble.kind], _one_line(str(trouble)))


def _is_json(response: Response, *, any_json: bool = False) -> bool:
    said = _content_type(response)
    is_named = any_json and said.startswith("application/") and said.endswith("+json")
    return response.status == 200 and (said == _JSON or is_named)


def _failed(response: Response, secrets: Sequence[str] = ()) -> Failed:
    trouble = Trouble.UNAUTHORIZED if _leads_to_login(response) else _trouble(response.status)
    wait = None
    if trouble in (Trouble.RATE_LIMITED, Trouble.SERVER_ERROR):
        wait = retry_after_s(response.headers.get("Retry-After"), response.received_at)
    return Failed(trouble, _message(response, trouble, secrets), wait)


def _trouble(status: int) -> Trouble:
    if status in _STATUS:
        return _STATUS[status]
    if status >= 500:
        return Trouble.SERVER_ERROR
    # A redirect is not followed: it would lead to an address that nobody configured.
    return Trouble.UNREADABLE if status < 300 else Trouble.REFUSED


def _leads_to_login(response: Response) -> bool:
    """By the path alone: any address may say `login` in its query."""
    if not 300 <= response.status < 400:
        return False
    try:
        path = urlsplit(response.headers.get("Location", "")).path.lower()
    except ValueError:
        return False
    return any(word in path for word in _LOGINS)


def _message(response: Response, trouble: Trouble, secrets: Sequence[str]) -> str:
    excerpt = _excerpt(response.body, secrets)
    if trouble is Trouble.UNREADABLE:
        said = f"answered {response.status} with {_content_type(response) or 'no content type'}, not 200 with JSON"
    elif 300 <= response.status < 400:
        said = f"answered {response.status}, a redirect, which is not followed"
    else:
        said = f"answered {response.status}"
    return f"{said}: {excerpt}" if excerpt else said


def _excerpt(body: bytes, secrets: Sequence[str]) -> str:
    # Cut after the secrets are gone: half of one is one too many.
    text = body[:_READ_FOR_EXCERPT].decode("utf-8", "replace")
    for secret in secrets:
        text = text.replace(secret, "***")
    return _one_line(text[:_EXCERPT])


def _content_type(response: Response) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _one_line(text: str) -> str:
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())[:_EXCERPT]
