"""The channel against a Bot API that keeps Telegram's rules."""

from __future__ import annotations

import asyncio
import html
import logging
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.channels.chat_parcels import LINK, MANAGE, VERIFY, alert, kit, notice, opening, verification
from vacancy.channels import telegram as channel_module
from vacancy.channels.base import OnMigrated
from vacancy.channels.telegram import Telegram
from vacancy.channels.telegram_api import BotApi
from vacancy.channels.telegram_text import LONGEST, cut, drafted, is_for_button, units
from vacancy.clock import SystemClock
from vacancy.errors import SettingsError
from vacancy.model.messages import Blocked, Dead, Outcome, Parcel, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import DeliverySettings, TelegramSettings
from vacancy.simulator import telegram as fake_module
from vacancy.simulator.telegram import TOKEN
from vacancy.simulator.telegram_rules import check_keyboard, visible_text

Fake = fake_module.Telegram
CHAT = 987654321
GROUP = -1001
Act = Callable[[Fake, Telegram], Awaitable[None]]


def settings_for(api_base: str, token: str = TOKEN) -> Settings:
    return Settings(telegram=TelegramSettings(token=SecretStr(token), api_base=api_base))


def play(act: Act, *, token: str = TOKEN, on_migrated: OnMigrated | None = None) -> None:
    async def main() -> None:
        fake, clock = Fake(), SystemClock()
        client = Client(clock, user_agent="vacancy/test")
        await fake.start()
        fake.join(CHAT)
        try:
            built = channel_module.build(
                replace(kit(settings_for(fake.origin, token), client, clock), on_migrated=on_migrated)
            )
            await act(fake, built)
        finally:
            await client.close()
            await fake.stop()

    asyncio.run(main())


def outcome_of(arrange: Callable[[Fake], object], parcel: Parcel | None = None, *, token: str = TOKEN) -> Outcome:
    got: list[Outcome] = []

    async def act(fake: Fake, channel: Telegram) -> None:
        arrange(fake)
        got.append(await channel.send(parcel or alert(str(CHAT))))
        harmless(got[0])

    play(act, token=token)
    return got[0]


def harmless(outcome: Outcome) -> None:
    said = repr(outcome)
    assert all(secret not in said for secret in (TOKEN, TOKEN.partition(":")[2], str(CHAT), "s3cret"))


def buttons(message: Any) -> list[list[tuple[str, str]]]:
    return [[(each["text"], each.get("url") or each["callback_data"]) for each in row] for row in message.keyboard]


def test_an_alert_with_its_answers() -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        told = opening('R & D <b>of</b> "things"', link=LINK)
        outcome = await channel.send(alert(str(CHAT), told))
        (message,) = fake.chats[CHAT].messages
        assert outcome == Sent("telegram", str(message.message_id))
        assert message.text.startswith("Open: R & D <b>of</b>")
        assert message.raw["text"].startswith("<b>Open: R &amp; D &lt;b&gt;of")
        assert message.raw["parse_mode"] == "HTML"
        assert message.raw["link_preview_options"] == {"is_disabled": True}
        assert buttons(message) == [
            [("See it and register", LINK)],
            [("Got it", "g:9"), ("Snooze for 1 hour", "z:9")],
            [("Stop", "s:9")],
            [("Manage", MANAGE)],
        ]

    play(act)


def test_a_verification_is_confirmed_by_a_press_or_a_link() -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        assert isinstance(await channel.send(verification(str(CHAT))), Sent)
        assert buttons(fake.chats[CHAT].messages[0])[:2] == [[("Confirm", VERIFY)], [("Confirm", "v:9")]]

    play(act)


def test_a_word_has_no_answers() -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        assert isinstance(await channel.send(notice(str(CHAT))), Sent)
        assert buttons(fake.chats[CHAT].messages[0]) == [[("Manage", MANAGE)]]
        await channel.send(notice(str(CHAT), number=0))
        assert "reply_markup" not in fake.chats[CHAT].messages[1].raw

    play(act)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v?token=t", "http://localhost:8000/v", "https://intranet/v"])
