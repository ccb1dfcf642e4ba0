"""`/api/admin`: for whoever has the token, and for nobody else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.support.queue_rows import MAIL, add_dead, add_message, change, columns_of
from tests.web.calling import Answer, ask, fill, send
from tests.web.conftest import make_house
from tests.web.subscribing import ADA, Registrar, everything, subscribe

from vacancy.store import outbox
from vacancy.store.engine import Store
from vacancy.web.app import create_app
from vacancy.web.context import House

TOKEN = "a token of the operator's, long and random"
LARGEST = 2**63 - 1
ADDRESSES = [
    ("GET", "/api/admin/queue"), ("GET", "/api/admin/queue/1"), ("POST", "/api/admin/queue/1/requeue"),
    ("POST", "/api/admin/queue/requeue"), ("GET", "/api/admin/sending"), ("POST", "/api/admin/sending/stop"),
    ("POST", "/api/admin/sending/resume"), ("GET", "/api/admin/outbox"), ("GET", "/api/admin/outbox/1"),
]  # fmt: skip


@pytest.fixture
def house(store: Store, clock: ManualClock) -> House:
    return make_house(store, clock, admin_token=TOKEN)


@pytest.fixture
def told(app: FastAPI) -> dict[str, Any]:
    """Somebody who waits: message 1 asks for a confirmation."""
    found: dict[str, Any] = subscribe(app).json()
    return found


@pytest.fixture
def closed_app(sqlite_house: House) -> Iterator[FastAPI]:
    """Without a token."""
    made = create_app(sqlite_house)
    yield made
    made.state.feed.close()


def admin(app: FastAPI, method: str, target: str, body: object = None, token: str = TOKEN) -> Answer:
    return send(app, method, f"/api/admin/{target}", body, {"authorization": f"Bearer {token}"})


def test_wrong_tokens_are_counted_and_the_right_one_is_never_shut_out(sqlite_store: Store, clock: ManualClock) -> None:
    app = create_app(make_house(sqlite_store, clock, admin_token=TOKEN, per_ip=2))
    # Asking without one is how a browser begins; it is no guess.
    assert {ask(app, "/api/admin/queue").status for _ in range(5)} == {401}
    answers = [admin(app, "GET", "queue", token=f"guess {number}") for number in range(4)]
    assert [answer.status for answer in answers] == [401, 401, 429, 429]
    assert answers[2].error["code"] == "rate_limited"
    assert int(answers[2].headers["retry-after"]) > 0
    assert admin(app, "GET", "queue").status == 200
    guess = {"authorization": "Basic " + b64encode(b"me:guess").decode()}
    refused = ask(app, "/outbox", headers=guess)
    assert (refused.status, refused.headers["content-type"].partition(";")[0]) == (429, "text/html")
    assert refused.headers["retry-after"]
    other = send(app, "GET", "/api/admin/queue", None, {"authorization": "Bearer x"}, "192.0.2.7")
    assert other.status == 401
    app.state.feed.close()


def test_every_address_below_it_is_tried_here(app: FastAPI) -> None:
    document = ask(app, "/openapi.json").json()
    found = [
        (verb.upper(), path.replace("{notification_id}", "1").replace("{outbox_id}", "1"))
        for path, item in document["paths"].items() for verb in item if path.startswith("/api/admin")
    ]  # fmt: skip
    assert sorted(found) == sorted(ADDRESSES)


@pytest.mark.parametrize(("method", "address"), ADDRESSES)
def test_nobody_else_comes_in(
    app: FastAPI, house: House, told: dict[str, Any], method: str, address: str
) -> None:  # fmt: skip
    before = everything(house)
    for header in (None, "Bearer ", "Bearer wrong", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer ünïcode"):
        answer = send(app, method, address, None, {"authorization": header} if header else {})
        assert (answer.status, answer.error["code"]) == (401, "unauthorized"), header
        assert answer.headers["www-authenticate"] == "Bearer"
    assert everything(house) == before


@pytest.mark.parametrize(("method", "address"), ADDRESSES)
def test_without_a_token_in_the_settings_it_is_closed(closed_app: FastAPI, method: str, address: str) -> None:
    for header in (None, "Bearer ", f"Bearer {TOKEN}", "Bearer None"):
        answer = send(closed_app, method, address, None, {"authorization": header} if header else {})
        assert (answer.status, answer.error["code"]) == (403, "admin_closed"), header
        assert "web.admin_token" in answer.error["message"]


def test_the_queue_in_pages(app: FastAPI, house: House, told: dict[str, Any]) -> None:
    who = told["subscriptionId"]
    dead = fill(house, add_dead, who)
    page = admin(app, "GET", "queue").json()
    assert [item["notificationId"] for item in page["items"]] == [1, dead]
    assert page["nextAfterId"] == dead
    first, second = page["items"]
    assert (first["status"], first["kind"], first["standing"]) == ("pending", "verification", "may go now")
    assert (second["standing"], second["error"]["code"]) == (
        "failed after 3 tries: provider_error: the relay said no", "provider_error"
    )  # fmt: skip
    assert admin(app, "GET", "queue?limit=1").json()["nextAfterId"] == 1
    assert [i["notificationId"] for i in admin(app, "GET", "queue?after_id=1").json()["items"]] == [dead]
    assert admin(app, "GET", f"queue?after_id={dead}").json() == {"items": [], "nextAfterId": dead}
    assert [i["notificationId"] for i in admin(app, "GET", "queue?status=failed").json()["items"]] == [dead]
    assert admin(app, "GET", "queue?channel=telegram").json()["items"] == []
    for query in ("limit=0", "limit=201", "after_id=-1", "status=lost", "chanel=email", "channel=E"):
        assert admin(app, "GET", f"queue?{query}").error["code"] == "validation_failed"


def test_no_answer_of_the_queue_has_an_address_or_a_token(app: FastAPI, house: House, told: dict[str, Any]) -> None:
    fill(house, add_dead, told["subscriptionId"])
    for target in ("queue", "queue/1", "queue/2"):
        answer = admin(app, "GET", target)
        assert b"a\xe2\x80\xa6@example.com" in answer.body
        for secret in (ADA, told["manageToken"], told["unsubscribeToken"]):
            assert secret.encode() not in answer.body
        assert answer.headers["cache-control"] == "no-store"


def test_one_message_whole(app: FastAPI, house: House, told: dict[str, Any], clock: ManualClock) -> None:
    fill(house, change, 1, fanout_status="sent", provider_message_id=MAIL.message_id)
    fill(house, outbox.add, clock.now(), MAIL)
    found = admin(app, "GET", "queue/1").json()
    assert (found["status"], found["outboxId"], found["subject"]) == ("sent", 1, "asks to confirm the contact")
    assert [note["event"] for note in found["audit"]] == ["created", "verification_queued"]
    answer = admin(app, "GET", "queue/99")
    assert (answer.status, answer.error["code"]) == (404, "message_not_found")


def test_one_message_from_the_start(app: FastAPI, house: House, told: dict[str, Any]) -> None:
    dead = fill(house, add_dead, told["subscriptionId"])
    answer = admin(app, "POST", f"queue/{dead}/requeue")
    assert (answer.status, answer.json()["status"], answer.json()["attempts"]) == (200, "pending", 0)
    held = fill(house, add_message, told["subscriptionId"], locked_by="w")
    sent = fill(house, add_message, told["subscriptionId"], fanout_status="sent")
    refused = {number: admin(app, "POST", f"queue/{number}/requeue") for number in (held, sent, LARGEST)}
    assert [(answer.status, answer.error["code"]) for answer in refused.values()] == [
        (409, "message_in_hand"), (409, "message_sent"), (404, "message_not_found"),
    ]  # fmt: skip


def test_dead_letters_from_the_start(app: FastAPI, house: House, told: dict[str, Any]) -> None:
    dead = [fill(house, add_dead, told["subscriptionId"], code) for code in ("timeout", "unknown", "unknown")]
    assert admin(app, "POST", "queue/requeue", {"channel": "webhook"}).json()["requeued"] == 0
    assert admin(app, "POST", "queue/requeue", {"code": "timeout"}).json()["requeued"] == 1
    assert fill(house, columns_of, dead[0]).fanout_status == "pending"
    assert admin(app, "POST", "queue/requeue").json()["requeued"] == 2
    answer = admin(app, "POST", "queue/requeue", {"chanel": "email"})
    assert (answer.status, answer.error["code"]) == (400, "validation_failed")


def test_the_switch(app: FastAPI, house: House) -> None:
    running = {"stopped": False, "reason": None, "since": None}
    assert admin(app, "GET", "sending").json() == running
    stopped = admin(app, "POST", "sending/stop", {"reason": "  the relay is moved "}).json()
    assert stopped == {"stopped": True, "reason": "the relay is moved", "since": "2026-01-05T12:00:00.000Z"}
    assert admin(app, "GET", "sending").json() == stopped
    assert admin(app, "POST", "sending/resume").json() == running
    assert admin(app, "GET", "sending").json() == running
    assert admin(app, "POST", "sending/stop").json()["reason"] == "by hand"
    assert admin(app, "POST", "sending/stop", {"reason": ""}).status == 400


def test_the_outbox(app: FastAPI, house: House, clock: ManualClock) -> None:
    for number in (1, 2, 3):
        fill(house, outbox.add, clock.now(), replace(MAIL, message_id=f"m{number}"))
    page = admin(app, "GET", "outbox?limit=2").json()
    assert [item["outboxId"] for item in page["items"]] == [3, 2]
    assert page["nextBeforeId"] == 2
    page = admin(app, "GET", "outbox?limit=2&before_id=2").json()
    assert ([item["outboxId"] for item in page["items"]], page["nextBeforeId"]) == ([1], None)
    whole = admin(app, "GET", "outbox/1").json()
    assert (whole["html"], whole["text"], whole["toAddress"]) == (MAIL.html, MAIL.text, ADA)
    assert admin(app, "GET", "outbox/9").error["code"] == "mail_not_found"


def test_looking_changes_nothing(app: FastAPI, house: House, told: dict[str, Any], clock: ManualClock) -> None:
    Registrar(house, clock)
    fill(house, add_dead, told["subscriptionId"])
    before = everything(house)
    for method, address in ADDRESSES:
        if method == "GET":
            admin(app, "GET", address.removeprefix("/api/admin/"))
        else:
            assert admin(app, "GET", address.removeprefix("/api/admin/")).status in (405, 422)
    assert everything(house) == before
