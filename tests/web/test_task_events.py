"""`GET /tasks/me/events`, to the letter: order, cursor, audience; and what a task's own history tells."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import func, select
from tests.support.clock import ManualClock
from tests.support.people import ADA, ALAN, CLERKS, DEB, DIRK, GONE, PAT, PIA, PORTERS, SUE
from tests.web.calling import Answer
from tests.web.tasking import LINK, Office, open_office

from vacancy.model.tasks import Kind, Role, Status
from vacancy.store import people, task_events
from vacancy.store.engine import Store
from vacancy.store.schema_tasks import task_audit_log, task_event_recipients, task_reports
from vacancy.store.schema_tasks import task_events as events_table
from vacancy.store.schema_tasks import tasks as tasks_table

EVERYBODY = (ADA, ALAN, PAT, PIA, SUE, DEB, DIRK, GONE)


@pytest.fixture
def office(store: Store, clock: ManualClock) -> Office:
    return open_office(store, clock)


def audience(office: Office) -> set[int]:
    """By the rows, since who left cannot ask."""
    query = select(task_event_recipients.c.user_id)
    return set(office.house.store.read_now(lambda tx: tx.execute(query).scalars()))


def rounds(office: Office, task: int, count: int) -> None:
    """Two events each."""
    for n in range(count):
        assert office.act(PAT, task, "report", current_comment=f"{n}").status == 200
        assert office.act(SUE, task, "reject").status == 200


def test_an_event_in_all_its_fields(office: Office) -> None:
    task = office.task(ADA, PORTERS)
    office.act(PAT, task, "report", current_comment="all of them")
    assert office.feed(ADA) == [{
        "event_id": 1, "task_id": task, "event_type": "REPORT_SUBMITTED", "actor_user_id": PAT,
        "actor_role_id": PORTERS, "created_at": "2026-01-05T12:00:00.000Z",
        "payload": {"report_link": LINK, "current_comment": "all of them", "status_to": "WAITING_APPROVAL",
                    "task_title": "Count the chairs"},
    }]  # fmt: skip
    office.act(SUE, task, "reject", current_comment="more")
    office.act(PAT, task, "report")
    office.act(ADA, task, "approve")
    assert [(each["event_type"], each["payload"].get("current_comment"), each["payload"]["status_to"])
            for each in office.feed(PIA)] == [
        ("REPORT_SUBMITTED", "all of them", "WAITING_APPROVAL"), ("REJECTED", "more", "WAITING_REPORT"),
        ("REPORT_SUBMITTED", None, "WAITING_APPROVAL"), ("APPROVED", None, "DONE"),
    ]  # fmt: skip


def test_events_ascend_and_a_backlog_longer_than_a_page_loses_none(office: Office) -> None:
    """The first feed was newest first: a backlog longer than a page was lost."""
    task = office.task(ADA, PORTERS)
    rounds(office, task, 6)
    seen: list[int] = []
    while page := office.feed(ADA, f"?limit=5&after_id={seen[-1] if seen else 0}"):
        assert len(page) <= 5
        seen += [each["event_id"] for each in page]
    assert seen == sorted(set(seen))
    assert len(seen) == 12


def test_the_cursor(office: Office) -> None:
    task = office.task(ADA, PORTERS)
    rounds(office, task, 30)
    numbers = [each["event_id"] for each in office.feed(ADA, "?limit=200")]
    assert len(numbers) == 60
    # Fifty if nothing is said; from the oldest kept on; exclusive; the same again; and beyond the end, nothing.
    assert [each["event_id"] for each in office.feed(ADA)] == numbers[:50]
    assert office.feed(ADA, "?after_id=0&limit=50") == office.feed(ADA)
    assert [each["event_id"] for each in office.feed(ADA, f"?after_id={numbers[9]}&limit=3")] == numbers[10:13]
    assert office.feed(ADA, f"?after_id={numbers[9]}") == office.feed(ADA, f"?after_id={numbers[9]}")
    assert office.feed(ADA, "?after_id=999999999") == office.feed(ADA, f"?after_id={2**63 - 1}") == []


@pytest.mark.parametrize(
    "query",
    ["?limit=0", "?limit=201", "?limit=-1", "?limit=x", "?limit=", "?after_id=-1", "?after_id=", "?after_id=1.0",
     "?after_id=%D9%A1", f"?after_id={2**63}", "?afterid=5", "?cursor=5", "?since_audit_id=5", "?after_id=1&after_id=2",
     "?event_type=APPROVED", "?offset=5"],
)  # fmt: skip
def test_a_misspelt_cursor_never_means_from_the_start(office: Office, query: str) -> None:
    rounds(office, office.task(ADA, PORTERS), 1)
    answer = office(ADA, "GET", f"/me/events{query}")
    assert answer.status == 422
    (wrong,) = answer.json()["detail"]
    assert wrong["loc"][0] == "query"
    assert office(None, "GET", f"/me/events{query}").status == 401
    assert office(777, "GET", f"/me/events{query}").status == 401


def test_me_is_no_number_of_a_task(office: Office) -> None:
    """Every route, asked so that it answers: none stands in the way of another."""
    task = office.task(ADA, PORTERS)
    assert office.feed(ADA) == []
    assert office(ADA, "GET", "/me").json() == {
        "user_id": ADA, "name": "Ada", "role": f"role {CLERKS}", "role_id": CLERKS, "role_kind": "executor"
    }  # fmt: skip
    code = office(ADA, "POST", "/me/telegram-code").json()["code"]
    assert office(None, "POST", "/telegram-codes/consume", {"code": code}).json() == {"user_id": ADA, "name": "Ada"}
    assert office(ADA, "GET", f"/{task}").json()["task_id"] == task
    assert office(ADA, "GET", f"/{task}/events").json() == []
    assert office(ADA, "GET", "").json()["items"][0]["task_id"] == task
    assert office(PAT, "PATCH", f"/{task}", {"title": "x"}).status == 200
    assert office.act(PAT, task, "report").status == 200
    assert office.act(ADA, task, "reject").status == 200
    assert office.act(PIA, task, "report").status == 200
    assert office.act(ADA, task, "approve").status == 200
    assert office(ADA, "DELETE", f"/{task}").status == 204


def test_answers_are_as_they_are_described(office: Office) -> None:
    """Nothing made up meets a task; so the real answers are held to the document here."""
    document = office.app.openapi()

    def check(shape: dict[str, Any], answer: Answer, status: int) -> None:
        assert answer.status == status, answer.body
        schema = shape["responses"][str(status)]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": document["components"]}).validate(answer.json())

    def of(verb: str, path: str) -> dict[str, Any]:
        found: dict[str, Any] = document["paths"][f"/tasks{path}"][verb]
        return found

    act = of("post", "/{task_id}/actions/{action}")
    check(of("post", ""), office(ADA, "POST", "", {"title": "x", "executor_role_id": PORTERS}), 201)
    check(of("patch", "/{task_id}"), office(PAT, "PATCH", "/1", {"description": "y"}), 200)
    check(act, office.act(PAT, 1, "report", current_comment="done"), 200)
    check(act, office.act(PAT, 1, "report"), 409)
    check(act, office.act(PAT, 1, "approve"), 403)
    check(act, office.act(ALAN, 1, "approve"), 404)
    check(act, office.act(ADA, 1, "dance"), 422)
    check(act, office(None, "POST", "/1/actions/approve"), 401)
    check(act, office.act(SUE, 1, "approve"), 200)
    check(of("get", ""), office(ADA, "GET", ""), 200)
    check(of("get", "/{task_id}"), office(ADA, "GET", "/1"), 200)
    check(of("get", "/{task_id}/events"), office(ADA, "GET", "/1/events"), 200)
    check(of("get", "/me/events"), office(ADA, "GET", "/me/events"), 200)
    check(of("get", "/me"), office(ADA, "GET", "/me"), 200)
    code = office(ADA, "POST", "/me/telegram-code")
    check(of("post", "/me/telegram-code"), code, 200)
    consume = of("post", "/telegram-codes/consume")
    check(consume, office(None, "POST", "/telegram-codes/consume", {"code": code.json()["code"]}), 200)
    check(consume, office(None, "POST", "/telegram-codes/consume", {"code": code.json()["code"]}), 409)


def test_the_routes_that_are_probed_are_all_there_are(office: Office) -> None:
    paths = office.app.openapi()["paths"]
    found = {(verb, path) for path, item in paths.items() if path.startswith("/tasks") for verb in item}
    assert found == {
        ("get", "/tasks"), ("post", "/tasks"), ("get", "/tasks/me"), ("get", "/tasks/me/events"),
        ("post", "/tasks/me/telegram-code"), ("post", "/tasks/telegram-codes/consume"), ("get", "/tasks/{task_id}"),
        ("patch", "/tasks/{task_id}"), ("delete", "/tasks/{task_id}"), ("get", "/tasks/{task_id}/events"),
        ("post", "/tasks/{task_id}/actions/{action}"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("initiator", "role", "scope", "hear"),
    [
        (ADA, PORTERS, "functional", {ADA, PAT, PIA, SUE, DEB}),
        # The earlier system told an admin task's executors of it, and directors of all: neither can open it.
        (ADA, 3, "admin", {ADA, SUE, DEB}),
        (SUE, PORTERS, "functional", {SUE, PAT, PIA, DEB}),
        (ADA, 5, "functional", {ADA, DIRK, SUE, DEB}),
    ],
)  # fmt: skip
def test_the_audience_is_whoever_may_open_the_task(
    office: Office, initiator: int, role: int, scope: str, hear: set[int]
) -> None:
    task = office.task(initiator, role, assignment_scope=scope)
    actor = {PORTERS: PAT, 3: SUE, 5: DIRK}[role]
    assert office.act(actor, task, "report").status == 200
    assert audience(office) == hear
    for who in EVERYBODY[:-1]:
        opens = office(who, "GET", f"/{task}").status == 200
        assert (who in hear) is opens is bool(office.feed(who))
    # One row each, also of whoever is initiator and supervisor at once.
    assert office.house.store.read_now(
        lambda tx: tx.execute(select(func.count()).select_from(task_event_recipients)).scalar()
    ) == len(hear)


def test_what_was_told_stays_told_and_nothing_older_is_told_later(office: Office) -> None:
    """The audience is fixed when the event happens."""
    task = office.task(ADA, PORTERS)
    office.act(PAT, task, "report")
    (first,) = office.feed(PIA)

    def changes(tx: Any) -> None:
        people.change_user(tx, PIA, "Pia", CLERKS)
        people.change_user(tx, ALAN, "Alan", PORTERS)

    office.house.store.write_now(changes)
    office.act(SUE, task, "reject")
    assert office.feed(PIA) == [first]
    assert [each["event_type"] for each in office.feed(ALAN)] == ["REJECTED"]
    # Nor does archiving hide it.
    office(ADA, "DELETE", f"/{task}")
    assert office.feed(PIA) == [first]
    assert len(office.feed(ADA)) == 2


def test_a_tasks_history_is_in_order_and_for_whoever_sees_it(office: Office) -> None:
    task, other = office.task(ADA, PORTERS), office.task(ADA, PORTERS)
    rounds(office, task, 2)
    rounds(office, other, 1)
    mine = [each for each in office.feed(ADA) if each["task_id"] == task]
    assert office(ADA, "GET", f"/{task}/events").json() == mine
    assert office(PAT, "GET", f"/{task}/events?limit=1&after_id={mine[1]['event_id']}").json() == mine[2:3]
    assert office(ALAN, "GET", f"/{task}/events").status == 404


def test_of_two_who_approve_at_once_one_is_first(office: Office) -> None:
    task = office.task(ADA, PORTERS)
    office.act(PAT, task, "report")
    begin = threading.Barrier(2)

    def approve(who: int) -> int:
        begin.wait(30)
        return office.act(who, task, "approve").status

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(approve, (ADA, SUE))) == [200, 409]
    assert [each["event_type"] for each in office.feed(ADA)] == ["REPORT_SUBMITTED", "APPROVED"]


def test_of_two_who_report_at_once_one_is_first(office: Office) -> None:
    """A second report once broke a unique index, and with it the request."""
    task = office.task(ADA, PORTERS)
    begin = threading.Barrier(2)

    def report(who: int) -> int:
        begin.wait(30)
        return office.act(who, task, "report").status

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(report, (PAT, PIA))) == [200, 409]
    assert len(office.feed(ADA)) == 1


def test_what_a_role_may_is_asked_each_time_and_not_at_the_start(office: Office) -> None:
    task = office.task(ADA, PORTERS)
    assert office(DIRK, "GET", f"/{task}").status == 404
    office.house.store.write_now(people.change_role, Role(5, "role 5", Kind.SUPERVISOR))
    assert office(DIRK, "GET", f"/{task}").status == 200
    office.act(PAT, task, "report")
    assert len(office.feed(DIRK)) == 1


def test_of_a_report_and_an_archiving_at_once_neither_is_half_done(office: Office) -> None:
    for _ in range(5):
        task = office.task(ADA, PORTERS)
        before = len(office.feed(ADA))
        with ThreadPoolExecutor(2) as threads:
            reported = threads.submit(office.act, PAT, task, "report")
            archived = threads.submit(office, ADA, "DELETE", f"/{task}")
            assert archived.result(30).status == 204
            assert reported.result(30).status in (200, 404)
        assert office.status(ADA, task) == "ARCHIVED"
        assert len(office.feed(ADA)) - before == (reported.result().status == 200)


def everything(office: Office) -> Mapping[str, Any]:
    tables = (tasks_table, task_reports, task_audit_log, events_table, task_event_recipients)
    return office.house.store.read_now(
        lambda tx: {table.name: tx.execute(select(table)).all() for table in tables}
    )  # fmt: skip


@pytest.mark.parametrize("action", ["report", "approve", "reject"])
@pytest.mark.parametrize("broken", ["append", "_tell"])
def test_a_fault_between_the_change_and_its_event_undoes_all_of_it(
    office: Office, monkeypatch: pytest.MonkeyPatch, action: str, broken: str
) -> None:
    task = office.task(ADA, PORTERS)
    if action != "report":
        office.act(PAT, task, "report")
    before = everything(office)

    class PowerCutError(Exception):
        pass

    def fail(*_: Any) -> None:
        raise PowerCutError

    with monkeypatch.context() as patched:
        patched.setattr(task_events, broken, fail)
        failed = office.act(PAT if action == "report" else ADA, task, action)
    assert (failed.status, type(failed.json()["detail"])) == (500, str)
    assert everything(office) == before
    assert office.act(PAT if action == "report" else ADA, task, action).status == 200
    # What was rolled back took no number that anybody waits for, and none is used twice.
    numbers = [each["event_id"] for each in office.feed(ADA)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == (1 if action == "report" else 2)


def test_every_state_is_met(office: Office) -> None:
    task = office.task(ADA, PORTERS)
    met = [office.status(ADA, task)]
    for who, action in ((PAT, "report"), (ADA, "reject"), (PAT, "report"), (ADA, "approve")):
        met.append(office.act(who, task, action).json()["status_code"])
    office(ADA, "DELETE", f"/{task}")
    assert {*met, office.status(ADA, task)} == set(Status)
