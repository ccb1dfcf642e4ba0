"""`vacancy subscriptions …`: how many there are, all of them out or in, and everything of one contact away."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from vacancy.app import Engine, engine
from vacancy.commands.common import ERR, OUT, as_json, opened, prepare
from vacancy.errors import VacancyError
from vacancy.model.subscriptions import Status
from vacancy.settings import Settings
from vacancy.store import subscription_transfer as rows
from vacancy.store.engine import Store
from vacancy.store.subscription_transfer import Share, Traces
from vacancy.subscriptions import transfer
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.transfer import Incoming, Taken, Told

_OWNER_ONLY: Final = 0o600


def show(config: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        shares = store.read_now(rows.shares)
    if json:
        as_json({"items": [asdict(share) for share in shares], "total": sum(share.count for share in shares)})
    elif shares:
        OUT.print(_table(shares))
    else:
        OUT.print("Nobody has subscribed yet.")
    return 0


def _table(shares: Sequence[Share]) -> Table:
    counts = {(share.source, share.status): share.count for share in shares}
    table = Table("Source", *(status.value for status in Status), box=None, pad_edge=False)
    for source in dict.fromkeys(share.source for share in shares):
        table.add_row(source, *(str(counts.get((source, status), 0)) for status in Status))
    return table


def export(config: Path | None, to: Path | None) -> int:
    with opened(prepare(config)) as store:
        if to is None:
            _export(store, sys.stdout.buffer.write)
            sys.stdout.buffer.flush()
            return 0
        written = _export_to(store, to)
    said = f"{written:,} subscriptions are in {to}, addresses and tokens too: keep it as you keep the database."
    ERR.print(said, markup=False, soft_wrap=True)
    return 0


def _export_to(store: Store, to: Path) -> int:
    """Whole or not at all, and for its owner's eyes from the first byte on."""
    if to.exists():
        raise VacancyError(f"{to} exists already; an export never overwrites a file")
    unfinished = to.with_name(to.name + ".part")
    try:
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        try:
            with os.fdopen(descriptor, "wb") as file:
                written = _export(store, file.write)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(to)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise VacancyError(f"cannot write {to}: {error.strerror}") from error
    return written


def _export(store: Store, write: Callable[[bytes], object]) -> int:
    with _progress("Exporting", store.read_now(rows.count)) as told:
        return store.read_now(transfer.export, write, told)


def take_in(config: Path | None, file: Path, *, json: bool) -> int:
    taken = asyncio.run(_take_in(prepare(config), file))
    if json:
        as_json({
            "added": taken.added, "hereAlready": taken.here_already, "suppressedHere": taken.suppressed_here,
            "numbersKept": taken.numbers_kept, "unmatched": taken.unmatched,
        })  # fmt: skip
    else:
        for said in _said(taken):
            OUT.print(said, soft_wrap=True)
    return 0


async def _take_in(settings: Settings, file: Path) -> Taken:
    async with engine(settings) as parts:
        incoming = _read(parts, file)
        with _progress("Importing", len(incoming)) as told:
            return await parts.store.write(transfer.take_in, incoming, told)


def _read(parts: Engine, file: Path) -> list[Incoming]:
    try:
        with file.open("rb") as lines, _progress("Reading", os.fstat(lines.fileno()).st_size) as told:
            return list(transfer.read(parts.desk(), lines, told))
    except OSError as error:
        raise VacancyError(f"cannot read {file}: {error.strerror}") from error


def _said(taken: Taken) -> Iterator[str]:
    yield f"{taken.added:,} subscriptions were imported; nobody is told of what opened before."
    if taken.here_already:
        yield f"{taken.here_already:,} were passed over: they are here already."
    if taken.suppressed_here:
        yield f"{taken.suppressed_here:,} were passed over: their contact is suppressed here."
    if taken.added and not taken.numbers_kept:
        yield "They have new numbers, since others have had theirs here; links that name a number lead nowhere now."
    if taken.unmatched:
        yield (
            f"{taken.unmatched:,} lines have no address, and a hash that was made with another secret key: they match "
            "nobody here, and who was suppressed there may subscribe here."
        )


def erase(config: Path | None, address: str, contact_type: str, *, yes: bool, json: bool) -> int:
    found = asyncio.run(_erase(prepare(config), address, contact_type, yes=yes))
    if json:
        as_json({"erased": yes, **asdict(found)})
    elif yes:
        OUT.print(f"Erased: {_what(found)}.{_left(found)}", soft_wrap=True)
    else:
        OUT.print(f"This would erase {_what(found)}.{_left(found)} Say it again with --yes.", soft_wrap=True)
    return 0 if yes else 1


async def _erase(settings: Settings, address: str, contact_type: str, *, yes: bool) -> Traces:
    async with engine(settings) as parts:
        desk = parts.desk()
        contact = read_contact(desk.secret, desk.channel(contact_type), address)
        if yes:
            return await parts.store.write(rows.erase, contact)
        return await parts.store.read(rows.traces_of, contact)


def _what(found: Traces) -> str:
    rows = f"{found.subscriptions} subscriptions, {found.messages} messages, {found.audit} lines of audit"
    return f"{rows}, {found.mails} mails"


def _left(found: Traces) -> str:
    if not found.suppressed:
        return ""
    return f" {found.suppressed} suppressed rows stay, without an address, so that it is not written to again."


@contextmanager
def _progress(what: str, total: int) -> Iterator[Told]:
    """On a terminal alone, and gone when it is done."""
    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as shown:
        task = shown.add_task(what, total=total)
        yield lambda count: shown.advance(task, count)
