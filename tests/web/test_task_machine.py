"""Anybody does anything to any task, in any order: every answer, every state and every feed is what the table of rules
says, written down here a second time."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.clock import ManualClock
from tests.support.people import ADA, ALAN, CLERKS, DEB, DIRK, EVERYBODY, PAT, PIA, PORTERS, SUE
from tests.web.tasking import LINK, Office, open_office

from vacancy.store import migrate
from vacancy.store.engine import Store

OVERSEERS: Final = {SUE, DEB}
PEOPLE: Final = (ADA, ALAN, PAT, PIA, SUE, DEB, DIRK)
people = st.sampled_from(PEOPLE)
comments = st.sampled_from(["", "good", "bad"])


@dataclass
class Remembered:
    task_id: int
    initiator: int
    role: int
    scope: str
    status: str = "IN_PROGRESS"
    comment: str = ""

    def seen_by(self, who: int) -> bool:
        executes = EVERYBODY[who][1] == self.role and self.scope == "functional"
        return who == self.initiator or who in OVERSEERS or executes

    def executed_by(self, who: int) -> bool:
        return EVERYBODY[who][1] == self.role and who != self.initiator

    def judged_by(self, who: int) -> bool:
        return who == self.initiator or who in OVERSEERS


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(f"sqlite:///{self.folder.name}/vacancy.db", ManualClock())
        migrate.upgrade(self.store)
        self.office: Office = open_office(self.store, ManualClock())
        self.tasks: list[Remembered] = []
        self.feeds: dict[int, list[tuple[int, str, str]]] = {who: [] for who in PEOPLE}

    def teardown(self) -> None:
        self.office.app.state.feed.close()
        self.store.close()
        self.folder.cleanup()

    @rule(who=people, role=st.sampled_from([CLERKS, PORTERS, 3, 5]), scope=st.sampled_from(["functional", "admin"]))
    def create(self, who: int, role: int, scope: str) -> None:
        task = self.office.task(who, role, assignment_scope=scope)
        self.tasks.append(Remembered(task, who, role, scope))

    @precondition(lambda self: self.tasks)
    @rule(who=people, pick=st.integers(0), comment=comments)
    def report(self, who: int, pick: int, comment: str) -> None:
        task = self._pick(pick)
        moves = self._answer(task, who, "report", task.executed_by(who),
                             {"IN_PROGRESS", "WAITING_REPORT"}, comment, "TASK_FORBIDDEN_REPORT",
                             "TASK_CONFLICT_REPORT_ALREADY_SENT")  # fmt: skip
        if moves:
            self._moved(task, "REPORT_SUBMITTED", "WAITING_APPROVAL", comment)

    @precondition(lambda self: self.tasks)
    @rule(who=people, pick=st.integers(0), comment=comments, approves=st.booleans())
    def judge(self, who: int, pick: int, comment: str, approves: bool) -> None:
        task = self._pick(pick)
        moves = self._answer(task, who, "approve" if approves else "reject", task.judged_by(who),
                             {"WAITING_APPROVAL"}, comment, "TASK_FORBIDDEN_APPROVE",
                             "TASK_CONFLICT_ACTION_STATUS")  # fmt: skip
        if moves and approves:
            self._moved(task, "APPROVED", "DONE", comment)
        elif moves:
            self._moved(task, "REJECTED", "WAITING_REPORT", comment)

    @precondition(lambda self: self.tasks)
    @rule(who=people, pick=st.integers(0), scope=st.sampled_from(["functional", "admin"]))
    def patch(self, who: int, pick: int, scope: str) -> None:
        task = self._pick(pick)
        answer = self.office(who, "PATCH", f"/{task.task_id}", {"assignment_scope": scope})
        if not task.seen_by(who) or task.status == "ARCHIVED":
            assert answer.status == 404
        elif not task.executed_by(who):
            assert answer.status == 403
        elif task.status != "IN_PROGRESS":
            assert answer.status == 409
        else:
            assert answer.status == 200
            task.scope = scope

    @precondition(lambda self: self.tasks)
    @rule(who=people, pick=st.integers(0))
    def archive(self, who: int, pick: int) -> None:
        task = self._pick(pick)
        answer = self.office(who, "DELETE", f"/{task.task_id}")
        assert answer.status == (204 if who == task.initiator else 404)
        if who == task.initiator:
            task.status = "ARCHIVED"

    @invariant()
    def every_feed_is_what_was_to_be_heard(self) -> None:
        for who, expected in self.feeds.items():
            told = self.office.feed(who, "?limit=200")
            assert [(each["task_id"], each["event_type"], each["payload"]["status_to"]) for each in told] == expected
            numbers = [each["event_id"] for each in told]
            assert numbers == sorted(set(numbers))

    @invariant()
    def what_is_allowed_is_what_is_offered(self) -> None:
        for task in self.tasks[-2:]:
            for who in PEOPLE:
                shown = self.office(who, "GET", f"/{task.task_id}?include_archived=true")
                assert shown.status == (200 if task.seen_by(who) else 404)
                if shown.status == 200:
                    assert (shown.json()["status_code"], shown.json()["allowed_actions"]) == (
                        task.status, self._offered(task, who)
                    )  # fmt: skip
                    assert (shown.json()["report"] or {"current_comment": ""})["current_comment"] == task.comment

    def _pick(self, pick: int) -> Remembered:
        return self.tasks[pick % len(self.tasks)]

    def _answer(
        self, task: Remembered, who: int, action: str, may: bool, states: set[str], comment: str, forbidden: str,
        conflict: str,
    ) -> bool:  # fmt: skip
        body: dict[str, Any] = {"current_comment": comment} | ({"report_link": LINK} if action == "report" else {})
        answer = self.office(who, "POST", f"/{task.task_id}/actions/{action}", body)
        if not task.seen_by(who) or task.status == "ARCHIVED":
            assert answer.status == 404
        elif not may:
            assert (answer.status, answer.json()["detail"]["code"]) == (403, forbidden)
        elif task.status not in states:
            assert (answer.status, answer.json()["detail"]["code"]) == (409, conflict)
            assert answer.json()["detail"]["current_status"] == task.status
        else:
            assert answer.status == 200
            return True
        return False

    def _moved(self, task: Remembered, event: str, to: str, comment: str) -> None:
        task.status, task.comment = to, comment or task.comment
        for who in PEOPLE:
            if task.seen_by(who):
                self.feeds[who].append((task.task_id, event, to))

    def _offered(self, task: Remembered, who: int) -> list[str]:
        if task.executed_by(who) and task.status in ("IN_PROGRESS", "WAITING_REPORT"):
            return ["update", "report"] if task.status == "IN_PROGRESS" else ["report"]
        return ["approve", "reject"] if task.judged_by(who) and task.status == "WAITING_APPROVAL" else []


Machine.TestCase.settings = settings(
    max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMachine = Machine.TestCase
