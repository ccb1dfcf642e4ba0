"""`POST /api/subscribe`: the contract over the whole application, on both databases."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.web.calling import Answer, fill, send
from tests.web.subscribing import (
    ADA,
    MAIL,
    SECTION,
    TOPIC,
    Registrar,
    audit,
    count,
    everything,
    in_catalogue,
    queued,
    row,
    site,
    subscribe,
    verify,
)

from vacancy.model.subscriptions import Status
from vacancy.pipeline.upkeep import prune
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.web.context import House

PREFERENCES = {
    "notifyOn": ["open"], "maxNotifications": 3, "deliveryWindow": {"startMinutes": 0, "endMinutes": 1440},
    "snoozeUntil": None, "channelMetadata": {},
}  # fmt: skip


def test_the_first_time_is_201_with_every_field(app: FastAPI) -> None:
    answer = subscribe(app)
    assert answer.status == 201
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    tokens = {body.pop("unsubscribeToken"), body.pop("manageToken")}
    assert all(len(token) == 32 and int(token, 16) for token in tokens)
    assert len(tokens) == 2
    assert body.pop("traceId") == answer.headers["x-trace-id"]
    assert body.pop("subscriptionId") > 0
    assert body == {
        "status": "pending", "requiresVerification": True, "existing": False, "topic": TOPIC, "term": "12025",
        "campus": "NB", "sectionIndex": "12345", "sectionResolved": False, "sectionStatus": "Unknown",
        "registrationLink": None, "preferences": PREFERENCES, "webhookSecret": None,
    }  # fmt: skip


def test_the_second_time_is_200_and_tells_no_token(app: FastAPI, house: House) -> None:
    first, again = subscribe(app).json(), subscribe(app, contactValue=" ADA@example.com ")
    assert again.status == 200
    told = again.json()
    assert (told.pop("unsubscribeToken"), told.pop("manageToken")) == (None, None)
    assert told.pop("existing") is True
    assert told.pop("traceId") != first["traceId"]
    assert told == {name: first[name] for name in told}
    assert count(house) == 1
    assert audit(house, told["subscriptionId"]) == ["created", "verification_queued"]
    assert queued(house, "verification") == 1


def test_a_row_is_kept_with_all_of_it(app: FastAPI, house: House) -> None:
    asked: dict[str, Any] = {
        "locale": "zh_CN", "clientContext": {"ip": "192.0.2.1"}, "discord": {"guildId": "1"},
        "preferences": {"maxNotifications": 7, "deliveryWindow": {"startMinutes": 1320, "endMinutes": 420},
                        "snoozeUntil": "2026-02-01T00:00:00+01:00", "channelMetadata": {"color": "red"}},
    }  # fmt: skip
    answer = subscribe(app, **asked)
    assert answer.json()["preferences"] == {
        **PREFERENCES, **asked["preferences"], "snoozeUntil": "2026-01-31T23:00:00.000Z"
    }  # fmt: skip
    kept = row(house, answer.json()["subscriptionId"])
    assert (kept.contact_value, kept.contact_type, kept.locale) == (ADA, "email", "zh-CN")
    assert (kept.max_notifications, kept.wants_open, kept.status) == (7, True, "pending")
    assert kept.metadata["client"] == {"ip": "192.0.2.1"}
    assert kept.metadata["discord"] == {"guildId": "1"}
    assert ADA not in kept.contact_hash
    assert b"192.0.2.1" not in answer.body


@pytest.mark.parametrize("term", ["12025", "20251", "SP2025", "spring 2025", " 12025 "])
def test_terms_are_read_in_any_spelling(app: FastAPI, term: str) -> None:
    answer = subscribe(app, term=term, campus="nb")
    assert (answer.status, answer.json()["term"], answer.json()["topic"]) == (201, "12025", TOPIC)


def test_a_topic_names_the_same_thing(app: FastAPI, house: House) -> None:
    subscribe(app)
    answer = send(app, "POST", "/api/subscribe", {"topic": "soc:SP2025:nb:12345", **MAIL})
    assert (answer.status, answer.json()["existing"]) == (200, True)
    assert count(house) == 1


def test_a_whole_course_is_waited_for_by_its_string(app: FastAPI, house: House) -> None:
    in_catalogue(house, "12345", "12346")
    answer = subscribe(app, sectionIndex=None, courseString="01:198:111")
    assert answer.status == 201
    told = answer.json()
    assert told["topic"] == "soc:12025:NB:course/01:198:111"
    assert (told["sectionIndex"], told["sectionResolved"]) == (None, False)


def test_an_unknown_index_waits_until_the_catalogue_brings_it(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    assert told["sectionResolved"] is False
    in_catalogue(house, "12345")
    assert subscribe(app).json()["sectionResolved"] is True
    assert row(house, told["subscriptionId"]).section_id is not None
    assert subscribe(app, contactValue="bob@example.com").json()["sectionResolved"] is True


def test_two_people_who_wait_for_one_unknown_index_are_two_rows(app: FastAPI, house: House) -> None:
    ada, bob = subscribe(app), subscribe(app, contactValue="bob@example.com")
    assert (ada.status, bob.status) == (201, 201)
    assert ada.json()["subscriptionId"] != bob.json()["subscriptionId"]
    assert (subscribe(app).status, count(house)) == (200, 2)


def test_what_is_open_is_told_with_its_link(app: FastAPI, house: House, clock: ManualClock) -> None:
    registrar = Registrar(house, clock)
    closed = subscribe(app).json()
    assert (closed["sectionStatus"], closed["registrationLink"]) == ("Closed", None)
    registrar.shows(12345)
    opened = subscribe(app).json()
    assert opened["sectionStatus"] == "Open"
    assert opened["registrationLink"] == "https://sis.rutgers.edu/soc/#keyword=12345&semester=12025"


def test_a_verified_contact_begins_at_once(app: FastAPI, house: House) -> None:
    assert verify(app, house, subscribe(app).json()["subscriptionId"]).status == 200
    second = subscribe(app, sectionIndex="54321").json()
    assert (second["status"], second["requiresVerification"]) == ("active", False)
    assert queued(house, "verification") == 0


def test_without_confirmation_everybody_begins_at_once(store: Store, clock: ManualClock) -> None:
    app, house = site(store, clock, verify=False)
    told = subscribe(app).json()
    assert (told["status"], told["requiresVerification"]) == ("active", False)
    assert queued(house, "verification") == 0


def test_subscribing_over_a_paused_row_resumes_it(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    verify(app, house, told["subscriptionId"])
    path, bearer = f"/api/subscriptions/{told['subscriptionId']}", {"Authorization": f"Bearer {told['manageToken']}"}
    assert send(app, "PATCH", path, {"status": "paused"}, bearer).json()["status"] == "paused"
    again = subscribe(app)
    assert (again.status, again.json()["status"], count(house)) == (200, "active", 1)


def test_whoever_left_may_come_back_with_a_new_row(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    send(app, "POST", "/api/unsubscribe", {"unsubscribeToken": told["unsubscribeToken"]})
    again = subscribe(app)
    assert again.status == 201
    assert again.json()["subscriptionId"] > told["subscriptionId"]


# What is refused


def refused(answer: Answer, status: int, code: str) -> dict[str, Any]:
    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert answer.error["traceId"] == answer.headers["x-trace-id"]
    assert answer.error["message"]
    return answer.error


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"sectionIndex": "1234"}, "sectionIndex"),
        ({"sectionIndex": 12345}, "sectionIndex"),
        ({"term": "1"}, "term"),
        ({"campus": "N" * 17}, "campus"),
        ({"contactType": None}, "contactType"),
        ({"contactValue": "a@"}, "contactValue"),
        ({"contactValue": "a" * 257}, "contactValue"),
        ({"contactType": "webpush", "contactValue": "a" * 1025}, "contactValue"),
        ({"contactValue": "ada\u0000@example.com"}, "contactValue"),
        ({"locale": "english"}, "locale"),
        ({"preferences": {"maxNotifications": 11}}, "preferences.maxNotifications"),
        ({"preferences": {"maxNotifications": 0}}, "preferences.maxNotifications"),
        ({"preferences": {"notifyOn": []}}, "preferences.notifyOn"),
        ({"preferences": {"notifyOn": ["waitlist"]}}, "preferences.notifyOn"),
        ({"preferences": {"notifyOn": ["closed"]}}, "preferences.notifyOn.0"),
        ({"preferences": {"deliveryWindow": {"startMinutes": 60, "endMinutes": 60}}}, "preferences.deliveryWindow"),
        ({"preferences": {"deliveryWindow": {"endMinutes": 1441}}}, "preferences.deliveryWindow.endMinutes"),
        ({"preferences": {"snoozeUntil": "2026-02-01T00:00:00"}}, "preferences.snoozeUntil"),
        ({"preferences": {"maxNotification": 1}}, "preferences.maxNotification"),
        ({"clientContext": {"a": "x" * 5000}}, "clientContext"),
        ({"clientContext": []}, "clientContext"),
        ({"courseString": "nonsense", "sectionIndex": None}, "courseString"),
        ({"sectionindex": "12345"}, "sectionindex"),
    ],
)
def test_a_bad_value_is_named_by_its_path(sqlite_app: FastAPI, fields: dict[str, Any], path: str) -> None:
    error = refused(subscribe(sqlite_app, **fields), 400, "validation_failed")
    assert [line.partition(": ")[0] for line in error["details"]] == [path]


@pytest.mark.parametrize(
    "body",
    [
        {**SECTION, **MAIL, "topic": TOPIC}, {**MAIL}, {**SECTION, **MAIL, "courseString": "01:198:111"}, [], "x", 1,
        b"", b"{", b"\xff\xfe", b'{"\\ud800": 1}', b'{"contactValue": "\\ud800@example.com", "contactType": "email"}',
        b"[" * 100_000, b'{"a": 1e999}', b'{"preferences": {"channelMetadata": {"a": NaN}}}',
    ],
)  # fmt: skip
def test_a_body_that_is_none_is_refused(sqlite_app: FastAPI, sqlite_house: House, body: object) -> None:
    refused(send(sqlite_app, "POST", "/api/subscribe", body), 400, "validation_failed")
    assert count(sqlite_house) == 0


def test_every_bad_value_is_named_at_once(sqlite_app: FastAPI) -> None:
    error = refused(subscribe(sqlite_app, sectionIndex="1", locale="?"), 400, "validation_failed")
    assert [line.partition(": ")[0] for line in error["details"]] == ["sectionIndex", "locale"]


@pytest.mark.parametrize(
    "value", ["nobody", "ada@example", "a" * 255, "a b@example.com", "@example.com", "ada@@example.com"]
)
def test_a_contact_that_is_none(app: FastAPI, house: House, value: str) -> None:
    error = refused(subscribe(app, contactValue=value), 400, "invalid_contact")
    assert error["details"][0].startswith("contactValue: ")
    assert count(house) == 0


# As long as a browser's own: an endpoint of Mozilla's has over 200 characters.
PUSH = json.dumps({
    "endpoint": f"https://push.example.com/wpush/v2/{'g' * 200}",
    "keys": {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
             "auth": "BTBZMqHH6r4Tts7J_aSIgg"},
})  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value", "status"),
    [
        ("email", "Ada <ADA@example.com>", "pending"),
        ("webhook", "https://hooks.example.com/vacancy", "active"),
        ("webpush", PUSH, "active"),
        ("discord", f"https://discord.com/api/webhooks/123456789012345678/{'t' * 68}", "active"),
    ],
)
def test_every_type_of_contact_comes_in_and_leaves(
    app: FastAPI, house: House, kind: str, value: str, status: str
) -> None:
    contact: dict[str, Any] = {"contactType": kind, "contactValue": value}
    first, again = subscribe(app, **contact), subscribe(app, **contact)
    assert (first.status, again.status) == (201, 200), first.body
    told = first.json()
    assert told["status"] == status
    assert row(house, told["subscriptionId"]).contact_type == kind
    gone = send(app, "POST", "/api/unsubscribe", {"subscriptionId": told["subscriptionId"], "contactValue": value})
    assert (gone.status, gone.json()["previousStatus"]) == (200, status)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@exämple.example", "ADA@xn--exmple-cua.example"),
        ('"Lovelace, Ada" <ada@example.com>', "ada@example.com"),
        ("Ada@Example.COM", " ada@example.com "),
    ],
)
def test_these_are_one_contact(app: FastAPI, house: House, one: str, other: str) -> None:
    assert subscribe(app, contactValue=one).status == 201
    assert subscribe(app, contactValue=other).json()["existing"] is True
    assert count(house) == 1


def test_what_follows_a_plus_is_another_address(app: FastAPI, house: House) -> None:
    """Whether it is the same mailbox is its provider's to say."""
    for value in ("ada@example.com", "ada+soc@example.com", "a.da@example.com"):
        assert subscribe(app, contactValue=value).status == 201
    assert count(house) == 3


