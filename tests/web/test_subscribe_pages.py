"""Finding a section and subscribing as a person without JavaScript does: a form, and words for what is wrong."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.web.browsing import PATIENCE, post, shown, the_form
from tests.web.calling import Answer, ask, fill
from tests.web.subscribing import (
    ADA,
    INDEX,
    TOPIC,
    Registrar,
    count,
    in_catalogue,
    queued,
    row,
    site,
    subscribe,
    verify,
)

from vacancy.model.subscriptions import Status
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.web.context import House

DAY = 86_400


# Finding


def test_the_finder_offers_what_is_watched(sqlite_app: FastAPI) -> None:
    page = shown(ask(sqlite_app, "/subscribe"))
    assert "Spring 2025" in page.text
    assert "New Brunswick" in page.text
    assert "Newark" in page.text
    (form,) = page.forms
    assert (form["method"], form["action"]) == ("get", "/subscribe")


def test_a_section_is_found_by_its_index(app: FastAPI, house: House) -> None:
    in_catalogue(house, INDEX)
    page = shown(ask(app, f"/subscribe?term=SP2025&campus=nb&sectionIndex={INDEX}"))
    assert "INTRO COMPUTER SCI" in page.text
    assert page.forms[0]["fields"]["topic"] == TOPIC


def test_what_the_catalogue_does_not_know_may_be_waited_for(sqlite_app: FastAPI) -> None:
    page = shown(ask(sqlite_app, f"/subscribe?topic={quote(TOPIC)}"))
    assert "Index 12345" in page.text
    assert "The catalogue has no name for this yet" in page.text


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("term=12025&campus=NB&sectionIndex=123", 422, "Enter the five digits"),
        ("term=12024&campus=NB&sectionIndex=12345", 404, "Nobody watches that here"),
        ("topic=nonsense", 422, "This link names nothing that can be waited for"),
        ("topic=soc%3A12025%3ANB%3A1", 422, "This link names nothing that can be waited for"),
        ("topic=%00&sectionIndex=%00", 422, "Find your section"),
    ],
)
def test_what_cannot_be_found_says_so(sqlite_app: FastAPI, query: str, status: int, said: str) -> None:
    page = shown(ask(sqlite_app, f"/subscribe?{query}"), status)
    assert said in page.text
    assert page.title.startswith("Please look again")


def test_an_index_of_another_campus_leads_there(app: FastAPI, house: House) -> None:
    in_catalogue(house, INDEX, campus="NK")
    page = shown(ask(app, f"/subscribe?topic={quote(TOPIC)}"), 409)
    (there,) = [link for link in page.links if "topic=" in link]
    assert "Newark" in page.text
    assert shown(ask(app, there)).forms[0]["fields"]["topic"] == "soc:12025:NK:12345"


# Subscribing


def test_a_person_subscribes_by_the_form(app: FastAPI, house: House, clock: ManualClock) -> None:
    fields = the_form(app, clock, email="Ada <ADA@example.com>", alerts="5", quietFrom="22:00", quietTo="07:30")
    page = shown(post(app, "/subscribe", fields))
    assert "Check your mail" in page.text
    assert ADA in page.text
    kept = row(house, 1)
    assert (kept.topic, kept.contact_value, kept.status, kept.max_notifications) == (TOPIC, ADA, "pending", 5)
    assert kept.metadata["preferences"]["deliveryWindow"] == {"startMinutes": 450, "endMinutes": 1320}
    assert queued(house, "verification") == 1
    again = shown(post(app, "/subscribe", fields))
    assert "Check your mail" in again.text
    assert count(house) == 1
    verify(app, house, 1)
    assert "You are subscribed already" in shown(post(app, "/subscribe", fields)).text


def test_no_page_of_the_form_tells_a_token(app: FastAPI, house: House, clock: ManualClock) -> None:
    """Whoever types an address need not be its owner."""
    answer = post(app, "/subscribe", the_form(app, clock))
    kept = row(house, 1)
    assert kept.manage_token.encode() not in answer.body
    assert kept.unsubscribe_token.encode() not in answer.body


def test_what_is_open_this_moment_is_said_first(app: FastAPI, house: House, clock: ManualClock) -> None:
    registrar = Registrar(house, clock)
    registrar.shows(12345)
    page = shown(ask(app, f"/subscribe?topic={quote(TOPIC)}"))
    assert "It is open this moment" in page.text
    assert any(link.startswith("https://sis.rutgers.edu/") for link in page.links)
    assert "It is open this moment" in shown(post(app, "/subscribe", the_form(app, clock))).text


@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"email": ""}, "email", "Enter your email address"),
        ({"email": "ada"}, "email", "This is not a whole email address"),
        ({"alerts": "0"}, "alerts", "Choose a whole number from 1 to 10"),
        ({"alerts": "eleven"}, "alerts", "Choose a whole number from 1 to 10"),
        ({"quietFrom": "22:00"}, "quietTo", "Fill in both times"),
        ({"quietFrom": "25:00", "quietTo": "07:00"}, "quietFrom", "Write a time like 22:00"),
        ({"quietFrom": "07:00", "quietTo": "07:00"}, "quietTo", "Both times are the same"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    sqlite_app: FastAPI, sqlite_house: House, clock: ManualClock, typed: dict[str, str], field: str, said: str
) -> None:
    fields = the_form(sqlite_app, clock, **typed)
    page = shown(post(sqlite_app, "/subscribe", fields), 400)
    assert page.text.count(said) == 2  # in the list at the top, and beside the field
    assert f"#{field}" in page.links
    assert page.title.startswith("Please look again")
    (wrong,) = [attrs for tag, attrs in page.tags if tag == "input" and attrs.get("aria-invalid")]
    assert wrong["id"] == field
    assert f"{field}-problem" in (wrong["aria-describedby"] or "")
    assert {name: value for name, value in page.forms[0]["fields"].items() if name in typed} == typed
    assert count(sqlite_house) == 0


def test_hostile_text_stays_text(sqlite_app: FastAPI, clock: ManualClock) -> None:
    hostile = "\"><script>alert(1)</script>'@example.com"
    page = shown(post(sqlite_app, "/subscribe", the_form(sqlite_app, clock, email=hostile, alerts=hostile)), 400)
    (script,) = [found for tag, found in page.tags if tag == "script"]
    assert str(script["src"]).startswith("/static/push.js?v=")
    assert page.forms[0]["fields"]["email"] == hostile


def test_a_suppressed_address_is_said_beside_its_field(app: FastAPI, house: House, clock: ManualClock) -> None:
    fields = the_form(app, clock)
    post(app, "/subscribe", fields)

    def suppress(tx: Tx) -> None:
        assert rows.move(tx, tx.now(), rows.read(tx, 1), Status.SUPPRESSED, event="status_changed", reason="bounce")

    fill(house, suppress)
    assert "Nothing is sent to this address" in shown(post(app, "/subscribe", fields), 403).text


# Programs that are no persons


def test_what_fills_in_every_field_believes_that_it_worked(
    app: FastAPI, house: House, clock: ManualClock
) -> None:  # fmt: skip
    fields = the_form(app, clock)
    trapped = post(app, "/subscribe", {**fields, "website": "https://spam.example"})
    assert count(house) == 0
    true = post(app, "/subscribe", fields)
    assert _without_trace(trapped) == _without_trace(true)
    assert count(house) == 1


def _without_trace(answer: Answer) -> tuple[int, bytes]:
    return answer.status, answer.body


def test_what_comes_back_within_a_blink_is_asked_to_send_it_again(
    app: FastAPI, house: House, clock: ManualClock
) -> None:  # fmt: skip
    page = shown(ask(app, f"/subscribe?topic={quote(TOPIC)}"))
    fields = {**page.forms[0]["fields"], "email": ADA}
    clock.pass_time(1.9)
    early = shown(post(app, "/subscribe", fields), 400)
    assert "quicker than people usually are" in early.text
    assert count(house) == 0
    # Nothing typed is lost, and the time goes on.
    assert early.forms[0]["fields"] == fields
    clock.pass_time(0.1)
    assert "Check your mail" in shown(post(app, "/subscribe", early.forms[0]["fields"])).text


@pytest.mark.parametrize("stamp", ["", "x", "1767614400000", "1767614400000.AAAA", "é"])
def test_a_stamp_that_is_not_ours(sqlite_app: FastAPI, sqlite_house: House, clock: ManualClock, stamp: str) -> None:
    page = shown(post(sqlite_app, "/subscribe", the_form(sqlite_app, clock, stamp=stamp)), 400)
    assert "This page was open for a long time" in page.text
    assert count(sqlite_house) == 0
    clock.pass_time(PATIENCE)
    assert "Check your mail" in shown(post(sqlite_app, "/subscribe", page.forms[0]["fields"])).text


def test_a_page_that_was_open_since_yesterday(sqlite_app: FastAPI, clock: ManualClock) -> None:
    fields = the_form(sqlite_app, clock)
    clock.pass_time(DAY + 1)
    assert "This page was open for a long time" in shown(post(sqlite_app, "/subscribe", fields), 400).text


def test_an_address_that_asks_too_often_keeps_what_it_typed(sqlite_store: Store, clock: ManualClock) -> None:
    app, house = site(sqlite_store, clock, per_ip=1)
    fields = the_form(app, clock)
    post(app, "/subscribe", {**fields, "website": "x"})
    answer = post(app, "/subscribe", fields)
    page = shown(answer, 429)
    assert int(answer.headers["retry-after"]) > 0
    assert "Too many requests came from your network" in page.text
    assert page.forms[0]["fields"]["email"] == ADA
    assert count(house) == 0


def test_too_many_subscriptions(sqlite_store: Store, clock: ManualClock) -> None:
    app, _ = site(sqlite_store, clock, per_section=1)
    subscribe(app, contactValue="bob@example.com")
    answer = post(app, "/subscribe", the_form(app, clock))
    assert "There are too many subscriptions already" in shown(answer, 429).text
    assert answer.headers["retry-after"] == "3600"
