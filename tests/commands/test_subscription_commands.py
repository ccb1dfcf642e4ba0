"""`vacancy subscriptions …` as an operator calls it, against both databases."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.databases import PostgresDatabase
from tests.support.desks import make_desk

from vacancy.clock import SystemClock
from vacancy.errors import UserError
from vacancy.model.subscriptions import Preferences, Status
from vacancy.store import migrate, outbox
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import open_event_notifications, subscription_events, subscriptions
from vacancy.subscriptions import transfer
from vacancy.subscriptions.contacts import Secret, read_contact
from vacancy.subscriptions.manage import unsubscribe_by_token
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import Wish, subscribe

KEY = "a key for the tests of commands"
# These very files are what runs, whatever else is installed.
SOURCE = str(Path(__file__).parents[2] / "src")


class Shell:
    """`vacancy …` on this database, with nothing in the environment but what the test puts there."""

    def __init__(self, folder: Path, database_url: str, **environment: str) -> None:
        self.folder = folder
        self.database_url = database_url
        self.environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": SOURCE, "COLUMNS": "100", "VACANCY_DATABASE_URL": database_url,
            "VACANCY_SECRET_KEY": KEY, "VACANCY_SOC__TERMS": "12025", **environment,
        }  # fmt: skip

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vacancy", "subscriptions", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=self.environment, timeout=60, check=False
        )

    def json(self, *arguments: str) -> Any:
        ended = self(*arguments, "--json")
        assert ended.returncode in (0, 1), ended.stderr
        return json.loads(ended.stdout)


class People:
    """Subscribers of a database, put there by the real steps."""

    def __init__(self, database_url: str) -> None:
        self.store = Store(database_url, SystemClock())
        migrate.upgrade(self.store)
        house = make_desk()
        self.desk = Desk(house.settings, Secret(KEY.encode()), house.channels, house.sources)

    def subscribe(self, name: str, index: str = "12345", **preferences: Any) -> int:
        source, topic = self.desk.topic(f"soc:12025:NB:{index}")
        channel = self.desk.channel("email")
        contact = read_contact(self.desk.secret, channel, f"{name}@example.com")
        wish = Wish(source, topic, channel, contact, metadata={"client": {"app": "test"}},
                    preferences=Preferences(**preferences))  # fmt: skip
        return self.store.write_now(subscribe, self.desk, wish).subscription.subscription_id

    def suppress(self, number: int) -> None:
        def step(tx: Tx) -> None:
            found = rows.read(tx, number)
            assert rows.move(tx, tx.now(), found, Status.SUPPRESSED, event="status_changed", reason="hard bounce")

        self.store.write_now(step)

    def leave(self, number: int) -> None:
        def step(tx: Tx) -> None:
            unsubscribe_by_token(tx, self.desk, rows.read(tx, number).unsubscribe_token, "user_request")

        self.store.write_now(step)

    def all(self, *columns: str) -> list[tuple[Any, ...]]:
        query = select(*(subscriptions.c[name] for name in columns)).order_by(subscriptions.c.subscription_id)
        return [tuple(row) for row in self.store.read_now(lambda tx: tx.execute(query).all())]

    def lines(self) -> list[dict[str, Any]]:
        """What `export` writes; a test of its own says that it does."""
        written = bytearray()
        self.store.read_now(transfer.export, written.extend, lambda _: None)
        return [json.loads(line) for line in written.splitlines()]

    def export(self, file: Path) -> None:
        file.write_text("\n".join(map(json.dumps, self.lines())))

    def close(self) -> None:
        self.store.close()


@pytest.fixture
def people(database_url: str) -> Iterator[People]:
    opened = People(database_url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_people(tmp_path: Path) -> Iterator[People]:
    opened = People(f"sqlite:///{tmp_path}/vacancy.db")
    yield opened
    opened.close()


@pytest.fixture
def shell(tmp_path: Path, database_url: str) -> Shell:
    return Shell(tmp_path, database_url)


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, database_url: str) -> Shell:
    """An empty database of the other kind."""
    if database_url.startswith("sqlite"):
        database: PostgresDatabase = request.getfixturevalue("postgres")
        database.empty()
        return Shell(tmp_path, database.url)
    return Shell(tmp_path, f"sqlite:///{tmp_path}/elsewhere.db")


def some_people(people: People) -> None:
    """One of each kind."""
    people.subscribe("ada", max_notifications=7, window_start=1320, window_end=420)
    people.subscribe("ada", "54321")
    people.leave(people.subscribe("bob"))
    people.suppress(people.subscribe("eve"))


def test_a_list_counts_and_names_nobody(shell: Shell, people: People) -> None:
    assert "Nobody has subscribed yet." in shell("list").stdout
    assert shell.json("list") == {"items": [], "total": 0}
    some_people(people)
    shown = shell("list").stdout
    assert [words for line in shown.splitlines() if (words := line.split())] == [
        ["Source", "pending", "active", "paused", "suppressed", "unsubscribed"], ["soc", "2", "0", "0", "1", "1"],
    ]  # fmt: skip
    assert "@" not in shown
    told = shell.json("list")
    assert told["total"] == 4
    assert {(item["source"], item["status"]): item["count"] for item in told["items"]} == {
        ("soc", "pending"): 2, ("soc", "suppressed"): 1, ("soc", "unsubscribed"): 1,
    }  # fmt: skip


def test_all_of_it_goes_from_one_kind_of_database_to_the_other(
    shell: Shell, elsewhere: Shell, people: People
) -> None:  # fmt: skip
    some_people(people)
    exported = shell("export", "people.jsonl")
    assert exported.returncode == 0, exported.stderr
    assert "4 subscriptions are in people.jsonl" in exported.stderr
    assert exported.stdout == ""
    file = shell.folder / "people.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert elsewhere.json("import", "people.jsonl") == {
        "added": 4, "hereAlready": 0, "suppressedHere": 0, "numbersKept": True, "unmatched": 0,
    }  # fmt: skip
    there = People(elsewhere.database_url)
    try:
        # Tokens, numbers, hashes and preferences: every link in a mail that was sent goes on working.
        assert there.lines() == people.lines() == [json.loads(line) for line in file.read_text().splitlines()]
        again = elsewhere("import", "people.jsonl")
        assert again.returncode == 0
        assert "0 subscriptions were imported" in again.stdout
        assert "were passed over" in again.stdout
        assert len(there.lines()) == 4
        # No number comes twice, and an import is in the audit.
        assert there.subscribe("new") > 4
        e = subscription_events.c
        noted = there.store.read_now(lambda tx: tx.execute(select(e.event_type).order_by(e.event_id)).scalars().all())
        assert noted[:4] == ["imported"] * 4
    finally:
        there.close()


def test_an_export_to_standard_output_is_the_same_lines(shell: Shell, people: People) -> None:
    some_people(people)
    shell("export", "people.jsonl")
    assert shell("export").stdout == (shell.folder / "people.jsonl").read_text()


def test_an_export_never_overwrites(shell: Shell, people: People) -> None:
    (shell.folder / "there.jsonl").write_text("mine")
    ended = shell("export", "there.jsonl")
    assert (ended.returncode, (shell.folder / "there.jsonl").read_text()) == (2, "mine")
    assert "exists already" in ended.stderr
    ended = shell("export", "no/such/folder/file.jsonl")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"contactValue": "nobody"}, "contactValue"),
        ({"status": "asleep"}, "status"),
        ({"topic": "nonsense"}, "topic"),
        ({"indexNumber": "99999"}, "topic"),
        ({"misspelt": 1}, "misspelt"),
        ({"termId": "20251"}, "termId"),
        ({"contactValue": None}, "contactValue"),
        ({"verificationNonce": None}, "verificationNonce"),
        ({"createdAt": "yesterday"}, "createdAt"),
    ],
)
def test_a_bad_line_is_named_and_tells_nothing(
    sqlite_people: People, change: dict[str, Any], said: str
) -> None:  # fmt: skip
    sqlite_people.subscribe("ada")
    sqlite_people.subscribe("bob")
    good, bad = sqlite_people.lines()
    lines = [json.dumps(line).encode() for line in (good, {**bad, **change})]
    with pytest.raises(UserError) as refused:
        transfer.read(sqlite_people.desk, lines, lambda _: None)
    said_to_be = refused.value.message
    assert said_to_be.startswith("line 2: ")
    assert said in said_to_be
    assert "nothing was imported" in said_to_be
    assert "example.com" not in said_to_be
    assert bad["manageToken"] not in said_to_be


def test_one_bad_line_and_nothing_is_imported(shell: Shell, people: People) -> None:
    people.subscribe("ada")
    (kept,) = people.lines()
    other = {"topic": "soc:12025:NB:00001", "itemKey": "00001", "indexNumber": "00001", "subscriptionId": 2,
             "unsubscribeToken": "t" * 32}  # fmt: skip
    lines = ({**kept, **other}, {**kept, "status": "asleep"})
    (shell.folder / "people.jsonl").write_text("\n".join(map(json.dumps, lines)))
    ended = shell("import", "people.jsonl")
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith("vacancy: line 2: ")
    assert people.lines() == [kept]


@pytest.mark.parametrize("content", [b"nonsense", b"\xff\xfe\x00", b"[]", b"{}", b"null"])
def test_what_is_no_export(sqlite_people: People, content: bytes) -> None:
    with pytest.raises(UserError, match=r"^line 1: "):
        transfer.read(sqlite_people.desk, [content], lambda _: None)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    ended = Shell(tmp_path, f"sqlite:///{tmp_path}/vacancy.db")("import", "no-such-file.jsonl")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)


def test_who_is_suppressed_here_is_not_brought_back(shell: Shell, elsewhere: Shell, people: People) -> None:
    people.subscribe("ada")
    people.export(shell.folder / "people.jsonl")
    there = People(elsewhere.database_url)
    try:
        there.suppress(there.subscribe("ada", "54321"))
        told = elsewhere.json("import", "people.jsonl")
        assert (told["added"], told["suppressedHere"], told["numbersKept"]) == (0, 1, False)
        assert there.all("status") == [("suppressed",)]
    finally:
        there.close()


def test_another_secret_key_is_said(shell: Shell, elsewhere: Shell, people: People) -> None:
    """A hash without its address cannot be made anew."""
    some_people(people)
    people.subscribe("zoe")
    people.export(shell.folder / "people.jsonl")
    elsewhere.environment["VACANCY_SECRET_KEY"] = "quite another one, made on another day"
    ended = elsewhere("import", "people.jsonl")
    assert ended.returncode == 0
    assert "with another secret key" in ended.stdout
    there = People(elsewhere.database_url)
    addressed = {line["contactValue"]: line["contactHash"] for line in there.lines() if line["contactValue"]}
    there.close()
    before = {line["contactValue"]: line["contactHash"] for line in people.lines() if line["contactValue"]}
    assert addressed.keys() == before.keys()
    assert not set(addressed.values()) & set(before.values())


def mail_to(address: str) -> outbox.Mail:
    return outbox.Mail(f"<{address}>", address, "Confirm", "text", "html", "en-US", "verification", "0" * 32, None)


def test_erasing_says_first_what_it_would_do(shell: Shell, people: People) -> None:
    some_people(people)
    before = people.lines()
    ended = shell("erase", "Ada <ADA@example.com>")
    assert ended.returncode == 1
    assert "This would erase 2 subscriptions, 1 messages, 3 lines of audit, 0 mails." in ended.stdout
    assert "--yes" in ended.stdout
    assert people.lines() == before


def test_erasing_leaves_nothing_of_one_contact_and_all_of_the_others(shell: Shell, people: People) -> None:
    some_people(people)
    others = [line for line in people.lines() if line["contactValue"] != "ada@example.com"]
    for name in ("ada", "bob"):
        people.store.write_now(outbox.add, people.store.clock.now(), mail_to(f"{name}@example.com"))
    assert shell.json("erase", "ada@example.com", "--yes") == {
        "erased": True, "subscriptions": 2, "suppressed": 0, "messages": 1, "audit": 3, "mails": 1,
    }  # fmt: skip
    assert [kept.mail.to_address for kept in people.store.read_now(outbox.latest, 9)] == ["bob@example.com"]
    assert people.lines() == others
    e, n = subscription_events.c.subscription_id, open_event_notifications.c.subscription_id
    left = people.store.read_now(lambda tx: {*tx.execute(select(e)).scalars(), *tx.execute(select(n)).scalars()})
    assert left <= {line["subscriptionId"] for line in others}
    assert "0 subscriptions" in shell("erase", "ada@example.com", "--yes").stdout
    # Also of somebody who left, and whose address is blank already.
    assert shell.json("erase", "bob@example.com", "--yes")["subscriptions"] == 1


def test_erasing_keeps_the_word_not_to_write_again(shell: Shell, people: People) -> None:
    some_people(people)
    ended = shell("erase", "eve@example.com", "--yes")
    assert ended.returncode == 0
    assert "stay, without an address" in ended.stdout
    (kept,) = [row for row in people.all("status", "contact_value", "metadata") if row[0] == "suppressed"]
    assert kept == ("suppressed", None, {})
    assert shell.json("erase", "eve@example.com", "--yes")["suppressed"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["erase", "nobody"], "contactValue"),
        (["erase", "ada@example.com", "--contact-type", "pigeon"], "pigeon is no type of contact"),
    ],
)
def test_what_cannot_be_erased(tmp_path: Path, arguments: list[str], said: str) -> None:
    ended = Shell(tmp_path, f"sqlite:///{tmp_path}/vacancy.db")(*arguments)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert said in ended.stderr
