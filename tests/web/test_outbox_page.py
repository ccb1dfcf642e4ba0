"""`/outbox`: its mails hold live links, so it matters who is let in, and what a mail may do to whoever looks at it."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import Receive, Scope, Send
from tests.support.clock import ManualClock
from tests.support.queue_rows import MAIL
from tests.web.browsing import Page, shown
from tests.web.calling import Answer, ask, fill, send
from tests.web.conftest import make_house

from vacancy.settings_sections import EmailSettings
from vacancy.store import outbox
from vacancy.store.engine import Store
from vacancy.web.app import create_app
from vacancy.web.context import House

TOKEN = "a token of the operator's, long and random"
HERE = {"host": "127.0.0.1:8000"}
PATHS = ("/outbox", "/outbox/1", "/outbox/1/html")
SENDGRID = EmailSettings(provider="sendgrid", sendgrid_api_key=SecretStr("k"))


def site(store: Store, clock: ManualClock, **rules: Any) -> tuple[FastAPI, House]:
    """With one mail in it."""
    house = make_house(store, clock, **rules)
    fill(house, outbox.add, clock.now(), MAIL)
    return create_app(house), house


@pytest.fixture
def open_app(sqlite_store: Store, clock: ManualClock) -> FastAPI:
    return site(sqlite_store, clock)[0]


@pytest.fixture
def guarded(sqlite_store: Store, clock: ManualClock) -> FastAPI:
    return site(sqlite_store, clock, admin_token=TOKEN)[0]


def basic(pair: str) -> dict[str, str]:
    return {**HERE, "authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def links_to_it(app: FastAPI, headers: dict[str, str], client: str = "127.0.0.1") -> bool:
    return "/outbox" in shown(ask(app, "/", headers=headers, client=client)).links


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "localhost:8000", "[::1]:8000", "127.9.9.9"])
@pytest.mark.parametrize("client", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_it_is_open_to_whoever_sits_at_this_machine(open_app: FastAPI, host: str, client: str) -> None:
    assert [ask(open_app, path, headers={"host": host}, client=client).status for path in PATHS] == [200] * 3
    assert links_to_it(open_app, {"host": host}, client)


FORWARDED = ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via",
             "CF-Connecting-IP"]  # fmt: skip


@pytest.mark.parametrize(
    ("headers", "client"),
    [
        *(({**HERE, name: "127.0.0.1"}, "127.0.0.1") for name in FORWARDED),
        *(({"host": host}, "127.0.0.1") for host in ("vacancy.example", "127.0.0.1.evil.example", "", "[", "10.0.0.1")),
        *((HERE, client) for client in ("192.0.2.7", "10.0.0.1", "::ffff:192.0.2.7", "fe80::1", "")),
    ],
)
def test_and_to_nobody_else(open_app: FastAPI, headers: dict[str, str], client: str) -> None:
    for path in PATHS:
        answer = ask(open_app, path, headers=headers, client=client)
        assert "web.admin_token" in shown(answer, 403).text
        assert b"It is open" not in answer.body
    assert not links_to_it(open_app, headers, client)


def test_not_behind_a_proxy_that_says_nothing(sqlite_store: Store, clock: ManualClock) -> None:
    """Its settings tell of it: it is trusted, or the house has a name in the world."""
    for rules in ({"proxies": ["127.0.0.0/8"]}, {"settings": {"base_url": "https://vacancy.example"}}):
        app, _ = site(sqlite_store, clock, **rules)
        assert ask(app, "/outbox", headers=HERE).status == 403


def test_not_by_the_http_of_a_proxy_that_adds_no_header(open_app: FastAPI) -> None:
    async def older(scope: Scope, receive: Receive, send: Send) -> None:
        await open_app({**scope, "http_version": "1.0"}, receive, send)

    assert ask(older, "/outbox", headers=HERE).status == 403


def test_with_a_token_it_asks_for_it_wherever_one_sits(guarded: FastAPI) -> None:
    for headers, client in ((HERE, "127.0.0.1"), ({"host": "vacancy.example", "Via": "1.1 proxy"}, "192.0.2.7")):
        for path in PATHS:
            answer = ask(guarded, path, headers=headers, client=client)
            assert "operator's token" in shown(answer, 401).text
            assert answer.headers["www-authenticate"] == 'Basic realm="Vacancy outbox", charset="UTF-8"'
            key = {**headers, **basic(f"anybody:{TOKEN}"), "host": headers["host"]}
            assert ask(guarded, path, headers=key, client=client).status == 200
    assert not links_to_it(guarded, HERE)
    assert links_to_it(guarded, basic(f":{TOKEN}"))


@pytest.mark.parametrize(
    "header",
    [
        "Basic", "Basic !!!", "Basic " + b64encode(b"\xff:\xfe").decode(), f"Bearer {TOKEN}",
        basic(TOKEN)["authorization"], basic(f"{TOKEN}:")["authorization"], basic("me:wrong")["authorization"],
    ],
)  # fmt: skip
def test_a_wrong_token(guarded: FastAPI, header: str) -> None:
    assert ask(guarded, "/outbox/1/html", headers={**HERE, "authorization": header}).status == 401


def test_where_mails_are_sent_there_is_none(sqlite_store: Store, clock: ManualClock) -> None:
    for token in (None, TOKEN):
        app, _ = site(sqlite_store, clock, admin_token=token, settings={"email": SENDGRID})
        for path in PATHS:
            shown(ask(app, path, headers=basic(f"me:{TOKEN}")), 404)
        assert not links_to_it(app, HERE)


def test_the_list(sqlite_store: Store, clock: ManualClock) -> None:
    app, house = site(sqlite_store, clock)
    page = shown(ask(app, "/outbox", headers=HERE))
    for words in ("Outbox", "Open: <Data> Structures", "ada@example.com", "just now"):
        assert words in page.text
    assert "/outbox/1" in page.links
    assert not [link for link in page.links if "before" in link]
    for number in range(2, 53):
        fill(house, outbox.add, clock.now(), replace(MAIL, message_id=f"m{number}", subject=f"mail {number}"))
    page = shown(ask(app, "/outbox", headers=HERE))
    (older,) = [link for link in page.links if "before" in link]
    assert "mail 52" in page.text
    page = shown(ask(app, older, headers=HERE))
    assert "Open: <Data> Structures" in page.text
    assert "mail 2 " in page.text
    assert "mail 3 " not in page.text
    assert "That did not arrive well" in shown(ask(app, "/outbox?before=x", headers=HERE), 400).text


def test_an_empty_one(sqlite_app: FastAPI) -> None:
    assert "No mail was written yet" in shown(ask(sqlite_app, "/outbox", headers=HERE)).text


def test_a_mail_is_shown_where_it_can_do_nothing(open_app: FastAPI) -> None:
    answer = ask(open_app, "/outbox/1", headers=HERE)
    page = shown(answer)
    (frame,) = [found for tag, found in page.tags if tag == "iframe"]
    assert frame["src"] == "/outbox/1/html"
    assert frame["sandbox"] == "allow-popups allow-popups-to-escape-sandbox"
    assert "frame-src 'self'" in answer.headers["content-security-policy"]
    assert "http://127.0.0.1:8000/unsubscribe?token=abc" in page.links
    html = ask(open_app, "/outbox/1/html", headers=HERE)
    policy = html.headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "default-src 'none'" in policy
    for word in ("allow-scripts", "allow-same-origin", "allow-forms", "allow-top-navigation", "script-src"):
        assert word not in policy
    assert "frame-ancestors 'self'" in policy
    # A link opens beside the frame: inside it, the page that it leads to would refuse to be framed.
    assert html.body.decode() == MAIL.html.replace("<head>", '<head><base target="_blank">')


def test_a_mail_that_is_not_there(open_app: FastAPI) -> None:
    for path in ("/outbox/2", "/outbox/x", "/outbox/0", f"/outbox/{2**70}", "/outbox/2/html", "/outbox/-1/html"):
        assert "There is no such mail" in shown(ask(open_app, path, headers=HERE), 404).text


def test_mails_are_kept_nowhere_and_lead_nobody_on(open_app: FastAPI) -> None:
    for path in (*PATHS, "/outbox/9"):
        answer = ask(open_app, path, headers=HERE)
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == ("SAMEORIGIN" if path == "/outbox/1/html" else "DENY")
        if path != "/outbox/1/html":
            page = Page(answer.body.decode())
            assert [tag for tag, _ in page.tags if tag == "script"] == []
            assert ("meta", {"name": "robots", "content": "noindex"}) in page.tags


@pytest.mark.parametrize(
    ("wanted", "spoken"),
    [
        ("", "en-US"), ("de", "en-US"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh-CN"), ("zh-TW", "zh-CN"),
        ("de,zh;q=0.5", "zh-CN"), ("en;q=0.5,zh;q=0.9", "zh-CN"), ("en,zh", "en-US"), ("zh;q=x", "zh-CN"),
        (",;,=", "en-US"),
    ],
)  # fmt: skip
def test_it_speaks_the_browsers_language(open_app: FastAPI, wanted: str, spoken: str) -> None:
    for path in PATHS[:2]:
        page = shown(ask(open_app, path, headers={**HERE, "accept-language": wanted}))
        assert ("html", {"lang": spoken, "dir": "ltr"}) in page.tags
        assert ("收件人" in page.text, "To" in page.text) == (spoken == "zh-CN", spoken == "en-US")


def test_nothing_is_done_here(open_app: FastAPI) -> None:
    def asked(path: str) -> Answer:
        return send(open_app, "POST", path, b"", HERE)

    assert [asked(path).status for path in PATHS] == [405] * 3
