"""The demo as a newcomer meets it."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from vacancy.clock import SystemClock
from vacancy.store import outbox
from vacancy.store.engine import Store

_PATIENCE_S = 30.0
# As the README has it.
WISH = {
    "term": "12025", "campus": "NB", "sectionIndex": "09214", "contactType": "email", "contactValue": "ada@example.com",
}  # fmt: skip


@asynccontextmanager
async def demo(folder: Path, port: int) -> AsyncIterator[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacancy", "demo", "--scale", "0.01", "--keep", "demo.db",
        cwd=folder, env=environment | {"VACANCY_WEB__PORT": str(port)}, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(_PATIENCE_S):
            assert running.stderr is not None
            async for line in running.stderr:
                if b"listens on" in line:
                    yield line.decode().rpartition(" ")[2].strip()
                    break
            else:
                raise AssertionError("it ended before it listened")
    finally:
        running.terminate()
        await running.communicate()


def free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


@pytest.mark.timeout(90)
def test_the_link_in_the_mail_leads_to_the_demo_on_whatever_port(tmp_path: Path) -> None:
    async def story() -> None:
        async with demo(tmp_path, free_port()) as base, aiohttp.ClientSession() as browser:
            async with browser.post(f"{base}/api/subscribe", json=WISH) as answer:
                assert answer.status == 201, await answer.text()
            link = await asyncio.to_thread(link_in_mail, tmp_path / "demo.db")
            assert link.startswith(f"{base}/verify?token=")
            async with browser.get(link) as page:
                assert page.status == 200
                assert "Is this you?" in await page.text()

    asyncio.run(story())


@pytest.mark.timeout(90)
def test_courses_tables_and_a_json_endpoint_are_side_by_side(tmp_path: Path) -> None:
    async def story() -> None:
        async with demo(tmp_path, free_port()) as base, aiohttp.ClientSession() as browser:
            sources: set[str] = set()
            while sources < {"soc", "resy", "json:tickets"}:
                async with browser.get(f"{base}/api/targets") as answer:
                    sources = {each["source"] for each in (await answer.json())["items"]}
            async with browser.get(f"{base}/") as page:
                board = await page.text()
            assert re.search(r'data-source="json:tickets"[^>]*>(?:(?!</li>).)*tickets', board, re.DOTALL)

    asyncio.run(story())


def link_in_mail(database: Path) -> str:
    store = Store(f"sqlite:///{database}", SystemClock())
    try:
        while not (mails := store.read_now(outbox.latest, 1)):
            pass
    finally:
        store.close()
    found = re.search(r"http://\S+/verify\?token=\S+", mails[0].mail.text)
    assert found is not None, mails[0].mail.text
    return found[0]
