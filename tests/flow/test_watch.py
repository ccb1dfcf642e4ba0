"""Troubles of the house: each begins once, ends once, and is told once to those whom it concerns."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from tests.support.clock import ManualClock
from tests.support.couriers import Script, deliver, make_courier
from tests.support.lists import Hand, Lists, some
from tests.support.waiting import People
from vacancy.channels.base import Kit
from vacancy.channels.email import build as build_email
from vacancy.clock import Dice
from vacancy.model.availability import Complete, Failed
from vacancy.model.availability import Trouble as Code
from vacancy.model.messages import Blocked, Kind, Retry
from vacancy.net.client import Client
from vacancy.pipeline.herald import Ear, Herald
from vacancy.pipeline.sweep import sweep
from vacancy.pipeline.watch import LOW_SPACE, Look, Watch, find_troubles
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.store import outbox, target_overview, troubles
from vacancy.store.engine import Store
from vacancy.store.schema import open_event_notifications

FULL = some(*range(100, 140))
SEVEN = "00007"
DOWN = Failed(Code.NETWORK, "connection refused")


@pytest.fixture
def source() -> Lists:
    return Lists("12025|NB")


@pytest.fixture
def hand(store: Store, clock: ManualClock, source: Lists) -> Hand:
    made = Hand(store, clock, source)
    made.configure()
    for _ in range(2):
        made.poll(FULL)
        clock.jump(15)
    return made


@pytest.fixture
def people(store: Store, hand: Hand, source: Lists) -> People:
    return People(store, source, verify=False)


@pytest.fixture
def looks(store: Store, clock: ManualClock) -> Watch:
    return Watch(store, clock, {"soc": 15.0})


def look(watching: Watch, clock: ManualClock) -> None:
    asyncio.run(watching.once(clock.now() - timedelta(hours=1)))


def fails_for(hand: Hand, clock: ManualClock, minutes: float, failed: Failed = DOWN) -> None:
    hand.poll(failed)
    clock.jump(minutes * 60)
    hand.poll(failed)
    clock.jump(60)


def names(store: Store) -> list[str]:
    return [each.name for each in store.read_now(troubles.running)]


def tell(store: Store, clock: ManualClock, *channels: Script) -> list[list[tuple[str, str]]]:
    """What each channel of the operator's is told now: (notice, what)."""
    before = [len(channel.parcels) for channel in channels]
    herald = Herald(store, clock, [Ear(channel, "ops@example.com") for channel in channels])
    asyncio.run(herald.once(Stop(clock)))
    return [
        [(parcel.notice.code, parcel.notice.facts["what"]) for parcel in channel.parcels[at:] if parcel.notice]
        for channel, at in zip(channels, before, strict=True)
    ]


def test_a_source_that_cannot_be_reached_is_told_once_and_once_when_it_is_back(
    hand: Hand, store: Store, looks: Watch, clock: ManualClock
) -> None:
    hand.poll(DOWN)
    look(looks, clock)
    assert names(store) == [], "one failure is a blip"
    clock.jump(15)
    fails_for(hand, clock, 3)
    look(looks, clock)
    look(looks, clock)
    assert names(store) == ["source soc unreachable"]
    channel = Script()
    assert tell(store, clock, channel) == [[("trouble", "soc cannot be read")]]
    assert channel.parcels[0].notice is not None
    assert channel.parcels[0].notice.facts["detail"] == "network: connection refused"
    assert (channel.parcels[0].kind, channel.parcels[0].person.contact) == (Kind.OPERATOR, "ops@example.com")
    assert tell(store, clock, channel) == [[]]
    hand.poll(FULL)
    look(looks, clock)
    assert names(store) == []
    assert tell(store, clock, channel) == [[("trouble_over", "soc cannot be read")]]
    assert tell(store, clock, channel) == [[]]
    assert len({parcel.key for parcel in channel.parcels}) == 2


@pytest.mark.parametrize(
    ("failed", "name"),
    [
        (Failed(Code.UNAUTHORIZED, "401"), "source soc unauthorized"),
        (Failed(Code.MISCONFIGURED, "404"), None),
    ],
)
def test_what_only_the_operator_can_mend_is_told_at_once(
    hand: Hand, store: Store, looks: Watch, clock: ManualClock, failed: Failed, name: str | None
) -> None:
    hand.poll(failed)
    look(looks, clock)
    assert names(store) == ([name] if name else []), "a 404 of a target that was believed may pass"


