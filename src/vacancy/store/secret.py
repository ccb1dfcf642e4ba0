"""The server's key: given in the settings, or made on the first start and kept beside the database."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from vacancy.errors import SettingsError, StoreError

_MODE = 0o600


def find_secret(given: str | None, database: Path | None) -> bytes:
    if given is not None:
        return given.encode()
    if database is None:
        raise SettingsError(
            "secret_key: must be set with PostgreSQL, the same on every machine, for it keys the hashes of contacts; "
            "make one with: python3 -c 'import secrets; print(secrets.token_hex(32))'"
        )
    return _kept_beside(database.with_name(database.name + ".secret"))


def _kept_beside(path: Path) -> bytes:
    """Two processes may start at once: whoever links its file first has made the key."""
    try:
        if not path.exists():
            _make(path)
        key = path.read_bytes().strip()
    except OSError as error:
        raise StoreError(
            f"cannot keep the secret key in {path}: {error.strerror}; or set VACANCY_SECRET_KEY"
        ) from error
    if not key:
        raise StoreError(f"{path} is empty; restore it from the backup, or remove it if there are no subscriptions yet")
    return key


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_hex(32).encode())
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
