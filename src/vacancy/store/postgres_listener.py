"""LISTEN: what another machine committed rings here within milliseconds."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from sqlalchemy.engine import make_url

from vacancy.clock import Clock
from vacancy.store import bells


async def listen(url: str, _clock: Clock, ring: Callable[[str], None], own_name: str) -> None:
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    async with await psycopg.AsyncConnection.connect(plain, autocommit=True) as connection:
        await connection.execute("LISTEN vacancy")
        # What was committed before we listened made no sound.
        for name in bells.NAMES:
            ring(name)
        async for notice in connection.notifies():
            name, _, whose = notice.payload.partition(" ")
            if name in bells.NAMES and whose != own_name:
                ring(name)
