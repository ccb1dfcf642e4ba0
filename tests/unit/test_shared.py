"""Work that many wait for is done once, and ends for all of them at once."""

from __future__ import annotations

import asyncio

import pytest

from vacancy.web.api.shared import Shared


class Work:
    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()
        self.fault: Exception | None = None

    async def __call__(self) -> int:
        self.begun += 1
        number = self.begun
        await self.may_end.wait()
        if self.fault:
            raise self.fault
        return number


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_hundred_who_wait_are_let_through_in_the_same_turn() -> None:
    """However busy the loop is: the last of them waits no longer than the first."""

    async def story() -> None:
        shared, work, done = Shared[int](), Work(), []

        async def wait(number: int) -> None:
            assert await shared.get("it", work) == 1
            done.append(number)

        waiting = [asyncio.ensure_future(wait(number)) for number in range(100)]
        await turns()
        assert (work.begun, done) == (1, [])
        work.may_end.set()
        await turns(4)
        assert done == list(range(100))
        await asyncio.gather(*waiting)
        assert await shared.get("it", work) == 2

    asyncio.run(story())


def test_one_who_goes_away_leaves_the_work_to_the_others() -> None:
    async def story() -> None:
        shared, work = Shared[int](), Work()
        first, second = (asyncio.ensure_future(shared.get("it", work)) for _ in "ab")
        await turns()
        first.cancel()
        await turns()
        work.may_end.set()
        assert await second == 1
        assert first.cancelled()

    asyncio.run(story())


def test_a_fault_is_everybodys_and_the_next_one_tries_anew() -> None:
    async def story() -> None:
        shared, work = Shared[int](), Work()
        work.fault = ValueError("away")
        waiting = [asyncio.ensure_future(shared.get("it", work)) for _ in range(3)]
        work.may_end.set()
        assert [type(end) for end in await asyncio.gather(*waiting, return_exceptions=True)] == [ValueError] * 3
        work.fault = None
        assert await shared.get("it", work) == 2

    asyncio.run(story())


def test_a_fault_that_nobody_waits_for_any_more_is_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        shared, work = Shared[int](), Work()
        work.fault = ValueError("away")
        only = asyncio.ensure_future(shared.get("it", work))
        await turns()
        only.cancel()
        work.may_end.set()
        await turns()

    asyncio.run(story())
    assert not caplog.records


def test_work_of_another_kind_does_not_wait() -> None:
    async def story() -> None:
        shared, slow, quick = Shared[int](), Work(), Work()
        quick.may_end.set()
        waiting = asyncio.ensure_future(shared.get("slow", slow))
        assert await shared.get("quick", quick) == 1
        slow.may_end.set()
        assert await waiting == 1

    asyncio.run(story())


def test_who_comes_while_it_is_under_way_may_wait_for_its_end_and_look_for_himself() -> None:
    async def story() -> None:
        shared, work = Shared[int](), Work()
        assert await shared.end_of("it") is False
        waiting = asyncio.ensure_future(shared.get("it", work))
        await turns()
        late = asyncio.ensure_future(shared.end_of("it"))
        await turns()
        assert not late.done()
        work.may_end.set()
        assert (await late, await waiting) == (True, 1)
        assert await shared.end_of("it") is False

    asyncio.run(story())
