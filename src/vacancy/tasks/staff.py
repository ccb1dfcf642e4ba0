"""Who works here, out of a file: read whole or refused, and taken in as often as one likes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from vacancy.errors import UserError
from vacancy.model.tasks import LARGEST, Kind, Role, User
from vacancy.store import people
from vacancy.store.engine import Tx

# PostgreSQL refuses a NUL in any text; a name is one line.
_CLEAN: Final = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*\Z"
_MARK: Final = b"\xef\xbb\xbf"

Number = Annotated[int, Meta(ge=1, le=LARGEST)]
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=_CLEAN)]


class RoleRead(Struct, forbid_unknown_fields=True):
    role_id: Number
    name: Name
    kind: Kind


class UserRead(Struct, forbid_unknown_fields=True):
    user_id: Number
    name: Name
    role_id: Number


class Staff(Struct, forbid_unknown_fields=True):
    roles: list[RoleRead] = []
    users: list[UserRead] = []


@dataclass(slots=True)
class Taken:
    """What became of it: each line says what was added or changed."""

    roles_added: int = 0
    roles_changed: int = 0
    users_added: int = 0
    users_changed: int = 0
    unchanged: int = 0
    lines: list[str] = field(default_factory=list)


def read(content: bytes) -> Staff:
    """ValueError with the place of what is wrong."""
    try:
        staff = msgspec.json.decode(content.removeprefix(_MARK), type=Staff)
    except msgspec.ValidationError as wrong:
        raise ValueError(told(wrong)) from wrong
    except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
        raise ValueError(f"this is not JSON: {wrong}") from wrong
    if not staff.roles and not staff.users:
        raise ValueError("neither roles nor users are in it")
    _refuse_twice("roles", "role_id", [role.role_id for role in staff.roles])
    _refuse_twice("users", "user_id", [user.user_id for user in staff.users])
    return staff


def told(wrong: msgspec.ValidationError) -> str:
    """Where, and what."""
    problem, _, place = str(wrong).partition(" - at `$")
    hint = f"; known are {', '.join(Kind)}" if "enum" in problem else ""
    return f"{place.strip('`.') or 'the whole'}: {problem}{hint}"


def take_in(tx: Tx, staff: Staff) -> Taken:
    """All of it or nothing. Who is not in it stays as he is."""
    people.alone(tx)
    roles = {role.role_id: role for role in people.all_roles(tx)}
    users = {user.user_id: user for user in people.all_users(tx)}
    known = {*roles, *(role.role_id for role in staff.roles)}
    for at, each in enumerate(staff.users):
        if each.role_id not in known:
            raise ValueError(f"users[{at}].role_id: there is no role {each.role_id}, neither in it nor here")
    taken = Taken()
    for role in staff.roles:
        _take_role(tx, taken, Role(role.role_id, role.name, role.kind), roles.get(role.role_id))
    for each in staff.users:
        _take_user(tx, taken, each, users.get(each.user_id))
    return taken


def add_role(tx: Tx, role: Role) -> None:
    people.alone(tx)
    if people.find_role(tx, role.role_id) is not None:
        raise UserError("validation_failed", f"role {role.role_id} is there already; `vacancy tasks load` changes it")
    people.add_role(tx, role)


def add_user(tx: Tx, user_id: int, name: str, role_id: int) -> None:
    people.alone(tx)
    if people.find_user(tx, user_id) is not None:
        raise UserError("validation_failed", f"user {user_id} is there already; `vacancy tasks load` changes him")
    if people.find_role(tx, role_id) is None:
        raise UserError("validation_failed", f"there is no role {role_id}; see `vacancy tasks roles list`")
    people.add_user(tx, user_id, name, role_id)


def set_active(tx: Tx, user_id: int, *, active: bool) -> bool:
    """False: it was so already."""
    if people.find_user(tx, user_id) is None:
        raise UserError("validation_failed", f"there is no user {user_id}; see `vacancy tasks users list`")
    return people.set_active(tx, user_id, active=active)


def _take_role(tx: Tx, taken: Taken, role: Role, before: Role | None) -> None:
    if before is None:
        people.add_role(tx, role)
        taken.roles_added += 1
        taken.lines.append(f"added role {role.role_id}: {role.name}, {role.kind}")
    elif before != role:
        people.change_role(tx, role)
        taken.roles_changed += 1
        taken.lines.append(f"changed role {role.role_id}: {', '.join(_changes(before, role, ('name', 'kind')))}")
    else:
        taken.unchanged += 1


def _take_user(tx: Tx, taken: Taken, user: UserRead, before: User | None) -> None:
    if before is None:
        people.add_user(tx, user.user_id, user.name, user.role_id)
        taken.users_added += 1
        taken.lines.append(f"added user {user.user_id}: {user.name}, role {user.role_id}")
    elif changes := list(_changes(before, user, ("name", "role_id"))):
        people.change_user(tx, user.user_id, user.name, user.role_id)
        taken.users_changed += 1
        taken.lines.append(f"changed user {user.user_id}: {', '.join(changes)}")
    else:
        taken.unchanged += 1
    if before is not None and not before.is_active:
        taken.lines.append(f"user {user.user_id} is retired, and stays so")


def _changes(before: object, after: object, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        was, is_now = getattr(before, name), getattr(after, name)
        if was != is_now:
            yield f"{name} {was} -> {is_now}"


def _refuse_twice(what: str, name: str, numbers: Sequence[int]) -> None:
    first: dict[int, int] = {}
    for at, number in enumerate(numbers):
        if number in first:
            raise ValueError(f"{what}[{at}].{name}: {number} stands in {what}[{first[number]}] already")
        first[number] = at
