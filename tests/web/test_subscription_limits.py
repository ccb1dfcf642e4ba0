"""How many may subscribe, how often, from where, and at the same moment."""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.web.calling import Answer, send
from tests.web.subscribing import (
    ADA,
    MAIL,
    SECTION,
    audit,
    count,
    in_catalogue,
    queued,
    row,
    site,
    subscribe,
    verify,
)

from vacancy.store.engine import Store

PROXY = ipaddress.ip_network("10.0.0.0/8")


def is_limited(answer: Answer) -> bool:
    if answer.status != 429:
        assert answer.status in (200, 201), answer.body
        return False
    assert answer.error["code"] == "rate_limited"
    assert answer.headers["retry-after"] == str(answer.error["details"]["retryAfterS"])
    return True


# Of one contact


def test_a_contact_has_so_many_and_no_more(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, per_contact=2)
    first = subscribe(app, sectionIndex="00001").json()
    verify(app, house, first["subscriptionId"])
    assert subscribe(app, sectionIndex="00002").status == 201
    assert is_limited(subscribe(app, sectionIndex="00003"))
    assert count(house) == 2
    # What is there already is no new one, and another contact has a count of its own.
    assert subscribe(app, sectionIndex="00002").status == 200
    assert subscribe(app, sectionIndex="00003", contactValue="bob@example.com").status == 201
    send(app, "POST", "/api/unsubscribe", {"unsubscribeToken": first["unsubscribeToken"]})
    assert subscribe(app, sectionIndex="00003").status == 201


def test_what_strangers_asked_for_is_not_held_against_a_verified_contact(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, per_contact=2)
    first = subscribe(app, sectionIndex="00001").json()
    subscribe(app, sectionIndex="00002")
    assert is_limited(subscribe(app, sectionIndex="00003"))
    verify(app, house, first["subscriptionId"])
    send(app, "POST", "/api/unsubscribe", {"unsubscribeToken": first["unsubscribeToken"]})
    assert subscribe(app, sectionIndex="00004").status == 201


def test_a_section_has_so_many_and_no_more(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, per_section=2)
    for name in ("ada", "bob"):
        assert subscribe(app, contactValue=f"{name}@example.com").status == 201
    assert is_limited(subscribe(app, contactValue="eve@example.com"))
    assert subscribe(app).status == 200
    assert subscribe(app, contactValue="eve@example.com", sectionIndex="54321").status == 201
    assert count(house) == 3


# From one address


def test_an_address_may_try_so_often(sqlite_store: Store, clock: ManualClock) -> None:
    app, house = site(sqlite_store, clock, per_ip=3)
    # Every attempt counts, however it ends.
    assert subscribe(app, campus="ZZ").status == 404
    assert subscribe(app, contactValue="nobody").status == 400
    assert send(app, "POST", "/api/verify/resend", MAIL).status == 202
    assert is_limited(subscribe(app))
    assert is_limited(subscribe(app, clientContext={"ip": "198.51.100.7"}))
    assert send(app, "POST", "/api/verify/resend", MAIL).status == 429
    assert count(house) == 0
    assert subscribe(app, client="127.0.0.2").status == 201


def test_leaving_is_never_refused_for_its_number(sqlite_store: Store, clock: ManualClock) -> None:
    app, _ = site(sqlite_store, clock, per_ip=1)
    token = subscribe(app).json()["unsubscribeToken"]
    assert is_limited(subscribe(app))
    assert send(app, "POST", "/api/unsubscribe", {"unsubscribeToken": token}).status == 200


def test_nobody_finds_the_owner_of_a_number_by_trying(sqlite_store: Store, clock: ManualClock) -> None:
    app, house = site(sqlite_store, clock, per_ip=3)
    told = subscribe(app).json()

    def leave(address: str = "127.0.0.9", **wish: object) -> int:
        return send(app, "POST", "/api/unsubscribe", wish, client=address).status

    number = told["subscriptionId"]
    wrong = [(number, "eve@example.com"), (number + 1, ADA), (number, "nobody")]
    assert [leave(subscriptionId=each, contactValue=value) for each, value in wrong] == [400, 404, 400]
    assert leave(subscriptionId=number, contactValue=ADA) == 429
    assert row(house, number).status == "pending"
    # Somebody else is not held up, nor is whoever has the token; and leaving counts for nothing.
    for _ in range(5):
        assert leave("127.0.0.8", subscriptionId=number, contactValue=ADA) == 200
    assert leave(unsubscribeToken=told["unsubscribeToken"]) == 200


