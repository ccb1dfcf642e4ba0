"""Who we are in a lease: enough to tell, on the same host, whether the process that holds one is still alive."""

from __future__ import annotations

import os
import socket
from itertools import count
from pathlib import Path
from typing import Final

_FIELDS: Final = 3


class Identity:
    """`host|pid|start`, where start tells a process from a later one with the same number."""

    def __init__(self) -> None:
        self._me = f"{_host()}|{os.getpid()}|{_started(os.getpid())}"
        self._leases = count(1)

    def new_lease(self) -> str:
        """Never the same twice: a poll that lost its lease must not write over its successor in this process."""
        return f"{self._me}#{next(self._leases)}"


def is_dead(lease_owner: str) -> bool:
    """True only if the owner surely ended: a process of this host that is gone. Of other hosts nothing is known."""
    fields = lease_owner.partition("#")[0].split("|")
    if len(fields) != _FIELDS or fields[0] != _host():
        return False
    return not fields[1].isdigit() or _started(int(fields[1])) != fields[2]


def called(lease_owner: str) -> str:
    """For an operator, who looks for it."""
    host, pid, *_ = (*lease_owner.partition("#")[0].split("|"), "")
    return f"process {pid} on {host.partition('/')[0]}"


def _host() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()}/{boot.read_text().strip()[:8] if boot.exists() else '-'}"[:120]


def _started(pid: int) -> str:
    """The kernel's start tick of a live process; empty when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]
