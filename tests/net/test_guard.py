"""Where we connect to, by spelling and by what a name resolves to."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from vacancy.clock import SystemClock
from vacancy.net.client import Client, NetTrouble, Reach
from vacancy.net.guard import AddressRefusedError, Lane, is_public, route, socket_for

HOSTILE = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "198.18.0.1", "192.0.2.1", "198.51.100.1",
    "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1",
    "64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001::1", "2001:db8::1", "fc00::1",
    "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1", "3fff::1", "5f00::1",
]  # fmt: skip
FRIENDLY = ["8.8.8.8", "128.6.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]
SPELLINGS = [
    "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.1", "127.0.0.1.", "1.2.3", "localhost",
    "LOCALHOST.", "①②⑦.0.0.1", "a.0x7f",
]  # fmt: skip


def bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@pytest.mark.parametrize("address", HOSTILE)
def test_hostile_addresses_are_refused_at_both_gates(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    with pytest.raises(NetTrouble) as refused:
        route(f"https://{bracketed(address)}/x", Reach.PUBLIC)
    assert refused.value.kind == "refused"
    for lane in (Lane.PUBLIC, Lane.UPSTREAM):
        with pytest.raises(AddressRefusedError):
            socket_for(lane, (socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 443)))


@pytest.mark.parametrize("address", FRIENDLY)
def test_public_addresses_are_taken_but_not_where_this_machine_is_meant(address: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    info = (family, socket.SOCK_STREAM, 0, "", (address, 443))
    for reach in Reach:
        assert route(f"https://{bracketed(address)}/x", reach).lane.value == reach.value
    with pytest.raises(AddressRefusedError):
        socket_for(Lane.LOOPBACK, info)


def test_names_of_any_language_are_taken() -> None:
    for host in ("example.org", "xn--bcher-kva.example", "bücher.example", "例え.jp", "a_b.example.org.", "x"):
        assert route(f"https://{host}:8443/", Reach.PUBLIC).lane is Lane.PUBLIC


def test_an_address_with_a_scope_or_of_another_kind_is_refused() -> None:
    assert not is_public(ipaddress.ip_address("2606:4700::1111%eth0"))
    with pytest.raises(AddressRefusedError):
        socket_for(Lane.PUBLIC, (socket.AF_UNIX, socket.SOCK_STREAM, 0, "", ("/run/x",)))


@pytest.mark.parametrize("host", SPELLINGS)
def test_other_spellings_of_addresses_are_refused_to_users(host: str) -> None:
    with pytest.raises(NetTrouble) as refused:
        route(f"https://{host}/", Reach.PUBLIC)
    assert refused.value.kind == "refused"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/", "ftp://example.org/", "file:///etc/passwd", "//example.org/", "example.org", "https://",
        "https://u:s3cret@example.org/", "https://s3cret@example.org/", "https://@127.0.0.1/", "https://example.org:22/",
        "https://example.org:0/", "https://example.org:99999/", "https://[::1", "https://a b/",
        "https://-a.org/", "https://a%00.org/", "",
    ],
)  # fmt: skip
def test_addresses_that_users_may_not_give(url: str) -> None:
    with pytest.raises(NetTrouble) as refused:
        route(url, Reach.PUBLIC)
    assert refused.value.kind == "refused"
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost:1/", "https://[::1]:1/", "http://127.0.0.1/"])
def test_an_upstream_may_be_on_this_machine(url: str) -> None:
    assert route(url, Reach.UPSTREAM).lane is Lane.LOOPBACK


@pytest.mark.parametrize(
    "url", ["http://example.org/", "http://8.8.8.8/", "https://10.0.0.1/", "http://192.168.1.1/", "https://127.1/"]
)
def test_an_upstream_is_not_plain_http_elsewhere_nor_private(url: str) -> None:
    with pytest.raises(NetTrouble):
        route(url, Reach.UPSTREAM)


class Resolver(AbstractResolver):
    """Gives one answer after the other."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self.answers.pop(0)
        ]

    async def close(self) -> None:
        return


def asked(resolver: Resolver, url: str, reach: Reach, times: int = 1) -> tuple[list[str], list[str]]:
    """The kinds of trouble, and where connections were really tried."""
    tried: list[str] = []

    async def connect(sock: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")

    async def main() -> list[str]:
        asyncio.get_running_loop().sock_connect = connect  # type: ignore[assignment, method-assign]
        kinds: list[str] = []
        for _ in range(times):
            client = Client(SystemClock(), user_agent="test", resolver=resolver)
            with pytest.raises(NetTrouble) as trouble:
                await client.get(url, reach=reach, timeout_s=5, max_bytes=10)
            kinds.append(trouble.value.kind)
            await client.close()
        return kinds

    return asyncio.run(main()), tried


@pytest.mark.parametrize("reach", list(Reach))
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_name_of_a_private_address_is_refused(address: str, reach: Reach) -> None:
    assert asked(Resolver([address]), "https://example.org/", reach) == (["refused"], [])


@pytest.mark.parametrize("reach", list(Reach))
def test_a_name_that_turns_from_public_to_private_is_refused_the_second_time(reach: Reach) -> None:
    rebinding = Resolver(["8.8.8.8"], ["127.0.0.1"])
    assert asked(rebinding, "https://example.org/", reach, times=2) == (["network", "refused"], ["8.8.8.8"])


def test_of_several_addresses_the_private_ones_are_never_tried() -> None:
    _, tried = asked(Resolver(["10.0.0.1", "8.8.8.8", "127.0.0.1"]), "https://example.org/", Reach.PUBLIC)
    assert set(tried) == {"8.8.8.8"}


def test_a_name_for_this_machine_that_leads_elsewhere_is_refused() -> None:
    assert asked(Resolver(["8.8.8.8"]), "http://localhost:1/", Reach.UPSTREAM) == (["refused"], [])
