"""What is handed to a channel: an opening in its source's words, and whom it is for, with links of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vacancy.channels.told import target_title, topic_title
from vacancy.channels.words import locale_of
from vacancy.model.delivery import Due
from vacancy.model.messages import Kind, Notice, Opening, OpenItem, Parcel, Person
from vacancy.store.openings import OpeningFacts, Still
from vacancy.subscriptions.verification import Links

_TERM_OVER: Final[Mapping[str, Any]] = {"code": "ended", "facts": {"reason": "term_over"}}


class Parcels:
    """`base_url` is where links point to; `links` signs those that prove an address."""

    def __init__(self, base_url: str, links: Links) -> None:
        self._base = base_url.rstrip("/")
        self._links = links

    def pack(self, due: Due, opening: Opening | None, *, is_last: bool = False) -> Parcel:
        return Parcel(
            notification_id=due.notification_id,
            kind=Kind(due.kind),
            # The dedupe key alone is the same for every subscriber of one event.
            key=f"{due.dedupe_key}|{due.subscription_id}",
            trace_id=opening.trace_id if opening else f"{due.notification_id:032x}",
            attempt=due.attempts + 1,
            person=self._person(due),
            opening=opening,
            notice=_notice(due) if due.kind == Kind.NOTICE else None,
            is_last=is_last,
        )

    def _person(self, due: Due) -> Person:
        verify = due.kind == Kind.VERIFICATION and due.verification_nonce
        return Person(
            subscription_id=due.subscription_id,
            contact=due.contact_value or "",
            locale=due.locale,
            topic=due.topic,
            status=due.status,
            last_known_status=due.last_known_section_status,
            contact_hash=due.contact_hash,
            preferences=due.preferences,
            manage_url=f"{self._base}/manage/{due.subscription_id}?token={due.manage_token}",
            unsubscribe_url=f"{self._base}/unsubscribe?token={due.unsubscribe_token}",
            verify_url=f"{self._base}/verify?token={self._links.sign_for(due.subscription_id, verify)}"
            if verify
            else "",
        )


def open_part(facts: Sequence[OpeningFacts], still: Still, topic: str, zone: str) -> Opening | None:
    """The items of a group that are open yet and that a subscription to this topic waits for, in their words of now."""
    told = [each for each in facts if each.open_event_id in still.events and topic in each.topics]
    if not told:
        return None
    first, says = told[0], still.says()
    return Opening(
        first.open_event_id, first.dedupe_key, first.trace_id, first.source, first.target_key, first.event_at,
        first.detected_by, first.status_before, first.status_after, zone,
        tuple(_said_now(each.item, says[each.open_event_id]) for each in told),
    )  # fmt: skip


def _said_now(item: OpenItem, words: Mapping[str, Any]) -> OpenItem:
    """Lines were laid out of the words of then: if others are true now, they go, unless they are given anew."""
    if all(item.payload.get(name) == value for name, value in words.items()):
        return item
    kept = {name: value for name, value in item.payload.items() if name != "lines"}
    return replace(item, payload={**kept, **words})


def _notice(due: Due) -> Notice:
    """What it is about is named here, in its reader's language; the row keeps addresses alone."""
    said: Mapping[str, Any] = due.payload or _TERM_OVER
    facts, locale = said.get("facts", {}), locale_of(due.locale)
    names = {"title": topic_title(due.topic, locale)}
    if "target_key" in facts:
        names["what"] = target_title(due.source, str(facts["target_key"]), locale)
    return Notice(str(said["code"]), {**names, **facts})
