"""Who works in the office of the tests: two of each kind that matters, so that one can be somebody else."""

from __future__ import annotations

from typing import Final

from vacancy.model.tasks import Kind, Role
from vacancy.store import people
from vacancy.store.engine import Tx

CLERKS, PORTERS, SUPERVISORS, DEPUTIES, DIRECTORS = 1, 2, 3, 4, 5
ADA, ALAN = 11, 12  # clerks
PAT, PIA = 21, 22  # porters
SUE, DEB, DIRK = 31, 41, 51
GONE: Final = 29  # a porter who left

KINDS: Final = {
    CLERKS: Kind.EXECUTOR, PORTERS: Kind.EXECUTOR, SUPERVISORS: Kind.SUPERVISOR, DEPUTIES: Kind.DEPUTY,
    DIRECTORS: Kind.DIRECTOR,
}  # fmt: skip
EVERYBODY: Final = {
    ADA: ("Ada", CLERKS), ALAN: ("Alan", CLERKS), PAT: ("Pat", PORTERS), PIA: ("Pia", PORTERS),
    SUE: ("Sue", SUPERVISORS), DEB: ("Deb", DEPUTIES), DIRK: ("Dirk", DIRECTORS), GONE: ("Gone", PORTERS),
}  # fmt: skip


def hire(tx: Tx) -> None:
    for role_id, kind in KINDS.items():
        people.add_role(tx, Role(role_id, f"role {role_id}", kind))
    for user_id, (name, role_id) in EVERYBODY.items():
        people.add_user(tx, user_id, name, role_id)
    people.set_active(tx, GONE, active=False)
