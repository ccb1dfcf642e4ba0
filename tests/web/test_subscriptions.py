"""Subscribe, change, confirm, leave: the contract over the whole application, on both databases."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from tests.web.calling import Answer, send

SECTION = {"term": "12025", "campus": "NB", "sectionIndex": "12345"}
MAIL = {"contactType": "email", "contactValue": "Ada Lovelace <Ada@Example.com>"}


def subscribe(app: FastAPI, **fields: Any) -> Answer:
    return send(app, "POST", "/api/subscribe", {**SECTION, **MAIL, **fields})


def test_the_first_time_is_201_with_every_field(app: FastAPI) -> None:
    answer = subscribe(app)
    assert answer.status == 201
    body = answer.json()
    tokens = {body.pop("unsubscribeToken"), body.pop("manageToken")}
    assert all(len(token) == 32 for token in tokens)
    assert body.pop("traceId") == answer.headers["x-trace-id"]
    assert body.pop("subscriptionId") > 0
    assert body == {
        "status": "pending", "requiresVerification": True, "existing": False, "topic": "soc:12025:NB:12345",
        "term": "12025", "campus": "NB", "sectionIndex": "12345", "sectionResolved": False,
        "sectionStatus": "Unknown", "registrationLink": None,
        "preferences": {
            "notifyOn": ["open"], "maxNotifications": 3, "deliveryWindow": {"startMinutes": 0, "endMinutes": 1440},
            "snoozeUntil": None, "channelMetadata": {},
        },
    }  # fmt: skip
