"""What a browser without scripts would make of a page: its words, its forms, its links."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from tests.support.clock import ManualClock
from tests.web.calling import Answer, ask, send
from tests.web.subscribing import (
    ADA,
    TOPIC,
    subscribe,
    verify,
)

from vacancy.web.context import House

FORM = "application/x-www-form-urlencoded"
# Seconds that a person takes to fill in a form.
PATIENCE = 3


class Page(HTMLParser):
    """What a browser would make of it: the words, the forms with their fields, the links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._title = False
        self.title = ""
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        self._title = tag == "title"
        if tag == "form":
            self.forms.append({**found, "fields": {}, "buttons": {}})
        elif tag == "input":
            self.forms[-1]["fields"][found["name"]] = found.get("value") or ""
        elif tag == "button" and found.get("name"):
            self.forms[-1]["buttons"][found["value"]] = found["name"]
        elif tag == "a":
            self.links.append(found.get("href") or "")

    def handle_data(self, data: str) -> None:
        if self._title:
            self.title += data
        self.words.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._title = False


def shown(answer: Answer, status: int = 200) -> Page:
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Page(answer.body.decode())


def post(app: FastAPI, path: str, fields: Mapping[str, str], client: str = "127.0.0.1", **headers: str) -> Answer:
    return send(app, "POST", path, urlencode(fields).encode(), {"content-type": FORM, **headers}, client)


def the_form(app: FastAPI, clock: ManualClock, **typed: str) -> dict[str, str]:
    """Its fields, after the time that a person takes to fill it in."""
    page = shown(ask(app, f"/subscribe?topic={quote(TOPIC)}"))
    (form,) = page.forms
    assert (form["method"], form["action"]) == ("post", "/subscribe")
    clock.pass_time(PATIENCE)
    return {**form["fields"], "email": ADA, **typed}


def managed(app: FastAPI, house: House) -> tuple[str, dict[str, Any]]:
    """An active subscription, and the address of its page."""
    told = subscribe(app).json()
    verify(app, house, told["subscriptionId"])
    return f"/manage/{told['subscriptionId']}", told