@pytest.mark.parametrize("kind", ["pigeon", "local_sound"])
def test_a_type_of_contact_that_cannot_be_reached(app: FastAPI, kind: str) -> None:
    error = refused(subscribe(app, contactType=kind), 400, "channel_unavailable")
    assert "known are email" in error["details"][0]


@pytest.mark.parametrize("place", [{"term": "12024"}, {"campus": "CM"}, {"term": "22026"}, {"campus": "ZZZ"}])
def test_a_term_or_campus_that_nobody_watches(app: FastAPI, place: dict[str, Any]) -> None:
    refused(subscribe(app, **place), 404, "section_not_found")


def test_an_index_of_another_campus_is_a_conflict_that_names_it(app: FastAPI, house: House) -> None:
    in_catalogue(house, "12345", campus="NK")
    error = refused(subscribe(app), 409, "section_conflict")
    assert error["details"] == {"campus": "NK", "term": "12025"}
    assert subscribe(app, campus=error["details"]["campus"]).status == 201


def test_an_index_that_turns_out_to_be_at_another_campus_ends_with_a_word(app: FastAPI, house: House) -> None:
    """Nothing that opens at the campus that was named could ever be it."""
    ada, bob = subscribe(app).json(), subscribe(app, contactValue="bob@example.com").json()
    kept = subscribe(app, sectionIndex="54321").json()
    verify(app, house, ada["subscriptionId"])
    in_catalogue(house, "12345", campus="NK")
    for told in (ada, bob):
        left = row(house, told["subscriptionId"])
        assert (left.status, audit(house, told["subscriptionId"])[-1]) == ("unsubscribed", "unsubscribed")
    # The address is kept for whoever is still to be told, and for nobody else.
    assert row(house, ada["subscriptionId"]).contact_value == ADA
    assert row(house, bob["subscriptionId"]).contact_value is None
    assert queued(house, "notice") == 1
    assert row(house, kept["subscriptionId"]).status == "active"
    refused(subscribe(app), 409, "section_conflict")


