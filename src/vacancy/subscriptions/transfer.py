"""Subscriptions out of one database and into another.

What does not travel: the queue, the audit, and what the new database knows better (the section's row, what is open).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from vacancy.channels import CONTACT_TYPES
from vacancy.errors import UserError
from vacancy.model.subscriptions import LIVE, Contact
from vacancy.store import subscription_transfer as rows
from vacancy.store import subscriptions
from vacancy.store.engine import Tx
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.transfer_line import Line, read_line, write_line

_PAGE: Final = 500
Told = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A line that was found to be good."""

    line: Line
    contact: Contact | None  # None: its value was blanked, and only the hash is left

    @property
    def contact_hash(self) -> str:
        return self.contact.hash if self.contact else str(self.line.contact_hash)


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the lines. `unmatched` have a hash that was made with another key and no address to make ours."""

    added: int
    here_already: int
    suppressed_here: int
    numbers_kept: bool
    unmatched: int


def export(tx: Tx, write: Callable[[bytes], object], told: Told) -> int:
    """All of it as of one moment, in order of numbers."""
    after = written = 0
    while page := rows.export_after(tx, after, _PAGE):
        write(b"".join(map(write_line, page)))
        after, written = page[-1].subscription_id, written + len(page)
        told(len(page))
    return written


def read(desk: Desk, lines: Iterable[bytes], told: Told) -> Sequence[Incoming]:
    """Every line, before anything is written. UserError names the first bad one."""
    found: list[Incoming] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            found.append(_read(desk, text))
        except (ValueError, UserError) as error:
            line = f"line {number}: {error}"
            raise UserError("validation_failed", f"{line}; nothing was imported", [line]) from error
        told(len(text))
    return found


def _read(desk: Desk, text: bytes) -> Incoming:
    line = read_line(text)
    if line.status in LIVE:
        _check_topic(desk, line)
    if line.contact_value is not None:
        return Incoming(line, read_contact(desk.secret, desk.channel(line.contact_type), line.contact_value))
    if line.contact_type not in CONTACT_TYPES:
        raise ValueError("contactType: is no type of contact")
    return Incoming(line, None)


def _check_topic(desk: Desk, line: Line) -> None:
    """What its source cannot read would never hear anything. What is only not watched here rests, as it would have
    where it came from."""
    source = desk.source(line.topic)
    try:
        topic = source.topic(line.topic)
    except UserError as error:
        if error.code == "validation_failed":
            raise
        return
    read_as = (topic.name, topic.source, topic.target_key, topic.item_key, topic.term_id, topic.campus_code,
               topic.index_number)  # fmt: skip
    said = (line.topic, line.source, line.target_key, line.item_key, line.term_id, line.campus_code, line.index_number)
    if said != read_as:
        raise ValueError("topic: source, targetKey, itemKey, termId, campusCode or indexNumber do not belong to it")


def take_in(tx: Tx, incoming: Sequence[Incoming], told: Told) -> Taken:
    """All of it or nothing. Nobody hears of what opened before."""
    rows.alone(tx)
    last = rows.last_number(tx)
    numbers = {each.line.subscription_id for each in incoming}
    # Links in mails name a subscription by its number: it stays the same where nobody else can have it.
    keep = last == 0 and len(numbers) == len(incoming)
    barred = rows.suppressed_contacts(tx)
    welcome = [each for each in incoming if not _is_barred(each, barred)]
    common = {"since_event_id": subscriptions.newest_event_id(tx)}
    for page in _pages(welcome):
        rows.add_missing(tx, [_row(each, common, keep=keep) for each in page])
        told(len(page))
    added = rows.settle_added(tx, tx.now(), last)
    for term, campus in rows.places_added(tx, last):
        subscriptions.settle_sections(tx, tx.now(), term, campus)
    if keep and added:
        rows.go_on_from_here(tx)
    return Taken(added, len(welcome) - added, len(incoming) - len(welcome), keep, _unmatched(incoming))


def _is_barred(each: Incoming, barred: frozenset[tuple[str, str]]) -> bool:
    """Whoever must not be written to is not made to be by an old list."""
    return each.line.status in LIVE and (each.contact_hash, each.line.contact_type) in barred


def _row(each: Incoming, common: dict[str, Any], *, keep: bool) -> dict[str, Any]:
    numbered = {"subscription_id": each.line.subscription_id} if keep else {}
    value = each.contact.value if each.contact else None
    return {
        **each.line.columns(), **common, **numbered, "contact_value": value, "contact_hash": each.contact_hash,
    }  # fmt: skip


def _unmatched(incoming: Sequence[Incoming]) -> int:
    other_key = any(each.contact and each.line.contact_hash not in (None, each.contact.hash) for each in incoming)
    return sum(each.contact is None for each in incoming) if other_key else 0


def _pages(incoming: Sequence[Incoming]) -> Iterable[list[Incoming]]:
    rest = iter(incoming)
    while page := list(islice(rest, _PAGE)):
        yield page