@pytest.mark.parametrize(
    ("peer", "said", "other"),
    [
        # Without a proxy of ours, what the client says of itself counts for nothing.
        ("192.0.2.1", "198.51.100.1", "198.51.100.2"),
        ("192.0.2.1", "10.0.0.1", "10.0.0.2"),
        # Behind one, the last hop counts, and not what the client put before it.
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "198.51.100.2, 203.0.113.9"),
        ("10.0.0.1", "203.0.113.9, 10.0.0.7", "203.0.113.9, 10.0.0.8"),
        # One household is one address.
        ("10.0.0.1", "2001:db8:1:2::1", "2001:db8:1:2:ffff::9"),
        ("2001:db8:1:2::1", "", "198.51.100.2"),
    ],
)
def test_these_are_one_address(
    sqlite_store: Store, clock: ManualClock, peer: str, said: str, other: str
) -> None:  # fmt: skip
    app, _ = site(sqlite_store, clock, proxies=[PROXY], per_ip=1)
    assert not is_limited(subscribe(app, headers={"X-Forwarded-For": said}, client=peer))
    assert is_limited(subscribe(app, headers={"X-Forwarded-For": other}, client=peer))


@pytest.mark.parametrize(("first", "second"), [("203.0.113.9", "203.0.113.10"), ("2001:db8:1::1", "2001:db8:2::1")])
def test_these_are_two_behind_a_proxy_of_ours(
    sqlite_store: Store, clock: ManualClock, first: str, second: str
) -> None:  # fmt: skip
    app, _ = site(sqlite_store, clock, proxies=[PROXY], per_ip=1)
    for hop in (first, second):
        assert not is_limited(subscribe(app, headers={"X-Forwarded-For": hop}, client="10.0.0.1"))
        assert is_limited(subscribe(app, headers={"X-Forwarded-For": hop}, client="10.0.0.1"))


# At the same moment


def together(app: FastAPI, requests: int) -> Counter[int]:
    """So many threads, each with a loop of its own, that all begin when the last is there."""
    ready = threading.Barrier(requests)

    def ask(_: int) -> int:
        ready.wait(60)
        return subscribe(app).status

    with ThreadPoolExecutor(requests) as threads:
        return Counter(threads.map(ask, range(requests)))


@pytest.mark.parametrize("known", [True, False])
def test_two_hundred_at_once_are_one_row(store: Store, clock: ManualClock, known: bool) -> None:
    app, house = site(store, clock, per_ip=1000)
    if known:
        in_catalogue(house, SECTION["sectionIndex"])
    assert together(app, 200) == {201: 1, 200: 199}
    (number,) = {subscribe(app).json()["subscriptionId"]}
    assert count(house) == 1
    assert audit(house, number) == ["created", "verification_queued"]
    assert queued(house, "verification") == 1


def test_two_hundred_at_once_with_one_key_are_one_row_and_one_answer(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, per_ip=1000)
    ready = threading.Barrier(200)

    def ask(_: int) -> tuple[int, str]:
        ready.wait(60)
        answer = subscribe(app, headers={"Idempotency-Key": "one-key"})
        return answer.status, answer.json()["manageToken"]

    with ThreadPoolExecutor(200) as threads:
        assert len(set(threads.map(ask, range(200)))) == 1
    assert count(house) == 1


def test_the_limit_of_a_contact_holds_against_many_at_once(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, per_ip=1000, per_contact=5)
    ready = threading.Barrier(40)

    def ask(number: int) -> bool:
        ready.wait(60)
        return is_limited(subscribe(app, sectionIndex=f"{number:05d}", contactValue=ADA))

    with ThreadPoolExecutor(40) as threads:
        assert Counter(threads.map(ask, range(40))) == {False: 5, True: 35}
    assert count(house) == 5


def test_the_limit_of_a_section_holds_against_many_at_once(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, per_ip=1000, per_section=5)
    ready = threading.Barrier(40)

    def ask(number: int) -> bool:
        ready.wait(60)
        return is_limited(subscribe(app, contactValue=f"person{number}@example.com"))

    with ThreadPoolExecutor(40) as threads:
        assert Counter(threads.map(ask, range(40))) == {False: 5, True: 35}
    assert count(house) == 5
