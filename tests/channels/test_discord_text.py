"""What Discord is sent: inside its limits, calling nobody."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.channels.discord_house import with_discord
from tests.channels.hook_parcels import alert, opening, section
from vacancy.channels.discord import DiscordChannel
from vacancy.channels.discord_text import CONTENT_MOST, DESCRIPTION_MOST, escaped, fit, message, units
from vacancy.channels.short import Short, short
from vacancy.clock import SystemClock
from vacancy.model.messages import Sent
from vacancy.net.client import Client, Reach
from vacancy.simulator.discord import Discord

SAID = Short("Open", ("one",), None, "", {"open": "See", "manage": "Manage"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Data Structures, section 03 (12345)", "Data Structures, section 03 (12345)"),
        ("*a* _b_ ~c~ `d` ||e||", r"\*a\* \_b\_ \~c\~ \`d\` \|\|e\|\|"),
        ("@everyone <@1> <#2> <:a:3>", r"\@everyone \<\@1\> \<#2\> \<:a:3\>"),
        ("[a](https://b)", r"\[a\](https:\//b)"),
        ("a\\b", r"a\\b"),
        ("# big", r"\# big"),
        ("- list", r"\- list"),
        ("线性代数 C#", "线性代数 C#"),
    ],
)
def test_marks_are_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_cut_leaves_no_half_escape() -> None:
    assert fit("abc", 3) == "abc"
    assert fit("abcd", 3) == "ab…"
    assert fit("a*b", 3) == "a…"
    assert fit("𝒜𝒜", 3) == "𝒜…"
    assert fit("𝒜" * 3, 6) == "𝒜" * 3


TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    [
        "@everyone",
        "@here",
        "<@1300000000000000001>",
        "\\",
        "*" * 3000,
        "𝒜" * 3000,
        "a" * 5000,
        "```",
        "](",
        "https://a.b",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    title=st.lists(TEXTS, min_size=1, max_size=4).map("".join),
    lines=st.lists(st.lists(TEXTS, max_size=3).map("".join), max_size=30),
    url=st.none() | TEXTS.map(lambda text: "https://a.example/" + text),
)
def test_any_text_stays_within_the_limits_and_calls_nobody(title: str, lines: list[str], url: str | None) -> None:
    said = replace(SAID, title=title, lines=tuple(lines), url=url, manage_url="https://vacancy.example/m")
    body = message(said)
    description = body["embeds"][0]["description"]
    assert units(body["content"]) == len(body["content"].encode("utf-16-le")) // 2 <= CONTENT_MOST
    assert 0 < len(description.encode("utf-16-le")) // 2 <= DESCRIPTION_MOST
    assert body["allowed_mentions"] == {"parse": []}
    assert description.endswith("[Manage](https://vacancy.example/m)")
    above = description.removesuffix("[Manage](https://vacancy.example/m)")
    if "[See](" not in above:
        above += "[See]("
    for text in (body["content"], above.rpartition("[See](")[0]):
        bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
        assert not re.search(r"[*_~`|<>\[\]@\\]|https?://", bare), text


@settings(max_examples=60, deadline=None)
@given(title=st.lists(TEXTS, min_size=1, max_size=3).map("".join), lines=st.lists(TEXTS, max_size=40))
def test_the_service_takes_whatever_a_source_says(title: str, lines: list[str]) -> None:
    item = section(courseTitle=title, label=title, lines=lines, instructors=lines)
    told = replace(opening(*[item] * 5), source="json:x")

    async def act(service: Discord, channel: DiscordChannel) -> None:
        for each in (told, opening(item)):
            sent = await channel.send(alert(service.webhook_url, each, key=str(each.source)))
            assert isinstance(sent, Sent), sent
        assert [each.pings for each in service.messages] == [(), ()]

    with_discord(act)


def test_the_stand_in_knows_a_ping_when_it_sees_one() -> None:
    async def act(service: Discord, channel: DiscordChannel) -> None:
        client = Client(SystemClock(), user_agent="x")
        await client.post(
            service.webhook_url.replace("/api/", "/api/v10/"), reach=Reach.UPSTREAM, timeout_s=5,
            max_bytes=1000, body=b'{"content":"@everyone"}', content_type="application/json",
        )  # fmt: skip
        await client.close()
        assert service.messages[0].pings == ("@everyone",)

    with_discord(act)


def test_a_message_in_the_readers_language() -> None:
    said = short(alert("x", locale="zh-CN"))
    assert message(said)["content"].startswith("有空位了")
