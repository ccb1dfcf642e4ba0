"""`vacancy check json NAME`, as a user meets it: what would be seen and why, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands.test_commands import Shell, upstream
from tests.support.boards import documented

from vacancy.simulator.server import Simulator


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with upstream() as running:
        yield running


@pytest.fixture
def shell(tmp_path: Path, simulator: Simulator) -> Shell:
    simulator.clear_faults()
    simulator.json.boards.board("tickets").set_items(["gala-fri"], ["gala-sat"])
    tables: list[dict[str, Any]] = [
        {**table, "url": f"{simulator.json_url}/{name}"} for name, table in documented().items()
    ]
    tables.append({**tables[2], "name": "wrong", "items": "$["})
    return Shell(tmp_path, VACANCY_JSON=json.dumps(tables), COLUMNS="200")


def test_each_item_is_shown_with_the_part_of_the_rule_that_settled_it(shell: Shell, tmp_path: Path) -> None:
    ended = shell("check", "json", "tickets")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[0].split() == ["Key", "Label", "State", "Link", "Why"]
    lines = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert "Gala, Fri" in lines["gala-fri"]
    assert " open " in lines["gala-fri"]
    assert "/shows/gala-fri" in lines["gala-fri"]
    assert " closed " in lines["gala-sat"]
    assert 'status in ["ON_SALE", "LIMITED"] is false: status is "SOLD_OUT"' in lines["gala-sat"]
    assert "18 listed, " in ended.stdout
    assert list(tmp_path.iterdir()) == []


def test_for_machines_it_is_all_there(shell: Shell) -> None:
    told = shell.json("check", "json", "campsites")
    assert (told["source"], told["error"], told["listed"]) == ("json:campsites", None, 36)
    assert told["open"] == sum(item["open"] for item in told["items"])
    first = told["items"][0]
    assert set(first) == {"key", "label", "group", "link", "open", "why", "topic"}
    assert (first["key"], first["topic"]) == ("1", "json:campsites:1")
    assert first["why"] == [
        f"available == true is {str(first['open']).lower()}: available is {json.dumps(first['open'])}"
    ]
    assert shell.json("check", "json", "names")["items"][0]["why"] == ["it is listed"]


def test_what_cannot_be_used_is_told_and_is_exit_code_1(shell: Shell, simulator: Simulator) -> None:
    simulator.json.fault("renamed", board="campsites")
    ended = shell("check", "json", "campsites")
    assert ended.returncode == 1
    assert "json:campsites cannot be used: unreadable: item 1 of 36: '1': it has no available" in ended.stdout
    told = shell.json("check", "json", "campsites")
    assert told["error"]["code"] == "unreadable"
    assert told["items"] == []
    simulator.json.fault("unauthorized", board="tickets")
    assert shell.json("check", "json", "tickets")["error"]["code"] == "unauthorized"


def test_what_is_odd_about_a_usable_answer_is_remarked_on(shell: Shell, simulator: Simulator) -> None:
    simulator.json.fault("empty")
    assert "is doubted, and held back at first" in shell("check", "json", "campsites").stdout
    assert "is believed (empty_is_valid = true)" in shell("check", "json", "names").stdout


def test_names_and_settings_that_are_none(shell: Shell) -> None:
    ended = shell("check", "json", "nothing")
    assert ended.returncode == 2
    assert "no [[json]] called nothing; there are: tickets, campsites, names, wrong" in ended.stderr
    ended = shell("check", "json", "wrong")
    assert ended.returncode == 2
    assert "[[json]] wrong: items: is no JSONPath: column 3" in ended.stderr
    # One that is wrong stops the start, whichever is asked for.
    assert shell("poll", "--once").returncode == 2


def test_the_settings_show_the_list_and_no_secret(shell: Shell) -> None:
    shown = shell("settings").stdout
    assert "json[].open_when" in shown
    assert "available == true" in shown
    assert "the key that they gave you" not in shown + shell("settings", "--json").stdout
