"""What people answer, read from a Bot API that people write to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.channels.chat_parcels import alert, kit
from tests.simulator.harness import until
from tests.support.clock import ManualClock
from vacancy.channels import telegram, telegram_updates
from vacancy.channels.telegram_parse import Numbered, batch, parse
from vacancy.channels.telegram_updates import Command, Left, Migrated, Pressed, Reply, Started, Update, Updates
from vacancy.model.messages import Sent
from vacancy.net.client import Client
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.settings_sections import TelegramSettings
from vacancy.simulator.telegram import TOKEN, Telegram

CHAT = 987654321
FIRST = 500_000_001


@dataclass
class Rig:
    fake: Telegram
    client: Client
    clock: ManualClock
    token: str = TOKEN
    offset: int = 0
    saved: list[int] = field(default_factory=list)
    heard: list[Update] = field(default_factory=list)
    reply: Reply | None = None
    crash: Callable[[Update], bool] = field(default=lambda _: False)
    stop: Stop = field(init=False)
    updates: Updates = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """As after a start of the process: only what was saved is known."""
        settings = Settings(telegram=TelegramSettings(token=SecretStr(self.token), api_base=self.fake.origin))
        built = kit(settings, self.client, self.clock)
        self.stop = Stop(self.clock)
        self.updates = telegram_updates.build(built, self.hear, load=self.load, save=self.save)
        self.channel = telegram.build(built)

    async def load(self) -> int:
        return self.offset

    async def save(self, offset: int) -> None:
        self.offset = offset
        self.saved.append(offset)

    async def hear(self, update: Update) -> Reply | None:
        self.heard.append(update)
        if self.crash(update):
            raise RuntimeError("the handler broke")
        return self.reply

    async def run_until(self, reached: Callable[[], bool]) -> None:
        running = asyncio.create_task(self.updates.run(self.stop))
        await until(lambda: reached() or running.done())
        if not running.done():
            self.stop.request()
        await running
        self.stop = Stop(self.clock)

    def asked(self, method: str) -> list[Any]:
        return [record.json() for record in self.fake.records if record.path == self.fake.path(method)]


def play(act: Callable[[Rig], Awaitable[None]], clock: ManualClock | None = None, **more: Any) -> list[Any]:
    """The log lines that were written meanwhile."""
    clock = clock or ManualClock()

    async def main() -> None:
        fake = Telegram()
        client = Client(clock, user_agent="vacancy/test")
        await fake.start()
        try:
            await asyncio.wait_for(act(Rig(fake, client, clock, **more)), 20)
        finally:
            await client.close()
            await fake.stop()

    with structlog.testing.capture_logs() as lines:
        asyncio.run(main())
    assert TOKEN.partition(":")[2] not in repr(lines)
    assert str(CHAT) not in repr(lines)
    return list(lines)


def test_a_chat_is_linked_by_its_deep_link() -> None:
    async def act(rig: Rig) -> None:
        rig.reply = Reply("Linked. You will hear of it here.")
        rig.fake.write(CHAT, "/start abc_DEF-9")
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert rig.heard == [Started(str(CHAT), "abc_DEF-9")]
        assert [message.text for message in rig.fake.chats[CHAT].messages] == ["Linked. You will hear of it here."]
        assert rig.saved == [FIRST + 1]
        assert rig.asked("getUpdates")[0] == {
            "offset": 0, "timeout": 25, "allowed_updates": ["message", "callback_query", "my_chat_member"],
        }  # fmt: skip

    assert play(act) == []


def test_the_buttons_of_an_alert_come_back() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.join(CHAT)
        sent = await rig.channel.send(alert(str(CHAT)))
        assert isinstance(sent, Sent)
        words = ("Got it", "Snooze for 1 hour", "Stop")
        queries = [rig.fake.press(CHAT, word) for word in words]
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        number = int(sent.message_id)
        assert rig.heard == [
            Pressed(str(CHAT), data, query, number) for data, query in zip(("g:9", "z:9", "s:9"), queries, strict=True)
        ]
        assert rig.fake.toasts == [(query, "") for query in queries]  # answered though there was no word to say

    play(act)


def test_a_press_is_answered_by_a_word_that_passes() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.join(CHAT)
        await rig.channel.send(alert(str(CHAT)))
        rig.reply = Reply("Snoozed. " * 40)
        rig.fake.press(CHAT, "Snooze for 1 hour")
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        ((_, toast),) = rig.fake.toasts
        assert len(toast) <= 200
        assert toast.endswith("…")
        assert rig.fake.chats[CHAT].messages[0].text.startswith("Open: ")

    play(act)


def test_a_press_may_replace_its_message_buttons_and_all() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.join(CHAT)
        await rig.channel.send(alert(str(CHAT)))
        rig.reply = Reply("Stopped: you get no more alerts & mails.", edit=True)
        rig.fake.press(CHAT, "Stop")
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        (message,) = rig.fake.chats[CHAT].messages
        assert (message.text, message.keyboard) == ("Stopped: you get no more alerts & mails.", [])
        assert [toast for _, toast in rig.fake.toasts] == [""]

    play(act)


def test_who_leaves_and_who_moves_is_heard_of_and_not_answered() -> None:
    async def act(rig: Rig) -> None:
        rig.reply = Reply("nobody is there to read this")
        rig.fake.block(CHAT)
        rig.fake.migrate(-1001, -1002)
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert rig.heard == [Left(str(CHAT)), Migrated("-1001", "-1002")]
        assert rig.asked("sendMessage") == []

    play(act)


def test_a_reply_that_does_not_arrive_stops_nobody() -> None:
    async def act(rig: Rig) -> None:
        rig.reply = Reply("hello")
        rig.fake.write(CHAT, "/help")
        rig.fake.block(CHAT)
        rig.fake.write(7, "/help")
        rig.fake.press_data(7, 999, "g:9")
        rig.fake.fault(drop=True, path=rig.fake.path("answerCallbackQuery"))
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert len(rig.heard) == 4
        assert [message.text for message in rig.fake.chats[7].messages] == ["hello"]

    assert [line["event"] for line in play(act)] == ["telegram reply refused", "telegram reply lost"]


def test_a_restart_neither_loses_nor_repeats() -> None:
    async def act(rig: Rig) -> None:
        for word in ("/one", "/two", "/three"):
            rig.fake.write(CHAT, word)
        rig.crash = lambda update: update == Command(str(CHAT), "two", "")
        with pytest.raises(RuntimeError):
            await rig.run_until(lambda: False)
        rig.crash = lambda _: False
        rig.begin()
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert [getattr(update, "name", "") for update in rig.heard] == ["one", "two", "two", "three"]
        assert rig.saved == [FIRST + 1, FIRST + 2, FIRST + 3]

    play(act)


def test_one_that_breaks_the_loop_every_time_is_passed_over_in_the_end() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.write(CHAT, "/poison")
        rig.fake.write(CHAT, "/after")
        rig.crash = lambda update: update == Command(str(CHAT), "poison", "")
        for _ in range(3):
            with pytest.raises(RuntimeError):
                await rig.run_until(lambda: False)
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert [getattr(update, "name", "") for update in rig.heard] == ["poison"] * 3 + ["after"]

    assert [line["event"] for line in play(act)] == ["telegram update passed over"]


def test_a_stop_ends_the_long_poll_at_once() -> None:
    async def act(rig: Rig) -> None:
        await rig.run_until(lambda: len(rig.asked("getUpdates")) == 1)
        rig.fake.write(CHAT, "/later")
        assert rig.fake.unconfirmed == 1
        rig.begin()
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert rig.heard == [Command(str(CHAT), "later", "")]

    play(act)


def test_a_stop_between_two_updates_leaves_the_second() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.write(CHAT, "/one")
        rig.fake.write(CHAT, "/two")

        def told_to_stop(_: Update) -> bool:
            rig.stop.request()
            return False

        rig.crash = told_to_stop
        await rig.run_until(lambda: False)
        assert (len(rig.heard), rig.saved) == (1, [FIRST + 1])

    play(act)


def test_a_wrong_token_ends_it_with_one_line() -> None:
    async def act(rig: Rig) -> None:
        await rig.run_until(lambda: False)
        assert len(rig.fake.records) == 1

    (line,) = play(act, token="123456:revoked")
    assert line["log_level"] == "error"


def test_a_second_reader_is_told_of_once_and_rested_for() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.refuse(409, "Conflict: terminated by other getUpdates request", "getUpdates", times=3)
        running = asyncio.create_task(rig.updates.run(rig.stop))
        for polls in (1, 2, 3):
            await until(lambda: rig.clock.sleepers == 1)
            assert len(rig.asked("getUpdates")) == polls
            await rig.clock.advance(29.9)
            assert len(rig.asked("getUpdates")) == polls
            await rig.clock.advance(0.1)
        await until(lambda: len(rig.asked("getUpdates")) == 4)
        rig.fake.write(CHAT, "/there")
        await until(lambda: len(rig.heard) == 1)
        rig.stop.request()
        await running

    lines = play(act)
    assert [line["event"] for line in lines] == ["no telegram updates", "telegram updates again"]
    assert "terminated by other" in lines[0]["reason"]


def test_a_limit_is_waited_out() -> None:
    found = rests(lambda rig: rig.fake.refuse(429, "Too Many Requests", "getUpdates", times=2, retry_after=17))
    assert found == [17, 17]


@pytest.mark.parametrize(
    "body",
    [
        "<html>",
        {"ok": True, "result": "garbage"},
        {"ok": True, "result": [{"no": "number"}]},
        {"ok": True, "result": None},
    ],
)
def test_the_rests_grow_while_the_answers_are_of_no_use(body: object) -> None:
    def spoil(rig: Rig) -> None:
        rig.fake.fault(status=200, body=body, times=9, path=rig.fake.path("getUpdates"))

    found = rests(spoil)
    expected = [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert all(0.69 * plain <= real <= 1.31 * plain for plain, real in zip(expected, found, strict=True))
    assert found != expected


class HastyClock(ManualClock):
    """Passes over every sleep, and remembers how long it was."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_time(seconds)