def test_a_target_that_never_answered_is_set_wrong(store: Store, clock: ManualClock, looks: Watch) -> None:
    wrong = Hand(store, clock, Lists("12025|XX"))
    wrong.configure()
    wrong.poll(Failed(Code.MISCONFIGURED, "404"))
    look(looks, clock)
    assert names(store) == ["target soc 12025|XX"]


def test_a_held_answer_is_told_when_it_lasts(hand: Hand, store: Store, looks: Watch, clock: ManualClock) -> None:
    hand.poll(Complete(frozenset()))
    clock.jump(15)
    look(looks, clock)
    assert names(store) == []
    hand.poll(Complete(frozenset()))
    clock.jump(16)
    look(looks, clock)
    assert names(store) == ["held soc 12025|NB"]
    hand.poll(FULL)
    look(looks, clock)
    assert names(store) == []


def test_nobody_polls(hand: Hand, store: Store, looks: Watch, clock: ManualClock) -> None:
    clock.jump(11 * 60)
    asyncio.run(looks.once(clock.now()))
    assert names(store) == [], "nothing of us ran meanwhile: the first poll is on its way"
    look(looks, clock)
    assert names(store) == ["polling"]


def test_a_disk_that_is_nearly_full(hand: Hand, store: Store, clock: ManualClock) -> None:
    views = store.read_now(target_overview.overview, {"soc": 15.0})
    fine = Look(clock.now(), clock.now(), views, 0, LOW_SPACE)
    assert list(find_troubles(fine)) == []
    assert [name for name, _ in find_troubles(replace(fine, free_bytes=LOW_SPACE - 1))] == ["disk"]


def test_dead_letters_are_told_until_they_are_seen_to(
    hand: Hand, people: People, source: Lists, store: Store, looks: Watch, clock: ManualClock
) -> None:
    people.subscribe("ada", SEVEN)
    hand.poll(Complete(FULL.keys | some(7).keys))
    people.fan_out()
    failed = Retry("provider_error", "no")
    deliver(make_courier(store, source, people, Script(failed, failed, failed), most=1))
    look(looks, clock)
    assert names(store) == ["dead letters"]
    n = open_event_notifications
    store.write_now(lambda tx: tx.execute(update(n).values(fanout_status="pending", fanout_attempts=0)))
    look(looks, clock)
    assert names(store) == []


def test_a_way_to_the_operator_that_is_broken_hears_later_and_the_other_at_once(
    hand: Hand, store: Store, looks: Watch, clock: ManualClock
) -> None:
    fails_for(hand, clock, 3)
    look(looks, clock)
    mail, hook = Script(Blocked("network_error", "down")), Script()
    hook.name = "webhook"
    assert tell(store, clock, mail, hook) == [[("trouble", "soc cannot be read")]] * 2
    assert tell(store, clock, mail, hook) == [[], []]
    clock.jump(31)
    assert tell(store, clock, mail, hook) == [[("trouble", "soc cannot be read")], []]


def test_of_two_heralds_one_tells(hand: Hand, store: Store, looks: Watch, clock: ManualClock) -> None:
    fails_for(hand, clock, 3)
    look(looks, clock)
    one, other = Script(), Script()

    async def both() -> None:
        one.free.clear()
        telling = asyncio.create_task(Herald(store, clock, [Ear(one, "a@example.com")]).once(Stop(clock)))
        await asyncio.wait_for(one.began.wait(), 30)
        await Herald(store, clock, [Ear(other, "a@example.com")]).once(Stop(clock))
        one.free.set()
        await asyncio.wait_for(telling, 30)

    asyncio.run(both())
    assert (len(one.parcels), len(other.parcels)) == (1, 0)


