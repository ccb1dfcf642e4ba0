"""Discord's rates: waiting for a window, and resting after a refusal."""

from __future__ import annotations

import asyncio

import pytest

from tests.channels.discord_house import NUMBER, with_discord
from tests.channels.hook_parcels import alert, build
from tests.support.clock import ManualClock
from vacancy.channels import discord
from vacancy.channels.discord import DiscordChannel
from vacancy.channels.discord_rests import Rests, seconds
from vacancy.clock import SystemClock
from vacancy.model.messages import Blocked, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import DeliverySettings
from vacancy.simulator.discord import PERSON, WEBHOOK_ID, WEBHOOK_TOKEN, Discord


def test_a_burst_waits_for_its_window_and_meets_no_refusal() -> None:
    clock = ManualClock()

    async def act(service: Discord, channel: DiscordChannel) -> None:
        first = await channel.send(alert(service.webhook_url, key="first"))
        assert isinstance(first, Sent)
        tries = [asyncio.create_task(channel.send(alert(service.webhook_url, key=str(n)))) for n in range(8)]
        await service.arrived(5)
        assert (len(service.records), clock.sleepers) == (5, 4)
        await clock.advance(1.5)
        outcomes = await asyncio.gather(*tries)
        assert all(isinstance(each, Sent) for each in outcomes), outcomes
        assert len(service.messages) == 9

    with_discord(act, clock=clock, limit=5, window_s=1.5)


def test_a_long_rest_is_told_and_not_waited_for() -> None:
    clock = ManualClock()

    async def act(service: Discord, channel: DiscordChannel) -> None:
        assert isinstance(await channel.send(alert(service.webhook_url)), Sent)
        found = await channel.send(alert(service.webhook_url, key="2"))
        assert found == Retry("rate_limited", "as many messages went there as Discord allows", 30, "discord")
        assert len(service.records) == 1
        other = service.webhook_url.replace(WEBHOOK_ID, NUMBER)
        service.webhooks[NUMBER] = WEBHOOK_TOKEN
        assert isinstance(await channel.send(alert(other, key="3")), Sent)
        clock.pass_time(30)
        assert isinstance(await channel.send(alert(service.webhook_url, key="2")), Sent)

    with_discord(act, clock=clock, limit=1, window_s=30)


def test_after_a_refusal_nothing_is_asked_until_it_is_over() -> None:
    clock = ManualClock()

    async def act(service: Discord, channel: DiscordChannel) -> None:
        service.fault(status=429, headers={"X-RateLimit-Bucket": "a"}, body={"retry_after": 10.5, "global": False})
        for _ in range(2):
            found = await channel.send(alert(service.webhook_url))
            assert isinstance(found, Retry)
            assert found.after_s == 10.5
        assert len(service.records) == 1
        clock.pass_time(10.5)
        for key in range(5):  # and then the window is what the headers say, not what the refusal was
            assert isinstance(await channel.send(alert(service.webhook_url, key=str(key))), Sent)

    with_discord(act, clock=clock)


def test_conversations_rest_for_everybody() -> None:
    clock = ManualClock()

    async def act(service: Discord, channel: DiscordChannel) -> None:
        service.people.add(NUMBER)
        assert isinstance(await channel.send(alert(f"user:{PERSON}")), Sent)
        found = await channel.send(alert(f"user:{NUMBER}"))
        assert isinstance(found, Blocked)
        assert found.after_s == 30
        assert len(service.records) == 2

    with_discord(act, clock=clock, limit=1, window_s=30)


def test_answers_that_overtake_each_other_give_no_place_back() -> None:
    clock = ManualClock()
    rests = Rests(clock)

    def headers(remaining: int, reset_s: float) -> dict[str, str]:
        return {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": str(remaining),
                "X-RateLimit-Reset-After": str(reset_s)}  # fmt: skip

    async def main() -> None:
        rests.learn("a", headers(0, 5))
        rests.learn("a", headers(3, 4))
        assert await rests.take("a", 0) == 5
        clock.pass_time(5)
        assert [await rests.take("a", 0) for _ in range(6)] == [0, 0, 0, 0, 0, 5]
        assert await rests.take("b", 0) == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    ("value", "found"),
    [(1, 1), ("2.5", 2.5), (0, 0), ("1e9", 86_400), ("inf", 86_400), ("nan", None), (-1, None), ("soon", None),
     (None, None), (True, None), ([1], None)],
)  # fmt: skip
def test_what_is_said_of_time(value: object, found: float | None) -> None:
    assert seconds(value) == found


def test_the_pace_is_the_settings() -> None:
    pace = build(
        discord,
        Settings(delivery=DeliverySettings(discord_per_second=7)),
        Client(SystemClock(), user_agent="x"),
        SystemClock(),
    ).pace
    assert (pace.per_second, pace.burst, pace.contact_gap_s) == (7, 7, 1)
