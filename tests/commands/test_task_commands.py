"""`vacancy tasks …`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands.test_commands import Shell

STAFF: dict[str, Any] = {
    "roles": [{"role_id": 1, "name": "Clerks", "kind": "executor"},
              {"role_id": 3, "name": "Supervisors", "kind": "supervisor"}],
    "users": [{"user_id": 11, "name": "Ada", "role_id": 1}, {"user_id": 31, "name": "Sue [bold]", "role_id": 3}],
}  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def written(shell: Shell, content: object) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    (shell.folder / "staff.json").write_text(text)
    return "staff.json"


def test_a_file_is_taken_in_as_often_as_one_likes(shell: Shell) -> None:
    loaded = shell("tasks", "load", written(shell, STAFF))
    assert loaded.returncode == 0
    assert "added user 11: Ada, role 1" in loaded.stdout
    assert "Roles: 2 added, 0 changed. Users: 2 added, 0 changed. As they were: 0." in loaded.stdout
    again = shell.json("tasks", "load", "staff.json")
    assert again == {"rolesAdded": 0, "rolesChanged": 0, "usersAdded": 0, "usersChanged": 0, "unchanged": 4,
                     "lines": []}  # fmt: skip

    users = [{"user_id": 11, "name": "Ada L", "role_id": 3}]
    roles = [{"role_id": 3, "name": "Supervisors", "kind": "deputy"}]
    changed = shell.json("tasks", "load", written(shell, "\ufeff" + json.dumps({"roles": roles, "users": users})))
    assert changed["lines"] == [
        "changed role 3: kind supervisor -> deputy", "changed user 11: name Ada -> Ada L, role_id 1 -> 3"
    ]  # fmt: skip
    # Who is not in the file stays as he is.
    shown = shell.json("tasks", "users", "list")["items"]
    assert [(user["user_id"], user["name"], user["kind"]) for user in shown] == [
        (11, "Ada L", "deputy"), (31, "Sue [bold]", "deputy")
    ]  # fmt: skip
    assert "Sue [bold]" in shell("tasks", "users", "list").stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"users": [{"user_id": "x", "name": "a", "role_id": 1}]}, "users[0].user_id: Expected `int`, got `str`"),
        ({"users": [STAFF["users"][0], {"user_id": 12, "name": "B", "role_id": 9}], "roles": STAFF["roles"]},
         "users[1].role_id: there is no role 9, neither in it nor here"),
        ({"users": STAFF["users"] + STAFF["users"][:1], "roles": STAFF["roles"]},
         "users[2].user_id: 11 stands in users[0] already"),
        ({"roles": [{"role_id": 1, "name": "x", "kind": "boss"}]},
         "roles[0].kind: Invalid enum value 'boss'; known are executor, supervisor, deputy, director"),
        ({"roles": [{"role_id": 1, "name": " ", "kind": "executor"}]}, "roles[0].name: "),
        ({"roles": [{"role_id": 0, "name": "x", "kind": "executor"}]}, "roles[0].role_id: "),
        ({"rolls": []}, "the whole: Object contains unknown field `rolls`"),
        ({}, "neither roles nor users are in it"),
        ([], "the whole: Expected `object`, got `array`"),
        ('{"users": [', "this is not JSON"),
    ],
)  # fmt: skip
def test_a_bad_file_changes_nothing_and_says_where(shell: Shell, content: object, said: str) -> None:
    ended = shell("tasks", "load", written(shell, content))
    assert ended.returncode == 2
    assert f"staff.json: {said}" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1
    assert shell.json("tasks", "roles", "list") == {"items": []}


def test_a_file_that_is_not_there(shell: Shell) -> None:
    ended = shell("tasks", "load", "nothing.json")
    assert (ended.returncode, ended.stderr) == (2, "vacancy: cannot read nothing.json: No such file or directory\n")


def test_one_more_one_less(shell: Shell) -> None:
    assert "`vacancy tasks load FILE`" in shell("tasks", "users", "list").stdout
    assert shell("tasks", "roles", "add", "1", "Clerks").returncode == 0
    assert shell.json("tasks", "roles", "add", "3", "Supervisors", "--kind", "supervisor")["kind"] == "supervisor"
    assert "there already" in shell("tasks", "roles", "add", "1", "Clerks").stderr
    assert "known are executor" in shell("tasks", "roles", "add", "4", "x", "--kind", "boss").stderr
    assert shell("tasks", "users", "add", "11", "Ada", "--role", "1").returncode == 0
    assert "there is no role 9" in shell("tasks", "users", "add", "12", "Bob", "--role", "9").stderr
    assert "there already" in shell("tasks", "users", "add", "11", "Ada", "--role", "1").stderr

    assert shell.json("tasks", "users", "retire", "11") == {"user_id": 11, "is_active": False, "changed": True}
    assert "nothing was changed" in shell("tasks", "users", "retire", "11").stdout
    loaded = shell.json("tasks", "load", written(shell, {"users": [{"user_id": 11, "name": "Ada", "role_id": 3}]}))
    assert loaded["lines"][-1] == "user 11 is retired, and stays so"
    assert shell.json("tasks", "users", "list")["items"][0]["is_active"] is False
    assert shell.json("tasks", "users", "restore", "11")["is_active"] is True
    assert "there is no user 77" in shell("tasks", "users", "retire", "77").stderr


def test_a_token_is_made_and_not_kept(shell: Shell) -> None:
    made = shell("tasks", "token")
    assert len(made.stdout.strip()) >= 43
    assert "VACANCY_TASKS__SERVICE_TOKEN" in made.stderr
    assert shell.json("tasks", "token")["token"] not in made.stdout
    assert not list(shell.folder.iterdir())
