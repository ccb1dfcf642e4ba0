"""Where processes that are to be killed come from: forked from one that has everything imported, so that a start costs
milliseconds. See tests/flow/deliver_victim.py."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.scenes import SECRET

ROOT: Final = Path(__file__).parents[2]


class Nursery:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def start(self, settings: Mapping[str, str], channel: str = "email", moment: str = "") -> int:
        """A courier of this channel, until nothing may go any more; the number of its process."""
        return int(self._ask({"settings": settings, "channel": channel, "moment": moment}))

    async def end(self, number: int, within_s: float = 60) -> int:
        """Its exit code; that of a killed one is the signal, below zero."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(self._wait, number), within_s)
        except BaseException:
            os.kill(number, signal.SIGKILL)  # or the thread would wait for ever
            raise

    async def kill(self, number: int) -> int:
        os.kill(number, signal.SIGKILL)
        return await self.end(number)

    def _wait(self, number: int) -> int:
        return int(self._ask({"wait": number}))

    def _ask(self, what: Mapping[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        assert answer, "the nursery is gone"
        return answer


@contextmanager
def open_nursery() -> Iterator[Nursery]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.flow.deliver_victim"],
        env=own | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}, cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def settings_for(url: str, **more: object) -> dict[str, str]:
    """A house that knows of 12025 at NB; what was seen there stays fresh for hours."""
    return {
        "VACANCY_DATABASE_URL": url,
        "VACANCY_SECRET_KEY": SECRET,
        "VACANCY_BASE_URL": "https://vacancy.example",
        "VACANCY_SOC__BASE_URL": "http://127.0.0.1:1",
        "VACANCY_SOC__TERMS": "12025",
        "VACANCY_SOC__INTERVAL_S": "3600",
        **{f"VACANCY_{name.upper()}": str(value) for name, value in more.items()},
    }


def mail_settings(url: str, port: int, sender: str = "vacancy@house.example") -> dict[str, str]:
    return settings_for(
        url, email__provider="smtp", email__smtp_host="127.0.0.1", email__smtp_port=port, email__smtp_tls="none",
        email__sender=sender, delivery__email_per_second=100_000,
    )  # fmt: skip
