"""Puts an answer on the wire, in one piece or in one of the ways in which a connection fails."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import struct
import zlib
from collections.abc import Iterator
from email.utils import format_datetime
from typing import Any, Final

from aiohttp import hdrs, web

from vacancy.clock import Clock
from vacancy.simulator.answers import Answer, Manner
from vacancy.simulator.faults import Faults

BACKENDS: Final = ("soc-web-01", "soc-web-02", "soc-web-03", "soc-web-04")
FLOOD_PIECE: Final = b'["00000",' + b'"00000",' * 8000
PACK_IN_THREAD_ABOVE: Final = 1024 * 1024
PACKED_KEPT: Final = 16
# Closing with a linger time of zero makes the kernel send a reset and not an orderly end.
LINGER_ZERO: Final = struct.pack("ii", 1, 0)


class Delivery:
    def __init__(self, clock: Clock, faults: Faults[Any]) -> None:
        self._clock = clock
        self._faults = faults
        self._backends: Iterator[str] = itertools.cycle(BACKENDS)
        self._packed: dict[str, tuple[bytes, bytes]] = {}

    async def send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        released = self._faults.released()
        if answer.delay:
            await self._clock.sleep(answer.delay)
        if answer.manner is Manner.HANG:
            await released.wait()
        if answer.manner is Manner.RESET:
            _reset(request)
            return web.Response(status=answer.status)
        headers = self._headers(answer)
        if answer.manner is Manner.MIDWAY:
            return await self._drop_midway(request, answer, headers)
        if answer.manner is Manner.DRIP:
            return await self._drip(request, answer, headers)
        if answer.manner is Manner.FLOOD:
            return await self._flood(request, answer, headers)
        return await self._whole(request, answer, headers)

    def _headers(self, answer: Answer) -> dict[str, str]:
        """The ETag names the backend: the same body has several, so it is no sign of change."""
        backend = next(self._backends)
        return {
            hdrs.CONTENT_TYPE: answer.content_type,
            hdrs.DATE: format_datetime(self._clock.now(), usegmt=True),
            hdrs.CACHE_CONTROL: "max-age=30",
            hdrs.ETAG: f'"{zlib.crc32(backend.encode(), zlib.crc32(answer.body)):08x}"',
            hdrs.VARY: "Accept-Encoding",
            "X-Server-Name": backend,
        } | answer.headers

    async def _whole(self, request: web.Request, answer: Answer, headers: dict[str, str]) -> web.StreamResponse:
        body = answer.body
        if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            body = await self._pack(request.path_qs, body)
            headers[hdrs.CONTENT_ENCODING] = "gzip"
        return web.Response(status=answer.status, body=body, headers=headers)

    async def _pack(self, address: str, body: bytes) -> bytes:
        """Keeps the latest body of an address: packing a large catalogue takes longer than making it."""
        known, packed = self._packed.get(address, (b"", b""))
        if not packed or known != body:
            if len(body) > PACK_IN_THREAD_ABOVE:
                packed = await asyncio.to_thread(gzip.compress, body, 1, mtime=0)
            else:
                packed = gzip.compress(body, 1, mtime=0)
            if len(self._packed) >= PACKED_KEPT:
                self._packed.clear()
            self._packed[address] = (body, packed)
        return packed

    async def _drop_midway(self, request: web.Request, answer: Answer, headers: dict[str, str]) -> web.StreamResponse:
        response = await _begin(request, answer, headers | {hdrs.CONTENT_LENGTH: str(len(answer.body))})
        await response.write(answer.body[: len(answer.body) // 2])
        if request.transport is not None:
            request.transport.close()
        return response

    async def _drip(self, request: web.Request, answer: Answer, headers: dict[str, str]) -> web.StreamResponse:
        response = await _begin(request, answer, headers | {hdrs.CONTENT_LENGTH: str(len(answer.body))})
        size = max(1, -(-len(answer.body) // answer.pieces))
        for start in range(0, len(answer.body), size):
            if start:
                await self._clock.sleep(answer.piece_delay)
            await response.write(answer.body[start : start + size])
        await response.write_eof()
        return response

    async def _flood(self, request: web.Request, answer: Answer, headers: dict[str, str]) -> web.StreamResponse:
        """No Content-Length: a client that trusts only that header reads all of it."""
        response = await _begin(request, answer, headers)
        left = answer.flood_bytes
        while left > 0:
            piece = FLOOD_PIECE[:left]
            await response.write(piece)
            left -= len(piece)
        await response.write_eof()
        return response


async def _begin(request: web.Request, answer: Answer, headers: dict[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=headers)
    await response.prepare(request)
    return response


def _reset(request: web.Request) -> None:
    if request.transport is None:
        return
    raw = request.transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
    request.transport.abort()
