"""What an owner does over the API: look, change, confirm, leave; and what nobody else can."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from sqlalchemy import update
from tests.support.clock import ManualClock
from tests.web.calling import Answer, ask, fill, send
from tests.web.subscribing import (
    MAIL,
    Registrar,
    audit,
    count,
    everything,
    in_catalogue,
    link_token,
    queued,
    row,
    subscribe,
    verify,
)

from vacancy.model.subscriptions import Status
from vacancy.pipeline.fanout import fan_out_some
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.store.schema import open_event_notifications
from vacancy.web.context import House

HOUR = 3600
DAY = 24 * HOUR
NOBODYS = "0123456789abcdef" * 2


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.error["code"]


def look(app: FastAPI, told: dict[str, Any], token: str | None = None) -> Answer:
    bearer = {"Authorization": f"Bearer {token or told['manageToken']}"}
    return ask(app, f"/api/subscriptions/{told['subscriptionId']}", headers=bearer)


def change(app: FastAPI, told: dict[str, Any], body: object, token: str | None = None) -> Answer:
    bearer = {"Authorization": f"bearer {token or told['manageToken']}"}
    return send(app, "PATCH", f"/api/subscriptions/{told['subscriptionId']}", body, bearer)


def leave(app: FastAPI, **body: Any) -> Answer:
    return send(app, "POST", "/api/unsubscribe", body)


def active(app: FastAPI, house: House) -> dict[str, Any]:
    told: dict[str, Any] = subscribe(app).json()
    assert verify(app, house, told["subscriptionId"]).status == 200
    return told


def suppress(house: House, told: dict[str, Any]) -> None:
    def step(tx: Tx) -> None:
        found = rows.read(tx, told["subscriptionId"])
        assert rows.move(tx, tx.now(), found, Status.SUPPRESSED, event="status_changed", reason="hard bounce")

    fill(house, step)


# Looking


def test_its_owner_sees_all_of_it_and_no_token(app: FastAPI, house: House) -> None:
    in_catalogue(house, "12345")
    told = subscribe(app, clientContext={"ip": "192.0.2.1"}).json()
    answer = look(app, told)
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    shown = answer.json()
    assert shown.pop("traceId") == answer.headers["x-trace-id"]
    assert shown == {
        "subscriptionId": told["subscriptionId"], "status": "pending", "topic": "soc:12025:NB:12345", "term": "12025",
        "campus": "NB", "sectionIndex": "12345", "sectionResolved": True, "contactType": "email", "locale": "en-US",
        "webhookSecret": None, "isVerified": False, "notifiedCount": 0, "lastKnownSectionStatus": "Unknown",
        "createdAt": "2026-01-05T12:00:00.000Z", "updatedAt": "2026-01-05T12:00:00.000Z", "lastNotifiedAt": None,
        "preferences": told["preferences"],
    }  # fmt: skip
    for secret in (told["manageToken"], told["unsubscribeToken"], "ada@example.com", "192.0.2.1"):
        assert secret.encode() not in answer.body


def test_the_token_may_stand_in_the_address(app: FastAPI) -> None:
    told = subscribe(app).json()
    path = f"/api/subscriptions/{told['subscriptionId']}"
    assert ask(app, f"{path}?token={told['manageToken']}").status == 200


def test_nobody_else_learns_whether_it_exists(app: FastAPI) -> None:
    ada = subscribe(app).json()
    bob = subscribe(app, contactValue="bob@example.com").json()
    wrong = [NOBODYS, bob["manageToken"], ada["unsubscribeToken"], ada["manageToken"].upper(), "é" * 20, "short"]
    answers = [look(app, ada, token) for token in wrong]
    answers += [look(app, {**ada, "subscriptionId": 999}), ask(app, f"/api/subscriptions/{ada['subscriptionId']}")]
    answers += [change(app, ada, {"status": "paused"}, NOBODYS), change(app, {**ada, "subscriptionId": 999}, {})]
    told = {(answer.status, *sorted(item for item in answer.error.items() if item[0] != "traceId"))
            for answer in answers}  # fmt: skip
    assert told == {
        (404, ("code", "subscription_not_found"),
         ("message", "there is no such subscription, or the token is not its own"))
    }  # fmt: skip


@pytest.mark.parametrize("number", ["0", "-1", "x", str(2**63), "1.5"])
def test_a_number_that_is_none(sqlite_app: FastAPI, number: str) -> None:
    assert code(ask(sqlite_app, f"/api/subscriptions/{number}?token={NOBODYS}")) == (422, "validation_failed")


# Changing


def test_only_what_is_sent_is_changed(app: FastAPI, house: House) -> None:
    told = active(app, house)
    preferences = {"maxNotifications": 9, "deliveryWindow": {"startMinutes": 480}}
    shown = change(app, told, {"preferences": preferences, "locale": "zh_CN"}).json()
    assert (shown["locale"], shown["status"]) == ("zh-CN", "active")
    assert shown["preferences"] == {
        **told["preferences"], "maxNotifications": 9, "deliveryWindow": {"startMinutes": 480, "endMinutes": 1440},
    }  # fmt: skip
    snoozed = change(app, told, {"preferences": {"snoozeUntil": "2026-03-01T00:00:00Z"}}).json()["preferences"]
    assert snoozed == {**shown["preferences"], "snoozeUntil": "2026-03-01T00:00:00.000Z"}
    awake = change(app, told, {"preferences": {"snoozeUntil": None}}).json()["preferences"]
    assert awake == shown["preferences"]
    assert look(app, told).json()["preferences"] == awake


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"status": "unsubscribed"}, "status"),
        ({"preferences": {"maxNotifications": 99}}, "preferences.maxNotifications"),
        ({"preferences": {"deliveryWindow": {"endMinutes": 0}}}, "preferences.deliveryWindow"),
        ({"preference": {}}, "preference"),
        ({"contactValue": "bob@example.com"}, "contactValue"),
    ],
)
def test_a_bad_change_is_named_by_its_path(app: FastAPI, house: House, body: Any, path: str) -> None:
    told = subscribe(app).json()
    before = everything(house)
    answer = change(app, told, body)
    assert code(answer) == (400, "validation_failed")
    assert [line.partition(": ")[0] for line in answer.error["details"]] == [path]
    assert everything(house) == before


def test_pausing_and_going_on(app: FastAPI, house: House) -> None:
    told = active(app, house)
    assert change(app, told, {"status": "paused"}).json()["status"] == "paused"
    assert change(app, told, {"status": "paused"}).json()["status"] == "paused"
    assert change(app, told, {"status": "active"}).json()["status"] == "active"
    assert audit(house, told["subscriptionId"])[-2:] == ["status_changed", "status_changed"]


def test_no_alert_left_to_come_is_a_pause(app: FastAPI, house: House, clock: ManualClock) -> None:
    """Otherwise it would be called active and never say a word."""
    told = active(app, house)
    fill(house, _had_two, told["subscriptionId"])
    assert change(app, told, {"preferences": {"maxNotifications": 3}}).json()["status"] == "active"
    shown = change(app, told, {"preferences": {"maxNotifications": 2}}).json()
    assert (shown["status"], shown["notifiedCount"]) == ("paused", 2)
    assert audit(house, told["subscriptionId"])[-1] == "status_changed"
    assert change(app, told, {"status": "active"}).json()["notifiedCount"] == 0


def _had_two(tx: Tx, subscription_id: int) -> None:
    rows.change(tx, tx.now(), subscription_id, notified_count=2)


def test_nobody_confirms_or_pauses_by_a_change(app: FastAPI) -> None:
    told = subscribe(app).json()
    for status in ("active", "paused"):
        assert code(change(app, told, {"status": status})) == (409, "illegal_move")


def test_what_has_ended_is_not_changed(app: FastAPI, house: House) -> None:
    told = active(app, house)
    leave(app, unsubscribeToken=told["unsubscribeToken"])
    assert code(change(app, told, {"status": "active"})) == (409, "subscription_ended")
    assert look(app, told).json()["status"] == "unsubscribed"


# Confirming


def test_confirming_begins_all_that_waits_for_the_address(app: FastAPI, house: House) -> None:
    first, second = subscribe(app).json(), subscribe(app, sectionIndex="54321").json()
    other = subscribe(app, contactValue="bob@example.com").json()
    answer = verify(app, house, first["subscriptionId"])
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {
        "subscriptionIds": [first["subscriptionId"], second["subscriptionId"]], "status": "active",
        "traceId": answer.headers["x-trace-id"],
    }  # fmt: skip
    assert look(app, second).json()["isVerified"] is True
    assert look(app, other).json()["status"] == "pending"
    assert audit(house, second["subscriptionId"])[-1] == "verified"


def test_what_opened_before_the_confirmation_is_told_after_it(app: FastAPI, house: House, clock: ManualClock) -> None:
    registrar = Registrar(house, clock)
    told = subscribe(app).json()
    registrar.shows(12345)
    verify(app, house, told["subscriptionId"])
    fill(house, fan_out_some, 1000)
    assert queued(house, "alert") == 1


def test_a_link_works_once(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    token = link_token(house, told["subscriptionId"])
    assert send(app, "POST", "/api/verify", {"token": token}).status == 200
    assert code(send(app, "POST", "/api/verify", {"token": token})) == (410, "link_expired")


def test_a_link_is_good_for_a_day(app: FastAPI, house: House, clock: ManualClock) -> None:
    told = subscribe(app).json()
    token = link_token(house, told["subscriptionId"])
    clock.pass_time(DAY + 1)
    assert code(send(app, "POST", "/api/verify", {"token": token})) == (410, "link_expired")
    assert look(app, told).json()["status"] == "pending"


def test_a_link_of_somebody_who_left_is_used_up(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    token = link_token(house, told["subscriptionId"])
    leave(app, unsubscribeToken=told["unsubscribeToken"])
    assert code(send(app, "POST", "/api/verify", {"token": token})) == (410, "link_expired")


def test_whoever_left_and_came_back_within_the_hour_has_one_good_link(app: FastAPI, house: House) -> None:
    """No second mail goes out within the hour: the first one has to do."""
    told = subscribe(app).json()
    token = link_token(house, told["subscriptionId"])
    fill(house, _mailed)
    leave(app, unsubscribeToken=told["unsubscribeToken"])
    back = subscribe(app).json()
    assert (back["status"], queued(house, "verification")) == ("pending", 0)
    answer = send(app, "POST", "/api/verify", {"token": token})
    assert (answer.status, answer.json()["subscriptionIds"]) == (200, [back["subscriptionId"]])
    assert row(house, told["subscriptionId"]).status == "unsubscribed"
    leave(app, unsubscribeToken=back["unsubscribeToken"])
    subscribe(app)
    assert code(send(app, "POST", "/api/verify", {"token": token})) == (410, "link_expired")


def test_whoever_left_before_the_mail_went_out_is_asked_anew(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    leave(app, unsubscribeToken=told["unsubscribeToken"])
    assert queued(house, "verification") == 0
    subscribe(app)
    assert queued(house, "verification") == 1


def _mailed(tx: Tx) -> None:
    n = open_event_notifications
    tx.execute(update(n).where(n.c.kind == "verification").values(fanout_status="sent"))


def test_a_link_that_is_not_ours(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    token = link_token(house, told["subscriptionId"])
    for wrong in (token[:-1], token[1:], "x" * 40, told["manageToken"]):
        assert code(send(app, "POST", "/api/verify", {"token": wrong})) == (400, "link_invalid")
    for none in ("", "short", "é" * 20, "x" * 600):
        assert code(send(app, "POST", "/api/verify", {"token": none})) == (400, "validation_failed")


def test_asking_for_the_link_again_tells_nothing(app: FastAPI, house: House, clock: ManualClock) -> None:
    told = subscribe(app).json()
    before = everything(house)
    answers = [send(app, "POST", "/api/verify/resend", {**MAIL, "contactValue": value})
               for value in ("ada@example.com", "nobody@example.com")]  # fmt: skip
    assert everything(house) == before
    for answer in answers:
        assert answer.status == 202
        assert answer.json() == {"status": "accepted", "traceId": answer.headers["x-trace-id"]}
    clock.pass_time(HOUR + 1)
    assert send(app, "POST", "/api/verify/resend", MAIL).status == 202
    assert audit(house, told["subscriptionId"])[-1] == "verification_queued"
    assert len(audit(house, told["subscriptionId"])) == 3


def test_asking_again_refuses_what_is_no_contact(sqlite_app: FastAPI) -> None:
    def resend(**body: str) -> tuple[int, str]:
        return code(send(sqlite_app, "POST", "/api/verify/resend", body))

    assert resend(contactValue="nobody") == (400, "invalid_contact")
    assert resend(contactValue="x@example.com", contactType="pigeon") == (400, "channel_unavailable")
    assert resend() == (400, "validation_failed")


# Leaving


def test_leaving_by_its_token(app: FastAPI, house: House) -> None:
    told = active(app, house)
    answer = leave(app, unsubscribeToken=told["unsubscribeToken"], reason="got a seat")
    number = told["subscriptionId"]
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    assert answer.json() == {
        "subscriptionId": number, "status": "unsubscribed", "previousStatus": "active",
        "traceId": answer.headers["x-trace-id"],
    }  # fmt: skip
    left = row(house, number)
    assert (left.status, left.contact_value, left.is_verified) == ("unsubscribed", None, False)
    assert left.contact_hash
    again = leave(app, unsubscribeToken=told["unsubscribeToken"])
    assert (again.status, again.json()["previousStatus"]) == (200, "unsubscribed")
    assert audit(house, number).count("unsubscribed") == 1


def test_leaving_by_its_number_and_the_contact(app: FastAPI, house: House) -> None:
    number = subscribe(app).json()["subscriptionId"]
    assert code(leave(app, subscriptionId=number, contactValue="bob@example.com")) == (400, "contact_mismatch")
    assert code(leave(app, subscriptionId=999, contactValue="ada@example.com")) == (404, "subscription_not_found")
    answer = leave(app, subscriptionId=number, contactValue="Ada Lovelace <ADA@example.com>")
    assert (answer.status, answer.json()["previousStatus"]) == (200, "pending")


def test_the_token_wins_when_both_are_given(app: FastAPI, house: House) -> None:
    number = subscribe(app).json()["subscriptionId"]
    answer = leave(app, subscriptionId=number, contactValue="ada@example.com", unsubscribeToken=NOBODYS)
    assert code(answer) == (404, "subscription_not_found")
    assert row(house, number).status == "pending"


@pytest.mark.parametrize(
    "body",
    [
        {}, {"subscriptionId": 1}, {"contactValue": "ada@example.com"}, {"unsubscribeToken": "short"},
        {"unsubscribeToken": NOBODYS, "reason": "no"}, {"unsubscribeToken": NOBODYS, "reason": "x" * 65},
        {"unsubscribeToken": NOBODYS, "why": "because"}, {"subscriptionId": 2**63, "contactValue": "ada@example.com"},
    ],
)  # fmt: skip
def test_leaving_needs_to_say_what(sqlite_app: FastAPI, body: dict[str, Any]) -> None:
    assert code(leave(sqlite_app, **body)) == (400, "validation_failed")


def test_a_manage_token_does_not_unsubscribe_and_the_other_does_not_manage(app: FastAPI) -> None:
    told = subscribe(app).json()
    assert code(leave(app, unsubscribeToken=told["manageToken"])) == (404, "subscription_not_found")
    assert code(look(app, told, told["unsubscribeToken"])) == (404, "subscription_not_found")


def test_what_is_suppressed_has_ended(app: FastAPI, house: House) -> None:
    told = active(app, house)
    suppress(house, told)
    assert code(leave(app, unsubscribeToken=told["unsubscribeToken"])) == (409, "subscription_ended")
    assert row(house, told["subscriptionId"]).status == "suppressed"


def test_whoever_left_is_not_told_of_what_opened(app: FastAPI, house: House, clock: ManualClock) -> None:
    registrar = Registrar(house, clock)
    told = active(app, house)
    registrar.shows(12345)
    fill(house, fan_out_some, 1000)
    assert queued(house, "alert") == 1
    leave(app, unsubscribeToken=told["unsubscribeToken"])
    assert queued(house, "alert") == 0
    assert count(house) == 1
