"""What a library's own sockets may connect to, while somebody looks out."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from vacancy.net.guard import AddressRefusedError, Lane
from vacancy.net.lookout import looking_out


@pytest.fixture
def listener() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()


def connect(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=5):
        pass


def test_only_what_the_lane_allows_is_connected_to(listener: tuple[str, int]) -> None:
    with looking_out(Lane.PUBLIC) as lookout:
        with pytest.raises(AddressRefusedError):
            connect(listener)
        with pytest.raises(AddressRefusedError):
            connect(("localhost", listener[1]))
    assert lookout.has_refused
    with looking_out(Lane.LOOPBACK) as lookout:
        connect(listener)
    assert not lookout.has_refused
    connect(listener)


@pytest.mark.parametrize("address", ["10.0.0.1", "100.64.0.1", "169.254.169.254", "8.8.8.8"])
def test_the_loopback_lane_leads_nowhere_else(address: str) -> None:
    with looking_out(Lane.LOOPBACK) as lookout, pytest.raises(AddressRefusedError):
        connect((address, 9))
    assert lookout.has_refused


def test_a_name_that_is_left_to_the_socket_is_refused(listener: tuple[str, int]) -> None:
    """Whatever it is resolved to then, nobody would have looked at."""
    with looking_out(Lane.LOOPBACK), socket.socket() as own, pytest.raises(AddressRefusedError):
        own.connect(("localhost", listener[1]))


def test_datagrams_and_sockets_of_this_machine_are_looked_at_too() -> None:
    with looking_out(Lane.PUBLIC) as lookout:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            with pytest.raises(AddressRefusedError):
                own.sendto(b"x", ("127.0.0.1", 9))
            with pytest.raises(AddressRefusedError):
                own.sendmsg([b"x"], [], 0, ("127.0.0.1", 9))
        with socket.socket(socket.AF_UNIX) as own, pytest.raises(AddressRefusedError):
            own.connect("/run/nothing")
    assert lookout.has_refused


def test_an_open_connection_goes_on(listener: tuple[str, int]) -> None:
    with socket.create_connection(listener) as own, looking_out(Lane.PUBLIC):
        assert own.sendmsg([b"x"]) == 1


def test_it_looks_out_for_its_own_thread_alone(listener: tuple[str, int]) -> None:
    async def others(seen: list[str]) -> None:
        _, writer = await asyncio.open_connection(*listener)
        seen.append("connected")
        writer.close()

    with ThreadPoolExecutor(2) as threads, looking_out(Lane.PUBLIC):
        threads.submit(connect, listener).result()
        with pytest.raises(AddressRefusedError):
            threads.submit(copy_context().run, connect, listener).result()
    seen: list[str] = []
    asyncio.run(others(seen))
    assert seen == ["connected"]
