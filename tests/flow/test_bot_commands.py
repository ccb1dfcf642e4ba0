"""What people write to the bot: one action, one reply, and the reply is true."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.bot_rooms import ADA, EVE, EVES_CHAT, GROUP, HER_CHAT, Room, play
from tests.support.clock import ManualClock
from vacancy.bot.words import WORDS
from vacancy.store.engine import Store

Play = Callable[..., None]
FEED = "/tasks/me/events"


@pytest.fixture
def tell(store: Store, clock: ManualClock) -> Play:
    return lambda story, **more: play(store, clock, story, **more)


@pytest.fixture
def tell_quickly(sqlite_store: Store, clock: ManualClock) -> Play:
    return lambda story, **more: play(sqlite_store, clock, story, **more)


# Binding


def test_the_whole_way_from_the_code_to_the_unbinding(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.happen(450, ADA)
        room.backend.code(ADA, "1A2B3C4D-5E6F")
        assert "Get a code" in await room.says(HER_CHAT, "/start")
        assert await room.says(HER_CHAT, "/whoami") == "This chat is not bound to anybody. Write /bind CODE."
        assert await room.says(HER_CHAT, "/bind 1A2B3C4D-5E6F") == (
            "Bound to Ada (user 1). Events from now on come to this chat.\nEvents are not looked for: the backend did"
            " not pass the check at the start. Once it does, whoever runs the bot starts it again."
        )
        assert not room.seat(HER_CHAT).is_reading_up
        made = room.happen(1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == made
        assert await room.says(HER_CHAT, "/whoami") == "Ada (user 1), role Executor."
        assert await room.says(HER_CHAT, "/unbind") == "Unbound from Ada (user 1). No more events come to this chat."
        for command in ("/whoami", "/tasks", "/tasks 1 approve", "/events", "/unbind"):
            assert await room.says(HER_CHAT, command) == "This chat is not bound to anybody. Write /bind CODE."
        room.happen(1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == made

    tell(story)


def test_a_code_that_is_wrong_or_used_says_the_same_and_guessing_ends(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.backend.code(EVE, "REAL")
        await room.says(EVES_CHAT, "/bind REAL")
        assert (await room.says(HER_CHAT, "/bind REAL")).startswith("This code is wrong, too old or was used")
        for _ in range(4):
            assert (await room.says(HER_CHAT, "/bind nonsense")).startswith("This code is wrong, too old or was used")
        asked = len(room.backend.records)
        room.backend.code(ADA, "HERS")
        assert await room.says(HER_CHAT, "/bind HERS") == "Too many wrong codes. Try again in 11 min."
        # In a group of hers she is the same person.
        assert "Too many wrong codes" in await room.says(GROUP, "/bind HERS", person=HER_CHAT)
        assert len(room.backend.records) == asked
        room.clock.pass_time(601)
        assert (await room.says(HER_CHAT, "/bind HERS")).startswith("Bound to Ada")

    tell_quickly(story)


def test_a_code_is_refused_and_the_chat_stays_whose_it_was(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        assert "This chat is bound to user 1." in await room.says(HER_CHAT, "/bind nonsense")

    tell_quickly(story)


def test_in_a_group_the_code_must_not_stay(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.backend.code(ADA, "HERS")
        said = await room.says(GROUP, "/bind@vacancy_bot HERS", person=HER_CHAT)
        assert "Everybody in this group now reads and acts as Ada (user 1)" in said
        assert "Delete the message with the code" in said
        assert "Delete the message with the code" in await room.says(GROUP, "/bind OTHER", person=HER_CHAT)
        assert await room.says(GROUP, "/bind@another_bot OTHER") == ""
        assert await room.says(GROUP, "hello") == ""

    tell_quickly(story)


def test_who_binds_while_the_feed_is_away_hears_of_nothing_that_was_before(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.happen(3, ADA)
        room.backend.code(ADA, "HERS")
        room.backend.fault(status=503, path=FEED)
        assert (await room.says(HER_CHAT, "/bind HERS")).startswith(
            "Bound to Ada (user 1). Events come once the backend"
        )
        await room.cycle(2)
        made = room.happen(1, ADA)
        await room.cycle()
        assert room.told(HER_CHAT) == made

    tell_quickly(story)


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        ({"drop": True}, "No answer came from the backend. Write /whoami"),
        ({"status": 500}, "The backend has a fault of its own (500)."),
        ({"status": 401}, "The backend does not accept"),
        ({"status": 200, "body": {"user_id": "7"}}, "The backend's answer cannot be read."),
        ({"status": 200, "body": []}, "The backend's answer cannot be read."),
    ],
)
def test_a_code_that_nobody_could_judge_binds_nobody(tell_quickly: Play, fault: dict[str, object], reply: str) -> None:
    async def story(room: Room) -> None:
        room.backend.code(ADA, "HERS")
        room.backend.fault(path="/tasks/telegram-codes/consume", **fault)  # type: ignore[arg-type]
        assert (await room.says(HER_CHAT, "/bind HERS")).startswith(reply)
        assert "not bound" in await room.says(HER_CHAT, "/whoami")

    tell_quickly(story)


# Tasks


def test_a_task_from_its_report_to_its_end(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        assert await room.says(HER_CHAT, "/tasks") == "You have no tasks."
        room.backend.task(7, "Paint <b>the</b> fence", description="all of it")
        assert await room.says(HER_CHAT, "/tasks") == "Your tasks:\n#7 Paint <b>the</b> fence (in progress)"
        assert await room.says(HER_CHAT, "/tasks 7") == (
            "Task #7: Paint <b>the</b> fence\nall of it\nStatus: in progress\nYou can: report"
        )
        assert await room.says(HER_CHAT, '/tasks 7 update title="The fence" desc=half of it') == (
            "Task #7 is changed. Status: in progress."
        )
        assert (room.backend.tasks[7].title, room.backend.tasks[7].description) == ("The fence", "half of it")
        assert await room.says(HER_CHAT, "/tasks 7 report https://example.com/r it is done") == (
            "The report on task #7 is sent. Status: waits for approval.\nYour link: https://example.com/r\n"
            "Your comment: it is done"
        )
        assert await room.says(HER_CHAT, "/tasks 7 reject the gate is missing") == (
            "Task #7 is rejected. Status: waits for a report.\nYour comment: the gate is missing"
        )
        assert await room.says(HER_CHAT, "/tasks 7 approve") == (
            "That is not possible now. Not now — its state — look\nTask #7 is: waits for a report."
        )
        assert await room.says(HER_CHAT, "/tasks 7 history") == (
            "What happened to task #7:\n"
            "2026-01-05 12:00 UTC · Report submitted · waits for approval · it is done\n"
            "2026-01-05 12:00 UTC · Rejected · waits for a report · the gate is missing"
        )

    tell(story)


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("/tasks x", "A task's number is digits"),
        ("/tasks 0", "A task's number is digits"),
        ("/tasks 99999999999999999999", "A task's number is digits"),
        ("/tasks 7 burn", "There is no action burn."),
        ("/tasks 7 report ftp://example.com done", "The report needs an address"),
        ("/tasks 7 report", "The report needs an address"),
        ("/tasks 7 update", "Say what to change: /tasks 7 update"),
        ("/tasks 7 update colour=red", "Say what to change: /tasks 7 update"),
        ("/tasks help", "/tasks: your tasks"),
        ("/tasks 7 approve " + "x" * 3000, "That is too long"),
    ],
)
def test_what_cannot_be_meant_is_said_here_and_the_backend_is_not_asked(
    tell_quickly: Play, text: str, reply: str
) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        assert (await room.says(HER_CHAT, text)).startswith(reply)
        assert room.backend.records == []

    tell_quickly(story)


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        ({"status": 403}, "You may not do that."),
        ({"status": 404}, "Task #7 was not found, or you may not see it."),
        ({"status": 500}, "The backend has a fault of its own (500). Try again later."),
        ({"status": 422, "body": {"detail": [{"msg": "too short"}]}}, "The backend does not take that. too short"),
        ({"status": 409, "body": {"detail": "plainly no"}}, "That is not possible now. plainly no"),
        ({"status": 409, "body": "<html>"}, "That is not possible now."),
        ({"status": 302}, "The backend answered 302."),
        ({"drop": True}, "No answer came from the backend. Whether it was done is not known: look at /tasks 7."),
    ],
)
def test_what_was_not_answered_with_a_yes_is_never_told_as_one(
    tell_quickly: Play, fault: dict[str, object], reply: str
) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.backend.task(7, "x", status_code="WAITING_APPROVAL")
        room.backend.fault(path="/tasks/7/actions", times=3, **fault)  # type: ignore[arg-type]
        for action in ("approve", "reject", "report https://example.com/r"):
            said = await room.says(HER_CHAT, f"/tasks 7 {action}")
            assert said.splitlines()[0] == reply

    tell_quickly(story)


def test_an_unreachable_backend_says_so(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.fake.join(HER_CHAT)
        room.sits(HER_CHAT, ADA)
        for command in ("/tasks 7 approve fine", "/tasks", "/events", "/whoami"):
            assert (await room.says(HER_CHAT, command)).startswith("The backend cannot be reached right now.")

    tell_quickly(story, backend_url="http://127.0.0.1:1")


# Events


def test_events_are_the_newest_ones_however_far_back(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        first = room.backend.happens(ADA, kind="REJECTED", task_id=77)
        room.happen(900, ADA)
        for task in range(1, 13):
            room.backend.happens(ADA, task_id=task)
        said = await room.says(HER_CHAT, "/events 3")
        assert [line.rpartition("#")[2] for line in said.splitlines()[1:]] == ["10", "11", "12"]
        room.sits(HER_CHAT, ADA)
        await room.cycle()
        assert (await room.says(HER_CHAT, "/events")).count("\n") == 10
        said = await room.says(HER_CHAT, "/events rejected 5")
        assert said.splitlines() == ["The newest events:", "2026-01-05 12:00 UTC · Rejected · task #77"], first
        assert await room.says(HER_CHAT, "/events archived") == "There are no such events."
        long = await room.says(HER_CHAT, "/events approved 50")
        assert len(long.splitlines()) == 51

    tell(story)


@pytest.mark.parametrize("text", ["/events nonsense", "/events 5 approved", "/events approved x", "/events 1 2"])
def test_a_slip_at_events_is_refused(tell_quickly: Play, text: str) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        assert (await room.says(HER_CHAT, text)).startswith("Write /events, /events 20")
        assert room.backend.records == []

    tell_quickly(story)


# Alerts, which are others' business


def test_what_is_others_business_goes_on_as_it_came(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        for text in ("/watch 12345", "/unwatch 12345", "/stop_12", "/Snooze 1h", "/list@vacancy_bot", "/start abc"):
            assert await room.says(HER_CHAT, text) == ""
        room.fake.join(HER_CHAT).messages.clear()
        room.fake.press_data(HER_CHAT, 5, "g:1")
        room.fake.block(EVES_CHAT)
        room.fake.happened({"message": {"shape": "of tomorrow"}})
        await room.heard()
        handed = room.backend.updates
        assert [update["message"]["text"] for update in handed[:6]] == [
            "/watch 12345", "/unwatch 12345", "/stop_12", "/Snooze 1h", "/list@vacancy_bot", "/start abc"
        ]  # fmt: skip
        rest = {key for update in handed[6:] for key in update if key != "update_id"}
        assert rest == {"callback_query", "my_chat_member", "message"}
        assert handed[0]["message"]["from"]["id"] == HER_CHAT
        assert room.texts(HER_CHAT) == []
        assert room.fake.toasts == []

    tell_quickly(story)


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        ({"status": 500}, "Alerts cannot be reached right now. Try again later."),
        ({"drop": True}, "Alerts cannot be reached right now. Try again later."),
        ({"status": 404}, "There are no alerts here."),
    ],
)
def test_alerts_that_cannot_be_reached_are_said_to_be_away(
    tell_quickly: Play, fault: dict[str, object], reply: str
) -> None:
    async def story(room: Room) -> None:
        room.backend.fault(path="/api/telegram/update", times=2, **fault)  # type: ignore[arg-type]
        assert await room.says(HER_CHAT, "/watch 12345") == reply
        query = room.fake.press_data(HER_CHAT, 5, "g:1")
        await room.heard()
        assert room.fake.toasts == [(query, reply)]

    tell_quickly(story)


def test_a_group_that_moves_is_bound_under_its_new_number_and_others_are_told(tell: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(GROUP, ADA)
        room.fake.migrate(GROUP, -100_300)
        await room.heard()
        assert room.seat(-100_300).user_id == ADA
        assert room.backend.updates[0]["message"]["migrate_to_chat_id"] == -100_300
        made = room.happen(1, ADA)
        await room.cycle()
        assert room.told(-100_300) == made

    tell(story)


# The rest


def test_the_person_s_language(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.backend.code(ADA, "HERS")
        assert (await room.says(HER_CHAT, "/bind HERS", language="zh-hans")).startswith("已绑定：Ada")
        room.backend.happens(ADA, kind="REPORT_SUBMITTED", task_id=7, status_to="WAITING_APPROVAL")
        await room.cycle()
        assert room.texts(HER_CHAT)[-1] == "已提交报告 · 任务 #7\n状态：等待审批\n2026-01-05 12:00 UTC"
        assert await room.says(HER_CHAT, "/whoami", language="fr") == "Ada (user 1), role Executor."

    tell_quickly(story)


def test_what_is_not_known_is_answered_with_what_is(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        assert (await room.says(HER_CHAT, "/foo")).startswith("There is no command /foo.\n/bind CODE")
        assert (await room.says(HER_CHAT, "hello")).startswith("/bind CODE")
        assert (await room.says(HER_CHAT, "/HELP")).startswith("/bind CODE")

    tell_quickly(story)


def test_a_command_is_not_done_twice_when_the_process_starts_again(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        await room.says(HER_CHAT, "/ping")
        room.fake.chats[HER_CHAT].messages.clear()
        room.begin()
        await room.says(EVES_CHAT, "/ping")
        assert room.texts(HER_CHAT) == []

    tell_quickly(story)


def test_one_slow_command_holds_up_no_other_chat(tell_quickly: Play) -> None:
    async def story(room: Room) -> None:
        room.sits(HER_CHAT, ADA)
        room.backend.fault(delay_s=0.3, path="/tasks/me")
        room.fake.write(HER_CHAT, "/whoami")
        room.fake.write(EVES_CHAT, "/ping")
        await room.heard()
        assert (len(room.texts(HER_CHAT)), len(room.texts(EVES_CHAT))) == (1, 1)
        order = [
            record.body.partition(b"chat_id=")[2][:3] for record in room.fake.records if "sendMessage" in record.path
        ]
        assert order == [str(EVES_CHAT).encode(), str(HER_CHAT).encode()]

    tell_quickly(story)


def test_both_languages_say_everything() -> None:
    assert set(WORDS["en-US"]) == set(WORDS["zh-CN"])
