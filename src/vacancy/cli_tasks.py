"""Verbs of tasks: who works here, and what proves that a bot may speak for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from vacancy.cli_common import Json, call

_KINDS: Final = "executor, supervisor, deputy or director"

tasks = typer.Typer(
    help="Tasks: who works here, and the token of the service that asks for them.", no_args_is_help=True
)
users = typer.Typer(help="Who works here.", no_args_is_help=True)
roles = typer.Typer(help="What they work as.", no_args_is_help=True)
tasks.add_typer(users, name="users")
tasks.add_typer(roles, name="roles")

Number = Annotated[int, typer.Argument(metavar="N", min=1, max=2**63 - 1, help="Its number, which you choose.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="One line, at most 200 characters.")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(tasks, name="tasks")


@tasks.command("load")
def load_staff(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help='JSON: {"roles": [{"role_id", "name", "kind"}], "users": […]}.')
    ],
    json: Json = False,
) -> None:
    """Add the roles and users of a file, and change those that are there. All of it or nothing; again as often as you
    like."""
    call("tasks", "load", context, file, json=json)


@tasks.command("token")
def make_token(context: typer.Context, json: Json = False) -> None:
    """A fresh token for tasks.service_token, on standard output. It is kept nowhere."""
    call("tasks", "token", context, json=json)


@users.command("list")
def list_users(context: typer.Context, json: Json = False) -> None:
    """All of them, with their roles."""
    call("tasks", "show_users", context, json=json)


@users.command("add")
def add_user(
    context: typer.Context,
    number: Number,
    name: Name,
    role: Annotated[int, typer.Option("--role", min=1, max=2**63 - 1, help="The number of the role.")],
    json: Json = False,
) -> None:
    """One more."""
    call("tasks", "add_user", context, number, name, role, json=json)


@users.command("retire")
def retire_user(context: typer.Context, number: Number, json: Json = False) -> None:
    """Who left is not served any more, and hears of nothing new. What he did stays."""
    call("tasks", "set_active", context, number, active=False, json=json)


@users.command("restore")
def restore_user(context: typer.Context, number: Number, json: Json = False) -> None:
    """Who came back is served again."""
    call("tasks", "set_active", context, number, active=True, json=json)


@roles.command("list")
def list_roles(context: typer.Context, json: Json = False) -> None:
    """All of them, and what each may do."""
    call("tasks", "show_roles", context, json=json)


@roles.command("add")
def add_role(
    context: typer.Context,
    number: Number,
    name: Name,
    kind: Annotated[str, typer.Option("--kind", help=f"{_KINDS.capitalize()}.")] = "executor",
    json: Json = False,
) -> None:
    """One more."""
    call("tasks", "add_role", context, number, name, kind, json=json)
