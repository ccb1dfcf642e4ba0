"""Chats and their cursors: bound, moved, unbound, and never a step back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clock import ManualClock
from vacancy.model.bot import Move, PassedOver, Seat
from vacancy.store import bot_chats
from vacancy.store.engine import Store

CHAT, OTHER, ADA, EVE = 5, -7, 1, 2


def bind(store: Store, chat: int = CHAT, user: int = ADA) -> Seat:
    return store.write_now(bot_chats.bind, chat, user, "Ada", "en-US")


def advance(store: Store, seat: Seat, before: int, after: int, *, is_read_up: bool = False) -> bool:
    return store.write_now(bot_chats.advance, [Move(seat, before, after, is_read_up)])[0]


def cursor(store: Store, chat: int = CHAT) -> int | None:
    seat = store.read_now(bot_chats.seat, chat)
    return seat.cursor if seat else None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(moves=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_a_cursor_never_moves_backwards(sqlite_store: Store, moves: list[tuple[int, int]]) -> None:
    sqlite_store.write_now(bot_chats.unbind, CHAT, "anew")
    seat, at = bind(sqlite_store), 0
    for before, after in moves:
        made = advance(sqlite_store, seat, before, after)
        assert made == (before == at <= after)
        at = after if made else at
        assert cursor(sqlite_store) == at


def test_who_holds_an_older_binding_moves_nothing(store: Store) -> None:
    old = bind(store)
    assert advance(store, old, 0, 3)
    assert store.write_now(bot_chats.unbind, CHAT, "asked for")
    assert not advance(store, old, 3, 4)
    new = bind(store)
    assert (new.binding, new.cursor, new.is_reading_up) == (old.binding + 1, 0, True)
    assert not advance(store, old, 0, 9)
    assert not store.read_now(bot_chats.is_current, old)
    assert store.read_now(bot_chats.is_current, new)
    assert not store.write_now(bot_chats.unbind, CHAT, "late", old.binding)
    assert cursor(store) == 0


def test_who_reads_history_skips_nothing_that_happened_after_its_end(store: Store) -> None:
    late = bind(store)
    assert advance(store, late, 0, 0, is_read_up=True)  # by another one, who found nothing
    assert not advance(store, late, 0, 5)
    assert not advance(store, late, 0, 0, is_read_up=True)
    seat = store.read_now(bot_chats.seat, CHAT)
    assert seat is not None
    assert (seat.cursor, seat.is_reading_up) == (0, False)
    assert advance(store, seat, 0, 5)


def test_to_bind_again_to_the_same_user_changes_nothing(store: Store) -> None:
    seat = bind(store)
    assert advance(store, seat, 0, 8, is_read_up=True)
    again = bind(store)
    assert again == replace(seat, cursor=8, is_reading_up=False)


def test_another_user_begins_anew(store: Store) -> None:
    assert advance(store, bind(store), 0, 8, is_read_up=True)
    hers = bind(store, user=EVE)
    assert (hers.user_id, hers.cursor, hers.is_reading_up, hers.binding) == (EVE, 0, True, 2)


def test_a_second_chat_begins_where_the_first_has_read_to(store: Store) -> None:
    assert advance(store, bind(store), 0, 8, is_read_up=True)
    assert (bind(store, OTHER).cursor, bind(store, OTHER).is_reading_up) == (8, True)


def test_a_chat_that_moves_takes_its_cursor_along(store: Store) -> None:
    assert advance(store, bind(store, OTHER), 0, 8, is_read_up=True)
    assert store.write_now(bot_chats.move, OTHER, -100)
    assert not store.write_now(bot_chats.move, OTHER, -100)
    moved = store.read_now(bot_chats.seat, -100)
    assert moved is not None
    assert (moved.user_id, moved.name, moved.cursor, moved.is_reading_up) == (ADA, "Ada", 8, False)
    assert cursor(store, OTHER) is None


def test_a_chat_that_moves_to_where_somebody_sits_changes_nothing_there(store: Store) -> None:
    bind(store, OTHER)
    there = bind(store, -100, EVE)
    assert store.write_now(bot_chats.move, OTHER, -100)
    assert store.read_now(bot_chats.seats) == [there]


def test_what_was_passed_over_is_one_line_however_often_it_is_told(store: Store, clock: ManualClock) -> None:
    seat = bind(store)
    passed = (PassedOver(None, "d" * 40, "no number"), PassedOver(4, "e" * 40, "refused"))
    for _ in range(2):
        store.write_now(bot_chats.advance, [Move(seat, 0, 0, passed_over=passed)])
    (record,) = store.read_now(bot_chats.records)
    assert (record.passed_over, record.status, record.cursor) == (2, "bound", 0)
    assert store.write_now(bot_chats.prune, clock.now()) == 0
    assert store.write_now(bot_chats.prune, clock.now() + timedelta(seconds=1)) == 2
