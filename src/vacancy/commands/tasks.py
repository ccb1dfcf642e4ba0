"""`vacancy tasks …`: who works here, and what proves that a bot may speak for them."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from rich.markup import escape
from rich.table import Table

from vacancy.commands.common import ERR, OUT, as_json, opened, prepare
from vacancy.errors import UserError, VacancyError
from vacancy.model.tasks import Role
from vacancy.store import people
from vacancy.tasks import staff
from vacancy.tasks.staff import RoleRead, Taken, UserRead

T = TypeVar("T")
_TOKEN_BYTES: Final = 32
_HOW: Final = (
    "It is kept nowhere. Put it into the settings of the service as VACANCY_TASKS__SERVICE_TOKEN, or its file into "
    "VACANCY_TASKS__SERVICE_TOKEN_FILE, restart, and give the same to the bot."
)


def load(config: Path | None, file: Path, *, json: bool) -> int:
    try:
        given = staff.read(file.read_bytes())
        with opened(prepare(config)) as store:
            taken = store.write_now(staff.take_in, given)
    except OSError as error:
        raise VacancyError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as problem:
        raise VacancyError(f"{file}: {problem}") from problem
    if json:
        as_json(_counts(taken))
    else:
        for line in taken.lines:
            OUT.print(line, markup=False, soft_wrap=True)
        OUT.print(_summary(taken), markup=False, soft_wrap=True)
    return 0


def _counts(taken: Taken) -> dict[str, Any]:
    return {
        "rolesAdded": taken.roles_added, "rolesChanged": taken.roles_changed, "usersAdded": taken.users_added,
        "usersChanged": taken.users_changed, "unchanged": taken.unchanged, "lines": taken.lines,
    }  # fmt: skip


def _summary(taken: Taken) -> str:
    return (
        f"Roles: {taken.roles_added} added, {taken.roles_changed} changed. "
        f"Users: {taken.users_added} added, {taken.users_changed} changed. As they were: {taken.unchanged}."
    )


def token(_config: Path | None, *, json: bool) -> int:
    made = secrets.token_urlsafe(_TOKEN_BYTES)
    if json:
        as_json({"token": made})
    else:
        OUT.print(made, markup=False, soft_wrap=True)
        ERR.print(_HOW, markup=False, soft_wrap=True)
    return 0


def show_users(config: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        users = store.read_now(people.all_users)
    if json:
        as_json({"items": [asdict(user) for user in users]})
    elif users:
        table = Table("Number", "Name", "Role", "Kind", "State", box=None, pad_edge=False)
        for user in users:
            state = "" if user.is_active else "retired"
            table.add_row(str(user.user_id), escape(user.name), escape(user.role_name), user.kind, state)
        OUT.print(table)
    else:
        OUT.print("Nobody works here yet: `vacancy tasks load FILE`.")
    return 0


def show_roles(config: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        roles = store.read_now(people.all_roles)
    if json:
        as_json({"items": [asdict(role) for role in roles]})
    elif roles:
        table = Table("Number", "Name", "Kind", box=None, pad_edge=False)
        for role in roles:
            table.add_row(str(role.role_id), escape(role.name), role.kind)
        OUT.print(table)
    else:
        OUT.print("There are no roles yet: `vacancy tasks load FILE`.")
    return 0


def add_role(config: Path | None, number: int, name: str, kind: str, *, json: bool) -> int:
    read = _checked({"role_id": number, "name": name, "kind": kind}, RoleRead)
    role = Role(read.role_id, read.name, read.kind)
    with opened(prepare(config)) as store:
        store.write_now(staff.add_role, role)
    return _say(f"Role {number} is added: {name}, {role.kind}.", asdict(role), json=json)


def add_user(config: Path | None, number: int, name: str, role_id: int, *, json: bool) -> int:
    _checked({"user_id": number, "name": name, "role_id": role_id}, UserRead)
    with opened(prepare(config)) as store:
        store.write_now(staff.add_user, number, name, role_id)
    done = {"user_id": number, "name": name, "role_id": role_id}
    return _say(f"User {number} is added: {name}, role {role_id}.", done, json=json)


def set_active(config: Path | None, number: int, *, active: bool, json: bool) -> int:
    with opened(prepare(config)) as store:
        changed = store.write_now(staff.set_active, number, active=active)
    state = "served" if active else "not served any more"
    said = f"User {number} is {state}." if changed else f"User {number} was so already; nothing was changed."
    return _say(said, {"user_id": number, "is_active": active, "changed": changed}, json=json)


def _checked(given: dict[str, Any], shape: type[T]) -> T:
    try:
        return msgspec.convert(given, shape)
    except msgspec.ValidationError as wrong:
        raise UserError("validation_failed", staff.told(wrong)) from wrong


def _say(said: str, facts: dict[str, Any], *, json: bool) -> int:
    if json:
        as_json(facts)
    else:
        OUT.print(said, markup=False, soft_wrap=True)
    return 0
