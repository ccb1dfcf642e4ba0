"""Who sees a task, who may do what with it, and in which order that is asked: over HTTP, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from tests.support.clock import ManualClock
from tests.support.people import ADA, ALAN, CLERKS, DEB, DIRK, GONE, PAT, PIA, PORTERS, SUE
from tests.web.calling import Answer
from tests.web.tasking import LINK, Office, open_office

from vacancy.store.engine import Store
from vacancy.store.schema_tasks import task_audit_log, task_reports

# Ada sets a task for the porters.
SEE = [ADA, PAT, PIA, SUE, DEB]
BLIND = [ALAN, DIRK]


@pytest.fixture
def office(store: Store, clock: ManualClock) -> Office:
    return open_office(store, clock)


@pytest.fixture
def task(office: Office) -> int:
    return office.task(ADA, PORTERS)


def refused(answer: Answer, status: int, code: str, **context: Any) -> None:
    assert answer.status == status, answer.body
    told = answer.json()["detail"]
    assert told["error"] == {403: "forbidden", 409: "conflict"}[status]
    assert told["code"] == code
    assert {name: told[name] for name in context} == context
    assert all(told[name] for name in ("message", "reason", "hint"))


def concealed(answer: Answer) -> None:
    assert answer.status == 404
    assert isinstance(answer.json()["detail"], str)


def test_a_new_task_is_its_setters_and_in_progress(office: Office, clock: ManualClock) -> None:
    answer = office(ADA, "POST", "", {"title": " Count the chairs ", "description": "All.",
                                      "executor_role_id": PORTERS})  # fmt: skip
    assert answer.status == 201
    told = answer.json()
    assert told.pop("created_at") == told.pop("updated_at") == "2026-01-05T12:00:00.000Z"
    assert told == {
        "task_id": 1, "title": "Count the chairs", "description": "All.", "initiator_user_id": ADA,
        "executor_role_id": PORTERS, "assignment_scope": "functional", "status_code": "IN_PROGRESS",
        "allowed_actions": [], "report": None,
    }  # fmt: skip
    assert office(PAT, "GET", "/1").json()["allowed_actions"] == ["update", "report"]


@pytest.mark.parametrize("who", SEE)
def test_who_sees_it(office: Office, task: int, who: int) -> None:
    assert office(who, "GET", f"/{task}").json()["task_id"] == task
    assert [each["task_id"] for each in office(who, "GET", "").json()["items"]] == [task]
    assert office(who, "GET", f"/{task}/events").json() == []


@pytest.mark.parametrize("who", BLIND)
def test_who_does_not_see_it_is_told_that_there_is_none(office: Office, task: int, who: int) -> None:
    ways = [("GET", "", None), ("GET", "/events", None), ("PATCH", "", {"title": "x"}), ("DELETE", "", None),
            ("POST", "/actions/report", {"report_link": LINK}), ("POST", "/actions/approve", None),
            ("POST", "/actions/reject", None)]  # fmt: skip
    for method, path, body in ways:
        hidden = office(who, method, f"/{task}{path}", body)
        concealed(hidden)
        # Word for word what is said of a task that is not there.
        missing = office(who, method, f"/{task + 7}{path}", body)
        assert hidden.json()["detail"] == missing.json()["detail"].replace(str(task + 7), str(task))
    assert office(who, "GET", "").json() == {"items": []}


def test_an_admin_task_is_hidden_from_its_executors(office: Office) -> None:
    task = office.task(ADA, PORTERS, assignment_scope="admin")
    for who in (PAT, ALAN, DIRK):
        concealed(office(who, "GET", f"/{task}"))
        concealed(office.act(who, task, "report"))
    for who in (ADA, SUE, DEB):
        assert office(who, "GET", f"/{task}").status == 200


def test_a_supervisor_executes_an_admin_task_of_his_role(office: Office) -> None:
    task = office.task(ADA, 3, assignment_scope="admin")
    assert office.act(SUE, task, "report").status == 200


def test_the_whole_way(office: Office, task: int) -> None:
    reported = office.act(PAT, task, "report", current_comment="all of them").json()
    assert (reported["status_code"], reported["allowed_actions"]) == ("WAITING_APPROVAL", [])
    assert reported["report"]["report_link"] == LINK
    assert office(ADA, "GET", f"/{task}").json()["allowed_actions"] == ["approve", "reject"]

    rejected = office.act(SUE, task, "reject", current_comment="not those outside").json()
    assert rejected["status_code"] == "WAITING_REPORT"
    assert rejected["report"]["current_comment"] == "not those outside"
    assert office(PIA, "GET", f"/{task}").json()["allowed_actions"] == ["report"]

    again = office.act(PIA, task, "report", report_link="http://example.com/2").json()
    assert again["report"]["report_link"] == "http://example.com/2"
    approved = office.act(DEB, task, "approve").json()
    assert (approved["status_code"], approved["allowed_actions"]) == ("DONE", [])
    assert approved["report"]["approved_by"] == DEB
    # An empty comment never overwrites the one that is there.
    assert approved["report"]["current_comment"] == "not those outside"


@pytest.mark.parametrize("who", [ADA, SUE, DEB])
def test_who_does_not_execute_it_does_not_report(office: Office, task: int, who: int) -> None:
    refused(office.act(who, task, "report"), 403, "TASK_FORBIDDEN_REPORT", task_id=task)
    refused(office(who, "PATCH", f"/{task}", {"title": "x"}), 403, "TASK_FORBIDDEN_PATCH", task_id=task)
    assert office.status(ADA, task) == "IN_PROGRESS"


def test_nobody_reports_to_himself(office: Office) -> None:
    task = office.task(PAT, PORTERS)
    refused(office.act(PAT, task, "report"), 403, "TASK_FORBIDDEN_REPORT", task_id=task)
    refused(office(PAT, "PATCH", f"/{task}", {"title": "x"}), 403, "TASK_FORBIDDEN_PATCH", task_id=task)
    assert office.act(PIA, task, "report").status == 200


@pytest.mark.parametrize("action", ["approve", "reject"])
def test_an_executor_does_not_judge(office: Office, task: int, action: str) -> None:
    # Permission comes before state: it is 403 also while there is nothing to judge.
    refused(office.act(PIA, task, action), 403, "TASK_FORBIDDEN_APPROVE", task_id=task, action=action)
    office.act(PAT, task, "report")
    refused(office.act(PIA, task, action), 403, "TASK_FORBIDDEN_APPROVE", task_id=task, action=action)
    assert office.act(SUE, task, action).status == 200


@pytest.mark.parametrize("action", ["approve", "reject"])
@pytest.mark.parametrize("who", [ADA, SUE, DEB])
def test_only_what_waits_for_it_is_judged(office: Office, task: int, who: int, action: str) -> None:
    told = {"task_id": task, "action": action, "allowed_from": ["WAITING_APPROVAL"]}
    code = "TASK_CONFLICT_ACTION_STATUS"
    refused(office.act(who, task, action), 409, code, current_status="IN_PROGRESS", **told)
    office.act(PAT, task, "report")
    office.act(who, task, action)
    after = {"approve": "DONE", "reject": "WAITING_REPORT"}[action]
    refused(office.act(who, task, action), 409, code, current_status=after, **told)


def test_a_wrong_state_is_a_conflict_for_whoever_has_the_right(office: Office, task: int) -> None:
    """Not the 403 that a permission with the state mixed into it would answer."""
    office.act(PAT, task, "report")
    refused(office.act(PAT, task, "report"), 409, "TASK_CONFLICT_REPORT_ALREADY_SENT", task_id=task,
            current_status="WAITING_APPROVAL", allowed_from=["IN_PROGRESS", "WAITING_REPORT"])  # fmt: skip
    refused(office.act(PIA, task, "report"), 409, "TASK_CONFLICT_REPORT_ALREADY_SENT", task_id=task)
    refused(office(PAT, "PATCH", f"/{task}", {"title": "x"}), 409, "TASK_CONFLICT_PATCH_STATUS",
            task_id=task, current_status="WAITING_APPROVAL")  # fmt: skip
    office.act(ADA, task, "approve")
    refused(office.act(PAT, task, "report"), 409, "TASK_CONFLICT_REPORT_ALREADY_SENT", current_status="DONE")


def test_a_report_that_is_missing_is_not_approved_and_may_be_rejected(office: Office, task: int) -> None:
    office.act(PAT, task, "report")
    office.house.store.write_now(lambda tx: tx.execute(task_reports.delete()))
    refused(office.act(ADA, task, "approve"), 409, "TASK_CONFLICT_APPROVE_NO_REPORT", task_id=task)
    assert office.act(ADA, task, "reject").json()["status_code"] == "WAITING_REPORT"


def test_its_words_are_changed_by_those_who_execute_it(office: Office, task: int) -> None:
    changed = office(PAT, "PATCH", f"/{task}", {"title": "Count them", "description": "twice"}).json()
    assert (changed["title"], changed["description"], changed["status_code"]) == ("Count them", "twice", "IN_PROGRESS")
    assert office(PAT, "PATCH", f"/{task}", {"description": None}).json()["description"] is None
    hidden = office(PAT, "PATCH", f"/{task}", {"assignment_scope": "admin"}).json()
    assert (hidden["assignment_scope"], hidden["allowed_actions"]) == ("admin", [])
    concealed(office(PAT, "GET", f"/{task}"))
    assert office.feed(ADA) == []


def test_whoever_set_it_archives_it_from_any_state_and_others_find_nothing_there(office: Office, task: int) -> None:
    for who in (PAT, SUE, DEB, ALAN):
        concealed(office(who, "DELETE", f"/{task}"))
    assert office(ADA, "DELETE", f"/{task}").status == 204
    assert office(ADA, "DELETE", f"/{task}").status == 204
    for who in (ADA, PAT, SUE):
        concealed(office(who, "GET", f"/{task}"))
        concealed(office(who, "GET", f"/{task}/events"))
        concealed(office.act(who, task, "report"))
        concealed(office.act(who, task, "approve"))
        assert office(who, "GET", "").json()["items"] == []
        shown = office(who, "GET", f"/{task}?include_archived=true").json()
        assert (shown["status_code"], shown["allowed_actions"]) == ("ARCHIVED", [])
        assert len(office(who, "GET", "?include_archived=true").json()["items"]) == 1
        assert len(office(who, "GET", "?status_code=ARCHIVED").json()["items"]) == 1
    concealed(office(ALAN, "GET", f"/{task}?include_archived=true"))


def test_a_listing_goes_from_the_newest_on(office: Office) -> None:
    tasks = [office.task(ADA, PORTERS, f"{n}") for n in range(4)]
    office.act(PAT, tasks[1], "report")

    def listed(who: int, query: str) -> list[int]:
        return [each["task_id"] for each in office(who, "GET", query).json()["items"]]

    assert listed(PAT, "") == tasks[::-1]
    assert listed(PAT, "?limit=2") == tasks[:1:-1]
    assert listed(PAT, f"?limit=2&before_id={tasks[2]}") == [tasks[1], tasks[0]]
    assert listed(PAT, "?status_code=WAITING_APPROVAL") == [tasks[1]]


def test_every_change_leaves_its_row_in_the_audit(office: Office, task: int) -> None:
    office(PAT, "PATCH", f"/{task}", {"title": "Count them", "description": None})
    office(PAT, "PATCH", f"/{task}", {"title": "Count them"})
    office.act(PAT, task, "report")
    office.act(SUE, task, "reject")
    office.act(SUE, task, "reject")
    office(ADA, "DELETE", f"/{task}")
    a = task_audit_log.c
    query = select(a.actor_user_id, a.action, a.fields_changed).order_by(a.audit_id)
    rows = office.house.store.read_now(lambda tx: tx.execute(query).all())
    assert [tuple(row) for row in rows] == [
        (ADA, "create", {}),
        (PAT, "patch", {"title": {"from": "Count the chairs", "to": "Count them"}}),
        (PAT, "report", {"status_code": {"from": "IN_PROGRESS", "to": "WAITING_APPROVAL"}}),
        (SUE, "reject", {"status_code": {"from": "WAITING_APPROVAL", "to": "WAITING_REPORT"}}),
        (ADA, "archive", {"status_code": {"from": "WAITING_REPORT", "to": "ARCHIVED"}}),
    ]


BAD_BODIES: list[tuple[str, str, object]] = [
    ("POST", "", {"title": " ", "executor_role_id": PORTERS}),
    ("POST", "", {"title": "x\u0000", "executor_role_id": PORTERS}),
    ("POST", "", {"title": "x"}),
    ("POST", "", {"title": "x", "executor_role_id": 99}),
    ("POST", "", {"title": "x", "executor_role_id": True}),
    ("POST", "", {"title": "x", "executor_role_id": PORTERS, "assignment_scope": "secret"}),
    ("POST", "", {"title": "x", "executor_role_id": PORTERS, "status_code": "DONE"}),
    ("POST", "", b"{"),
    ("POST", "", b"\xff"),
    ("PATCH", "/1", {}),
    ("PATCH", "/1", {"title": "  "}),
    ("PATCH", "/1", {"title": None}),
    ("PATCH", "/1", {"tilte": "x"}),
    ("PATCH", "/1", {"assignment_scope": None}),
    ("POST", "/1/actions/report", {}),
    ("POST", "/1/actions/report", {"report_link": "   "}),
    ("POST", "/1/actions/report", {"report_link": "javascript:alert(1)"}),
    ("POST", "/1/actions/report", {"report_link": "//example.com"}),
    ("POST", "/1/actions/report", {"report_link": "https://"}),
    ("POST", "/1/actions/report", {"report_link": LINK, "current_comment": 5}),
    ("POST", "/1/actions/approve", {"approve": "yes"}),
    ("POST", "/1/actions/approve", {"report_link": LINK}),
    ("POST", "/1/actions/celebrate", {}),
    ("POST", "/one/actions/report", {"report_link": LINK}),
    ("GET", "/one", None),
    ("GET", "/0", None),
    ("GET", f"/{2**63}", None),
    ("GET", "/1?archived=true", None),
    ("GET", "?limit=0", None),
    ("GET", "?limit=201", None),
    ("GET", "?status_code=LOST", None),
    ("GET", "/1/events?limit=501", None),
]


@pytest.mark.parametrize(("method", "path", "body"), BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_who_asks_comes_before_what_is_asked_and_that_before_whether_it_is_there(
    office: Office, method: str, path: str, body: object
) -> None:
    # There is no task 1 yet: malformed is 422 all the same.
    for who in (PAT, SUE):
        answer = office(who, method, path, body)
        assert answer.status == 422, answer.body
        for wrong in answer.json()["detail"]:
            assert set(wrong) == {"type", "loc", "msg"}
            assert wrong["msg"]
    for stranger in (None, 0, -1, 777, GONE, 2**63, 10**40):
        answer = office(stranger, method, path, body)
        assert answer.status == 401, (stranger, answer.body)
        assert isinstance(answer.json()["detail"], str)
    assert office(PAT, "GET", "").json()["items"] == []


def test_visibility_comes_before_permission_and_permission_before_state(office: Office, task: int) -> None:
    """Alan does not see it, Ada may not report, Pat may and is too late."""
    office.act(PAT, task, "report")
    concealed(office.act(ALAN, task, "report"))
    refused(office.act(ADA, task, "report"), 403, "TASK_FORBIDDEN_REPORT")
    refused(office.act(PAT, task, "report"), 409, "TASK_CONFLICT_REPORT_ALREADY_SENT")
    concealed(office.act(DIRK, task, "approve"))
    refused(office.act(PAT, task, "approve"), 403, "TASK_FORBIDDEN_APPROVE")
    assert office.act(ADA, task, "approve").status == 200
    refused(office.act(ADA, task, "approve"), 409, "TASK_CONFLICT_ACTION_STATUS")


def test_a_colleague_of_the_initiator_is_nobody_special(office: Office) -> None:
    task = office.task(ADA, CLERKS)
    assert office.act(ALAN, task, "report").status == 200
    refused(office.act(ALAN, task, "approve"), 403, "TASK_FORBIDDEN_APPROVE")