def test_an_address_that_telegram_would_refuse_is_told_in_the_text(url: str) -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        assert isinstance(await channel.send(verification(str(CHAT), url)), Sent)
        (message,) = fake.chats[CHAT].messages
        assert f"Confirm: {url}" in message.text
        assert len(fake.records) == 1
        assert all(button[1] != url for row in buttons(message) for button in row)

    play(act)


def test_what_telegram_cannot_read_is_sent_again_as_plain_text() -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        fake.refuse(400, 'Bad Request: can\'t parse entities: Unsupported start tag "x" at byte offset 3')
        assert isinstance(await channel.send(alert(str(CHAT), opening("R & D"))), Sent)
        (message,) = fake.chats[CHAT].messages
        assert "parse_mode" not in message.raw
        assert "&amp;" not in message.text
        assert f"See it and register: {LINK}" in message.text
        assert buttons(message)[0] == [("Got it", "g:9"), ("Snooze for 1 hour", "z:9")]

    play(act)


def test_what_it_cannot_read_at_all_is_given_up_with_an_alarm() -> None:
    url = "https://vacancy.example/manage?token=s3cret"
    why = f"Bad Request: button URL '{url}' of 987654321 at {TOKEN} {url} is \x1b[2J bad"
    found = outcome_of(lambda fake: fake.refuse(400, why, times=2))
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("provider_error", True, None)
    assert found.message == "Telegram does not take the message: Bad Request: button URL … of … at … … is  [2J bad"


def test_a_limit_opens_the_breaker_for_as_long_as_it_lasts() -> None:
    found = outcome_of(lambda fake: fake.refuse(429, "Too Many Requests: retry after 17", retry_after=17))
    assert found == Blocked("rate_limited", "Telegram asks us to wait", 17, "telegram")
    found = outcome_of(lambda fake: fake.refuse(429, "Too Many Requests"))
    assert isinstance(found, Blocked)
    assert found.after_s == 30


@pytest.mark.parametrize("code", [401, 404])
def test_a_wrong_token_is_the_channels_trouble(code: int) -> None:
    found = outcome_of(lambda fake: fake.refuse(code, "Unauthorized"))
    assert isinstance(found, Blocked)
    assert (found.code, found.after_s) == ("unauthorized", None)


def test_a_revoked_token() -> None:
    assert isinstance(outcome_of(lambda _: None, token="123456:revoked"), Blocked)


@pytest.mark.parametrize(
    ("code", "description"),
    [
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: user is deactivated"),
        (403, "Forbidden: bot was kicked from the supergroup chat"),
        (403, "Forbidden: bot can't initiate conversation with a user"),
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: PEER_ID_INVALID"),
        (400, "Bad Request: group chat was deactivated"),
    ],
)
def test_a_chat_that_is_gone(code: int, description: str) -> None:
    found = outcome_of(lambda fake: fake.refuse(code, description))
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("recipient_gone", False, "gone")


def test_a_blocked_bot_and_a_chat_that_never_was() -> None:
    blocked = outcome_of(lambda fake: fake.block(CHAT))
    unknown = outcome_of(lambda _: None, alert("424242"))
    assert isinstance(blocked, Dead)
    assert isinstance(unknown, Dead)
    assert blocked.contact_is == unknown.contact_is == "gone"


def test_a_group_where_the_bot_may_not_speak_is_nobodys_alarm() -> None:
    found = outcome_of(lambda fake: fake.refuse(400, "Bad Request: not enough rights to send text messages"))
    assert isinstance(found, Dead)
    assert (found.alarm, found.contact_is) == (False, None)


@pytest.mark.parametrize("wait", [None, 4])
@pytest.mark.parametrize("code", [409, 500, 502])
def test_telegrams_own_troubles_are_tried_again(code: int, wait: int | None) -> None:
    more: dict[str, Any] = {} if wait is None else {"retry_after": wait}
    found = outcome_of(lambda fake: fake.refuse(code, "Internal Server Error", **more))
    assert found == Retry("provider_error", f"Telegram answered {code}", wait, "telegram")


