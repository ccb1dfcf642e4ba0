from __future__ import annotations

import asyncio

import msgspec
import pytest

from tests.support.clock import ManualClock
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.errors import SimulatorError, UnknownTargetError
from vacancy.simulator.server import Simulator
from vacancy.simulator.world import World, build_world


def make_world() -> World:
    return build_world(1, "12025", "NB", 0.02)


def test_the_list_is_unsorted_stable_and_has_one_duplicate() -> None:
    world = make_world()
    members = msgspec.json.decode(world.list_body())
    assert members != sorted(members)
    assert len(members) == len(set(members)) + 1
    assert set(world.orphans) < set(members)
    assert world.list_body() == world.list_body()


def test_a_seat_that_closes_and_opens_again_restores_the_bytes() -> None:
    world = make_world()
    before = world.list_body()
    index = world.listed()[5]
    world.close(index)
    assert index not in world.open_indexes
    assert world.list_body() != before
    world.open(index)
    assert world.list_body() == before


def test_an_override_is_served_verbatim_until_it_ends() -> None:
    world = make_world()
    before = world.list_body()
    world.override(["10003", "10001", "10003"])
    assert world.list_body() == b'["10003","10001","10003"]'
    assert world.open_indexes == {"10001", "10003"}
    world.override([])
    assert world.list_body() == b"[]"
    world.override(None)
    assert world.list_body() == before


def test_an_unknown_index_becomes_an_orphan_and_a_malformed_one_is_refused() -> None:
    world = make_world()
    world.open("99999")
    assert "99999" in world.listed()
    before = world.open_indexes
    with pytest.raises(SimulatorError, match="five digits"):
        world.set_seats(["00001", "1234"], [])
    assert world.open_indexes == before


def test_course_of_names_the_course_that_has_the_section() -> None:
    world = make_world()
    index = world.catalogue_indexes[0]
    assert index in [section["index"] for section in world.course_of(index)["sections"]]
    with pytest.raises(SimulatorError, match="no section 99999"):
        world.course_of("99999")


def test_the_catalogue_follows_the_seats() -> None:
    world = make_world()
    index = world.catalogue_indexes[0]
    world.open(index)
    opened = world.catalogue_body()
    assert world.catalogue_body() is opened
    world.close(index)
    assert world.catalogue_body() != opened


def test_a_step_moves_exactly_that_many_seats_the_same_way_for_a_seed() -> None:
    first, second = make_world(), make_world()
    before = first.open_indexes
    opened, closed = first.step(openings=4, closings=3)
    assert (opened, closed) == second.step(openings=4, closings=3)
    assert first.open_indexes == (before | set(opened)) - set(closed)
    assert (len(opened), len(closed)) == (4, 3)


def test_churn_spreads_its_rates_over_the_clock() -> None:
    async def play() -> tuple[int, int]:
        clock = ManualClock()
        world = make_world()
        before = world.open_indexes
        churn = Churn(clock, Rates(openings_per_minute=6, closings_per_minute=3), lambda: [world])
        running = asyncio.create_task(churn.run())
        await clock.advance(120)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return len(world.open_indexes - before), len(before - world.open_indexes)

    opened, closed = asyncio.run(play())
    # A seat can move both ways within the two minutes, never more often than the rates say.
    assert 0 < opened <= 12
    assert 0 < closed <= 6
    assert opened - closed == 6


def test_churn_sleeps_only_while_it_is_wanted() -> None:
    async def play() -> None:
        clock = ManualClock()
        churn = Churn(clock, Rates(), list)
        running = asyncio.create_task(churn.run())
        await clock.advance(10)
        assert clock.sleepers == 0
        churn.set_enabled(True)
        await clock.advance(10)
        assert clock.sleepers == 1
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(play())


def test_rates_of_one_campus_leave_the_others_alone() -> None:
    churn = Churn(ManualClock(), Rates(1, 1), list)
    churn.set_rates(Rates(5, 0), "NK")
    assert churn.rates_of("NK") == Rates(5, 0)
    assert churn.rates_of("NB") == Rates(1, 1)
    churn.set_rates(Rates(2, 2))
    assert churn.rates_of("NK") == Rates(2, 2)


def test_only_known_terms_and_campuses_exist() -> None:
    simulator = Simulator(ManualClock(), scale=0.01, campuses=("NB",))
    assert len(simulator.world("12025", "NB").catalogue_indexes) == 120
    with pytest.raises(UnknownTargetError):
        simulator.world("12025", "NK")
    with pytest.raises(SimulatorError, match="20251"):
        Simulator(ManualClock(), terms=("20251",))
    with pytest.raises(SimulatorError, match="NWK"):
        Simulator(ManualClock(), campuses=("NWK",))
