"""The operator's side of delivery, as an operator calls it: a real process, its words, its exit code."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.commands.test_subscription_commands import KEY, People
from tests.commands.test_subscription_commands import Shell as SubscriptionShell
from tests.support.queue_rows import MAIL, add_dead, add_message, change, columns_of
from tests.support.rows import course_event, insert_events

from vacancy.pipeline.identity import Identity, called
from vacancy.store import listening, outbox, sending
from vacancy.store.engine import Tx
from vacancy.store.schema import open_event_notifications

ADA = "ada@example.com"


class Shell(SubscriptionShell):
    """The same, with any verb."""

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vacancy", *arguments]
        environment = {**self.environment, "COLUMNS": "200"}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=environment, timeout=60, check=False
        )


@pytest.fixture
def shell(tmp_path: Path, database_url: str) -> Shell:
    return Shell(tmp_path, database_url)


@pytest.fixture
def people(database_url: str) -> Iterator[People]:
    with closing(People(database_url)) as opened:
        yield opened


@pytest.fixture
def sqlite_shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, f"sqlite:///{tmp_path}/vacancy.db")


@pytest.fixture
def sqlite_people(sqlite_shell: Shell) -> Iterator[People]:
    with closing(People(sqlite_shell.database_url)) as opened:
        yield opened


def do(people: People, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return people.store.write_now(lambda tx: fn(tx, *args, **kwargs))


def now(people: People) -> Any:
    return people.store.clock.now()


def test_an_empty_queue(sqlite_shell: Shell) -> None:
    assert "The queue is empty" in sqlite_shell("queue", "list").stdout
    told = sqlite_shell.json("queue", "list")
    assert (told["summary"], told["items"], told["sending"]["stopped"]) == ([], [], False)


def test_what_waits_and_why(shell: Shell, people: People) -> None:
    who = people.subscribe("ada")
    do(people, add_dead, who)
    do(people, add_message, who, fanout_status="sent")
    later = now(people) + timedelta(hours=1)
    do(people, add_message, who, not_before=later, error={"code": "quiet_hours", "message": "not at night"})
    ended = shell("queue", "list")
    lines = ended.stdout.splitlines()
    assert lines[0].split() == ["Channel", "pending", "sent", "skipped", "failed", "expired"]
    assert lines[1].split() == ["email", "2", "1", "0", "1", "0"]
    assert "The oldest that waits has waited since" in ended.stdout
    for words in ("may go now", "failed after 3 tries: provider_error: the relay said no", "quiet_hours: not at night"):
        assert words in ended.stdout
    assert "a…@example.com" in ended.stdout
    assert ADA not in ended.stdout + shell("queue", "list", "--json").stdout
    assert [item["notificationId"] for item in shell.json("queue", "list")["items"]] == [1, 2, 4]
    assert [item["notificationId"] for item in shell.json("queue", "list", "--status", "sent")["items"]] == [3]
    assert "No message is expired" in shell("queue", "list", "--status", "expired").stdout
    limited = shell("queue", "list", "--limit", "1", "--channel", "email")
    assert "there may be more" in limited.stdout
    do(people, sending.stop, now(people), "a drill")
    stopped = shell("queue", "list")
    assert "Sending is stopped: a drill" in stopped.stderr
    assert "waits: sending is stopped (a drill)" in stopped.stdout


def test_all_of_one(shell: Shell, people: People) -> None:
    who = people.subscribe("ada")
    (event,) = do(people, insert_events, [course_event(12345)])
    number = do(people, add_dead, who, open_event_id=event)
    do(people, outbox.add, now(people), MAIL)
    do(people, change, number, provider_message_id=MAIL.message_id)
    ended = shell("queue", "show", str(number))
    assert ended.returncode == 0, ended.stderr
    for words in (
        "failed after 3 tries", "email, a…@example.com", "INTRO COMPUTER SCI (12345) is open", "soc:12025:NB:12345",
        "vacancy outbox show 1", "attempt=3", "verification_queued",
    ):  # fmt: skip
        assert words in ended.stdout, words
    assert ADA not in ended.stdout
    told = shell.json("queue", "show", str(number))
    assert (told["openEventId"], told["outboxId"], told["contact"]) == (event, 1, "a…@example.com")
    assert [note["event"] for note in told["audit"]] == ["created", "verification_queued"]


def test_once_more_by_number(sqlite_shell: Shell, sqlite_people: People) -> None:
    who = sqlite_people.subscribe("ada")
    dead = do(sqlite_people, add_dead, who)
    held = do(sqlite_people, add_message, who, locked_by="a worker", locked_at=now(sqlite_people))
    ended = sqlite_shell("queue", "requeue", str(dead))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "1 message was requeued" in ended.stdout
    assert do(sqlite_people, columns_of, dead).fanout_attempts == 0
    ended = sqlite_shell("queue", "requeue", str(held), "77")
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [
        f"Not requeued: message {held} is in somebody's hand; see how it ends, then ask again.",
        "Not requeued: there is no message 77 in the queue; it may have been pruned.",
    ]
    told = sqlite_shell.json("queue", "requeue", str(dead), str(held))
    assert told["requeued"] == [dead]
    assert [(each["notificationId"], each["code"]) for each in told["refused"]] == [(held, "message_in_hand")]


def test_dead_letters_once_more(shell: Shell, people: People) -> None:
    who = people.subscribe("ada")
    dead = [do(people, add_dead, who, code) for code in ("timeout", "unknown", "unknown")]
    assert shell.json("queue", "requeue", "--failed", "--channel", "webhook") == {"requeued": 0}
    assert shell.json("queue", "requeue", "--failed", "--code", "timeout") == {"requeued": 1}
    assert "2 messages were requeued" in shell("queue", "requeue", "--failed").stdout
    assert {do(people, columns_of, number).fanout_status for number in dead} == {"pending"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["queue", "list", "--status", "lost"], "--status knows pending, sent"),
        (["queue", "show", "77"], "there is no message 77"),
        (["queue", "requeue"], "give numbers, or --failed"),
        (["queue", "requeue", "1", "--failed"], "give numbers, or --failed"),
        (["queue", "requeue", "1", "--code", "x"], "give numbers, or --failed"),
        (["outbox", "show", "77"], "there is no mail 77"),
        (["why", "nobody"], "contactValue"),
        (["why", ADA, "--event", "77"], "there is no event 77"),
        (["send-test", "pigeon", "x"], "pigeon is no type of contact"),
        (["send-test", "email", "x"], "contactValue"),
    ],
)
def test_what_cannot_be_done_is_exit_code_2(sqlite_shell: Shell, arguments: list[str], said: str) -> None:
    ended = sqlite_shell(*arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_switch(sqlite_shell: Shell, sqlite_people: People) -> None:
    sqlite_people.subscribe("ada")
    assert "Sending is not stopped. 1 message waits." in sqlite_shell("sending", "status").stdout
    stopped = sqlite_shell("sending", "stop", "the relay is moved")
    assert "Sending is stopped: the relay is moved. 1 message waits. Nothing is lost." in stopped.stdout
    assert "the relay is moved" in sqlite_shell("sending", "status").stdout
    told = sqlite_shell.json("sending", "status")
    assert (told["stopped"], told["reason"], told["waiting"]) == (True, "the relay is moved", 1)
    # Nothing goes out, and nothing is lost.
    assert "Sending is stopped: the relay is moved" in sqlite_shell("deliver", "--once").stderr
    assert sqlite_people.store.read_now(outbox.latest, 9) == []
    assert "Sending goes on. 1 message waits." in sqlite_shell("sending", "resume").stdout
    assert "was not stopped" in sqlite_shell("sending", "resume").stdout
    assert sqlite_shell("deliver", "--once").returncode == 0
    (mail,) = sqlite_people.store.read_now(outbox.latest, 9)
    assert mail.mail.to_address == ADA


def test_why(shell: Shell, people: People) -> None:
    ended = shell("why", "nobody@example.com")
    assert ended.returncode == 0
    assert "n…@example.com (email): nobody of that address ever subscribed here." in ended.stdout
    assert shell.json("why", "nobody@example.com")["known"] is False
    who = people.subscribe("ada")
    people.subscribe("ada", "54321")
    (event,) = do(people, insert_events, [course_event(12345, target_key="12025|NB")])
    ended = shell("why", "Ada <ADA@example.com>")
    assert ended.returncode == 0, ended.stderr
    for words in (
        "a…@example.com (email): 2 subscriptions.", "pending; its contact is not confirmed yet",
        "message 1, verification: may go now.", f"event {event}, ", "not queued yet",
        "Nothing that it waits for has opened since it began.",
    ):  # fmt: skip
        assert words in ended.stdout, words
    assert ADA not in ended.stdout.lower()
    told = shell.json("why", ADA, "--event", str(event))
    assert [len(each["events"]) for each in told["subscriptions"]] == [1, 0]
    assert told["subscriptions"][0]["events"][0]["became"] == "not_fanned_out"
    assert "54321" not in shell("why", ADA, "--event", str(event)).stdout
    do(people, add_dead, who, open_event_id=event)
    assert "failed after 3 tries: provider_error" in shell("why", ADA, "--event", str(event)).stdout
    (other,) = do(people, insert_events, [course_event(77)])
    assert "None of them waits for that." in shell("why", ADA, "--event", str(other)).stdout


def test_somebody_who_left_is_known_by_the_hash(sqlite_shell: Shell, sqlite_people: People) -> None:
    sqlite_people.leave(sqlite_people.subscribe("ada"))
    assert "unsubscribed; it is over" in sqlite_shell("why", ADA).stdout
    sqlite_shell.environment["VACANCY_SECRET_KEY"] = f"not {KEY}"
    assert "secret_key is not what it was" in sqlite_shell("why", ADA).stdout


def test_a_test_message_goes_past_the_queue(sqlite_shell: Shell, sqlite_people: People) -> None:
    ended = sqlite_shell("send-test", "email", ADA)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Sent: the provider took it (email, a…@example.com)." in ended.stdout
    told = sqlite_shell.json("send-test", "email", ADA, "--locale", "zh")
    assert (told["outcome"], told["provider"], told["contact"]) == ("Sent", "outbox", "a…@example.com")
    chinese, english = sqlite_people.store.read_now(outbox.latest, 9)
    assert (english.mail.subject, chinese.mail.subject) == ("[Vacancy] This is a test", "[Vacancy] 这是一封测试邮件")
    assert told["providerMessageId"] == chinese.mail.message_id
    assert sqlite_people.store.read_now(_count) == 0


def _count(tx: Tx) -> int:
    return int(tx.execute(select(func.count()).select_from(open_event_notifications)).scalar_one())


def test_a_test_message_that_is_not_taken(sqlite_shell: Shell) -> None:
    sqlite_shell.environment |= {
        "VACANCY_EMAIL__PROVIDER": "sendgrid", "VACANCY_EMAIL__SENDGRID_API_KEY": "k",
        "VACANCY_EMAIL__SENDGRID_BASE_URL": "http://127.0.0.1:1", "VACANCY_EMAIL__SENDER": "A <a@b.example>",
    }  # fmt: skip
    ended = sqlite_shell("send-test", "email", ADA)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("Blocked: the channel itself does not work now")
    assert "code: network_error" in ended.stderr
    told = sqlite_shell.json("send-test", "email", ADA)
    assert (told["outcome"], told["code"], told["provider"]) == ("Blocked", "network_error", "sendgrid")


def test_the_outbox(sqlite_shell: Shell, sqlite_people: People) -> None:
    assert "The outbox is empty" in sqlite_shell("outbox", "list").stdout
    do(sqlite_people, outbox.add, now(sqlite_people), MAIL)
    ended = sqlite_shell("outbox", "list")
    assert "Open: <Data> Structures" in ended.stdout
    assert sqlite_shell.json("outbox", "list")["items"][0]["toAddress"] == ADA
    shown = sqlite_shell("outbox", "show", "1")
    assert shown.stdout.startswith(f"To: {ADA}\nSubject: Open: <Data> Structures\n")
    assert shown.stdout.endswith(MAIL.text + "\n")
    assert sqlite_shell.json("outbox", "show", "1")["html"] == MAIL.html
    assert sqlite_shell("outbox", "show", "1", "--html", "mail.html").returncode == 0
    assert (sqlite_shell.folder / "mail.html").read_text() == MAIL.html
    again = sqlite_shell("outbox", "show", "1", "--html", "mail.html")
    assert (again.returncode, "exists already" in again.stderr) == (2, True)


def findings(shell: Shell) -> dict[str, str]:
    """Of delivery: what -> state."""
    told = shell.json("doctor")["findings"]
    return {each["what"]: each["state"] for each in told if not each["what"].startswith(("soc", "the database"))}


def test_the_doctor_looks_at_delivery(sqlite_shell: Shell, sqlite_people: People) -> None:
    sqlite_shell.environment["VACANCY_SOC__BASE_URL"] = "http://127.0.0.1:1"
    found = findings(sqlite_shell)
    assert found["channel email works"] == "ok"
    assert found["nothing in the queue is stuck"] == "ok"
    assert found["nobody is told of troubles"] == "warn"
    who = sqlite_people.subscribe("ada")
    do(sqlite_people, add_dead, who)
    do(sqlite_people, change, 1, created_at=now(sqlite_people) - timedelta(minutes=11))
    sqlite_shell.environment["VACANCY_OPERATOR__EMAIL"] = ADA
    found = findings(sqlite_shell)
    assert found["1 message failed for good"] == "warn"
    assert found["email: 1 may go, and have waited for over 10 min"] == "bad"
    assert "nobody is told of troubles" not in found
    do(sqlite_people, sending.stop, now(sqlite_people), "a drill")
    found = findings(sqlite_shell)
    assert found["sending is stopped: a drill"] == "warn"
    assert found["email: 1 may go, and have waited for over 10 min"] == "warn"


def test_the_doctor_says_who_listens_to_the_bot(sqlite_shell: Shell, sqlite_people: People) -> None:
    sqlite_shell.environment |= {
        "VACANCY_SOC__BASE_URL": "http://127.0.0.1:1", "VACANCY_TELEGRAM__TOKEN": "1:made-up",
        "VACANCY_TELEGRAM__API_BASE": "http://127.0.0.1:1",
    }  # fmt: skip
    nobody = "nobody listens to the Telegram bot: buttons and commands are not read"
    assert findings(sqlite_shell)[nobody] == "warn"
    mark, me = hashlib.sha256(b"1:made-up").hexdigest()[:16], Identity().new_lease()
    assert do(sqlite_people, listening.take, mark, me, 300, lambda _: False)
    assert findings(sqlite_shell)[f"{called(me)} listens to the Telegram bot"] == "ok"
    assert str(os.getpid()) in called(me)
    do(sqlite_people, listening.give_up, mark, me)
    assert findings(sqlite_shell)[nobody] == "warn"
    sqlite_shell.environment["VACANCY_TELEGRAM__LISTEN"] = "false"
    found = findings(sqlite_shell)
    assert nobody not in found
    assert found["another process listens to the Telegram bot, and hands on what it hears (telegram.listen)"] == "ok"


def test_the_doctor_finds_a_channel_that_does_not_work(sqlite_shell: Shell) -> None:
    sqlite_shell.environment |= {
        "VACANCY_SOC__BASE_URL": "http://127.0.0.1:1", "VACANCY_EMAIL__PROVIDER": "smtp",
        "VACANCY_EMAIL__SMTP_HOST": "127.0.0.1", "VACANCY_EMAIL__SMTP_PORT": "1", "VACANCY_EMAIL__SMTP_TLS": "none",
    }  # fmt: skip
    ended = sqlite_shell("doctor")
    assert ended.returncode == 1
    assert "channel email does not work: network_error" in ended.stdout
    assert json.loads(sqlite_shell("doctor", "--json").stdout)["findings"]


def test_the_doctor_says_when_no_channel_can_be_built(sqlite_shell: Shell) -> None:
    sqlite_shell.environment |= {
        "VACANCY_SOC__BASE_URL": "http://127.0.0.1:1", "VACANCY_EMAIL__SENDER": "nobody at all",
    }  # fmt: skip
    ended = sqlite_shell("doctor")
    assert ended.returncode == 1
    assert "no channel can be built: email.sender" in ended.stdout