def test_a_section_that_moves_to_another_campus_ends_with_a_word_once(app: FastAPI, house: House) -> None:
    in_catalogue(house, "12345")
    told = subscribe(app).json()
    verify(app, house, told["subscriptionId"])
    for _ in range(2):
        in_catalogue(house, "12345", campus="NK")
        assert (row(house, told["subscriptionId"]).status, queued(house, "notice")) == ("unsubscribed", 1)


def test_a_suppressed_contact_is_refused(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    fill(house, _suppress, told["subscriptionId"])
    before = everything(house)
    refused(subscribe(app, sectionIndex="54321"), 403, "contact_suppressed")
    assert everything(house) == before
    assert subscribe(app, contactValue="bob@example.com").status == 201


def _suppress(tx: Tx, subscription_id: int) -> None:
    found = rows.read(tx, subscription_id)
    assert rows.move(tx, tx.now(), found, Status.SUPPRESSED, event="status_changed", reason="hard bounce")


def test_the_same_key_has_the_same_answer_tokens_included(app: FastAPI, house: House) -> None:
    key = {"Idempotency-Key": "a-first-try"}
    first, again = subscribe(app, headers=key), subscribe(app, headers=key)
    assert (first.status, again.status) == (201, 201)
    told, retold = first.json(), again.json()
    assert told.pop("traceId") != retold.pop("traceId")
    assert told == retold
    assert (count(house), audit(house, told["subscriptionId"])) == (1, ["created", "verification_queued"])


def test_a_key_is_remembered_by_the_database_and_for_a_day(store: Store, clock: ManualClock) -> None:
    key = {"Idempotency-Key": "a-first-try"}
    first = subscribe(site(store, clock)[0], headers=key).json()
    restarted, house = site(store, clock)
    again = subscribe(restarted, headers=key).json()
    assert again["manageToken"] == first["manageToken"]
    refused(subscribe(restarted, headers=key, locale="zh-CN"), 409, "idempotency_conflict")
    clock.jump(86_400 + 1)
    fill(house, prune, house.settings.retention)
    assert subscribe(restarted, headers=key, sectionIndex="54321").status == 201


def test_the_same_key_for_another_request_is_a_conflict(app: FastAPI, house: House) -> None:
    key = {"Idempotency-Key": "a-first-try"}
    subscribe(app, headers=key)
    others: list[dict[str, Any]] = [{"sectionIndex": "54321"}, {"contactValue": "bob@example.com"}, {"locale": "zh-CN"}]
    for other in others:
        refused(subscribe(app, headers=key, **other), 409, "idempotency_conflict")
    assert count(house) == 1


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "é"])
def test_a_key_that_is_none(sqlite_app: FastAPI, key: str) -> None:
    error = refused(subscribe(sqlite_app, headers={"Idempotency-Key": key}), 422, "validation_failed")
    assert error["details"][0].startswith("Idempotency-Key: ")


def test_a_refused_request_uses_no_key_up(app: FastAPI) -> None:
    key = {"Idempotency-Key": "a-first-try"}
    refused(subscribe(app, headers=key, campus="CM"), 404, "section_not_found")
    assert subscribe(app, headers=key).status == 201


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/api/subscribe", "/api/unsubscribe", "/api/verify", "/api/verify/resend"])
def test_only_a_post_does_anything(sqlite_app: FastAPI, path: str, verb: str) -> None:
    refused(send(sqlite_app, verb, path), 405, "method_not_allowed")


def test_an_unknown_parameter_is_refused(sqlite_app: FastAPI) -> None:
    refused(send(sqlite_app, "POST", "/api/subscribe?term=12025", {**SECTION, **MAIL}), 422, "validation_failed")
