"""The contract of subscriptions over real HTTP, on both databases: every field, every error that the published document
tells of, and two hundred at once."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.web.calling import Answer, fill
from tests.web.serving import Address, served
from tests.web.subscribing import MAIL, SECTION, Registrar, audit, count, in_catalogue, link_token, queued, site

from vacancy.model.subscriptions import Status
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.web.context import House

NOBODYS = "0123456789abcdef" * 2
WISH = {**SECTION, **MAIL}
# Faults of ours; they are met elsewhere.
_OURS = {"internal_error", "unavailable"}
Met = tuple[str, str, int, str]


class Caller:
    """Asks, and keeps which error was met where."""

    def __init__(self, ask: Address) -> None:
        self._ask = ask
        self.met: set[Met] = set()

    def __call__(
        self, verb: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:  # fmt: skip
        answer = self._ask(verb, path, body, headers)
        if answer.status >= 400:
            error = answer.error
            assert error["traceId"] == answer.headers["x-trace-id"]
            assert error["message"]
            assert answer.headers["cache-control"] == "no-store"
            place = re.sub(r"/[0-9]+$", "/{subscription_id}", path.partition("?")[0])
            self.met.add((verb.lower(), place, answer.status, error["code"]))
        return answer


@pytest.fixture
def place(store: Store, clock: ManualClock) -> tuple[FastAPI, House]:
    return site(store, clock, per_ip=30, per_contact=3)


@pytest.fixture
def call(place: tuple[FastAPI, House]) -> Iterator[Caller]:
    with served(place[0]) as address:
        yield Caller(address)


# They have tests of their own, which know what their channels need.
_OF_CHANNELS = ("/api/telegram/update", "/api/telegram/link", "/api/webpush/key")


def told_of(document: Mapping[str, Any]) -> set[Met]:
    """Every error of the document's addresses of subscriptions."""
    return {
        (verb, path, int(status), code)
        for path, item in document["paths"].items()
        for verb, operation in item.items()
        if "subscriptions" in operation.get("tags", ()) and path not in _OF_CHANNELS
        for status, answer in operation["responses"].items()
        if int(status) >= 400
        for code in re.findall(r"`(\w+)`:", answer["description"])
        if code not in _OURS
    }


def suppress(tx: Tx, subscription_id: int) -> None:
    rows.move(tx, tx.now(), rows.read(tx, subscription_id), Status.SUPPRESSED, event="status_changed", reason="bounce")


def test_a_subscription_from_its_first_word_to_its_last(
    call: Caller, place: tuple[FastAPI, House], clock: ManualClock
) -> None:  # fmt: skip
    house = place[1]
    registrar = Registrar(house, clock)
    in_catalogue(house, "12345")
    registrar.shows(12345)
    first = call("POST", "/api/subscribe", {**WISH, "preferences": {"maxNotifications": 5}})
    assert first.status == 201
    told = first.json()
    number, preferences = told["subscriptionId"], told["preferences"]
    assert set(told) == {
        "subscriptionId", "status", "requiresVerification", "existing", "unsubscribeToken", "manageToken",
        "webhookSecret", "topic", "term", "campus", "sectionIndex", "sectionResolved", "sectionStatus",
        "registrationLink", "preferences", "traceId",
    }  # fmt: skip
    assert (told["status"], told["sectionResolved"], told["sectionStatus"]) == ("pending", True, "Open")
    assert told["registrationLink"].endswith("#keyword=12345&semester=12025")
    assert (preferences["maxNotifications"], preferences["notifyOn"]) == (5, ["open"])
    again = call("POST", "/api/subscribe", WISH)
    assert (again.status, again.json()["existing"], again.json()["preferences"]) == (200, True, preferences)
    begun = call("POST", "/api/verify", {"token": link_token(house, number)})
    assert (begun.status, begun.json()["subscriptionIds"]) == (200, [number])
    path, bearer = f"/api/subscriptions/{number}", {"Authorization": f"Bearer {told['manageToken']}"}
    rests = call("PATCH", path, {"status": "paused", "preferences": {"maxNotifications": 9}}, bearer)
    assert (rests.status, rests.json()["status"]) == (200, "paused")
    shown = call("GET", path, headers=bearer).json()
    assert shown["preferences"] == {**preferences, "maxNotifications": 9}
    left = call("POST", "/api/unsubscribe", {"unsubscribeToken": told["unsubscribeToken"]}).json()
    assert (left["status"], left["previousStatus"]) == ("unsubscribed", "paused")
    assert call.met == set()


