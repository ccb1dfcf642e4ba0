"""People who wait, for tests of the engine: they subscribe through the real steps, and are told as a sender would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update

from tests.support.desks import make_desk
from tests.support.lists import Lists
from vacancy.model.delivery import Due, Finished
from vacancy.model.messages import Sent
from vacancy.model.subscriptions import Contact, Preferences, Status
from vacancy.pipeline.dispatch import clear_up
from vacancy.pipeline.fanout import fan_out_some
from vacancy.store import notifications, openings, queue, targets
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.store.queue_results import Aftermath, Tries, leads_of, write_down
from vacancy.store.schema import open_event_notifications, open_events, subscription_events, subscriptions
from vacancy.subscriptions import manage, verification
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.manage import Change
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.running import pass_on
from vacancy.subscriptions.subscribe import Subscribed, Wish, subscribe

_WORKER = "a sender"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the queue, in a test's words."""

    id: int
    who: int
    event: int
    item: str
    episode: int
    status: str
    waits: bool  # for a moment to come


class People:
    def __init__(self, store: Store, source: Lists, **settings: Any) -> None:
        self.store = store
        self.desk: Desk = make_desk(source, **settings)
        self.key = source.keys[0]
        self._in_hand: dict[int, Due] = {}

    def contact(self, name: str) -> Contact:
        return read_contact(self.desk.secret, self.desk.channel("email"), f"{name}@example.com")

    def wish(self, name: str, item: str, **preferences: Any) -> Wish:
        source, topic = self.desk.topic(f"soc:{self.key}:{item}")
        channel = self.desk.channel("email")
        return Wish(source, topic, channel, self.contact(name), preferences=Preferences(**preferences))

    def subscribe(self, name: str, item: str, **preferences: Any) -> Subscribed:
        return self.store.write_now(subscribe, self.desk, self.wish(name, item, **preferences))

    def verify(self, subscription_id: int) -> None:
        self.store.write_now(_verify, self.desk, subscription_id)

    def change(self, subscription_id: int, status: Status | None = None, **preferences: Any) -> None:
        self.store.write_now(_change, self.desk, subscription_id, Change(preferences, status))

    def leave(self, subscription_id: int) -> None:
        self.store.write_now(_leave, self.desk, subscription_id)

    def term_ends(self) -> None:
        """Nothing is polled any more, and what everybody waits for is over."""
        self.store.write_now(_end_all)

    def fan_out(self, chunk: int = 1000) -> int:
        queued = 0
        while True:
            fanned = self.store.write_now(fan_out_some, chunk)
            queued += fanned.queued
            if not fanned.more:
                return queued

    def live(self) -> list[Row]:
        """What a sender would find: what is over is put away first, as it does."""
        self.store.write_now(notifications.expire_ended)
        self.store.write_now(lambda tx: pass_on(tx, tx.now(), self.desk))
        return [row for row in self.queue() if row.status == notifications.PENDING]

    def queue(self) -> list[Row]:
        return self.store.read_now(_queue)

    def send(self, row: Row) -> bool:
        """As a sender does: a place under the cap, the message, the word that it was taken."""
        return self.begin_sending(row) and self.end_sending(row)

    def begin_sending(self, row: Row) -> bool:
        due = self.store.write_now(_take, row.id)
        if due is not None:
            self._in_hand[row.id] = due
        return due is not None

    def end_sending(self, row: Row) -> bool:
        done = Finished(self._in_hand.pop(row.id), Sent("test", f"message-{row.id}"))
        aftermath = self.store.write_now(_end, done)
        self.store.write_now(clear_up, self.desk, aftermath)
        return True

    def one(self, subscription_id: int) -> Any:
        return self.store.read_now(_one, subscription_id)

    def audit(self, subscription_id: int) -> list[str]:
        return self.store.read_now(_audit, subscription_id)


def _take(tx: Tx, notification_id: int) -> Due | None:
    """This one row, if a sender would find it; whether it may go is not asked."""
    for due in queue.find_due(tx, tx.now(), "email", _WORKER, 1000, 120):
        if due.notification_id == notification_id and due.notified_count < due.max_notifications:
            queue.lock(tx, tx.now(), _WORKER, [due])
            return due
    return None


def _end(tx: Tx, done: Finished) -> Aftermath:
    """As an errand does it."""
    stills = openings.ask_still(tx, leads_of([done]))()
    return write_down(tx, tx.now(), _WORKER, [done], Tries(), stills).settle(tx, tx.now())


def _verify(tx: Tx, desk: Desk, subscription_id: int) -> None:
    nonce = rows.read(tx, subscription_id).verification_nonce
    verification.verify(tx, desk, subscription_id, nonce or "")


def _change(tx: Tx, desk: Desk, subscription_id: int, wanted: Change) -> None:
    manage.change(tx, desk, subscription_id, rows.read(tx, subscription_id).manage_token, wanted)


def _leave(tx: Tx, desk: Desk, subscription_id: int) -> None:
    manage.unsubscribe_by_token(tx, desk, rows.read(tx, subscription_id).unsubscribe_token, "user_request")


def _end_all(tx: Tx) -> None:
    targets.rest_all_but(tx, [])
    tx.execute(update(subscriptions).values(ends_at=tx.now()))
    rows.end_over(tx, tx.now(), 1000)


def _queue(tx: Tx) -> list[Row]:
    n, e = open_event_notifications.c, open_events.c
    found = tx.execute(
        select(
            n.notification_id, n.subscription_id, n.open_event_id, e.item_key, e.episode, n.fanout_status,
            n.not_before > tx.now(),
        )
        .join_from(open_event_notifications, open_events, n.open_event_id == e.open_event_id)
        .order_by(n.notification_id)
    )  # fmt: skip
    return [Row(*[*row[:-1], bool(row[-1])]) for row in found]


def _one(tx: Tx, subscription_id: int) -> Any:
    return tx.execute(select(subscriptions).where(subscriptions.c.subscription_id == subscription_id)).one()


def _audit(tx: Tx, subscription_id: int) -> list[str]:
    e = subscription_events.c
    return list(
        tx.execute(select(e.event_type).where(e.subscription_id == subscription_id).order_by(e.event_id)).scalars()
    )
