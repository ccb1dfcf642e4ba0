"""Loops that crash come back; loops that are asked to stop finish what they hold."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs
from tests.support.clock import ManualClock, settle

from vacancy.errors import StoreError
from vacancy.runner import Loop, Runner, Stop


async def obedient(stop: Stop) -> None:
    await stop.wait()


async def deaf(stop: Stop) -> None:
    await asyncio.Event().wait()


def played(play: Callable[[ManualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        await play(ManualClock())

    asyncio.run(main())


def test_a_crashed_loop_comes_back_after_1_2_4_to_60_seconds() -> None:
    async def play(clock: ManualClock) -> None:
        starts: list[float] = []

        async def crashing(stop: Stop) -> None:
            starts.append(clock.monotonic())
            raise ValueError("boom")

        runner = Runner(clock, [Loop("a", crashing), Loop("b", obedient)])
        with capture_logs() as logs:
            running = asyncio.create_task(runner.run())
            await settle()
            assert runner.health() == {"a": "restarting", "b": "running"}
            await clock.advance(200)
            runner.stop.request()
            assert await running == 0
        assert starts == [0, 1, 3, 7, 15, 31, 63, 123, 183]
        assert [line["event"] for line in logs if line["log_level"] == "error"] == ["loop crashed"] * 9
        assert all(line["exc_info"] for line in logs if line["log_level"] == "error")
        assert runner.health() == {"a": "stopped", "b": "stopped"}

    played(play)


def test_a_loop_that_ran_well_for_a_minute_starts_at_one_second_again() -> None:
    async def play(clock: ManualClock) -> None:
        starts: list[float] = []

        async def crashing(stop: Stop) -> None:
            starts.append(clock.monotonic())
            if len(starts) == 3:
                await clock.sleep(60)
            raise OSError

        runner = Runner(clock, [Loop("a", crashing)])
        with capture_logs():
            running = asyncio.create_task(runner.run())
            await clock.advance(67)
            runner.stop.request()
            await running
        assert starts == [0, 1, 3, 64, 66]

    played(play)


def test_a_loop_whose_database_is_away_waits_a_second_at_a_time_and_says_so_once() -> None:
    async def play(clock: ManualClock) -> None:
        starts: list[float] = []

        async def asking(stop: Stop) -> None:
            starts.append(clock.monotonic())
            if len(starts) <= 10:
                raise StoreError("the database does not answer: connection refused")
            await stop.wait()

        runner = Runner(clock, [Loop("a", asking)])
        with capture_logs() as logs:
            running = asyncio.create_task(runner.run())
            await settle()
            assert runner.health() == {"a": "restarting"}
            await clock.advance(10)
            assert runner.health() == {"a": "running"}
            runner.stop.request()
            assert await running == 0
        assert starts == list(range(11))
        told = [(line["log_level"], line["event"]) for line in logs if line["event"] != "stopping"]
        assert told == [("warning", "loop waits for the database")]

    played(play)


def test_something_cancelled_inside_a_loop_is_a_crash_and_not_its_end() -> None:
    async def play(clock: ManualClock) -> None:
        starts: list[float] = []

        async def crashing(stop: Stop) -> None:
            starts.append(clock.monotonic())
            raise asyncio.CancelledError

        runner = Runner(clock, [Loop("a", crashing)])
        with capture_logs():
            running = asyncio.create_task(runner.run())
            await clock.advance(1)
            runner.stop.request()
            await running
        assert starts == [0, 1]

    played(play)


def test_loops_that_have_nothing_left_to_do_end_the_run() -> None:
    async def once(stop: Stop) -> None:
        return

    async def play(clock: ManualClock) -> None:
        assert await Runner(clock, [Loop("a", once)]).run() == 0
        assert await Runner(clock, []).run() == 0

    played(play)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_a_loop_finish_what_it_holds(number: int) -> None:
    async def play(clock: ManualClock) -> None:
        finished: list[float] = []

        async def busy(stop: Stop) -> None:
            await stop.wait()
            await clock.sleep(5)
            finished.append(clock.monotonic())

        runner = Runner(clock, [Loop("a", busy)])
        running = asyncio.create_task(runner.run())
        await settle()
        with capture_logs():
            os.kill(os.getpid(), number)
            await runner.stop.wait()
            assert runner.health() == {"a": "running"}
            await clock.advance(5)
            assert await running == 0
        assert finished == [5]

    before = signal.getsignal(signal.SIGTERM)
    played(play)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_loop_that_does_not_hear_is_cut_off_when_the_drain_is_over() -> None:
    async def play(clock: ManualClock) -> None:
        runner = Runner(clock, [Loop("a", deaf), Loop("b", obedient)], drain_s=20)
        with capture_logs() as logs:
            running = asyncio.create_task(runner.run())
            await settle()
            runner.stop.request()
            await clock.advance(19.9)
            assert not running.done()
            assert runner.health() == {"a": "running", "b": "stopped"}
            await clock.advance(0.1)
            assert await running == 1
        assert logs[-1]["event"] == "loops cut off"
        assert logs[-1]["loops"] == ["a"]

    played(play)


def test_a_second_signal_cuts_off_at_once() -> None:
    async def play(clock: ManualClock) -> None:
        runner = Runner(clock, [Loop("a", deaf)])
        with capture_logs():
            running = asyncio.create_task(runner.run())
            await settle()
            os.kill(os.getpid(), signal.SIGTERM)
            await runner.stop.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            assert await running == 1
        assert clock.monotonic() == 0

    played(play)


def test_cancelling_the_run_leaves_no_task_behind() -> None:
    async def play(clock: ManualClock) -> None:
        running = asyncio.create_task(Runner(clock, [Loop("a", deaf)]).run())
        await settle()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await settle()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    played(play)


def test_off_the_main_thread_it_runs_without_signals() -> None:
    async def main() -> int:
        def elsewhere() -> int:
            return asyncio.run(Runner(ManualClock(), [Loop("a", lambda _: asyncio.sleep(0))]).run())

        return await asyncio.to_thread(elsewhere)

    assert asyncio.run(main()) == 0


def test_a_nap_ends_by_the_clock_or_by_the_stop() -> None:
    async def play(clock: ManualClock) -> None:
        stop = Stop(clock)
        nap = asyncio.create_task(stop.wait(10))
        await clock.advance(9)
        assert not nap.done()
        await clock.advance(1)
        assert await nap is False
        nap = asyncio.create_task(stop.wait(10))
        await settle()
        stop.request()
        assert await nap is True
        assert await stop.wait(1000) is True
        assert clock.sleepers == 0

    played(play)


def test_two_loops_need_two_names() -> None:
    with pytest.raises(ValueError, match="same name"):
        Runner(ManualClock(), [Loop("a", deaf), Loop("a", deaf)])


def test_the_manual_clock_wakes_in_order_and_jumps_in_wall_time_alone() -> None:
    async def play(clock: ManualClock) -> None:
        woken: list[tuple[str, float]] = []

        async def sleeper(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append((name, clock.monotonic()))

        start = clock.now()
        tasks = [asyncio.create_task(sleeper(*each)) for each in (("late", 3.0), ("early", 0.1), ("second", 0.1))]
        clock.jump(-3600)
        await clock.advance(3)
        assert woken == [("early", 0.1), ("second", 0.1), ("late", 3.0)]
        assert (clock.now() - start).total_seconds() == 3 - 3600
        await asyncio.gather(*tasks)

    played(play)
