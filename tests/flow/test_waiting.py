"""The sequences between an edge and a message that made earlier systems tell twice, tell too late, or not at all."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.support.clock import ManualClock
from tests.support.lists import Hand, Lists, some
from tests.support.two_sections import EIGHT, FULL, SEVEN, poll
from tests.support.waiting import People
from vacancy.errors import UserError
from vacancy.model.availability import Complete
from vacancy.model.subscriptions import Status
from vacancy.pipeline.settle import Came
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.subscriptions.subscribe import Subscribed, subscribe


def opens(hand: Hand, *items: int) -> None:
    poll(hand, Complete(FULL.keys | some(*items).keys))


def closes(hand: Hand) -> None:
    poll(hand, FULL, FULL)


def test_an_opening_is_queued_once_for_everybody_who_waits(hand: Hand, people: People) -> None:
    ids = {people.subscribe(name, SEVEN).subscription.subscription_id for name in ("ada", "bob")}
    people.subscribe("cy", EIGHT)
    opens(hand, 7)
    assert people.fan_out() == 2
    assert people.fan_out() == 0
    assert {row.who for row in people.live()} == ids


def test_opened_and_not_yet_sent_closed_and_opened_again_is_one_live_notification(hand: Hand, people: People) -> None:
    people.subscribe("ada", SEVEN)
    opens(hand, 7)
    people.fan_out()
    closes(hand)
    opens(hand, 7)
    people.fan_out()
    (live,) = people.live()
    assert live.episode == 2
    assert [row.status for row in people.queue()] == ["expired", "pending"]


def test_what_closed_before_it_was_fanned_out_is_told_to_nobody(hand: Hand, people: People) -> None:
    people.subscribe("ada", SEVEN)
    opens(hand, 7)
    closes(hand)
    assert people.fan_out() == 0
    opens(hand, 7)
    assert people.fan_out() == 1


def test_a_slow_send_that_is_acked_after_the_close_does_not_hide_the_next_opening(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    opens(hand, 7)
    people.fan_out()
    (row,) = people.live()
    assert people.begin_sending(row)
    closes(hand)
    people.end_sending(row)
    assert people.one(ada).last_known_section_status == "Closed"
    opens(hand, 7)
    people.fan_out()
    assert [live.episode for live in people.live()] == [2]


def test_who_was_told_is_not_told_again_until_it_closed(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    opens(hand, 7)
    people.fan_out()
    assert people.send(people.live()[0])
    assert people.one(ada).last_known_section_status == "Open"
    people.change(ada, max_notifications=5)
    assert people.live() == []
    closes(hand)
    assert people.one(ada).last_known_section_status == "Closed"
    opens(hand, 7)
    assert people.fan_out() == 1


def test_a_second_section_of_a_course_is_told_while_the_first_is_open(hand: Hand, people: People) -> None:
    people.subscribe("ada", "course/01:198:111")
    opens(hand, 7)
    people.fan_out()
    assert people.send(people.live()[0])
    opens(hand, 7, 8)
    people.fan_out()
    assert [row.item for row in people.live()] == [EIGHT]


def test_one_contact_with_a_section_and_its_course_gets_one_message(hand: Hand, people: People) -> None:
    people.subscribe("ada", SEVEN)
    course = people.subscribe("ada", "course/01:198:111").subscription.subscription_id
    opens(hand, 7)
    people.fan_out()
    assert [row.who for row in people.live()] == [course]


def test_who_subscribes_while_it_is_open_is_told_so_at_once_and_hears_of_the_next(hand: Hand, people: People) -> None:
    opens(hand, 7)
    told = people.subscribe("ada", SEVEN)
    assert told.status_now == "Open"
    assert people.fan_out() == 0
    closes(hand)
    opens(hand, 7)
    assert people.fan_out() == 1


def test_who_subscribes_to_a_course_is_not_told_of_what_was_open_before(hand: Hand, people: People) -> None:
    opens(hand, 7)
    ada = people.subscribe("ada", "course/01:198:111").subscription.subscription_id
    assert people.fan_out() == 0
    people.change(ada, Status.PAUSED)
    people.change(ada, Status.ACTIVE)
    assert people.live() == []


def test_subscribed_before_the_baseline_nobody_hears_of_what_it_shows(
    store: Store, clock: ManualClock, source: Lists
) -> None:
    hand, people = Hand(store, clock, source), People(store, source, verify=False)
    hand.configure()
    ada, bob = (people.subscribe("ada", item).subscription.subscription_id for item in (SEVEN, EIGHT))
    answer = Complete(FULL.keys | some(7).keys)
    poll(hand, answer, answer)
    assert people.fan_out() == 0
    assert people.one(ada).last_known_section_status == "Open"
    assert people.one(bob).last_known_section_status == "Closed"
    opens(hand, 7, 8)
    assert people.fan_out() == 1


def test_verified_eleven_minutes_after_the_edge_with_the_seat_still_open(
    hand: Hand, store: Store, source: Lists, clock: ManualClock
) -> None:
    people = People(store, source)
    ada = people.subscribe("ada", SEVEN).subscription
    assert ada.status == "pending"
    opens(hand, 7)
    people.fan_out()
    clock.jump(660)
    people.verify(ada.subscription_id)
    (row,) = people.live()
    assert (row.who, row.waits) == (ada.subscription_id, False)
    assert people.audit(ada.subscription_id) == ["created", "verification_queued", "verified"]


def test_a_snooze_that_ends_while_it_is_open(hand: Hand, people: People, clock: ManualClock) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    people.change(ada, snooze_until=clock.now() + timedelta(minutes=30))
    opens(hand, 7)
    people.fan_out()
    (row,) = people.live()
    assert row.waits
    clock.jump(1800)
    (row,) = people.live()
    assert not row.waits


def test_a_snooze_that_is_taken_back_while_it_is_open(hand: Hand, people: People, clock: ManualClock) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    people.change(ada, snooze_until=clock.now() + timedelta(days=3))
    opens(hand, 7)
    people.fan_out()
    people.change(ada, snooze_until=None)
    assert [row.waits for row in people.live()] == [False]


def test_resumed_while_it_is_open(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    people.change(ada, Status.PAUSED)
    opens(hand, 7)
    assert people.fan_out() == 0
    people.change(ada, Status.ACTIVE)
    assert [row.who for row in people.live()] == [ada]
    assert people.fan_out() == 0


def test_a_pause_during_which_it_closed_again_is_followed_by_silence(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    people.change(ada, Status.PAUSED)
    opens(hand, 7)
    people.fan_out()
    closes(hand)
    people.change(ada, Status.ACTIVE)
    assert people.live() == []


def test_subscribing_over_a_paused_row_resumes_it(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN, max_notifications=1).subscription.subscription_id
    opens(hand, 7)
    people.fan_out()
    assert people.send(people.live()[0])
    assert people.one(ada).status == "paused"
    again = people.subscribe("ada", SEVEN)
    assert (again.created, again.subscription.subscription_id, again.subscription.status) == (False, ada, "active")
    assert people.audit(ada) == ["created", "notify_sent", "status_changed", "status_changed"]
    closes(hand)
    opens(hand, 7)
    assert people.fan_out() == 1


def test_a_suppressed_address_is_refused_and_hears_nothing(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription
    people.store.write_now(
        lambda tx: rows.move(tx, tx.now(), ada, Status.SUPPRESSED, event="status_changed", reason="bounced")
    )
    with pytest.raises(UserError) as refused:
        people.subscribe("ada", EIGHT)
    assert refused.value.code == "contact_suppressed"
    opens(hand, 7, 8)
    assert people.fan_out() == 0


def test_who_left_hears_nothing_and_what_waited_is_skipped(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    opens(hand, 7)
    people.fan_out()
    people.leave(ada)
    assert people.live() == []
    assert [row.status for row in people.queue()] == ["skipped"]


def test_who_does_not_wish_to_hear_of_openings_hears_of_none_until_it_does(hand: Hand, people: People) -> None:
    """Such a wish comes by an import alone."""
    ada = people.subscribe("ada", SEVEN, notify_on=("waitlist",)).subscription.subscription_id
    opens(hand, 7)
    assert people.fan_out() == 0
    people.change(ada, notify_on=("open",))
    assert [row.who for row in people.live()] == [ada]


def test_who_knows_that_it_is_open_is_not_told_again(hand: Hand, people: People) -> None:
    ada = people.subscribe("ada", SEVEN).subscription.subscription_id
    people.store.write_now(lambda tx: rows.change(tx, tx.now(), ada, last_known_section_status="Open"))
    opens(hand, 7)
    assert people.fan_out() == 0
    people.change(ada, max_notifications=5)
    assert people.live() == []


# Both at the very moment of the edge.


def told_and_queued(people: People, told: Subscribed) -> tuple[str, int]:
    people.fan_out()
    return told.status_now, len(people.live())


def test_subscribing_commits_first_and_the_edge_after(hand: Hand, people: People) -> None:
    """The edge cannot be committed while somebody is being told that it is closed."""
    claim = hand.claim()
    assert claim is not None
    answer = Complete(FULL.keys | some(7).keys)
    with ThreadPoolExecutor(1) as threads:

        def slowly(tx: Tx) -> Subscribed:
            told = subscribe(tx, people.desk, people.wish("ada", SEVEN))
            edge.append(threads.submit(hand.settle, claim, answer))
            # Time for it to come as far as it can, which is not to its commit.
            with pytest.raises(TimeoutError):
                edge[0].result(0.2)
            return told

        edge: list[Any] = []
        told = people.store.write_now(slowly)
        assert edge[0].result(30).came is Came.BELIEVED
    assert told_and_queued(people, told) == ("Closed", 1)


def test_the_edge_commits_first_and_subscribing_after(hand: Hand, people: People, source: Lists) -> None:
    """Nobody is told that it is closed once the edge was written, though not committed."""
    claim = hand.claim()
    assert claim is not None
    describe = source.describe
    written, go_on = threading.Event(), threading.Event()

    def slowly(tx: Tx, *given: Any) -> Any:
        written.set()
        assert go_on.wait(30)
        return describe(tx, *given)

    source.describe = slowly  # type: ignore[method-assign, assignment]
    with ThreadPoolExecutor(2) as threads:
        edge = threads.submit(hand.settle, claim, Complete(FULL.keys | some(7).keys))
        assert written.wait(30)
        asked = threads.submit(people.subscribe, "ada", SEVEN)
        with pytest.raises(TimeoutError):
            asked.result(0.2)
        go_on.set()
        assert edge.result(30).came is Came.BELIEVED
        told = asked.result(30)
    assert told_and_queued(people, told) == ("Open", 0)
