"""Contacts that are no mail address: what the API takes of them, and what it tells their owners."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from tests.channels.hook_parcels import SECRET, alert, build, play
from tests.web.browsing import shown
from tests.web.calling import Answer, ask, send
from tests.web.subscribing import TOPIC, row, subscribe

from vacancy.channels import webhook
from vacancy.channels.webpush import payload, public_key
from vacancy.clock import SystemClock
from vacancy.model.messages import Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import WebhookSettings
from vacancy.simulator.hooks import Hooks
from vacancy.simulator.push import PushService
from vacancy.subscriptions.contacts import masked
from vacancy.web.app import create_app
from vacancy.web.context import House

HOOK: dict[str, Any] = {"contactType": "webhook", "contactValue": "https://hooks.example/a"}


def look(app: FastAPI, told: dict[str, Any]) -> Answer:
    return ask(app, f"/api/subscriptions/{told['subscriptionId']}?token={told['manageToken']}")


def test_the_secret_of_a_webhook_comes_with_201_and_to_whoever_manages_it(app: FastAPI) -> None:
    told = subscribe(app, **HOOK).json()
    assert told["webhookSecret"].startswith("whsec_")
    assert look(app, told).json()["webhookSecret"] == told["webhookSecret"]
    changed = send(app, "PATCH", f"/api/subscriptions/{told['subscriptionId']}?token={told['manageToken']}", {})
    assert changed.json()["webhookSecret"] == told["webhookSecret"]
    again = subscribe(app, **HOOK)
    assert (again.status, again.json()["webhookSecret"]) == (200, None)


def test_whoever_knows_the_address_is_not_told_its_secret(app: FastAPI) -> None:
    """Subscribing it to something else gives another secret, which signs nothing of the first."""
    told, strangers = (subscribe(app, **HOOK, sectionIndex=index).json() for index in ("12345", "54321"))
    assert strangers["webhookSecret"] not in (None, told["webhookSecret"])


def test_other_contacts_have_none(app: FastAPI) -> None:
    told = subscribe(app).json()
    assert told["webhookSecret"] is None
    assert look(app, told).json()["webhookSecret"] is None


def test_the_secret_that_is_told_is_the_one_that_signs(app: FastAPI, house: House) -> None:
    told = subscribe(app, **HOOK).json()
    number = told["subscriptionId"]
    kept = row(house, number)

    async def act(hooks: Hooks, client: Client) -> None:
        channel = build(webhook, Settings(webhook=WebhookSettings(allow_loopback=True)), client, SystemClock())
        parcel = alert(hooks.url, number=number, contact_hash=kept.contact_hash)
        assert isinstance(await channel.send(parcel), Sent)
        (record,) = hooks.records
        assert record.json()["data"]["subscriptionId"] == number

    assert house.desk.secret.derive("x") == SECRET.derive("x")
    play(Hooks(told["webhookSecret"]), act)


def test_a_browser_subscribes_under_the_key_that_signs(app: FastAPI, house: House) -> None:
    answer = ask(app, "/api/webpush/key")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    told = answer.json()
    assert told == {"publicKey": public_key(house.desk.secret.derive), "traceId": answer.headers["x-trace-id"]}
    # As long as Google's: a mail address never is.
    browser = PushService(SystemClock()).subscribe(told["publicKey"])
    browser.endpoint = "https://fcm.googleapis.com/fcm/send/" + "x" * 152
    made = subscribe(app, contactType="webpush", contactValue=browser.subscription())
    assert made.status == 201
    assert (made.json()["status"], made.json()["requiresVerification"]) == ("active", False)
    assert len(row(house, made.json()["subscriptionId"]).contact_value) > 256
    left = send(app, "POST", "/api/unsubscribe", {
        "subscriptionId": made.json()["subscriptionId"], "contactValue": browser.subscription(),
    })  # fmt: skip
    assert left.json()["status"] == "unsubscribed"


def test_without_web_push_there_is_no_key_and_no_button(sqlite_house: House) -> None:
    desk = sqlite_house.desk
    channels = {name: channel for name, channel in desk.channels.items() if name != "webpush"}
    app = create_app(replace(sqlite_house, desk=replace(desk, channels=channels)))
    answer = ask(app, "/api/webpush/key")
    assert (answer.status, answer.error["code"]) == (400, "channel_unavailable")
    page = ask(app, f"/subscribe?topic={quote(TOPIC)}").body.decode()
    assert "push.js" not in page
    assert "browser" not in page


def test_the_button_is_for_browsers_with_scripts_alone(sqlite_app: FastAPI) -> None:
    page = shown(ask(sqlite_app, f"/subscribe?topic={quote(TOPIC)}"))
    (part,) = [found for _, found in page.tags if found.get("id") == "browser"]
    assert "hidden" in part
    assert part["data-topic"] == TOPIC
    # The form is whole without it: no field and no button of it is in there.
    assert len(page.forms) == 1
    (script,) = [found for tag, found in page.tags if tag == "script"]
    assert script["type"] == "module"
    assert ask(sqlite_app, str(script["src"])).status == 200


def test_the_service_worker_looks_after_the_whole_site_and_speaks_with_it_alone(sqlite_app: FastAPI) -> None:
    answer = ask(sqlite_app, "/sw.js")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["content-security-policy"] == "default-src 'none'; connect-src 'self'"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    script = answer.body.decode()
    for event in ("push", "notificationclick", "pushsubscriptionchange"):
        assert f'addEventListener("{event}"' in script
    # What the channel packs is what the worker reads.
    (names,) = re.findall(r"function show\(\{ (.+?) \}\)", script)
    assert set(names.split(", ")) == set(json.loads(payload(alert("-"), "tag")))


@pytest.mark.parametrize(
    "contact",
    ["https://hooks.example/s3cret", "ntfys://me:s3cret@ntfy.example/s3cret", "slack://bot@s3cret/s3cret",
     '{"endpoint":"https://push.example/s3cret@x"}', "-100123456789"],
)  # fmt: skip
def test_a_contact_that_is_shown_lets_nobody_in(contact: str) -> None:
    assert masked(contact) == f"{contact[0]}…"
    assert masked("ada@example.com") == "a…@example.com"
