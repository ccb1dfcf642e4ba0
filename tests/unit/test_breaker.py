"""A breaker opens on what is the channel's own trouble, and shuts only when that is over."""

from __future__ import annotations

import pytest
from tests.support.clock import ManualClock

from vacancy.channels.base import Pace
from vacancy.model.messages import Blocked
from vacancy.pipeline.allowance import Allowance
from vacancy.pipeline.breaker import PROBE_EVERY_S, Breaker

DOWN = Blocked("network_error", "no connection")
SLOW = Blocked("rate_limited", "slow down", after_s=20)


@pytest.fixture
def breaker(clock: ManualClock) -> Breaker:
    return Breaker(clock)


def test_shut_it_lets_all_through(breaker: Breaker) -> None:
    assert (breaker.is_open, breaker.room(20), breaker.due_in_s(), breaker.is_due()) == (False, 20, None, False)


def test_open_it_lets_none_through_and_is_probed_every_half_minute(breaker: Breaker, clock: ManualClock) -> None:
    breaker.blocked(DOWN)
    assert (breaker.is_open, breaker.is_trouble, breaker.room(20), breaker.due_in_s()) == (True, True, 0, PROBE_EVERY_S)
    clock.pass_time(PROBE_EVERY_S)
    assert breaker.is_due()
    assert breaker.wants_probe
    breaker.probed(DOWN)
    assert (breaker.is_due(), breaker.due_in_s()) == (False, PROBE_EVERY_S)


def test_a_probe_that_went_well_lets_one_through_until_that_one_got_somewhere(
    breaker: Breaker, clock: ManualClock
) -> None:
    breaker.blocked(DOWN)
    clock.pass_time(PROBE_EVERY_S)
    breaker.probed(None)
    assert (breaker.is_open, breaker.is_trouble, breaker.room(20)) == (False, True, 1)
    breaker.passed()
    assert (breaker.is_trouble, breaker.room(20)) == (False, 20)


def test_a_rate_is_waited_for_without_a_probe_and_is_no_trouble(breaker: Breaker, clock: ManualClock) -> None:
    breaker.blocked(SLOW)
    assert (breaker.is_open, breaker.is_trouble, breaker.wants_probe) == (True, False, False)
    clock.pass_time(19.9)
    assert not breaker.is_due()
    clock.pass_time(0.2)
    assert breaker.is_due()


def test_what_ends_while_it_is_open_does_not_shut_it(breaker: Breaker) -> None:
    breaker.blocked(DOWN)
    breaker.passed()
    assert breaker.is_open
    assert breaker.is_trouble


def test_as_another_process_left_it_it_is_looked_into_at_once(breaker: Breaker) -> None:
    breaker.was_open(DOWN)
    assert (breaker.is_open, breaker.is_due(), breaker.wants_probe) == (True, True, True)


def test_an_allowance_fills_up_to_its_burst_and_no_further(clock: ManualClock) -> None:
    allowance = Allowance(clock, Pace(per_second=10, burst=5))
    assert allowance.free() == 5
    allowance.take(5)
    assert (allowance.free(), round(allowance.free_in_s(), 3)) == (0, 0.1)
    clock.pass_time(0.25)
    assert allowance.free() == 2
    clock.pass_time(3600)
    assert allowance.free() == 5
