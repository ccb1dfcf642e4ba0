"""Confirming, managing and leaving by links and buttons; and what holds for every page of subscriptions."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.web.browsing import FORM, PATIENCE, Page, managed, post, shown
from tests.web.calling import ask, broken, fill, send
from tests.web.subscribing import (
    ADA,
    INDEX,
    TOPIC,
    audit,
    everything,
    in_catalogue,
    link_token,
    row,
    subscribe,
)

from vacancy.errors import StoreError
from vacancy.model.subscriptions import Status
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.web.context import House

DAY = 86_400
NOBODYS = "0123456789abcdef" * 2
MULTIPART = b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'


# Confirming


def test_a_link_is_confirmed_by_its_button_and_leads_on(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    token = link_token(house, told["subscriptionId"])
    page = shown(ask(app, f"/verify?token={token}"))
    assert page.forms[0]["fields"] == {"token": token}
    done = shown(post(app, "/verify", page.forms[0]["fields"]))
    assert "It has begun" in done.text
    assert row(house, told["subscriptionId"]).status == "active"
    (manage,) = [link for link in done.links if link.startswith("/manage/")]
    assert "on" in shown(ask(app, manage)).text
    assert "This link is used up" in shown(post(app, "/verify", page.forms[0]["fields"]), 410).text


@pytest.mark.parametrize("query", ["", "?token=", "?token=nonsense", "?token=%00%ff", "?token=" + "x" * 5000])
def test_a_link_that_was_cut_off(sqlite_app: FastAPI, query: str) -> None:
    assert "This link does not work" in shown(ask(sqlite_app, f"/verify{query}"), 400).text


def test_a_link_of_the_day_before_yesterday(app: FastAPI, house: House, clock: ManualClock) -> None:
    token = link_token(house, subscribe(app).json()["subscriptionId"])
    clock.pass_time(DAY + 1)
    assert "This link is used up" in shown(ask(app, f"/verify?token={token}"), 410).text


# Leaving


def test_one_click_needs_no_cookie_no_form_and_no_redirect(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    path = f"/unsubscribe?token={told['unsubscribeToken']}"
    one_click = {"List-Unsubscribe": "One-Click"}
    answer = post(app, path, one_click, Origin="https://mail.example", Cookie="a=b")
    assert "You have left" in shown(answer).text
    assert "set-cookie" not in answer.headers
    left = row(house, told["subscriptionId"])
    assert (left.status, left.contact_value) == ("unsubscribed", None)
    shown(post(app, path, one_click))
    assert audit(house, told["subscriptionId"]).count("unsubscribed") == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data; boundary=x", MULTIPART),
        ("text/plain", b""), (FORM, b""), ("application/json", b"{"), (FORM, b"x" * 100_000),
    ],
)  # fmt: skip
def test_one_click_whatever_the_body(app: FastAPI, house: House, kind: str, body: bytes) -> None:
    told = subscribe(app).json()
    answer = send(app, "POST", f"/unsubscribe?token={told['unsubscribeToken']}", body, {"content-type": kind})
    assert (answer.status, row(house, told["subscriptionId"]).status) == (200, "unsubscribed")


def test_a_person_leaves_by_the_button(app: FastAPI, house: House) -> None:
    told = subscribe(app).json()
    page = shown(ask(app, f"/unsubscribe?token={told['unsubscribeToken']}"))
    assert "Stop these mails?" in page.text
    (form,) = page.forms
    assert "You have left" in shown(post(app, form["action"], form["fields"])).text
    assert "You have left" in shown(ask(app, form["action"])).text


def test_leaving_what_is_suppressed_is_fine(app: FastAPI, house: House) -> None:
    _, told = managed(app, house)

    def suppress(tx: Tx) -> None:
        found = rows.read(tx, told["subscriptionId"])
        assert rows.move(tx, tx.now(), found, Status.SUPPRESSED, event="status_changed", reason="bounce")

    fill(house, suppress)
    assert "You have left" in shown(post(app, f"/unsubscribe?token={told['unsubscribeToken']}", {})).text
    assert row(house, told["subscriptionId"]).status == "suppressed"


@pytest.mark.parametrize("query", ["", "?token=", f"?token={NOBODYS}", "?token=%00%ff", "?token=" + "x" * 5000])
@pytest.mark.parametrize("path", ["/unsubscribe", "/manage/1", "/manage/x", f"/manage/{2**70}"])
def test_a_link_of_nobody(app: FastAPI, path: str, query: str) -> None:
    subscribe(app)
    assert "There is nothing here" in shown(ask(app, path + query), 404).text


# Managing


def test_the_page_shows_how_it_stands(app: FastAPI, house: House) -> None:
    in_catalogue(house, INDEX)
    path, told = managed(app, house)
    answer = ask(app, f"{path}?token={told['manageToken']}")
    page = shown(answer)
    for words in ("INTRO COMPUTER SCI", "a…@example.com", "0 of 3", "Pause", "Unsubscribe"):
        assert words in page.text
    assert ADA not in page.text
    assert told["unsubscribeToken"].encode() not in answer.body


def test_every_button_does_what_it_says(app: FastAPI, house: House) -> None:
    path, told = managed(app, house)
    number, token = told["subscriptionId"], told["manageToken"]
    page = shown(ask(app, f"{path}?token={token}"))

    def press(page: Page, does: str, **typed: str) -> Page:
        (form,) = [form for form in page.forms if does in form["buttons"]]
        return shown(post(app, form["action"], {**form["fields"], **typed, "do": does}))

    page = press(page, "pause")
    assert "It is paused" in page.text
    assert row(house, number).status == "paused"
    page = press(page, "resume")
    assert "It goes on" in page.text
    assert row(house, number).status == "active"
    page = press(page, "save", alerts="7", quietFrom="23:00", quietTo="06:00")
    assert "Your choices are saved" in page.text
    assert row(house, number).max_notifications == 7
    assert row(house, number).metadata["preferences"]["deliveryWindow"] == {"startMinutes": 360, "endMinutes": 1380}
    # What a form does not send stays: a snooze that a program set is not undone by saving.
    send(app, "PATCH", f"/api/subscriptions/{number}?token={token}",
         {"preferences": {"snoozeUntil": "2026-03-01T00:00:00Z"}})  # fmt: skip
    page = press(shown(ask(app, f"{path}?token={token}")), "save", alerts="8")
    assert row(house, number).snooze_until is not None
    assert "2026-03-01 00:00 UTC" in page.text
    page = press(page, "wake")
    assert "It is awake again" in page.text
    assert row(house, number).snooze_until is None
    assert "You have left" in press(page, "unsubscribe").text
    assert row(house, number).status == "unsubscribed"
    assert "ended" in shown(ask(app, f"{path}?token={token}")).text


def test_a_bad_choice_is_shown_with_all_that_was_typed(app: FastAPI, house: House) -> None:
    path, told = managed(app, house)
    fields = {"token": told["manageToken"], "do": "save", "alerts": "99", "quietFrom": "22:00", "quietTo": "06:00"}
    page = shown(post(app, path, fields), 400)
    assert page.text.count("Choose a whole number from 1 to 10") == 2
    (form,) = [form for form in page.forms if "save" in form["buttons"]]
    assert (form["fields"]["alerts"], form["fields"]["quietFrom"]) == ("99", "22:00")
    assert row(house, told["subscriptionId"]).max_notifications == 3


def test_a_page_that_was_overtaken_shows_how_it_stands_now(app: FastAPI, house: House) -> None:
    path, told = managed(app, house)
    send(app, "POST", "/api/unsubscribe", {"unsubscribeToken": told["unsubscribeToken"]})
    page = shown(post(app, path, {"token": told["manageToken"], "do": "pause"}), 409)
    assert "That cannot be done any more" in page.text
    assert "ended" in page.text


@pytest.mark.parametrize("does", ["", "delete", "active"])
def test_a_button_that_is_not_there(sqlite_app: FastAPI, sqlite_house: House, does: str) -> None:
    path, told = managed(sqlite_app, sqlite_house)
    shown(post(sqlite_app, path, {"token": told["manageToken"], "do": does}), 400)


@pytest.mark.parametrize("does", ["save", "pause", "resume", "wake", "unsubscribe"])
def test_nobody_else_presses_a_button(app: FastAPI, house: House, does: str) -> None:
    path, told = managed(app, house)
    before = everything(house)
    for token in (NOBODYS, told["unsubscribeToken"], ""):
        shown(post(app, path, {"token": token, "do": does, "alerts": "3"}), 404)
    # A token in the address does not press it either: the form of another site could have it from a link.
    shown(post(app, f"{path}?token={told['manageToken']}", {"do": does}), 404)
    assert everything(house) == before


# All of them


def test_looking_changes_nothing(app: FastAPI, house: House, clock: ManualClock) -> None:
    """Programs that scan mails open every link in them."""
    path, told = managed(app, house)
    waiting = subscribe(app, contactValue="bob@example.com").json()["subscriptionId"]
    paths = [
        "/subscribe", f"/subscribe?topic={quote(TOPIC)}", f"/verify?token={link_token(house, waiting)}",
        f"/unsubscribe?token={told['unsubscribeToken']}", f"{path}?token={told['manageToken']}",
        f"{path}?token={told['manageToken']}&do=unsubscribe",
        f"/api/subscriptions/{told['subscriptionId']}?token={told['manageToken']}",
    ]  # fmt: skip
    before = everything(house)
    for address in paths:
        for verb in ("GET", "HEAD"):
            clock.pass_time(PATIENCE)
            assert ask(app, address, verb).status in (200, 405), (verb, address)
    assert everything(house) == before


def test_pages_with_a_token_are_kept_nowhere_and_lead_nobody_on(app: FastAPI, house: House) -> None:
    path, told = managed(app, house)
    token = link_token(house, subscribe(app, contactValue="bob@example.com").json()["subscriptionId"])
    for address in (
        "/subscribe", f"/verify?token={token}", f"/unsubscribe?token={told['unsubscribeToken']}",
        f"{path}?token={told['manageToken']}", "/verify?token=none", "/manage/9?token=none",
    ):  # fmt: skip
        answer = ask(app, address)
        assert answer.headers["cache-control"] == "no-store", address
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        page = Page(answer.body.decode())
        assert [tag for tag, _ in page.tags if tag == "script"] == []
        assert page.title.endswith("Vacancy")
        if "token" in address:
            assert ("meta", {"name": "robots", "content": "noindex"}) in page.tags


def test_every_field_has_a_label(app: FastAPI, house: House) -> None:
    path, told = managed(app, house)
    addresses = ("/subscribe", f"/subscribe?topic={quote(TOPIC)}", f"{path}?token={told['manageToken']}")
    for address in addresses:
        page = shown(ask(app, address))
        inputs = {
            attrs["id"] for tag, attrs in page.tags if tag in ("input", "select") and attrs.get("type") != "hidden"
        }
        assert {attrs["for"] for tag, attrs in page.tags if tag == "label"} == inputs
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        described = [name for _, attrs in page.tags for name in (attrs.get("aria-describedby") or "").split()]
        assert set(described) <= set(ids)


@pytest.mark.parametrize("path", ["/subscribe", "/verify", "/manage/1"])
@pytest.mark.parametrize(
    ("kind", "body"),
    [("application/json", b"{}"), ("", b"token=x"), (FORM, b"a=1&" * 100), (FORM, b"x" * 20_000)],
)
def test_a_form_that_is_none(sqlite_app: FastAPI, path: str, kind: str, body: bytes) -> None:
    page = shown(send(sqlite_app, "POST", path, body, {"content-type": kind}), 400)
    assert "That did not arrive well" in page.text


def test_a_database_in_trouble_is_a_page_as_well(sqlite_app: FastAPI, sqlite_house: House) -> None:
    with broken(sqlite_house.store, StoreError("database is locked")):
        answer = ask(sqlite_app, f"/subscribe?topic={quote(TOPIC)}")
    page = shown(answer, 503)
    assert "One moment, please" in page.text
    assert answer.headers["retry-after"] == "5"
    assert re.search(r"[0-9a-f]{32}", page.text)
    assert answer.headers["x-trace-id"] in page.text