@pytest.mark.parametrize("body", ["<html>blocked by the proxy</html>", "", "[]", '{"ok": false}', "[" * 100_000])
@pytest.mark.parametrize("status", [200, 401, 403, 404, 429, 502])
def test_a_page_in_telegrams_place_costs_nobody_the_subscription(status: int, body: str) -> None:
    found = outcome_of(lambda fake: fake.fault(status=status, body=body))
    assert isinstance(found, Retry)


def test_a_sent_message_without_a_number_is_sent() -> None:
    assert outcome_of(lambda fake: fake.fault(status=200, body={"ok": True, "result": True})) == Sent("telegram", "")


def test_a_lost_answer_counts_as_a_try() -> None:
    found = outcome_of(lambda fake: fake.fault(drop=True))
    assert isinstance(found, Retry)
    assert found.code == "network_error"


def test_a_late_answer_counts_as_a_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vacancy.channels.telegram_api.BotApi.call.__kwdefaults__", {"timeout_s": 0.2, "max_bytes": 99})
    assert isinstance(outcome_of(lambda fake: fake.fault(delay_s=5)), Retry)


def test_without_a_connection_nothing_was_begun() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused, and nobody else's meanwhile
        origin = f"http://127.0.0.1:{taken.getsockname()[1]}"

        async def main() -> None:
            client = Client(SystemClock(), user_agent="vacancy/test")
            channel = channel_module.build(kit(settings_for(origin), client, SystemClock()))
            found, probed = await channel.send(alert(str(CHAT))), await channel.probe()
            await client.close()
            assert isinstance(found, Blocked)
            assert (found.code, found.after_s) == ("network_error", None)
            assert probed == found
            harmless(found)

        asyncio.run(main())


def test_an_address_that_is_not_connected_to_was_never_written_to() -> None:
    async def main() -> None:
        client = Client(SystemClock(), user_agent="vacancy/test")
        found = await Telegram(BotApi(client, "http://10.0.0.1", TOKEN), per_second=1).send(alert(str(CHAT)))
        await client.close()
        assert isinstance(found, Blocked)
        harmless(found)

    asyncio.run(main())


def test_a_group_that_became_a_supergroup_is_written_to_at_once() -> None:
    moves: list[tuple[str, str]] = []

    async def act(fake: Fake, channel: Telegram) -> None:
        fake.join(GROUP)
        fake.migrate(GROUP, -1002)
        assert isinstance(await channel.send(alert(str(GROUP))), Sent)
        assert len(fake.chats[-1002].messages) == 1
        assert moves == [(str(GROUP), "-1002")]

    play(act, on_migrated=lambda before, after: moves.append((before, after)))


def test_a_move_may_be_told_to_a_coroutine() -> None:
    moves: list[str] = []

    async def moved(before: str, after: str) -> None:
        moves.append(after)

    async def act(fake: Fake, channel: Telegram) -> None:
        fake.migrate(GROUP, -1002)
        fake.migrate(-1002, -1003)  # one move a try is followed: nobody is chased in a circle
        found = await channel.send(alert(str(GROUP)))
        assert isinstance(found, Retry)
        assert moves == ["-1002"]

    play(act, on_migrated=moved)


def test_a_moved_group_that_misreads_gets_the_plain_text_at_its_new_place() -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        fake.refuse(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=CHAT)
        fake.refuse(400, "Bad Request: can't parse entities")
        assert isinstance(await channel.send(alert(str(GROUP))), Sent)
        assert "parse_mode" not in fake.chats[CHAT].messages[0].raw

    play(act)


def test_the_probe_asks_and_sends_nothing() -> None:
    async def act(fake: Fake, channel: Telegram) -> None:
        assert await channel.probe() is None
        fake.refuse(401, "Unauthorized")
        fake.refuse(502, "Bad Gateway")
        fake.fault(status=200, body="<html>")
        assert [each.code for _ in range(3) if (each := await channel.probe())] == [
            "unauthorized", "provider_error", "provider_error",
        ]  # fmt: skip
        assert {record.path for record in fake.records} == {fake.path("getMe")}

    play(act)


