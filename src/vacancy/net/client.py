"""The one outbound HTTP client: kept connections, no cookies, no redirects, no proxies, a cap on what it reads."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal

import aiohttp
from aiohttp.abc import AbstractResolver

from vacancy import __version__
from vacancy.clock import Clock
from vacancy.net.guard import AddressRefusedError, Lane, NetTrouble, Reach, Route, route, socket_for

__all__ = ["Client", "NetTrouble", "Reach", "Response", "make_client"]

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
# No more than aiohttp can always undo, whatever else happens to be installed.
_ENCODINGS: Final = "gzip, deflate"
_REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (aiohttp.ClientConnectorCertificateError, "its certificate is not valid"),
    (aiohttp.ClientConnectorDNSError, "its name is not known"),
    (aiohttp.ClientSSLError, "no secure connection could be made"),
    (aiohttp.ClientConnectorError, "no connection could be made"),
    (aiohttp.ServerDisconnectedError, "it hung up without an answer"),
    (aiohttp.ClientPayloadError, "its answer broke off or could not be unpacked"),
    (aiohttp.ClientResponseError, "what it sent is not HTTP"),
)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]  # does not care about case
    body: bytes
    elapsed_s: float
    received_at: datetime


def make_client(base_url: str, clock: Clock) -> Client:
    """It says who asks, wherever it asks."""
    return Client(clock, user_agent=f"vacancy/{__version__} (+{base_url})")


@functools.lru_cache(maxsize=64)
def _timeout(total_s: float, connect_s: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=total_s, connect=connect_s)


class Client:
    def __init__(self, clock: Clock, *, user_agent: str, resolver: AbstractResolver | None = None) -> None:
        self._clock = clock
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": _ENCODINGS}
        self._resolver = resolver
        self._sessions: dict[Lane, aiohttp.ClientSession] = {}
        self._closed = False

    async def get(
        self,
        url: str,
        *,
        reach: Reach,
        timeout_s: float,
        connect_timeout_s: float = 5,
        max_bytes: int,
        headers: Mapping[str, str] = NO_HEADERS,
        once: bool = False,
    ) -> Response:
        """`once`: not again over a new connection either, when the one that was used turns out to be dead."""
        timeout = _timeout(timeout_s, connect_timeout_s)
        return await self._ask("GET", route(url, reach), timeout, max_bytes, headers, None, once=once)

    async def post(
        self,
        url: str,
        *,
        reach: Reach,
        timeout_s: float,
        connect_timeout_s: float = 5,
        max_bytes: int,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] = NO_HEADERS,
        verb: Literal["POST", "PATCH"] = "POST",
    ) -> Response:
        headers = {**headers, "Content-Type": content_type}
        return await self._ask(
            verb, route(url, reach), _timeout(timeout_s, connect_timeout_s), max_bytes, headers, body
        )

    async def close(self) -> None:
        self._closed = True
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    async def _ask(
        self,
        method: str,
        way: Route,
        timeout: aiohttp.ClientTimeout,
        max_bytes: int,
        headers: Mapping[str, str],
        data: bytes | None,
        *,
        once: bool = False,
    ) -> Response:
        session = self._sessions.get(way.lane) or self._open(way.lane)
        began = self._clock.monotonic()
        try:
            answer = await session.request(
                method,
                way.url,
                data=data,
                headers=headers or None,
                timeout=timeout,
                allow_redirects=False,
                middlewares=(_Once(),) if once else None,
            )
            body = await _read(answer, way, max_bytes)
        except (aiohttp.ClientError, OSError) as trouble:  # a timeout is an OSError
            # Not `from trouble`: its text has the whole address in it.
            raise _explain(trouble, way, timeout) from None
        elapsed = self._clock.monotonic() - began
        return Response(answer.status, answer.headers, body, elapsed, self._clock.now())

    def _open(self, lane: Lane) -> aiohttp.ClientSession:
        if self._closed:
            raise RuntimeError("the client is closed")
        connector = aiohttp.TCPConnector(
            limit=0,  # callers have budgets; waiting here as well would eat up their timeouts
            resolver=self._resolver,
            socket_factory=functools.partial(socket_for, lane),
        )
        session = aiohttp.ClientSession(
            connector=connector, headers=self._headers, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
        )
        self._sessions[lane] = session
        return session


class _Once:
    """aiohttp asks again by itself, once, where that does no harm to the other side."""

    def __init__(self) -> None:
        self._was_asked = False

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        if self._was_asked:
            raise aiohttp.ServerDisconnectedError
        self._was_asked = True
        return await handler(request)


async def _read(answer: aiohttp.ClientResponse, way: Route, max_bytes: int) -> bytes:
    """Piece by piece, each unpacked to a bounded size: read() at once would unpack a bomb before its size is known."""
    try:
        if (answer.content_length or 0) > max_bytes:
            raise _too_large(way, max_bytes)
        pieces, size = [], 0
        readany = answer.content.readany
        while piece := await readany():
            size += len(piece)
            if size > max_bytes:
                raise _too_large(way, max_bytes)
            pieces.append(piece)
        return b"".join(pieces)
    except BaseException:
        answer.close()  # half read, the connection is of no use to the next request
        raise


def _too_large(way: Route, max_bytes: int) -> NetTrouble:
    return NetTrouble("too_large", f"{way.origin} sent more than {max_bytes} bytes")


def _explain(trouble: Exception, way: Route, timeout: aiohttp.ClientTimeout) -> NetTrouble:
    if isinstance(trouble, TimeoutError):
        connecting = isinstance(trouble, aiohttp.ConnectionTimeoutError)
        verb, after = ("be reached", timeout.connect) if connecting else ("answer in full", timeout.total)
        return NetTrouble("timeout", f"{way.origin} did not {verb} within {after:g} s")
    if isinstance(trouble, aiohttp.ClientConnectorError) and isinstance(trouble.os_error, AddressRefusedError):
        return NetTrouble("refused", f"{way.origin}: {trouble.os_error}")
    reason = next((words for kind, words in _REASONS if isinstance(trouble, kind)), "the connection broke")
    system = trouble.strerror if isinstance(trouble, aiohttp.ClientOSError) else None
    return NetTrouble("network", f"{way.origin}: {reason}" + (f" ({system})" if system else ""))
