"""The application behind a real socket, as `serve` runs it, for callers in threads of their own."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI
from tests.web.calling import Answer

_PATIENCE_S = 60
_BACKLOG = 512


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    def __call__(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:  # fmt: skip
        """One request over a connection of its own."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        said = {} if content is None else {"Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=_PATIENCE_S)) as connection:
            connection.request(method, path, content, {**said, **(headers or {})})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())


@contextmanager
def served(app: FastAPI) -> Iterator[Address]:
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, proxy_headers=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Address(*listening.getsockname()[:2])
        finally:
            server.should_exit = True
            thread.join(_PATIENCE_S)
    assert not thread.is_alive()
