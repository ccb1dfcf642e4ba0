"""`vacancy bot` as its operator meets it: its words, its exit code, and what it does not load."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vacancy.simulator.telegram import TOKEN

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "vacancy"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("VACANCY_")}
    return {
        **own,
        "PYTHONPATH": str(ROOT / "src"),
        "VACANCY_BOT__DATABASE_URL": f"sqlite:///{tmp_path}/bot.db",
        "VACANCY_BOT__BACKEND_URL": "http://127.0.0.1:1",
        "VACANCY_TELEGRAM__API_BASE": "http://127.0.0.1:1",
    }


def vacancy(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vacancy", *words], env=environment, text=True, capture_output=True, timeout=60,
        check=False, cwd=ROOT,
    )  # fmt: skip


def told(environment: dict[str, str], *words: str) -> Any:
    ended = vacancy(environment, *words, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_chat_is_bound_and_unbound_by_hand(environment: dict[str, str]) -> None:
    bound = told(environment, "bot", "bind", "--chat", "-100", "--user", "7")
    assert bound == {"chatId": -100, "userId": 7, "cursor": 0, "isReadingUp": True}
    (chat,) = told(environment, "bot", "chats")
    assert (chat["chatId"], chat["userId"], chat["status"], chat["reason"]) == (-100, 7, "bound", None)
    assert told(environment, "bot", "unbind", "--chat", "-100") == {"chatId": -100, "changed": True}
    shown = vacancy(environment, "bot", "chats")
    assert re.search(r"-100 +7 +unbound: unbound by hand +0", shown.stdout)


def test_without_a_token_nothing_begins(environment: dict[str, str]) -> None:
    ended = vacancy(environment, "bot")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "vacancy: telegram.token is not set (VACANCY_TELEGRAM__TOKEN); @BotFather makes one\n"
    )  # fmt: skip


def test_without_the_extra_it_says_what_to_install(environment: dict[str, str]) -> None:
    script = (
        "import importlib.util as u, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'aiogram' else find(name, *rest)\n"
        "sys.argv = ['vacancy', 'bot']\n"
        "from vacancy.cli import main\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], env=environment | {"VACANCY_TELEGRAM__TOKEN": TOKEN}, text=True,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert "pip install '.[bot]'" in ended.stderr


def test_it_stays_without_backend_and_telegram_and_ends_when_told(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "vacancy", "bot"], env=environment | {"VACANCY_TELEGRAM__TOKEN": TOKEN}, text=True,
        stderr=subprocess.PIPE, cwd=ROOT,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "no events are looked for" in line:
                break
        process.send_signal(signal.SIGTERM)
        lines += process.stderr.readlines()
        assert process.wait(30) == 0
    assert sum("no events are looked for" in line for line in lines) == 1
    assert TOKEN not in "".join(lines)


def test_aiogram_is_loaded_by_the_bot_alone() -> None:
    loading = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "aiogram" or name.startswith("vacancy.bot") for name in names):
                loading.add(file.relative_to(SOURCE).parts[0])
    assert loading == {"bot"}
