"""The whole house in a process of its own, as a command starts it, and somebody with a browser in front of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from tests.simulator.harness import Rig
from vacancy.clock import SystemClock
from vacancy.store import bells, outbox
from vacancy.store.engine import Store

TERM: Final = "12025"
CAMPUS: Final = "NB"
PATIENCE_S: Final = 60.0
SERVE: Final = ("-m", "vacancy", "serve")


def environment(rig: Rig, database_url: str, **more: object) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    return {
        **own,
        "VACANCY_DATABASE_URL": database_url,
        "VACANCY_SECRET_KEY": "a key for tests",
        "VACANCY_LOG_FORMAT": "json",
        "VACANCY_WEB__PORT": "0",
        "VACANCY_SOC__BASE_URL": rig.simulator.base_url,
        "VACANCY_SOC__TERMS": TERM,
        "VACANCY_SOC__CAMPUSES": CAMPUS,
        "VACANCY_SOC__INTERVAL_S": "0.2",
        "VACANCY_SOC__JITTER": "0",
        **{f"VACANCY_{name.upper()}": str(value) for name, value in more.items()},
    }


class Person:
    """`said` is what the house wrote to stderr so far, a line each."""

    def __init__(self, base: str, session: aiohttp.ClientSession, store: Store, said: list[str]) -> None:
        self.said, self.store = said, store
        self.secrets: list[str] = []  # what must not stand in any log
        self.base, self._session = base, session

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        async with self._session.request(method, f"{self.base}{path}", **options) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json() if "json" in answer.content_type else await answer.text()

    async def try_to(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        async with self._session.request(method, f"{self.base}{path}", **options) as answer:
            return answer.status, await answer.json()

    async def until(self, found: Callable[[], Any]) -> Any:
        """Looks again whenever something was committed, by whomever."""
        async with asyncio.timeout(PATIENCE_S):
            while not (seen := await asyncio.to_thread(found)):
                await self.a_moment()
            return seen

    async def until_ready(self, status: int) -> Any:
        """What `/readyz` says with this status."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                answered, answer = await self.try_to("GET", "/readyz")
                if answered == status:
                    return answer
                await self.a_moment()

    async def a_moment(self) -> None:
        """Until somebody commits something, or a little later."""
        bell = self.store.bells[bells.NOTIFICATIONS]
        await bell.wait(bell.rings, self.store.clock, 0.1)

    def mail(self, template: str) -> Any:
        mails = self.store.read_now(outbox.latest, 10)
        return next((kept for kept in mails if kept.mail.template_id == template), None)

    async def fresh(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while {each["state"] for each in (await self.ask("GET", "/api/targets"))["items"]} != {"fresh"}:
                await self.a_moment()

    def log(self, event: str) -> list[Mapping[str, Any]]:
        """The lines about this so far."""
        lines = (json.loads(line) for line in self.said if line.startswith("{"))
        return [line for line in lines if line["event"] == event]


@asynccontextmanager
async def house(
    environment: Mapping[str, str], database_url: str, command: Sequence[str] = SERVE
) -> AsyncIterator[Person]:
    """It must end well when it is asked to."""
    serving = await asyncio.create_subprocess_exec(
        sys.executable, *command, env=environment, stderr=asyncio.subprocess.PIPE
    )
    said: list[str] = []
    assert serving.stderr is not None
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    hearing = asyncio.create_task(_hear(serving.stderr, said, listening))
    try:
        base = await asyncio.wait_for(listening, PATIENCE_S)
        store = Store(database_url, SystemClock())
        ringing = asyncio.ensure_future(store.listen())
        try:
            async with aiohttp.ClientSession() as session:
                yield Person(base, session, store, said)
        finally:
            ringing.cancel()
            await asyncio.gather(ringing, return_exceptions=True)
            store.close()
    finally:
        if serving.returncode is None:
            serving.terminate()
        await asyncio.wait_for(hearing, PATIENCE_S)
        await serving.wait()
    assert serving.returncode == 0, "\n".join(said)


async def _hear(stderr: asyncio.StreamReader, said: list[str], listening: asyncio.Future[str]) -> None:
    async for line in stderr:
        said.append(line.decode().rstrip())
        if " listens on " in said[-1] and not listening.done():
            listening.set_result(said[-1].rpartition(" ")[2])
    if not listening.done():
        listening.set_exception(AssertionError("it ended before it listened:\n" + "\n".join(said)))


def link_in(mail: Any, path: str) -> str:
    found = re.search(rf"http://[^ \n]*({path}\?token=[A-Za-z0-9_.\-]+)", mail.mail.text)
    assert found is not None, mail.mail.text
    return found[1]