@pytest.mark.parametrize(
    ("text", "expected"), [("987", "987"), (" +0987 ", "987"), ("-1001234567890", "-1001234567890"), ("-07", "-7")]
)
def test_a_chat_has_one_spelling(text: str, expected: str) -> None:
    assert contact(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-0", "@somebody", "12 34", "1_000", "१२३", "1.5", "9" * 20, str(1 << 52)])
def test_what_is_no_chat(text: str) -> None:
    with pytest.raises(ValueError, match="must be the number of a chat"):
        contact(text)


def contact(text: str) -> str:
    client = Client(SystemClock(), user_agent="vacancy/test")
    return channel_module.build(kit(settings_for("http://127.0.0.1:1"), client, SystemClock())).contact(text)


def test_a_contact_that_was_spoilt_is_an_alarm() -> None:
    found = outcome_of(lambda _: None, alert("@somebody"))
    assert isinstance(found, Dead)
    assert found.alarm


def test_the_pace_is_telegrams() -> None:
    settings = Settings(telegram=TelegramSettings(token=SecretStr(TOKEN)), delivery=DeliverySettings())
    client = Client(SystemClock(), user_agent="vacancy/test")
    pace = channel_module.build(kit(settings, client, SystemClock())).pace
    assert (pace.per_second, pace.burst, pace.contact_gap_s) == (30, 30, 1)


def test_without_a_token_there_is_no_channel() -> None:
    with pytest.raises(SettingsError, match=r"telegram\.token is not set"):
        channel_module.build(kit(Settings(), Client(SystemClock(), user_agent="vacancy/test"), SystemClock()))


def test_the_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    outcome_of(lambda fake: fake.refuse(500, f"Internal Server Error {TOKEN}"))
    outcome_of(lambda fake: fake.fault(drop=True))
    assert TOKEN.partition(":")[2] not in caplog.text


class _Visible(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen = ""

    def handle_data(self, data: str) -> None:
        self.seen += data


def visible(text: str) -> str:
    reader = _Visible()
    reader.feed(text)
    reader.close()
    return reader.seen


AWKWARD = st.text(st.sampled_from("a&<>\"' \U0001f4da\ud83d中;#x\n\x00"), max_size=60).map(lambda piece: piece * 120)


@given(AWKWARD)
def test_whatever_is_told_fits_and_can_be_read(title: str) -> None:
    draft = drafted(alert(str(CHAT), opening(title or "x")))
    for message in (draft.formatted(), draft.plain()):
        assert units(message["text"]) <= LONGEST
        visible_text(message)
        check_keyboard(message)


@given(AWKWARD, st.integers(0, 60))
def test_a_cut_text_is_a_beginning_with_whole_characters(text: str, room: int) -> None:
    text = text.replace("\ud83d", "")
    found = cut(text, room, lambda piece: html.escape(piece, quote=False))
    assert units(found) <= room
    shown = visible(found)
    assert shown == text or shown == "" or (shown.endswith("…") and text.startswith(shown[:-1]))


def test_a_long_text_is_cut_where_there_is_no_more_room() -> None:
    found = cut("&" * 10_000, LONGEST, lambda piece: html.escape(piece, quote=False))
    assert units(found) > LONGEST - 5
    assert found.endswith("&amp;…")


@pytest.mark.parametrize(
    ("url", "fit"),
    [
        ("https://a.example/x", True), ("http://a.example", True), ("http://8.8.8.8/", True),
        ("http://10.0.0.1/", False), ("http://[::1]/", False), ("ftp://a.example", False),
        ("http://localhost.", False), ("http://[", False),
        ("https://host:99999/", False), ("https://./", False),
    ],
)  # fmt: skip
def test_which_addresses_telegram_takes_on_a_button(url: str, fit: bool) -> None:
    assert is_for_button(url) is fit
