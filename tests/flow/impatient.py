"""`vacancy`, but with a database that is waited for less long: what ten seconds show, half a second shows as well."""

from __future__ import annotations

from vacancy.cli import main
from vacancy.store import engine

engine._BUSY_TIMEOUT_S = 0.5  # type: ignore[misc]

if __name__ == "__main__":
    main()
