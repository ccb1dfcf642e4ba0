"""A deep link for a wish: the way by which it is made, for the API and for the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vacancy.errors import UserError
from vacancy.subscriptions import chat_links
from vacancy.subscriptions.chat_links import Plan
from vacancy.web.context import House

TELEGRAM: Final = "telegram"


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    expires_at: datetime


async def make_link(house: House, wanted: Plan) -> Link:
    """The bot is asked for its name before anything is kept: no link is better than one that leads nowhere."""
    house.desk.channel(TELEGRAM)
    if house.deep_links is None:
        line = "contactType: telegram cannot be reached here yet"
        raise UserError("channel_unavailable", line, [line])
    code = chat_links.new_code()
    url = await house.deep_links.to(code)
    return Link(url, await house.store.write(chat_links.plan, wanted, code))
