"""The web as one of the loops: uvicorn with our signals, our socket, our log."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from vacancy.errors import VacancyError
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.web.app import create_app
from vacancy.web.context import House


def build(*parts: Any, **more: Any) -> Web:
    """Of what a `House` is made of."""
    house = House(*parts, **more)
    return Web(house, house.settings)


class Web:
    def __init__(self, house: House, settings: Settings) -> None:
        self._house = house
        self._socket = _bind(settings.web.host, settings.web.port)
        host, port = self._socket.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._app = create_app(house)
        self._config = uvicorn.Config(
            self._app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
            proxy_headers=False,
        )

    async def run(self, stop: Stop) -> None:
        server = _Server(self._config)
        serving = asyncio.ensure_future(server.serve(sockets=[self._socket.dup()]))
        stopping = asyncio.ensure_future(stop.wait(None))
        try:
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
            self._house.stopping.set()
            server.should_exit = True
            await serving
        finally:
            stopping.cancel()
            self._app.state.feed.close()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the runner's: it drains every loop, not the web alone."""
        yield


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, proto)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        reason = error.strerror or str(error)
        raise VacancyError(
            f"cannot listen on {host}, port {port}: {reason}; is another program there? Choose with VACANCY_WEB__PORT"
        ) from error
    bound.listen(2048)
    return bound