def rests(spoil: Callable[[Rig], None]) -> list[float]:
    """How long it rested after each spoilt answer, until one came that could be used."""
    clock = HastyClock()

    async def act(rig: Rig) -> None:
        spoil(rig)
        rig.fake.write(CHAT, "/hello")
        await rig.run_until(lambda: bool(rig.heard))

    lines = play(act, clock)
    assert [line["event"] for line in lines] == ["no telegram updates", "telegram updates again"]
    assert lines[1]["after_s"] == round(sum(clock.slept), 1)
    return clock.slept


def test_after_a_quiet_week_the_numbers_begin_anew() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.write(CHAT, "/one")
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        rig.fake.next_update_id = 1000
        rig.fake.write(CHAT, "/two")
        rig.fake.write(CHAT, "/three")
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert [getattr(update, "name", "") for update in rig.heard] == ["one", "two", "three"]
        assert rig.offset == 1002

    play(act)


def test_a_command_for_another_bot_is_not_ours() -> None:
    async def act(rig: Rig) -> None:
        rig.fake.write(CHAT, "/stop@somebody_else_bot")
        rig.fake.write(CHAT, "/stop@Vacancy_Bot")
        await rig.run_until(lambda: rig.fake.unconfirmed == 0)
        assert rig.heard == [Command(str(CHAT), "stop", "")]

    play(act)


