"""Who listens to a bot, and how far it was heard: one at a time, whatever dies, whoever is late."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.support.clock import ManualClock
from vacancy.store import listening
from vacancy.store.engine import Store

BOT, OTHER = "a1b2", "c3d4"
DAY_S = 86_400


def alive(_holder: str) -> bool:
    return False


def take(store: Store, who: str, bot: str = BOT) -> bool:
    return store.write_now(listening.take, bot, who, 30, alive)


def note(store: Store, who: str, offset: int) -> bool:
    return store.write_now(listening.note_heard, BOT, who, offset)


def heard(store: Store) -> int:
    return store.read_now(listening.heard, BOT)


def test_one_listens_and_the_others_stand_by(store: Store, clock: ManualClock) -> None:
    assert take(store, "ada")
    assert take(store, "ada")
    assert not take(store, "bob")
    assert take(store, "bob", OTHER)
    clock.jump(29)
    assert not take(store, "bob")
    assert store.write_now(listening.renew, BOT, "ada", 30)
    clock.jump(29)
    assert not take(store, "bob")


def test_whoever_lost_it_does_not_take_it_back_by_renewing(store: Store, clock: ManualClock) -> None:
    take(store, "ada")
    clock.jump(30)
    assert take(store, "bob")
    assert not store.write_now(listening.renew, BOT, "ada", 30)
    store.write_now(listening.give_up, BOT, "ada")
    assert not take(store, "ada")


def test_it_is_free_once_it_was_given_up_or_its_holder_died(store: Store) -> None:
    take(store, "ada")
    assert store.write_now(listening.take, BOT, "bob", 30, lambda holder: holder == "ada")
    store.write_now(listening.give_up, BOT, "bob")
    assert not store.write_now(listening.renew, BOT, "bob", 30)
    assert take(store, "eve")


def test_of_many_at_once_one_gets_it(store: Store) -> None:
    for _ in range(5):
        at_once = threading.Barrier(6)

        def try_it(number: int, at_once: threading.Barrier = at_once) -> bool:
            at_once.wait()
            return take(store, f"number {number}")

        with ThreadPoolExecutor(6) as pool:
            won = list(pool.map(try_it, range(6)))
        assert sum(won) == 1
        store.write_now(listening.give_up, BOT, f"number {won.index(True)}")


def test_how_far_it_was_heard_never_moves_backwards(store: Store, clock: ManualClock) -> None:
    assert heard(store) == 0
    take(store, "ada")
    assert note(store, "ada", 500)
    assert note(store, "ada", 499)
    assert heard(store) == 500
    clock.jump(6 * DAY_S)
    assert note(store, "ada", 7)
    assert heard(store) == 500
    # Telegram itself begins anew after a week of silence.
    clock.jump(DAY_S)
    assert note(store, "ada", 7)
    assert heard(store) == 7


def test_only_whoever_listens_says_how_far(store: Store, clock: ManualClock) -> None:
    assert not note(store, "ada", 5)
    take(store, "ada")
    assert note(store, "ada", 5)
    clock.jump(30)
    take(store, "bob")
    assert note(store, "bob", 9)
    assert not note(store, "ada", 6)
    assert not note(store, "ada", 10)
    assert heard(store) == 9
