"""What every verb of the command line shares."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


def call(module: str, verb: str, context: typer.Context, *arguments: Any, **options: Any) -> None:
    """The verb's module is imported here, on use; it reads the settings that `--config` named."""
    run = getattr(importlib.import_module(f"vacancy.commands.{module}"), verb)
    code = run(context.obj, *arguments, **options)
    raise typer.Exit(code or 0)
