"""`vacancy sending …`: one switch for all that goes out."""

from __future__ import annotations

from pathlib import Path

from vacancy.commands.common import OUT, as_json, opened, prepare
from vacancy.store import queue, sending
from vacancy.store.engine import Tx
from vacancy.store.sending import Halt
from vacancy.subscriptions.standing import at, shown_halt


def stop(config: Path | None, reason: str, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        halt, waiting = store.write_now(_stop, reason)
    if json:
        as_json({**shown_halt(halt), "waiting": waiting})
    else:
        OUT.print(f"Sending is stopped: {halt.reason}. {_wait(waiting)} Nothing is lost.", markup=False, soft_wrap=True)
        OUT.print("What is being sent this moment is seen to its end. `vacancy sending resume` lets it go on.")
    return 0


def resume(config: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        before, waiting = store.write_now(_resume)
    if json:
        as_json({**shown_halt(None), "changed": before is not None, "waiting": waiting})
    elif before is None:
        OUT.print("Sending was not stopped; nothing was changed.")
    else:
        OUT.print(f"Sending goes on. {_wait(waiting)} What closed meanwhile is told to nobody.", soft_wrap=True)
    return 0


def status(config: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        halt, waiting = store.read_now(_status)
    if json:
        as_json({**shown_halt(halt), "waiting": waiting})
    elif halt is None:
        OUT.print(f"Sending is not stopped. {_wait(waiting)}")
    else:
        since = f" since {at(halt.since)}" if halt.since else ""
        OUT.print(f"Sending is stopped{since}: {halt.reason}. {_wait(waiting)}", markup=False, soft_wrap=True)
    return 0


def _wait(waiting: int) -> str:
    return {0: "Nothing waits.", 1: "1 message waits."}.get(waiting, f"{waiting:,} messages wait.")


def _stop(tx: Tx, reason: str) -> tuple[Halt, int]:
    return sending.stop(tx, tx.now(), reason), _waiting(tx)


def _resume(tx: Tx) -> tuple[Halt | None, int]:
    return sending.resume(tx), _waiting(tx)


def _status(tx: Tx) -> tuple[Halt | None, int]:
    return sending.halt(tx), _waiting(tx)


def _waiting(tx: Tx) -> int:
    return sum(count for count, _ in queue.facts(tx).values())
