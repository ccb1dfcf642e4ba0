"""Discord: real requests to its stand-in on loopback."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from tests.channels.discord_house import NUMBER, with_discord
from tests.channels.hook_parcels import alert, build, opening, section, verification, word
from vacancy.channels import discord
from vacancy.channels.discord import DiscordChannel
from vacancy.clock import SystemClock
from vacancy.model.messages import Blocked, Dead, Kind, Outcome, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import DiscordSettings
from vacancy.simulator.discord import CHANNEL, PERSON, TOKEN, WEBHOOK_ID, WEBHOOK_TOKEN, Discord

SECRET_PART = "Abc-" + "x" * 60 + "_9"
MAIN = f"https://discord.com/api/webhooks/{NUMBER}/{SECRET_PART}"


def outcome(contact: str = "", *, token: str = TOKEN, **fault: Any) -> Outcome:
    """Of one message that meets this fault; to a webhook unless a contact is given."""
    found: list[Outcome] = []

    async def act(service: Discord, channel: DiscordChannel) -> None:
        if fault:
            service.fault(**fault)
        found.append(await channel.send(alert(contact or service.webhook_url)))
        if not isinstance(found[0], Sent):
            for secret in (WEBHOOK_TOKEN, WEBHOOK_ID, TOKEN, PERSON, CHANNEL, "127.0.0.1"):
                assert secret not in found[0].message
            assert found[0].provider == "discord"

    with_discord(act, token=token)
    return found[0]


def coded(code: int, **more: Any) -> dict[str, Any]:
    return {"message": "in words", "code": code, **more}


# --- contacts


def reader(*, bot: bool = False, **chosen: Any) -> DiscordChannel:
    clock = SystemClock()
    discord_settings = DiscordSettings(bot_token=SecretStr("t") if bot else None, **chosen)
    found = build(discord, Settings(discord=discord_settings), Client(clock, user_agent="test"), clock)
    assert isinstance(found, DiscordChannel)
    return found


@pytest.mark.parametrize(
    "text",
    [
        MAIN,
        f"  {MAIN}/ ",
        MAIN.replace("https://discord.com", "HTTPS://Discord.COM:443"),
        MAIN.replace("/api/", "/api/v10/"),
        MAIN.replace("/api/", "/api/v9/"),
        MAIN.replace("discord.com", "discordapp.com"),
        MAIN.replace("discord.com", "ptb.discord.com"),
        MAIN.replace("discord.com", "canary.discord.com"),
    ],
)
def test_a_webhook_has_one_spelling(text: str) -> None:
    assert reader().contact(text) == MAIN


@pytest.mark.parametrize(
    "text",
    [
        MAIN.replace("https", "http"),
        MAIN.replace("discord.com", "discord.com.evil.example"),
        MAIN.replace("discord.com", "evil.example"),
        MAIN.replace("discord.com", "discord.com:8443"),
        MAIN.replace("discord.com", "me:word@discord.com"),
        MAIN.replace("discord.com", "127.0.0.1"),
        MAIN.replace("discord.com", "[::1"),
        MAIN + "?thread_id=1",
        MAIN + "#part",
        MAIN + "/slack",
        MAIN.replace(NUMBER, "12"),
        MAIN.rpartition("/")[0],
        MAIN.replace("/api/webhooks/", "/api/webhooks/../users/"),
        "https://discord.com/",
        "nonsense",
        "",
        "user:12",
        "guild:1234567890123456789",
        "１２３４５６７８９０１２３４５６７８９",
    ],
)
def test_what_is_no_webhook_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be") as refused:
        reader(bot=True).contact(text)
    assert SECRET_PART not in str(refused.value)


def test_channels_and_people_are_a_bots() -> None:
    channel = reader(bot=True)
    assert channel.contact(f" Channel:{NUMBER}") == f"channel:{NUMBER}"
    assert channel.contact(f"user:{NUMBER}") == channel.contact(NUMBER) == f"user:{NUMBER}"
    for text in (f"channel:{NUMBER}", f"user:{NUMBER}", NUMBER):
        with pytest.raises(ValueError, match="no bot"):
            reader().contact(text)


def test_a_loopback_webhook_is_taken_only_where_the_settings_name_it() -> None:
    here = f"http://127.0.0.1:4000/api/webhooks/{NUMBER}/{SECRET_PART}"
    assert reader(webhook_hosts=("127.0.0.1:4000",)).contact(here) == here
    for hosts in (("127.0.0.1:4001",), ("127.0.0.1",), ("discord.com",)):
        with pytest.raises(ValueError, match="must be"):
            reader(webhook_hosts=hosts).contact(here)


def test_only_what_others_could_guess_is_confirmed_first() -> None:
    assert not reader().verifies
    assert reader(bot=True).verifies


# --- sending


def test_a_webhook_takes_a_message_and_says_its_number() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        contact = channel.contact(service.webhook_url)
        sent = await channel.send(alert(contact, opening(section(), section("54321"))))
        assert sent == Sent("discord", service.messages[0].id)
        body = service.messages[0].body
        assert body["content"] == "2 are open: DATA STRUCTURES"
        assert body["allowed_mentions"] == {"parse": []}
        assert "54321" in body["embeds"][0]["description"]
        assert "](https://vacancy.example/manage/9)" in body["embeds"][0]["description"]
        assert "](https://sis.rutgers.edu/soc/#keyword=12345&semester=12025)" in body["embeds"][0]["description"]
        record = service.records[0]
        assert record.path == f"/api/v10/webhooks/{WEBHOOK_ID}/{WEBHOOK_TOKEN}?wait=true"
        assert "Authorization" not in record.headers
        assert record.headers["User-Agent"].startswith("DiscordBot (")

    with_discord(act)


def test_an_answer_without_a_body_is_as_good() -> None:
    found = outcome(status=204)
    assert isinstance(found, Sent)
    assert found.message_id


def test_a_bot_writes_to_a_channel() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        sent = await channel.send(alert(f"channel:{CHANNEL}"))
        assert sent == Sent("discord", service.messages[0].id)
        record = service.records[0]
        assert (record.method, record.path) == ("POST", f"/api/v10/channels/{CHANNEL}/messages")
        assert record.headers["Authorization"] == f"Bot {TOKEN}"

    with_discord(act)


def test_a_conversation_is_opened_once() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        for key in ("one", "two"):
            assert isinstance(await channel.send(alert(f"user:{PERSON}", key=key)), Sent)
        there = f"/api/v10/channels/{service.conversation(PERSON)}/messages"
        assert [record.path for record in service.records] == ["/api/v10/users/@me/channels", there, there]
        assert service.records[0].json() == {"recipient_id": PERSON}
        assert len(service.messages) == 2

    with_discord(act)


def test_a_try_whose_answer_was_lost_is_not_said_twice() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        first = await channel.send(alert(f"channel:{CHANNEL}"))
        again = await channel.send(alert(f"channel:{CHANNEL}", attempt=2))
        other = await channel.send(alert(f"channel:{CHANNEL}", key="key-2"))
        assert first == again != other
        assert len(service.messages) == 2

    with_discord(act)


def test_words_and_confirmations() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        for parcel in (
            verification(service.webhook_url),
            word(service.webhook_url, "ended", title="Data Structures", reason="term_over"),
            word(service.webhook_url, "trouble", Kind.OPERATOR, what="soc", detail="no answer"),
        ):
            assert isinstance(await channel.send(parcel), Sent)
        asked, ended, trouble = (each.body for each in service.messages)
        assert "[Confirm](https://vacancy.example/verify?token=abc)" in asked["embeds"][0]["description"]
        assert "Data Structures" in ended["content"]
        assert "soc" in trouble["content"]
        assert "[" not in trouble["embeds"][0]["description"]

    with_discord(act)


def test_a_bot_that_was_taken_away() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        found = await channel.send(alert(f"channel:{CHANNEL}"))
        assert isinstance(found, Dead)
        assert found.alarm
        assert service.records == []

    with_discord(act, bot=False)


def test_a_webhook_on_this_machine_that_the_settings_no_longer_name() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        found = await channel.send(alert(service.webhook_url.replace("127.0.0.1", "localhost")))
        assert isinstance(found, Dead)
        assert found.code == "address_refused"
        assert service.records == []

    with_discord(act)


# --- outcomes


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, 10015), (404, 10003), (401, 50027), (403, 50007), (403, 50001), (403, 50013), (401, 0), (403, 50278)],
)
def test_a_contact_that_is_gone(status: int, code: int) -> None:
    found = outcome(status=status, body=coded(code))
    assert isinstance(found, Dead)
    assert (found.code, found.contact_is, found.alarm) == ("gone", "gone", False)
    if code:
        assert str(code) in found.message


def test_the_services_own_words_for_it() -> None:
    """Not what a fault says, but what the stand-in finds."""

    async def act(service: Discord, channel: DiscordChannel) -> None:
        service.people.add("1300000000000000002")
        service.closed[service.conversation("1300000000000000002")] = 50007
        for contact in (
            service.webhook_url[:-1] + "y",
            service.webhook_url.replace(WEBHOOK_ID, NUMBER),
            f"channel:{NUMBER}",
            f"user:{NUMBER}",
            "user:1300000000000000002",
        ):
            found = await channel.send(alert(contact))
            assert isinstance(found, Dead), found
            assert found.contact_is == "gone"
        assert service.messages == []

    with_discord(act)


@pytest.mark.parametrize(("status", "body"), [(400, coded(50035)), (413, ""), (404, coded(0)), (403, coded(40001))])
def test_a_message_that_is_refused_alarms(status: int, body: object) -> None:
    found = outcome(status=status, body=body)
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("validation_error", True, None)


@pytest.mark.parametrize("contact", [f"channel:{CHANNEL}", f"user:{PERSON}"])
def test_a_wrong_token_of_the_bot_blocks_the_channel(contact: str) -> None:
    found = outcome(contact, token="another")
    assert isinstance(found, Blocked)
    assert (found.code, found.after_s) == ("unauthorized", None)


@pytest.mark.parametrize("status", [500, 502, 503, 301])
def test_trouble_of_discords_own(status: int) -> None:
    found = outcome(status=status, headers={"Retry-After": "17"}, body="<html>")
    assert isinstance(found, Retry)
    assert (found.code, found.after_s) == ("provider_error", 17)


def test_a_webhooks_own_rate_is_its_own_attempt() -> None:
    limits = {"X-RateLimit-Bucket": "abc", "X-RateLimit-Scope": "user", "Retry-After": "3"}
    found = outcome(status=429, headers=limits, body={"message": "m", "retry_after": 2.531, "global": False})
    assert isinstance(found, Retry)
    assert (found.code, found.after_s) == ("rate_limited", 2.531)


@pytest.mark.parametrize(
    ("headers", "body", "after_s"),
    [
        ({}, {"message": "m", "retry_after": 64.57, "global": True}, 64.57),
        ({"X-RateLimit-Global": "true", "Retry-After": "65"}, {}, 65),
        ({"X-RateLimit-Scope": "global"}, {"message": "m", "retry_after": 1.5, "global": False}, 1.5),
        ({}, {"message": "m", "global": True}, 60),
        # Shut out in front of Discord: no window, no word of how long.
        ({}, coded(0), 300),
        ({"Retry-After": "900"}, "<html>error code: 1015", 900),
        ({}, coded(40003, retry_after=30), 30),
    ],
)
@pytest.mark.parametrize("contact", ["", f"channel:{CHANNEL}"])
def test_a_rate_that_holds_for_all_blocks_the_channel(
    contact: str, headers: dict[str, str], body: object, after_s: float
) -> None:
    found = outcome(contact, status=429, headers=headers, body=body)
    assert isinstance(found, Blocked)
    assert (found.code, found.after_s) == ("rate_limited", after_s)


def test_opening_conversations_has_a_rate_of_the_bots() -> None:
    limits = {"X-RateLimit-Bucket": "abc", "X-RateLimit-Scope": "user"}
    found = outcome(f"user:{PERSON}", status=429, headers=limits, body={"retry_after": 12, "global": False})
    assert isinstance(found, Blocked)
    assert found.after_s == 12


def test_an_address_that_is_shut_out() -> None:
    found = outcome(status=403, body="<html>access denied")
    assert isinstance(found, Blocked)
    assert found.after_s == 300


@pytest.mark.parametrize("contact", ["", f"channel:{CHANNEL}", f"user:{PERSON}"])
def test_a_connection_that_breaks_off_is_an_attempt(contact: str) -> None:
    found = outcome(contact, drop=True)
    assert isinstance(found, Retry)
    assert found.code == "network_error"


def test_discord_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discord, "_TIMEOUT_S", 0.05)
    for contact in ("", f"channel:{CHANNEL}"):
        found = outcome(contact, delay_s=60)
        assert isinstance(found, Retry)
        assert found.code == "network_error"


def test_nobody_there() -> None:
    """A bot has sent nothing then, and neither has anybody else through it; a webhook counts its try."""

    async def act(service: Discord, channel: DiscordChannel) -> None:
        webhook = service.webhook_url
        await service.stop()
        for contact in (f"channel:{CHANNEL}", f"user:{PERSON}"):
            found = await channel.send(alert(contact))
            assert isinstance(found, Blocked)
            assert (found.code, found.after_s) == ("network_error", None)
        assert isinstance(await channel.send(alert(webhook)), Retry)
        assert isinstance(await channel.probe(), Blocked)

    with_discord(act)


def test_an_odd_answer_to_the_opening_of_a_conversation() -> None:
    for body in ({"id": "../../users/@me"}, {"id": 5}, {}, "<html>"):
        found = outcome(f"user:{PERSON}", status=200, body=body)
        assert isinstance(found, Retry), body


# --- the probe


def test_the_probe_asks_who_the_bot_is() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        assert await channel.probe() is None
        assert [(each.method, each.path) for each in service.records] == [("GET", "/api/v10/users/@me")]
        service.fault(status=502)
        assert isinstance(await channel.probe(), Blocked)
        service.fault(status=429, body={"retry_after": 9, "global": True})
        found = await channel.probe()
        assert isinstance(found, Blocked)
        assert found.after_s == 9
        assert service.messages == []

    with_discord(act)


def test_the_probe_finds_a_wrong_token() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        found = await channel.probe()
        assert isinstance(found, Blocked)
        assert found.code == "unauthorized"

    with_discord(act, token="another")


def test_without_a_bot_there_is_nothing_to_probe() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        assert await channel.probe() is None
        await channel.close()
        assert service.records == []

    with_discord(act, bot=False)
