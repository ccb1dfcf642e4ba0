"""A backend of tasks that keeps the contract of events: people with roles, tasks, one-time codes, and a feed for each
person. Faults come by path, as everywhere, or by person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from vacancy.simulator.provider import Provider

TOKEN: Final = "a service token of the simulator"  # noqa: S105 - nobody's
_DONE: Final = {"report": "WAITING_APPROVAL", "approve": "DONE", "reject": "WAITING_REPORT"}
_EVENTS: Final = {"report": "REPORT_SUBMITTED", "approve": "APPROVED", "reject": "REJECTED"}
_FROM: Final = {
    "report": ("IN_PROGRESS", "WAITING_REPORT"), "approve": ("WAITING_APPROVAL",), "reject": ("WAITING_APPROVAL",),
}  # fmt: skip
_MOST: Final = 200
_USUAL: Final = 50


@dataclass(slots=True)
class Person:
    user_id: int
    name: str
    events: list[Any] = field(default_factory=list)  # anything may stand among them
    # Answered instead, in order: a status, or a body.
    faults: list[tuple[int, object]] = field(default_factory=list)
    # Questions wait for it.
    held: asyncio.Event | None = None
    asked: int = 0


@dataclass(slots=True)
class Task:
    task_id: int
    title: str
    description: str = ""
    status_code: str = "IN_PROGRESS"
    history: list[dict[str, Any]] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        actions = [action for action, states in _FROM.items() if self.status_code in states]
        return {
            "task_id": self.task_id, "title": self.title, "description": self.description,
            "status_code": self.status_code, "allowed_actions": actions,
        }  # fmt: skip


class TaskBackend(Provider):
    def __init__(self, token: str = TOKEN) -> None:
        super().__init__()
        self.token = token
        self.people: dict[int, Person] = {}
        self.tasks: dict[int, Task] = {}
        self.codes: dict[str, int] = {}
        self.updates: list[Any] = []  # what was handed on to /api/telegram/update
        self.most_in_flight = 0
        self._in_flight = 0
        self._next_event = 1

    def routes(self) -> Sequence[web.RouteDef]:
        # Before its siblings with a number in them, or it would be taken for one.
        return [
            web.get("/tasks/me/events", self._events),
            web.get("/tasks/me", self._me),
            web.post("/tasks/telegram-codes/consume", self._consume),
            web.get("/tasks", self._list),
            web.get("/tasks/{task}", self._show),
            web.patch("/tasks/{task}", self._patch),
            web.get("/tasks/{task}/events", self._history),
            web.post("/tasks/{task}/actions/{action}", self._act),
            web.post("/api/telegram/update", self._update),
        ]

    def person(self, user_id: int, name: str = "") -> Person:
        return self.people.setdefault(user_id, Person(user_id, name or f"Person {user_id}"))

    def code(self, user_id: int, code: str) -> str:
        self.person(user_id)
        self.codes[code] = user_id
        return code

    def task(self, task_id: int, title: str, **more: Any) -> Task:
        return self.tasks.setdefault(task_id, Task(task_id, title, **more))

    def happens(self, *users: int, kind: str = "APPROVED", task_id: int = 1, **payload: Any) -> int:
        """An event for all of these; its number, which is the same for everybody."""
        number = self._next_event
        self._next_event += 1
        for user_id in users:
            self.person(user_id).events.append(_event(number, kind, task_id, payload))
        return number

    def history(self, user_id: int, count: int) -> list[int]:
        return [self.happens(user_id, current_comment=f"number {index}") for index in range(count)]

    def asks_for_events(self) -> list[str]:
        return [record.path for record in self.records if record.path.startswith("/tasks/me/events")]

    async def _events(self, request: web.Request) -> web.Response:
        person = self._who(request)
        person.asked += 1
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            if person.held is not None:
                await person.held.wait()
        finally:
            self._in_flight -= 1
        if person.faults:
            status, body = person.faults.pop(0)
            return _answer(body, status)
        after, limit = _number(request, "after_id", 0, 2**63 - 1), _number(request, "limit", _USUAL, _MOST)
        if limit < 1 or set(request.query) - {"after_id", "limit"}:
            raise _refusal(422, "limit, or a parameter that is not known")
        return web.json_response([each for each in person.events if _is_after(each, after)][:limit])

    async def _me(self, request: web.Request) -> web.Response:
        person = self._who(request)
        return web.json_response({"user_id": person.user_id, "name": person.name, "role": "Executor"})

    async def _consume(self, request: web.Request) -> web.Response:
        self._prove(request)
        user_id = self.codes.pop((await request.json())["code"], None)
        if user_id is None:
            return _conflict("TGBIND_CONFLICT_CODE_INVALID", "The code cannot be used", {})
        return web.json_response({"user_id": user_id, "name": self.person(user_id).name})

    async def _list(self, request: web.Request) -> web.Response:
        self._who(request)
        return web.json_response([task.shown() for task in self.tasks.values()][: int(request.query["limit"])])

    async def _show(self, request: web.Request) -> web.Response:
        self._who(request)
        return web.json_response(self._task(request).shown())

    async def _history(self, request: web.Request) -> web.Response:
        self._who(request)
        return web.json_response(self._task(request).history)

    async def _patch(self, request: web.Request) -> web.Response:
        self._who(request)
        task, wanted = self._task(request), await request.json()
        if not wanted.get("title", "x").strip():
            raise _refusal(422, "title: must not be blank")
        task.title = wanted.get("title", task.title)
        task.description = wanted.get("description", task.description)
        return web.json_response(task.shown())

    async def _act(self, request: web.Request) -> web.Response:
        person = self._who(request)
        task, action = self._task(request), request.match_info["action"]
        given = await request.json()
        if task.status_code not in _FROM[action]:
            return _conflict(
                "TASK_CONFLICT_ACTION_STATUS", "Not now", {"task_id": task.task_id, "current_status": task.status_code}
            )
        task.status_code = _DONE[action]
        facts = {**given, "status_to": task.status_code}
        task.history.append(_event(0, _EVENTS[action], task.task_id, facts))
        self.happens(person.user_id, kind=_EVENTS[action], task_id=task.task_id, **facts)
        return web.json_response(task.shown())

    async def _update(self, request: web.Request) -> web.Response:
        self._prove(request)
        self.updates.append(await request.json())
        return web.Response(status=204)

    def _who(self, request: web.Request) -> Person:
        self._prove(request)
        given = request.headers.get("X-User-Id", "")
        person = self.people.get(int(given)) if given.isdecimal() else None
        if person is None:
            raise _refusal(401, "nobody that is known here")
        return person

    def _prove(self, request: web.Request) -> None:
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            raise _refusal(401, "the service token is not ours")

    def _task(self, request: web.Request) -> Task:
        given = request.match_info["task"]
        task = self.tasks.get(int(given)) if given.isdecimal() else None
        if task is None:
            raise _refusal(404, "no such task")
        return task


def _event(number: int, kind: str, task_id: int, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "event_id": number, "task_id": task_id, "event_type": kind, "actor_user_id": 1, "actor_role_id": 1,
        "created_at": "2026-01-05T12:00:00+00:00", "payload": dict(payload),
    }  # fmt: skip


def _is_after(event: Any, after: int) -> bool:
    """What has no number is in every page."""
    number = event.get("event_id") if isinstance(event, dict) else None
    return not isinstance(number, int) or number > after


def _number(request: web.Request, name: str, usual: int, most: int) -> int:
    given = request.query.get(name, str(usual))
    if not given.isdecimal() or int(given) > most:
        raise _refusal(422, name)
    return int(given)


def _answer(body: object, status: int) -> web.Response:
    if isinstance(body, str):
        return web.Response(text=body, status=status)
    return web.json_response(body, status=status)


def _conflict(code: str, message: str, facts: Mapping[str, Any]) -> web.Response:
    detail = {"error": "conflict", "code": code, "message": message, "reason": "its state", "hint": "look", **facts}
    return web.json_response({"detail": detail}, status=409)


_CLASSES: Final[Mapping[int, Callable[..., web.HTTPException]]] = {
    401: web.HTTPUnauthorized, 404: web.HTTPNotFound, 422: web.HTTPUnprocessableEntity,
}  # fmt: skip


def _refusal(status: int, detail: str) -> web.HTTPException:
    return _CLASSES[status](text=json.dumps({"detail": detail}), content_type="application/json")
