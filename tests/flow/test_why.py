"""Why somebody did or did not get a message: every reason, from rows that the real steps left behind."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.two_sections import FULL, SEVEN, poll
from tests.support.waiting import People
from tests.web.calling import until
from vacancy.errors import UserError
from vacancy.model.availability import Complete
from vacancy.model.messages import Blocked, Dead, Retry
from vacancy.model.subscriptions import Status
from vacancy.runner import Stop
from vacancy.store import sending, troubles
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store
from vacancy.subscriptions import why
from vacancy.subscriptions.why import Account, Fate

COURSE = "course/01:198:111"


def opens(hand: Hand, *items: int) -> None:
    poll(hand, Complete(FULL.keys | some(*items).keys))


def closes(hand: Hand) -> None:
    poll(hand, FULL, FULL)


def wait(people: People, name: str = "ada", item: str = SEVEN, **wishes: object) -> int:
    return people.subscribe(name, item, **wishes).subscription.subscription_id


def ask(people: People, name: str = "ada", event: int | None = None) -> Account:
    return people.store.read_now(why.account, people.contact(name), event)


def fates(people: People, name: str = "ada") -> list[Fate]:
    return [fate for waited in ask(people, name).subscriptions for fate in waited.fates]


def fate(people: People, name: str = "ada") -> Fate:
    """Of the last opening."""
    return fates(people, name)[-1]


def test_nobody_of_that_address(people: People) -> None:
    account = ask(people, "nobody")
    assert (account.is_known, account.subscriptions) == (False, [])


def test_sent(hand: Hand, people: People, source: Lists, store: Store) -> None:
    wait(people)
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script()))
    found = fate(people)
    assert (found.code, found.message and found.message.notification_id) == ("sent", 1)
    assert "sent 2026-01-05 12:00:45 UTC, script took it" in found.sentence


def test_not_fanned_out_yet(hand: Hand, people: People) -> None:
    wait(people)
    opens(hand, 7)
    assert fate(people).code == "not_fanned_out"
    people.fan_out()
    assert (fate(people).code, fate(people).sentence) == ("waits", "may go now")


def test_sending_is_stopped_or_the_channel_is_broken(hand: Hand, people: People, store: Store) -> None:
    wait(people)
    opens(hand, 7)
    people.fan_out()
    store.write_now(lambda tx: troubles.begin(tx, tx.now(), "channel:email", "email does not work: 401"))
    assert fate(people).sentence == "waits: email does not work: 401"
    store.write_now(lambda tx: sending.stop(tx, tx.now(), "a drill"))
    assert fate(people).sentence == "waits: sending is stopped (a drill)"


def test_it_is_in_somebodys_hand(hand: Hand, people: People) -> None:
    wait(people)
    opens(hand, 7)
    people.fan_out()
    people.begin_sending(people.queue()[0])
    assert fate(people).sentence == "is in the hand of a courier since 2026-01-05 12:00:45 UTC: a sender"


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        ([Retry("timeout", "no answer", after_s=60)], "waits", "waits until 2026-01-05 12:01:45 UTC: 1 try failed"),
        ([Dead("unknown", "no", alarm=True)], "failed", "failed after 1 try: unknown: no"),
        ([Dead("invalid_recipient", "no such")], "skipped", "skipped: invalid_recipient: no such"),
        ([Blocked("unauthorized", "401")], "waits", "waits: email does not work: 401"),
    ],
)
def test_what_a_provider_answered(
    hand: Hand, people: People, source: Lists, store: Store, answers: list[object], code: str, said: str
) -> None:
    wait(people)
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script(*answers)))  # type: ignore[arg-type]
    assert fate(people).code == code
    assert said in fate(people).sentence


def test_quiet_hours(hand: Hand, people: People, source: Lists, store: Store) -> None:
    wait(people, window_start=0, window_end=60)
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script()))
    assert "waits until 2026-01-06 05:00:00 UTC: quiet_hours" in fate(people).sentence


def test_snoozed(hand: Hand, people: People, clock: ManualClock) -> None:
    wait(people, snooze_until=clock.now() + timedelta(hours=2))
    opens(hand, 7)
    people.fan_out()
    assert fate(people).sentence.endswith("its owner asked for silence until then")


def test_not_confirmed(hand: Hand, store: Store, source: Lists) -> None:
    people = People(store, source)
    wait(people)
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script()))
    found = fate(people)
    assert found.code == "waits"
    assert "unverified" in found.sentence
    (waited,) = ask(people).subscriptions
    assert [said.partition(" 2026")[0] for _, said in waited.letters] == ["sent"]


def test_it_closed_before_it_was_sent(hand: Hand, people: People, source: Lists, store: Store) -> None:
    wait(people)
    opens(hand, 7)
    people.fan_out()
    closes(hand)
    deliver(make_courier(store, source, people, Script()))
    assert (fate(people).code, fate(people).sentence) == (
        "expired", "expired: closed: it closed before the message was sent"
    )  # fmt: skip


def test_it_closed_before_anybody_was_queued(hand: Hand, people: People) -> None:
    wait(people)
    opens(hand, 7)
    closes(hand)
    people.fan_out()
    assert fate(people).code == "closed"


def test_it_was_open_when_they_subscribed(hand: Hand, people: People) -> None:
    opens(hand, 7)
    people.fan_out()
    wait(people)
    assert fate(people).code == "before"
    assert "hears of the next opening" in fate(people).sentence
    closes(hand)
    opens(hand, 7)
    people.fan_out()
    assert [each.code for each in fates(people)] == ["before", "waits"]


def test_paused_by_its_owner(hand: Hand, people: People) -> None:
    who = wait(people)
    people.change(who, Status.PAUSED)
    opens(hand, 7)
    people.fan_out()
    closes(hand)
    people.change(who, Status.ACTIVE)
    assert (fate(people).code, fate(people).sentence) == (
        "paused", "no message: it was paused then (paused by its owner)"
    )  # fmt: skip


def test_as_many_as_were_wished_for(hand: Hand, people: People, source: Lists, store: Store) -> None:
    wait(people, max_notifications=1)
    for _ in range(2):
        opens(hand, 7)
        people.fan_out()
        deliver(make_courier(store, source, people, Script()))
        closes(hand)
    assert [each.code for each in fates(people)] == ["sent", "cap"]


def test_told_through_another_subscription(hand: Hand, people: People, source: Lists, store: Store) -> None:
    section, course = wait(people), wait(people, item=COURSE)
    opens(hand, 7)
    people.fan_out()
    deliver(make_courier(store, source, people, Script()))
    by_number = {w.row.subscription_id: w.fates[-1] for w in ask(people).subscriptions}
    assert (by_number[course].code, by_number[section].code) == ("sent", "other_subscription")
    assert f"subscription {course} (soc:12025|NB:{COURSE}), which was sent" in by_number[section].sentence


def test_known_to_be_open(hand: Hand, people: People, store: Store) -> None:
    """A baseline said so; what opened is no news to it."""
    who = wait(people)
    opens(hand, 7)
    store.write_now(lambda tx: rows.change(tx, tx.now(), who, last_known_section_status="Open"))
    people.fan_out()
    assert fate(people).code == "known_open"


def test_openings_are_not_what_it_wishes_for(hand: Hand, people: People, store: Store) -> None:
    who = wait(people)
    opens(hand, 7)
    store.write_now(lambda tx: rows.change(tx, tx.now(), who, wants_open=False))
    people.fan_out()
    assert fate(people).code == "notify_on"


def test_after_it_left(hand: Hand, people: People, source: Lists, store: Store) -> None:
    people.leave(wait(people))
    opens(hand, 7)
    people.fan_out()
    found = fate(people)
    assert (found.code, "had ended before" in found.sentence) == ("ended", True)
    (waited,) = ask(people).subscriptions
    assert (waited.row.status, waited.row.contact_value) == ("unsubscribed", None)


def test_about_one_event(hand: Hand, people: People) -> None:
    wait(people)
    opens(hand, 7, 8)
    people.fan_out()
    closes(hand)
    about = {number: ask(people, event=number).subscriptions[0].fates for number in (1, 2, 3)}
    codes = {number: [each.code for each in told] for number, told in about.items()}
    assert sorted(map(tuple, codes.values())) == [(), ("closing",), ("waits",)]
    with pytest.raises(UserError, match="there is no event 99 here"):
        ask(people, event=99)


def test_a_long_history_is_told_from_its_end(hand: Hand, people: People) -> None:
    wait(people, max_notifications=10)
    for _ in range(why.SHOWN + 2):
        opens(hand, 7)
        people.fan_out()
        closes(hand)
    (waited,) = ask(people).subscriptions
    assert (len(waited.fates), waited.left_out) == (why.SHOWN, 2)
    numbers = [each.event.open_event_id for each in waited.fates]
    assert numbers == sorted(numbers)


def test_whoever_waits_for_the_switch_goes_on_at_once(
    hand: Hand, people: People, source: Lists, store: Store, clock: ManualClock
) -> None:
    """Nobody moves the clock: it is the bell that wakes the courier."""
    wait(people)
    opens(hand, 7)
    people.fan_out()
    store.write_now(lambda tx: sending.stop(tx, tx.now(), "a drill"))
    channel = Script()
    courier = make_courier(store, source, people, channel)

    async def story() -> None:
        stop = Stop(clock)
        running = asyncio.ensure_future(courier.run(stop))
        try:
            await until(lambda: clock.sleepers)
            assert channel.parcels == []
            await store.write(sending.resume)
            await asyncio.wait_for(channel.began.wait(), 30)
        finally:
            stop.request()
            await asyncio.wait_for(running, 30)

    asyncio.run(story())
    assert channel.told == ["ada"]
