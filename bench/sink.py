"""A mail server that takes everything at once and keeps nothing, in a process of its own: `python -m bench.sink`.

A real one written in Python is slower than the client that is measured.
"""

from __future__ import annotations

import asyncio
import sys

_OK = b"250 OK\r\n"


class _Sink(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._waiting = b""
        self._in_data = False
        transport.write(b"220 sink\r\n")

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while self._step():
            pass

    def _step(self) -> bool:
        """One command, or one message; whether there was a whole one."""
        end = b"\r\n.\r\n" if self._in_data else b"\r\n"
        said, found, rest = self._waiting.partition(end)
        if not found:
            return False
        self._waiting = rest
        self._transport.write(_OK if self._in_data else self._answer(said[:4].upper()))
        self._in_data = not self._in_data and said[:4].upper() == b"DATA"
        return True

    def _answer(self, verb: bytes) -> bytes:
        if verb == b"QUIT":
            self._transport.close()
        return {b"EHLO": b"250 sink\r\n", b"DATA": b"354 go on\r\n"}.get(verb, _OK)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Sink, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