def test_people_whose_source_cannot_be_read_for_half_an_hour_hear_so_once_and_once_when_it_can(
    hand: Hand, people: People, source: Lists, store: Store, looks: Watch, clock: ManualClock
) -> None:
    for item in (SEVEN, "00008"):
        people.subscribe("ada", item)
    gone = people.subscribe("bob", SEVEN).subscription.subscription_id
    people.leave(gone)
    courier = make_courier(store, source, people, Script())
    fails_for(hand, clock, 27)
    look(looks, clock)
    assert deliver(courier) == []
    fails_for(hand, clock, 3)
    for _ in range(2):
        look(looks, clock)
    (told,) = deliver(courier)
    assert told.notice is not None
    assert (told.notice.code, told.person.contact) == ("source_unreadable", "ada@example.com")
    assert told.notice.facts["what"] == "New Brunswick, Spring 2025"
    hand.poll(FULL)
    for _ in range(2):
        look(looks, clock)
    (told,) = deliver(courier)
    assert told.notice is not None
    assert (told.notice.code, told.person.contact) == ("source_readable", "ada@example.com")
    assert tell(store, clock, Script()) == [[]], "the operator heard of the source itself"


def test_every_word_about_a_source_makes_a_mail(
    hand: Hand, people: People, source: Lists, store: Store, looks: Watch, clock: ManualClock
) -> None:
    people.subscribe("ada", SEVEN)
    settings = Settings()
    kit = Kit(settings, clock, Dice(1), Client(clock, user_agent="test"), store, people.desk.secret.derive)
    mail = build_email(kit)
    courier = make_courier(store, source, people, mail)
    herald = Herald(store, clock, [Ear(mail, "ops@example.com")])

    def goes_on() -> None:
        look(looks, clock)
        asyncio.run(courier.once(Stop(clock)))
        asyncio.run(herald.once(Stop(clock)))

    fails_for(hand, clock, 31)
    goes_on()
    hand.poll(FULL)
    goes_on()
    people.term_ends()
    goes_on()
    subjects = [kept.mail.subject for kept in reversed(store.read_now(outbox.latest, 10))]
    assert subjects == [
        "We cannot look at the moment: New Brunswick, Spring 2025",
        "[Vacancy] Trouble: soc cannot be read",
        "We can look again: New Brunswick, Spring 2025",
        "[Vacancy] Over: soc cannot be read",
        "Your alerts ended: 12025|NB:00007",
    ]


def test_a_word_that_did_not_go_out_in_time_is_not_sent_and_nor_is_its_end(
    hand: Hand, people: People, source: Lists, store: Store, looks: Watch, clock: ManualClock
) -> None:
    people.subscribe("ada", SEVEN)
    fails_for(hand, clock, 31)
    look(looks, clock)
    hand.poll(FULL)
    look(looks, clock)
    assert deliver(make_courier(store, source, people, Script())) == []


def test_one_contact_that_waits_in_two_targets_hears_of_the_first(store: Store, clock: ManualClock) -> None:
    source = Lists("12025|NB", "12025|NK")
    hand = Hand(store, clock, source)
    hand.configure()
    for answer in (FULL, FULL, DOWN):
        for _ in source.keys:
            hand.state = None
            hand.poll(answer)
            clock.jump(16)
    clock.jump(31 * 60)
    people = People(store, source, verify=False)
    people.subscribe("ada", SEVEN)
    people.key = "12025|NK"
    people.subscribe("ada", SEVEN)
    people.subscribe("bob", SEVEN)
    look(Watch(store, clock, {"soc": 15.0}), clock)
    told = deliver(make_courier(store, source, people, Script()))
    assert sorted(parcel.person.contact for parcel in told) == ["ada@example.com", "bob@example.com"]


def test_the_sweep_puts_away_what_is_over(hand: Hand, people: People, store: Store) -> None:
    people.subscribe("ada", SEVEN)
    hand.poll(Complete(FULL.keys | some(7).keys))
    hand.clock.jump(15)  # type: ignore[attr-defined]
    people.fan_out()
    assert store.write_now(sweep, people.desk) == 0
    for _ in range(2):
        hand.poll(FULL)
        hand.clock.jump(15)  # type: ignore[attr-defined]
    assert store.write_now(sweep, people.desk) == 1
    assert [row.status for row in people.queue()] == ["expired"]


def test_a_quiet_house_is_not_written_to(hand: Hand, store: Store, looks: Watch, clock: ManualClock) -> None:
    fails_for(hand, clock, 3)
    look(looks, clock)
    written: list[object] = []
    store.write = written.append  # type: ignore[method-assign, assignment]
    look(looks, clock)
    assert written == []
