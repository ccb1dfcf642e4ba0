"""`users` and `roles`: who works here. Their numbers come from the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import bindparam, insert, select, text, update

from vacancy.model.tasks import Kind, Role, User
from vacancy.store.engine import Tx
from vacancy.store.prepared import PreparedSelect
from vacancy.store.schema_tasks import roles, users

_u: Final = users.c
_r: Final = roles.c
_USERS: Final = select(_u.user_id, _u.name, _u.role_id, _r.name, _r.kind, _u.is_active).join_from(
    users, roles, _u.role_id == _r.role_id
)
_ONE_CLERK: Final = text("SELECT pg_advisory_xact_lock(7310592053)")
_FIND: Final = PreparedSelect(_USERS.where(_u.user_id == bindparam("user")))


def alone(tx: Tx) -> None:
    """Until the commit nobody else changes who works here."""
    if tx.dialect == "postgresql":
        tx.execute(_ONE_CLERK)


def find_user(tx: Tx, user_id: int) -> User | None:
    return next((_user(row) for row in tx.read(_FIND, {"user": user_id})), None)


def find_role(tx: Tx, role_id: int) -> Role | None:
    row = tx.execute(select(_r.role_id, _r.name, _r.kind).where(_r.role_id == role_id)).one_or_none()
    return _role(row) if row else None


def all_users(tx: Tx) -> Sequence[User]:
    return [_user(row) for row in tx.execute(_USERS.order_by(_u.user_id))]


def all_roles(tx: Tx) -> Sequence[Role]:
    return [_role(row) for row in tx.execute(select(_r.role_id, _r.name, _r.kind).order_by(_r.role_id))]


def add_role(tx: Tx, role: Role) -> None:
    tx.execute(insert(roles).values(role_id=role.role_id, name=role.name, kind=role.kind))


def change_role(tx: Tx, role: Role) -> None:
    tx.execute(update(roles).where(_r.role_id == role.role_id).values(name=role.name, kind=role.kind))


def add_user(tx: Tx, user_id: int, name: str, role_id: int) -> None:
    tx.execute(insert(users).values(user_id=user_id, name=name, role_id=role_id))


def change_user(tx: Tx, user_id: int, name: str, role_id: int) -> None:
    tx.execute(update(users).where(_u.user_id == user_id).values(name=name, role_id=role_id))


def set_active(tx: Tx, user_id: int, *, active: bool) -> bool:
    """False: it was so already, or there is no such user."""
    changed = tx.execute(
        update(users).where(_u.user_id == user_id, _u.is_active.is_(not active)).values(is_active=active)
    )
    return changed.rowcount == 1


def _user(row: Any) -> User:
    user_id, name, role_id, role_name, kind, is_active = row
    return User(user_id, name, role_id, role_name, Kind(kind), bool(is_active))


def _role(row: Any) -> Role:
    role_id, name, kind = row
    return Role(role_id, name, Kind(kind))
