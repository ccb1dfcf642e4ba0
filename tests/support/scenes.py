"""A seat that opened and people who wait for it, put there at once, for couriers in processes of their own: those go by
the true time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import func, select, update

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.subscribers import add_many
from vacancy.clock import SystemClock
from vacancy.model.availability import Complete, Item
from vacancy.model.events import Description
from vacancy.pipeline.fanout import fan_out_some
from vacancy.store import migrate
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_event_notifications, subscription_events, subscriptions

SECRET: Final = "a key for tests"
SEVEN: Final = "00007"
FULL: Final = some(*range(100, 140))
_LONG_AGO_S: Final = -60


class Sections(Lists):
    """Sections that mails can be written of."""

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        term, campus = key.split("|")
        return {
            item.key: Description(
                self._topics(key, item.key), _payload(term, campus, item.key),
                term_id=term, campus_code=campus, index_number=item.key,
            )
            for item in items
        }  # fmt: skip


def _payload(term: str, campus: str, index: str) -> Mapping[str, str]:
    return {
        "term": term, "campus": campus, "index": index, "courseTitle": "DATA STRUCTURES", "sectionNumber": "03",
        "courseString": "01:198:112", "link": f"https://sis.example/soc/#keyword={index}&semester={term}",
    }  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What became of one row, and of the subscription that it is for."""

    contact: str
    status: str
    attempts: int
    count: int
    cap: int
    subscription: str
    locked: bool


class Scene:
    """`12025|NB` was read twice, and section 00007 is closed."""

    def __init__(self, url: str) -> None:
        clock = ManualClock(SystemClock().now())
        clock.jump(_LONG_AGO_S)
        self.store = Store(url, clock, database_time=False)
        migrate.upgrade(self.store)
        self.source = Sections("12025|NB")
        self._hand = Hand(self.store, clock, self.source)
        self._clock = clock
        self._hand.configure()
        self._poll(FULL)
        self._poll(FULL)

    def waits(self, count: int, *, first: int = 0, **columns: Any) -> None:
        self.store.write_now(add_many, f"soc:12025|NB:{SEVEN}", count, first=first, **columns)

    def reached_at(self, contact: str, contact_type: str) -> None:
        """The last who came is reached in this way instead."""
        newest = select(func.max(subscriptions.c.subscription_id)).scalar_subquery()
        values = {"contact_value": contact, "contact_type": contact_type}
        self.store.write_now(
            lambda tx: tx.execute(
                update(subscriptions).where(subscriptions.c.subscription_id == newest).values(**values)
            )
        )

    def opens(self) -> None:
        """And everybody who waits has a row in the queue."""
        self._poll(Complete(FULL.keys | {SEVEN}))
        while self.store.write_now(fan_out_some).more:
            pass

    def told(self) -> list[Told]:
        return self.store.read_now(_told)

    def notes(self) -> Counter[tuple[int, str]]:
        """(subscription, kind) of each line in the audit."""
        return self.store.read_now(_notes)

    def close(self) -> None:
        self.store.close()

    def _poll(self, answer: Complete) -> None:
        self._hand.poll(answer)
        self._clock.jump(15)


def _told(tx: Tx) -> list[Told]:
    n, s = open_event_notifications.c, subscriptions.c
    rows = tx.execute(
        select(
            s.contact_value, n.fanout_status, n.fanout_attempts, s.notified_count, s.max_notifications, s.status,
            n.locked_by.is_not(None),
        )
        .join_from(open_event_notifications, subscriptions, n.subscription_id == s.subscription_id)
        .order_by(n.notification_id)
    )  # fmt: skip
    return [Told(*row) for row in rows]


def _notes(tx: Tx) -> Counter[tuple[int, str]]:
    e = subscription_events.c
    return Counter((who, kind) for who, kind in tx.execute(select(e.subscription_id, e.event_type)))
