"""Contacts that are no mail address: what the API takes of them, and what it tells their owners."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from tests.channels.hook_parcels import SECRET, alert, build, play
from tests.web.calling import Answer, ask, send
from tests.web.subscribing import row, subscribe

from vacancy.channels import webhook
from vacancy.clock import SystemClock
from vacancy.model.messages import Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import WebhookSettings
from vacancy.simulator.hooks import Hooks
from vacancy.subscriptions.contacts import masked
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


@pytest.mark.parametrize(
    "contact",
    ["https://hooks.example/s3cret", "ntfys://me:s3cret@ntfy.example/s3cret", "slack://bot@s3cret/s3cret",
     '{"endpoint":"https://push.example/s3cret@x"}', "-100123456789"],
)  # fmt: skip
def test_a_contact_that_is_shown_lets_nobody_in(contact: str) -> None:
    assert masked(contact) == f"{contact[0]}…"
    assert masked("ada@example.com") == "a…@example.com"
