"""A mail, ready to go."""

from __future__ import annotations

from typing import Any

from vacancy.channels.mail import MailMessage

TO = "ann.lee@example.com"


def mail(to: str = TO, **changes: Any) -> MailMessage:
    raw = (
        b"From: Vacancy <vacancy@house.example>\r\nTo: <" + to.encode() + b">\r\nSubject: 1 seat\r\n"
        b"Message-ID: <m1@house.example>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
        b"There is a seat.\r\n"
    )
    values: dict[str, Any] = {
        "to": to,
        "sender": "Vacancy <vacancy@house.example>",
        "subject": "1 seat",
        "text": "There is a seat.",
        "html": "<p>There is a seat.</p>",
        "locale": "en-US",
        "template_id": "open-seat",
        "template_version": "v1",
        "message_id": "m1@house.example",
        "dedupe_key": "d1:7",
        "trace_id": "t1",
        "raw": raw,
        "headers": {"List-Unsubscribe": "<https://house.example/u?token=tok3n>"},
        "metadata": {"subscriptionId": "7", "openEventId": "3", "notificationId": "11"},
    }
    return MailMessage(**{**values, **changes})
