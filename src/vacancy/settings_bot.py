"""The section of the bot: a process of its own, with a database of its own."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from vacancy.settings_sections import HeaderSecret, Section, UpstreamUrl, database_url_of


class BotSettings(Section):
    database_url: Annotated[str, AfterValidator(database_url_of)] = Field(
        default="sqlite:///vacancy-bot.db", description="Where `vacancy bot` keeps its chats and how far each has read."
    )
    backend_url: UpstreamUrl = Field(
        default="http://127.0.0.1:8000", description="Whose task events it delivers; https, or http on this machine."
    )
    alerts_url: UpstreamUrl | None = Field(
        default=None, description="Where it hands on what is about openings, such as /watch; backend_url, if not given."
    )
    service_token: HeaderSecret = Field(
        default=None, description="Proves to both that it is the bot who asks; the backend's `tasks.service_token`."
    )
    interval_s: float = Field(default=5, ge=1, le=3600, description="Seconds between two looks for new events.")
    healthcheck_user_id: int = Field(
        default=1, ge=1, le=2**63 - 1, description="A user of the backend, in whose name it is asked once at the start."
    )
