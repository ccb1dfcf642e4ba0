"""The command line as a user meets it: a real process, its words, its exit code."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.commands.test_subscription_commands import SOURCE
from tests.support.rows import course_event, insert_events

from vacancy.clock import SystemClock
from vacancy.simulator.server import Simulator
from vacancy.store.engine import Store


class Shell:
    """`vacancy …` in a folder of its own, with nothing in the environment but what the test puts there."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE, "COLUMNS": "100", **environment}

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vacancy", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=self.environment, timeout=60, check=False
        )

    def json(self, *arguments: str) -> Any:
        ended = self(*arguments, "--json")
        assert ended.returncode in (0, 1), ended.stderr
        return json.loads(ended.stdout)


@contextmanager
def upstream() -> Iterator[Simulator]:
    """The simulator in a thread, so that commands can ask it while the test waits for them."""
    simulator = Simulator(SystemClock(), scale=0.02, campuses=["NB"])
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(simulator.start(), loop).result(30)
    try:
        yield simulator
    finally:
        asyncio.run_coroutine_threadsafe(simulator.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with upstream() as running:
        yield running


@pytest.fixture
def shell(tmp_path: Path, simulator: Simulator) -> Shell:
    simulator.clear_faults()
    simulator.world("12025", "NB").override(None)
    return Shell(tmp_path, VACANCY_SOC__BASE_URL=simulator.base_url, VACANCY_SOC__TERMS="SP2025")


def test_help_and_version_need_nothing(tmp_path: Path) -> None:
    shell = Shell(tmp_path, VACANCY_NO_SUCH_SETTING="1")
    assert "demo" in shell("--help").stdout
    assert shell("--version").stdout.startswith("vacancy ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["targets", "pause", "soc", "99999|NB"], "is not a term"),
        (["targets", "pause", "soc", "12025|NK"], "no target soc 12025|NK"),
        (["targets", "release", "nothing", "key"], "no target nothing key"),
        (["events", "add", "soc", "12025|NB", "1234"], "no target soc 12025|NB"),
        (["serve", "--only", "web,cook"], "--only knows web, poll, fanout, deliver; not cook"),
        (["poll"], "takes --once"),
        (["db", "backup", "no/such/folder/copy.db"], "cannot write the backup"),
        (["simulate", "--terms", "22026"], "is not a term"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(shell: Shell, arguments: list[str], said: str) -> None:
    ended = shell(*arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert "Traceback" not in ended.stderr


def test_a_wrong_setting_stops_every_command(tmp_path: Path) -> None:
    ended = Shell(tmp_path, VACANCY_SOC__INTERVALS="5")("targets", "list")
    assert ended.returncode == 2
    assert "VACANCY_SOC__INTERVALS" in ended.stderr
    assert "VACANCY_SOC__INTERVAL_S" in ended.stderr


def test_an_opening_of_any_source_has_a_name(shell: Shell, tmp_path: Path) -> None:
    shell("db", "upgrade")
    other: dict[str, Any] = {"term_id": None, "campus_code": None, "index_number": None}
    table = {"title": "Carbone", "date": "2026-02-28", "time": "20:30"}
    store = Store(f"sqlite:///{tmp_path}/vacancy.db", SystemClock())
    store.write_now(insert_events, [
        course_event(12345),
        course_event(2, source="resy", target_key="2026-02-28_20:30", item_key="3f" * 16, payload=table, **other),
        course_event(3, source="json:tickets", target_key="all", item_key="gala", payload={"title": "Gala"}, **other),
    ])  # fmt: skip
    store.close()
    said = [line.split("VACANCY", 1)[1].strip() for line in shell("events").stdout.splitlines()]
    assert said[0].startswith("12345 01:198:111 02 INTRO COMPUTER SCI  12025|NB · MW 10:20")
    assert said[1:] == ["Carbone, 2026-02-28 20:30  resy", "Gala (gala)  json:tickets"]


def test_a_walk_through_the_verbs(shell: Shell, simulator: Simulator) -> None:
    world = simulator.world("12025", "NB")
    closed = sorted(set(world.catalogue_indexes) - world.open_indexes)
    assert shell("poll", "--once").returncode == 0
    assert shell.json("poll", "--once")["items"]
    (target,) = shell.json("targets", "list")["items"]
    assert target["key"] == "12025|NB"
    assert target["state"] == "fresh"

    world.open(closed[0])
    assert shell.json("poll", "--once")["items"][0]["opened"] == 1
    shown = shell("events", "--last", "5")
    assert closed[0] in shown.stdout
    assert "VACANCY" in shown.stdout

    added = shell.json("events", "add", "soc", "spring 2025|nb", closed[1])
    assert added["alreadyOpen"] is False
    assert shell.json("events", "add", "soc", "12025|NB", closed[1]) == {"openEventId": None, "alreadyOpen": True}
    assert "five digits" in shell("events", "add", "soc", "12025|NB", "123").stderr

    for verb in ("pause", "resume", "poll", "rebaseline"):
        assert shell("targets", verb, "soc", "12025|NB").returncode == 0
    assert "no answer" in shell("targets", "release", "soc", "12025|NB").stderr
    assert shell("db", "check").returncode == 0
    assert shell("db", "backup", "copy.db").returncode == 0
    assert shell("doctor").returncode == 0


def test_a_held_answer_is_released_by_hand(shell: Shell, simulator: Simulator) -> None:
    shell("poll", "--once")
    shell("poll", "--once")
    simulator.fault("empty", endpoint="openSections")
    shell("poll", "--once")
    assert shell.json("targets", "list")["items"][0]["state"] == "held"
    assert "held back" in shell("doctor").stdout
    assert "is believed" in shell("targets", "release", "soc", "12025|NB").stdout
    assert shell.json("targets", "list")["items"][0]["heldSince"] is None


def test_trouble_upstream_is_told_and_makes_exit_code_1(shell: Shell, simulator: Simulator) -> None:
    simulator.fault("unauthorized", endpoint="openSections")
    ended = shell("poll", "--once")
    assert ended.returncode == 1
    assert "unauthorized" in ended.stdout
    assert shell("doctor").returncode == 1


def test_a_damaged_database_is_found(shell: Shell) -> None:
    shell("db", "upgrade")
    path = shell.folder / "vacancy.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(
            "INSERT INTO held_answers (target_id, reason, samples, first_at, last_at, items)"
            " VALUES (99, 'short', 1, '', '', '{}')"
        )
        connection.commit()
    ended = shell("db", "check")
    assert ended.returncode == 1
    assert "held_answers" in ended.stderr


def test_settings_are_shown_without_secrets(shell: Shell) -> None:
    shell.environment["VACANCY_SECRET_KEY"] = "hidden-in-plain-sight"
    ended = shell("settings")
    assert ended.returncode == 0
    assert "hidden-in-plain-sight" not in ended.stdout + shell("settings", "--json").stdout


def test_a_database_that_is_newer_is_refused(shell: Shell) -> None:
    shell("db", "upgrade")
    with closing(sqlite3.connect(shell.folder / "vacancy.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    ended = shell("targets", "list")
    assert ended.returncode == 2
    assert "newer than this version" in ended.stderr


def test_the_file_of_settings_is_named_before_or_after_the_verb(tmp_path: Path) -> None:
    shell, file = Shell(tmp_path), tmp_path / "ours.toml"
    file.write_text('base_url = "https://ours.example"\n')
    named = ["--config", str(file)]
    for arguments in (
        [*named, "settings"], ["settings", *named], ["settings", f"--config={file}"], ["settings", *named, "--json"],
    ):  # fmt: skip
        ended = shell(*arguments)
        assert (ended.returncode, "https://ours.example" in ended.stdout) == (0, True), arguments
    ended = shell("settings", "--config")
    assert ended.returncode == 2
    assert "'--config' requires an argument" in ended.stderr
    # What stands after the two dashes is the verb's, however it is spelt.
    ended = shell("send-test", "email", "--", "--config")
    assert "requires an argument" not in ended.stderr