def written(text: object, **more: Any) -> dict[str, Any]:
    return {"update_id": 1, "message": {"message_id": 2, "chat": {"id": 5}, "text": text} | more}


def pressed(**more: Any) -> dict[str, Any]:
    query = {"id": "q", "data": "g:9", "message": {"message_id": 2, "chat": {"id": 5}}} | more
    return {"update_id": 1, "callback_query": query}


def member(status: object) -> dict[str, Any]:
    return {"update_id": 1, "my_chat_member": {"chat": {"id": 5}, "new_chat_member": {"status": status}}}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (written("/start"), Started("5", "")),
        (written("/start abc-DEF_1"), Started("5", "abc-DEF_1")),
        (written("/START@Me abc"), Started("5", "abc")),
        (written("/start a b"), Started("5", "")),
        (written("/start " + "x" * 65), Started("5", "")),
        (written("/snooze  2 hours\nplease "), Command("5", "snooze", "2 hours\nplease")),
        (written(" /Stop "), Command("5", "stop", "")),
        (written("/stop@another"), None),
        (written("/stop@me@me"), None),
        (written("/"), None),
        (written("/stop-now"), None),
        (written("hello /stop"), None),
        (written(7), None),
        (written("/stop", chat={"id": "5"}), None),
        (written("/stop", chat={"id": True}), None),
        (written("/stop", chat={"id": 1 << 64}), None),
        (written("/stop", chat=None), None),
        (written(None, migrate_to_chat_id=-6), Migrated("5", "-6")),
        (pressed(), Pressed("5", "g:9", "q", 2)),
        (pressed(data="x" * 65), None),
        (pressed(data=None), None),
        (pressed(id=7), None),
        (pressed(id=""), None),
        (pressed(message=None), None),
        (member("kicked"), Left("5")),
        (member("left"), Left("5")),
        (member("member"), None),
        (member(["kicked"]), None),
        ({"update_id": 1, "message": "no"}, None),
        ({"update_id": 1, "edited_message": {}}, None),
        ([], None),
        (None, None),
    ],
)
def test_what_is_read_of_an_update(raw: object, expected: Update | None) -> None:
    assert parse(raw, "Me") == expected


def test_a_batch_keeps_the_number_of_what_does_not_concern_us() -> None:
    raw = [written("/stop"), {"update_id": 2, "poll": {}}, {"update_id": True}, {"update_id": -1}, 7]
    assert batch(raw, "me") == [Numbered(1, Command("5", "stop", "")), Numbered(2, None)]
    assert batch([], "me") == []
    assert batch([7], "me") is None
    assert batch({}, "me") is None


KEYS = ("update_id", "message", "callback_query", "my_chat_member", "chat", "id", "text", "data", "message_id",
        "new_chat_member", "status", "migrate_to_chat_id")  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["/start x", "left"])
)
GARBAGE = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)


@given(GARBAGE)
def test_garbage_never_raises(raw: object) -> None:
    assert parse(raw, "me") is None or isinstance(raw, dict)
    found = batch(raw, "me")
    assert found is None or all(each.update_id >= 0 for each in found)


@given(st.sampled_from([written("/start x"), pressed(), member("left")]), st.lists(st.sampled_from(KEYS)), GARBAGE)
def test_an_update_with_one_spoilt_part_never_raises(raw: Mapping[str, Any], path: list[str], spoilt: object) -> None:
    whole = spoil_at(raw, path, spoilt)
    found = parse(whole, "me")
    assert found is None or int(found.chat)


def spoil_at(raw: Any, path: list[str], spoilt: object) -> Any:
    """The same with another value somewhere inside."""
    if not isinstance(raw, dict) or not path:
        return spoilt
    key = path[0] if path[0] in raw else next(iter(raw))
    return raw | {key: spoil_at(raw[key], path[1:], spoilt)}
