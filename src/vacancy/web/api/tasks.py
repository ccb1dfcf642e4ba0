"""`/tasks`: tasks, what happens to them, and the codes that make a chat a user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response
from starlette.types import Scope

from vacancy.clock import iso
from vacancy.model.tasks import LARGEST, Action, Report, Status, TaskEvent, User
from vacancy.store.engine import Tx
from vacancy.tasks import telegram_codes, workflow
from vacancy.tasks.workflow import Seen
from vacancy.web.api.task_bodies import (
    ActionAsked,
    CodeAsked,
    CodeShown,
    Digits,
    MeShown,
    TaskAsked,
    TaskEventShown,
    TaskPage,
    TaskPatched,
    TaskShown,
    TiedShown,
)
from vacancy.web.api.wishes import said_in_body
from vacancy.web.context import House, HouseDep
from vacancy.web.detail import told
from vacancy.web.task_callers import Caller, CallerRoute, Service, ServiceRoute

_MOST: Final = 200
_MOST_OF_A_TASK: Final = 500
_TaskId = Annotated[int, Digits, Path(ge=1, le=LARGEST)]
_Limit = Annotated[int, Digits, Query(ge=1, le=_MOST, description="How many at most.")]
_AfterId = Annotated[
    int, Digits, Query(ge=0, le=LARGEST, description="The last event you have; 0 is from the oldest that is kept.")
]
_Archived = Annotated[bool, Query(description="Also what was archived.")]
_BeforeId = Annotated[int | None, Digits, Query(ge=1, le=LARGEST, description="Only tasks with smaller numbers.")]

service_router = APIRouter(prefix="/tasks", tags=["tasks"], route_class=ServiceRoute)
router = APIRouter(prefix="/tasks", tags=["tasks"], route_class=CallerRoute)


@service_router.post("/telegram-codes/consume", summary="Whose chat is this?", response_model=TiedShown,
                     responses=told("TGBIND_CONFLICT_CODE_INVALID", "rate_limited"))  # fmt: skip
async def consume_telegram_code(request: Request, house: HouseDep, _: Service, asked: CodeAsked) -> Response:
    """For the bot: a code is good once. Wrong ones are counted, since there are few enough of them to try."""
    user = await house.store.write(_consume, house, request.scope, asked.code)
    return _json({"user_id": user.user_id, "name": user.name})


# What belongs to the caller stands before what has a number, which would take `me` for one.
@router.get("/me/events", operation_id="my_task_events", summary="What happened, in order",
            response_model=list[TaskEventShown], responses=told())  # fmt: skip
async def my_events(house: HouseDep, caller: Caller, limit: _Limit = 50, after_id: _AfterId = 0) -> Response:
    """Ask with `after_id`, act on the events, ask again with the last `event_id`. Nothing is skipped and nothing comes
    twice. What you were to hear of when it happened is here, whatever became of the task since."""
    return _json([_event(each) for each in await house.store.read(workflow.feed, caller, after_id, limit)])


@router.get("/me", operation_id="task_caller", summary="Who am I?", response_model=MeShown, responses=told())
async def me(house: HouseDep, caller: Caller) -> Response:
    user = await house.store.read(workflow.caller, caller)
    return _json({
        "user_id": user.user_id, "name": user.name, "role": user.role_name, "role_id": user.role_id,
        "role_kind": user.kind,
    })  # fmt: skip


@router.post("/me/telegram-code", summary="A code for the bot", response_model=CodeShown, responses=told())
async def telegram_code(house: HouseDep, caller: Caller) -> Response:
    """Good for one chat, once, for 30 minutes. The one before it is good no more."""
    issued = await house.store.write(telegram_codes.issue, _code_key(house), caller)
    return _json({"code": issued.code, "expires_at": iso(issued.expires_at)})


@router.get("", operation_id="tasks", summary="Tasks", response_model=TaskPage, responses=told())
async def tasks(
    house: HouseDep,
    caller: Caller,
    limit: _Limit = 50,
    status_code: Annotated[Status | None, Query(description="Only those in this state.")] = None,
    before_id: _BeforeId = None,
    include_archived: _Archived = False,
) -> Response:
    """All that the caller may see, newest first."""
    found = await house.store.read(
        workflow.listing, caller, limit, status_code, before_id, archived=include_archived
    )  # fmt: skip
    return _json({"items": [_listed(each) for each in found]})


@router.post("", operation_id="create_task", status_code=201, summary="Set a task", response_model=TaskShown,
             responses=told())  # fmt: skip
async def create(house: HouseDep, caller: Caller, asked: TaskAsked) -> Response:
    """Whoever asks is its initiator."""
    with said_in_body("executor_role_id"):
        seen = await house.store.write(
            workflow.create, caller, asked.title, asked.description, asked.executor_role_id, asked.assignment_scope
        )
    return _json(_shown(seen), 201)


@router.get("/{task_id}", operation_id="task", summary="One task", response_model=TaskShown,
            responses=told("task_not_found"))  # fmt: skip
async def look(house: HouseDep, caller: Caller, task_id: _TaskId, include_archived: _Archived = False) -> Response:
    return _json(_shown(await house.store.read(workflow.look, caller, task_id, archived=include_archived)))


@router.patch("/{task_id}", operation_id="change_task", summary="Change its words", response_model=TaskShown,
              responses=told("task_not_found", "TASK_FORBIDDEN_PATCH", "TASK_CONFLICT_PATCH_STATUS"))  # fmt: skip
async def change(house: HouseDep, caller: Caller, task_id: _TaskId, asked: TaskPatched) -> Response:
    """For its executors, while it is in progress. Only what is sent is changed."""
    return _json(_shown(await house.store.write(workflow.patch, caller, task_id, asked.wanted())))


@router.delete("/{task_id}", operation_id="archive_task", status_code=204, summary="Archive a task",
               responses=told("task_not_found"))  # fmt: skip
async def archive(house: HouseDep, caller: Caller, task_id: _TaskId) -> Response:
    """For whoever set it, from any state. It is kept, and shown with `include_archived`."""
    await house.store.write(workflow.archive, caller, task_id)
    return Response(status_code=204, headers={"Cache-Control": "no-store"})


@router.post(
    "/{task_id}/actions/{action}",
    operation_id="act_on_task",
    summary="Report, approve, reject",
    response_model=TaskShown,
    responses=told(
        "task_not_found", "TASK_FORBIDDEN_REPORT", "TASK_FORBIDDEN_APPROVE", "TASK_CONFLICT_REPORT_ALREADY_SENT",
        "TASK_CONFLICT_ACTION_STATUS", "TASK_CONFLICT_APPROVE_NO_REPORT",
    ),
)  # fmt: skip
async def act(
    house: HouseDep, caller: Caller, task_id: _TaskId, action: Action,
    asked: Annotated[ActionAsked | None, Body()] = None,
) -> Response:  # fmt: skip
    """`report` needs a `report_link`; the others take none. The answer is the task as it stands then."""
    wanted = asked or ActionAsked()
    comment = wanted.current_comment or ""
    if action is Action.REPORT:
        seen = await house.store.write(workflow.report, caller, task_id, _link(wanted), comment)
    elif wanted.report_link is not None:
        raise _wrong_link("only a report has one")
    else:
        step = workflow.approve if action is Action.APPROVE else workflow.reject
        seen = await house.store.write(step, caller, task_id, comment)
    return _json(_shown(seen))


@router.get("/{task_id}/events", operation_id="task_events", summary="What happened to a task",
            response_model=list[TaskEventShown], responses=told("task_not_found"))  # fmt: skip
async def history(
    house: HouseDep,
    caller: Caller,
    task_id: _TaskId,
    limit: Annotated[int, Digits, Query(ge=1, le=_MOST_OF_A_TASK, description="How many at most.")] = 200,
    after_id: _AfterId = 0,
    include_archived: _Archived = False,
) -> Response:
    """In order, as far as events are kept. For whoever may see the task now."""
    found = await house.store.read(
        workflow.history, caller, task_id, after_id, limit, archived=include_archived
    )  # fmt: skip
    return _json([_event(each) for each in found])


def _consume(tx: Tx, house: House, scope: Scope, code: str) -> User:
    """Counted where it is tried, so that a burst finds no gap between the look at the count and the count."""
    with house.counting_codes(scope):
        return telegram_codes.consume(tx, _code_key(house), code)


def _link(asked: ActionAsked) -> str:
    if asked.report_link is None:
        raise _wrong_link("a report needs one")
    return asked.report_link


def _wrong_link(problem: str) -> RequestValidationError:
    return RequestValidationError([{"type": "value_error", "loc": ("body", "report_link"), "msg": problem}])


def _code_key(house: House) -> bytes:
    return house.desk.secret.derive(telegram_codes.PURPOSE)


def _event(event: TaskEvent) -> dict[str, Any]:
    return {
        "event_id": event.event_id, "task_id": event.task_id, "event_type": event.event_type,
        "actor_user_id": event.actor_user_id, "actor_role_id": event.actor_role_id,
        "created_at": iso(event.created_at), "payload": event.payload,
    }  # fmt: skip


def _listed(seen: Seen) -> dict[str, Any]:
    task, actions = seen.task, seen.allowed_actions
    return {
        "task_id": task.task_id, "title": task.title, "description": task.description,
        "initiator_user_id": task.initiator_user_id, "executor_role_id": task.executor_role_id,
        "assignment_scope": task.assignment_scope, "status_code": task.status_code,
        "created_at": iso(task.created_at), "updated_at": iso(task.updated_at), "allowed_actions": actions,
    }  # fmt: skip


def _shown(seen: Seen) -> dict[str, Any]:
    return {**_listed(seen), "report": _report(seen.report) if seen.report else None}


def _report(report: Report) -> dict[str, Any]:
    return {
        "report_id": report.report_id, "report_link": report.report_link, "current_comment": report.current_comment,
        "submitted_by": report.submitted_by, "submitted_at": iso(report.submitted_at),
        "approved_by": report.approved_by, "approved_at": iso(report.approved_at) if report.approved_at else None,
    }  # fmt: skip


def _json(body: dict[str, Any] | Sequence[Any], status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body), status, media_type="application/json", headers={"Cache-Control": "no-store"}
    )
