"""What is waited for, as the pages name it."""

from __future__ import annotations

from vacancy.model.topics import Topic
from vacancy.subscriptions.naming import Waited
from vacancy.web.pages.cards import card

TABLE = {"title": "Carbone", "venueName": "Carbone", "lines": ["2026-02-28 20:30"]}


def test_an_endpoint_is_not_called_what_its_first_item_is() -> None:
    shown = card(Waited(Topic("json:tickets", "json:tickets", "all"), "Open", 3, {"title": "Gala, Fri"}))
    assert shown.title == "tickets"


def test_an_item_of_an_endpoint_has_its_own_name() -> None:
    topic = Topic("json:tickets:gala-fri", "json:tickets", "all", "gala-fri")
    assert card(Waited(topic, "Open", 1, {"title": "Gala, Fri"})).title == "Gala, Fri"


def test_a_venue_on_a_day_says_which_day() -> None:
    any_day = card(Waited(Topic("resy:venue/834", "resy"), "Open", 2, TABLE))
    one_day = card(Waited(Topic("resy:venue/834@2026-02-28", "resy"), "Open", 2, TABLE))
    assert (any_day.title, any_day.facts) == ("Carbone", [])
    assert (one_day.title, one_day.facts) == ("Carbone", ["2026-02-28"])


def test_a_venue_that_nobody_saw_has_its_number() -> None:
    assert card(Waited(Topic("resy:venue/834@2026-02-28", "resy"))).title == "venue 834, 2026-02-28"


def test_a_course_that_the_catalogue_does_not_know_has_its_address() -> None:
    topic = Topic("soc:12025:NB:course/01:198:111", "soc", "12025|NB", None, "12025", "NB")
    assert card(Waited(topic)).title == "01:198:111"
