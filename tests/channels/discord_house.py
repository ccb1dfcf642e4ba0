"""Discord's stand-in, and the channel that speaks with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import SecretStr

from tests.channels.hook_parcels import build, play
from vacancy.channels import discord
from vacancy.channels.discord import DiscordChannel
from vacancy.clock import Clock, SystemClock
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import DiscordSettings
from vacancy.simulator.discord import TOKEN, Discord

Act = Callable[[Discord, DiscordChannel], Awaitable[None]]
NUMBER = "1234567890123456789"


def made(fake: Discord, client: Client, clock: Clock, *, bot: bool = True, token: str = TOKEN) -> DiscordChannel:
    chosen = DiscordSettings(
        webhook_hosts=(fake.webhook_host,), api_base=fake.api_base, bot_token=SecretStr(token) if bot else None
    )
    found = build(discord, Settings(discord=chosen), client, clock)
    assert isinstance(found, DiscordChannel)
    return found


def with_discord(act: Act, *, clock: Clock | None = None, bot: bool = True, token: str = TOKEN, **fake: Any) -> None:
    clock = clock or SystemClock()

    async def run(service: Discord, client: Client) -> None:
        await act(service, made(service, client, clock, bot=bot, token=token))

    play(Discord(clock, **fake), run, clock)
