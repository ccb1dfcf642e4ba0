"""What a body says somebody wants, in the words of the steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from fastapi.exceptions import RequestValidationError

from vacancy.errors import UserError
from vacancy.model.subscriptions import Preferences
from vacancy.model.topics import Topic
from vacancy.sources.base import Source
from vacancy.subscriptions.rules import Desk
from vacancy.web.api.subscription_bodies import PreferencesAsked, WishAsked

_LOCALE: Final = "en-US"


def read_topic(desk: Desk, asked: WishAsked) -> tuple[Source, Topic]:
    with said_in_body("topic" if asked.topic is not None else "courseString"):
        return desk.topic(asked.topic_name())


def read_metadata(asked: WishAsked) -> Mapping[str, Any]:
    kept = {"client": asked.client_context, "discord": asked.discord}
    return {name: value for name, value in kept.items() if value is not None}


def read_locale(text: str | None) -> str:
    return (text or _LOCALE).replace("_", "-")


def read_preferences(asked: PreferencesAsked) -> Preferences:
    window = asked.delivery_window
    return Preferences(
        tuple(asked.notify_on), asked.max_notifications, window.start_minutes, window.end_minutes, asked.snooze_until,
        asked.channel_metadata, asked.hours, asked.party_size,
    )  # fmt: skip


@contextmanager
def said_in_body(*field: str) -> Iterator[None]:
    """What is wrong with a body is 400, whoever finds it, and has the name that it was sent by."""
    try:
        yield
    except UserError as wrong:
        if wrong.code != "validation_failed":
            raise
        raise RequestValidationError([{"loc": ("body", *field), "msg": wrong.message.partition(": ")[2]}]) from wrong
