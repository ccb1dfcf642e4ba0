"""What a chat does with its own subscriptions. That it is the chat is the proof; a number that it names is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vacancy.model.messages import Dead
from vacancy.model.subscriptions import Contact, Subscription
from vacancy.store import ids
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions import manage
from vacancy.subscriptions.lost import end_all
from vacancy.subscriptions.manage import Change
from vacancy.subscriptions.naming import Waited, look_at_own
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.verification import confirm


@dataclass(frozen=True, slots=True)
class Own:
    """A subscription of the chat, and how what it waits for stands."""

    subscription: Subscription
    waited: Waited


@dataclass(frozen=True, slots=True)
class Quiet:
    """Until when nothing is told; None when it is over. `whose` are the subscriptions that it is about."""

    until: datetime | None
    whose: Sequence[Subscription]


def locale(tx: Tx, chat: Contact) -> str | None:
    """In which language the chat is spoken to: that of its newest subscription, of a live one if there is any."""
    own = rows.of_contact(tx, chat.hash, chat.channel)
    newest = sorted(own, key=lambda each: (each.is_live, each.subscription_id))
    return newest[-1].locale if newest else None


def show(tx: Tx, desk: Desk, chat: Contact) -> Sequence[Own]:
    return [Own(each, look_at_own(tx, desk, each)) for each in _live(tx, chat)]


def find(tx: Tx, desk: Desk, chat: Contact, number: int) -> Own | None:
    """None if there is no such subscription, or it is somebody else's: which of the two is nobody's business."""
    found = _own(tx, chat, number)
    return Own(found, look_at_own(tx, desk, found)) if found else None


def stop_all(tx: Tx, desk: Desk, chat: Contact) -> int:
    ids.hold_edges_off(tx)
    live = _live(tx, chat)
    for each in live:
        manage.leave(tx, desk, each, "user_request")
    return len(live)


def stop(tx: Tx, desk: Desk, chat: Contact, number: int) -> Own | None:
    """None if it is not the chat's. One that has ended is found as well."""
    ids.hold_edges_off(tx)
    found = _own(tx, chat, number)
    if found is None:
        return None
    own = Own(found, look_at_own(tx, desk, found))
    if found.is_live:
        manage.leave(tx, desk, found, "user_request")
    return own


def snooze_all(tx: Tx, desk: Desk, chat: Contact, span: timedelta | None) -> Quiet:
    ids.hold_edges_off(tx)
    return _snooze(tx, desk, _live(tx, chat), span)


def snooze(tx: Tx, desk: Desk, chat: Contact, number: int, span: timedelta) -> Quiet | None:
    """None if it is not the chat's; about nobody if it has ended."""
    ids.hold_edges_off(tx)
    found = _own(tx, chat, number)
    return _snooze(tx, desk, [found] if found.is_live else [], span) if found else None


def confirm_own(tx: Tx, desk: Desk, chat: Contact, number: int) -> Own | None:
    """The press proves the chat, not one wish: everything that waits for it begins."""
    ids.hold_edges_off(tx)
    if _own(tx, chat, number) is None:
        return None
    confirm(tx, desk, chat.hash, chat.channel)
    return find(tx, desk, chat, number)


def gone(tx: Tx, chat: Contact) -> int:
    """Nobody can write there any more, as when a channel finds that out by itself."""
    why = Dead("recipient_gone", "the bot was blocked or removed", contact_is="gone")
    return end_all(tx, tx.now(), chat.hash, chat.channel, why)


def _snooze(tx: Tx, desk: Desk, whose: Sequence[Subscription], span: timedelta | None) -> Quiet:
    until = None if span is None else tx.now() + span
    return Quiet(until, [manage.change_own(tx, desk, each, Change({"snooze_until": until})) for each in whose])


def _live(tx: Tx, chat: Contact) -> Sequence[Subscription]:
    return [each for each in rows.of_contact(tx, chat.hash, chat.channel) if each.is_live]


def _own(tx: Tx, chat: Contact, number: int) -> Subscription | None:
    own = rows.of_contact(tx, chat.hash, chat.channel)
    return next((each for each in own if each.subscription_id == number), None)