def test_every_error_that_is_told_of_is_met_and_no_other(
    call: Caller, place: tuple[FastAPI, House], clock: ManualClock
) -> None:  # fmt: skip
    app, house = place
    in_catalogue(house, "77777", campus="NK")
    _subscribing_wrongly(call)
    told = call("POST", "/api/subscribe", WISH, {"Idempotency-Key": "one"}).json()
    call("POST", "/api/subscribe", {**WISH, "locale": "zh-CN"}, {"Idempotency-Key": "one"})
    _managing_wrongly(call, told)
    _confirming_wrongly(call, link_token(house, told["subscriptionId"]), clock)
    _leaving_wrongly(call, told["subscriptionId"])
    fill(house, suppress, told["subscriptionId"])
    call("POST", "/api/subscribe", {**WISH, "sectionIndex": "54321"})
    call("POST", "/api/unsubscribe", {"unsubscribeToken": told["unsubscribeToken"]})
    bearer = {"Authorization": f"Bearer {told['manageToken']}"}
    call("PATCH", f"/api/subscriptions/{told['subscriptionId']}", {"status": "active"}, bearer)
    _asking_too_often(call)
    assert call.met == told_of(app.openapi())


def _subscribing_wrongly(call: Caller) -> None:
    call("POST", "/api/subscribe", {**WISH, "sectionIndex": "1"})
    call("POST", "/api/subscribe?term=12025", WISH)
    call("POST", "/api/subscribe", {**WISH, "contactValue": "nobody"})
    call("POST", "/api/subscribe", {**WISH, "contactType": "pigeon"})
    call("POST", "/api/subscribe", {**WISH, "term": "22026"})
    conflict = call("POST", "/api/subscribe", {**WISH, "sectionIndex": "77777"})
    assert conflict.error["details"] == {"campus": "NK", "term": "12025"}


def _managing_wrongly(call: Caller, told: Mapping[str, Any]) -> None:
    path, bearer = f"/api/subscriptions/{told['subscriptionId']}", {"Authorization": f"Bearer {told['manageToken']}"}
    for verb, body in (("GET", None), ("PATCH", {})):
        call(verb, f"{path}?token={NOBODYS}", body)
        call(verb, "/api/subscriptions/0", body, bearer)
    call("PATCH", path, {"preferences": {"maxNotifications": 99}}, bearer)
    call("PATCH", path, {"status": "active"}, bearer)


def _confirming_wrongly(call: Caller, link: str, clock: ManualClock) -> None:
    for token in ("", "nonsense" * 4):
        call("POST", "/api/verify", {"token": token})
    call("POST", "/api/verify?x=1", {"token": link})
    clock.jump(86_401)
    call("POST", "/api/verify", {"token": link})
    for body in ({}, {"contactValue": "nobody"}, {**MAIL, "contactType": "pigeon"}):
        call("POST", "/api/verify/resend", body)
    call("POST", "/api/verify/resend?x=1", MAIL)


def _leaving_wrongly(call: Caller, number: int) -> None:
    call("POST", "/api/unsubscribe", {})
    call("POST", "/api/unsubscribe?x=1", {})
    call("POST", "/api/unsubscribe", {"unsubscribeToken": NOBODYS})
    call("POST", "/api/unsubscribe", {"subscriptionId": number, "contactValue": "eve@example.com"})


def _asking_too_often(call: Caller) -> None:
    bob = {**WISH, "contactValue": "bob@example.com"}
    answers = [call("POST", "/api/subscribe", {**bob, "sectionIndex": f"0000{nth}"}).status for nth in range(4)]
    assert answers == [201, 201, 201, 429]
    wrong = {"subscriptionId": 999, "contactValue": "eve@example.com"}
    for path, body in (("/api/verify/resend", MAIL), ("/api/unsubscribe", wrong)):
        while (answer := call("POST", path, body)).status != 429:
            assert answer.status in (202, 404)
        assert int(answer.headers["retry-after"]) == answer.error["details"]["retryAfterS"] > 0


@pytest.mark.parametrize("known", [True, False])
def test_two_hundred_threads_over_http_are_one_row(store: Store, clock: ManualClock, known: bool) -> None:
    app, house = site(store, clock, per_ip=1000)
    if known:
        in_catalogue(house, SECTION["sectionIndex"])
    ready = threading.Barrier(200)
    with served(app) as ask, ThreadPoolExecutor(200) as threads:

        def subscribe(_: int) -> tuple[int, int]:
            ready.wait(60)
            answer = ask("POST", "/api/subscribe", WISH)
            return answer.status, answer.json()["subscriptionId"]

        told = Counter(threads.map(subscribe, range(200)))
    (number,) = {number for _, number in told}
    assert told == {(201, number): 1, (200, number): 199}
    assert count(house) == 1
    assert audit(house, number).count("created") == 1
    assert queued(house, "verification") == 1
