"""What verbs share: the settings, a database that is up to date, and output for people or machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from vacancy import logs
from vacancy.clock import SystemClock
from vacancy.errors import UserError
from vacancy.model.terms import parse_campus, parse_term
from vacancy.settings import Settings, load
from vacancy.store.engine import Store
from vacancy.store.start import open_store

# For whoever has named nothing to poll yet.
NAME_SOMETHING = (
    "name terms (VACANCY_SOC__TERMS=12025), enable tables (VACANCY_RESY__ENABLED=true, with VACANCY_RESY__API_KEY and "
    "VACANCY_RESY__AUTH_TOKEN), or describe a JSON endpoint (docs/sources.md)"
)
OUT = Console(highlight=False)
ERR = Console(stderr=True, highlight=False)


def prepare(config: Path | None, overrides: Mapping[str, object] | None = None, *, quiet: bool = True) -> Settings:
    """Settings read and the log running. Commands that end soon log only what went wrong."""
    settings = load(config, os.environ, overrides or {})
    logs.configure(settings.log_format, "warning" if quiet else settings.log_level, sys.stderr)
    return settings


@contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    store = open_store(settings.database_url, SystemClock())
    try:
        yield store
    finally:
        store.close()


def as_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def normal_key(source: str, key: str) -> str:
    """Terms and campuses in any spelling; of other sources, the key as it is."""
    if not source.startswith("soc") or "|" not in key:
        return key
    term, _, campus = key.partition("|")
    try:
        return f"{parse_term(term)}|{parse_campus(campus)}"
    except ValueError as error:
        raise UserError("section_not_found", str(error)) from error
