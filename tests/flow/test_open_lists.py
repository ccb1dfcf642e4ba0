"""The open list of the Schedule of Classes, asked over HTTP from an upstream that misbehaves in every known way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacancy.clock import SystemClock
from vacancy.model.availability import Claim, Complete, Failed, Trouble, Unchanged
from vacancy.net.client import Client
from vacancy.settings_sections import SocSettings
from vacancy.simulator.server import Simulator
from vacancy.sources.soc import Soc, read_open_list

T = TypeVar("T")
CLAIM = Claim(1, "soc", "12025|NB", 0, 0, "test", "test", False, (), None, 0, None, False)


def asking(story: Callable[[Simulator, Soc], Awaitable[T]], *, timeout_s: float = 10) -> T:
    async def run() -> T:
        simulator = Simulator(SystemClock(), scale=0.02, campuses=("NB", "NK"))
        client = Client(SystemClock(), user_agent="vacancy-tests")
        await simulator.start()
        try:
            settings = SocSettings(base_url=simulator.base_url, terms=("12025",), fetch_timeout_s=timeout_s)
            return await story(simulator, Soc(settings, client))
        finally:
            await client.close()
            await simulator.stop()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("fault", "arguments", "trouble"),
    [
        ("rate_limited", {}, Trouble.RATE_LIMITED),
        ("unavailable", {}, Trouble.SERVER_ERROR),
        ("server_error", {}, Trouble.SERVER_ERROR),
        ("not_found", {}, Trouble.MISCONFIGURED),
        ("bad_request", {}, Trouble.MISCONFIGURED),
        ("unauthorized", {}, Trouble.UNAUTHORIZED),
        ("forbidden", {}, Trouble.UNAUTHORIZED),
        ("redirect", {}, Trouble.REFUSED),
        ("reset", {}, Trouble.NETWORK),
        ("drop_midway", {}, Trouble.NETWORK),
        ("html", {}, Trouble.UNREADABLE),
        ("html_as_json", {}, Trouble.UNREADABLE),
        ("wrong_type", {}, Trouble.UNREADABLE),
        ("truncated", {}, Trouble.UNREADABLE),
        ("not_an_array", {}, Trouble.UNREADABLE),
        ("numbers", {}, Trouble.UNREADABLE),
        ("four_digits", {}, Trouble.UNREADABLE),
        ("too_large", {"bytes": 11 * 1024 * 1024}, Trouble.UNREADABLE),
    ],
)
def test_a_fault_is_told_apart_and_is_no_answer(fault: str, arguments: dict[str, int], trouble: Trouble) -> None:
    async def story(simulator: Simulator, soc: Soc) -> None:
        simulator.fault(fault, endpoint="openSections", **arguments)
        answer = await soc.ask(CLAIM, None)
        assert isinstance(answer, Failed)
        assert answer.trouble is trouble
        assert "\n" not in answer.message
        assert len(answer.message) < 300
        simulator.clear_faults()
        assert isinstance(await soc.ask(CLAIM, None), Complete)

    asking(story)


@pytest.mark.parametrize("fault", ["hang", "slow_body"])
def test_an_upstream_that_dawdles_is_given_up(fault: str) -> None:
    async def story(simulator: Simulator, soc: Soc) -> None:
        simulator.fault(fault, endpoint="openSections")
        answer = await soc.ask(CLAIM, None)
        assert isinstance(answer, Failed)
        assert answer.trouble is Trouble.TIMEOUT

    asking(story, timeout_s=0.3)


@pytest.mark.parametrize(("header", "seconds"), [("30", 30.0), ("soon", None), ("-1", None)])
def test_how_long_to_rest_is_read_only_where_it_can_be(header: str, seconds: float | None) -> None:
    async def story(simulator: Simulator, soc: Soc) -> None:
        simulator.fault("rate_limited", retry_after=header)
        answer = await soc.ask(CLAIM, None)
        assert isinstance(answer, Failed)
        assert answer.retry_after_s == seconds

    asking(story)


def test_the_same_bytes_are_unchanged_whatever_the_etag_says() -> None:
    async def story(simulator: Simulator, soc: Soc) -> None:
        first = await soc.ask(CLAIM, None)
        assert isinstance(first, Complete)
        for _ in range(4):
            assert isinstance(await soc.ask(CLAIM, first.mark), Unchanged)
        world = simulator.world("12025", "NB")
        world.close(min(world.open_indexes))
        assert isinstance(await soc.ask(CLAIM, first.mark), Complete)

    asking(story)


def test_orphans_and_duplicates_are_taken_as_they_are() -> None:
    async def story(simulator: Simulator, soc: Soc) -> None:
        world = simulator.world("12025", "NB")
        answer = await soc.ask(CLAIM, None)
        assert isinstance(answer, Complete)
        assert answer.keys == world.open_indexes
        assert set(world.orphans) & answer.keys
        assert len(world.listed()) > len(answer.keys)

    asking(story)


@given(st.lists(st.text(alphabet="0123456789", min_size=5, max_size=5)))
def test_any_list_of_indexes_is_read(members: list[str]) -> None:
    body = str(members).replace("'", '"').encode()
    answer = read_open_list(body)
    assert isinstance(answer, Complete)
    assert answer.keys == set(members)


@given(
    st.lists(st.text(alphabet="0123456789", min_size=5, max_size=5)),
    st.text(max_size=12).filter(lambda text: not (len(text) == 5 and text.isascii() and text.isdigit())),
    st.integers(0, 5),
)
def test_one_member_that_is_no_index_spoils_the_list(members: list[str], odd: str, at: int) -> None:
    members.insert(at, odd)
    assert isinstance(read_open_list(json.dumps(members).encode()), Failed)


@given(st.binary(max_size=60))
def test_no_bytes_are_more_than_a_value(body: bytes) -> None:
    assert isinstance(read_open_list(body), Complete | Failed)
