"""An office for tests of tasks: its people, and what they ask over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI
from tests.support.people import hire
from tests.web.calling import Answer, send
from tests.web.conftest import make_house

from vacancy.settings_sections import TaskSettings
from vacancy.store.engine import Store
from vacancy.web.app import create_app
from vacancy.web.context import House

HERE: Final = {"host": "127.0.0.1:8000"}
LINK: Final = "https://example.com/report"


@dataclass(frozen=True)
class Office:
    app: FastAPI
    house: House

    def __call__(
        self, who: int | str | None, method: str, path: str, body: object = None,
        headers: Mapping[str, str] | None = None, client: str = "127.0.0.1",
    ) -> Answer:  # fmt: skip
        named = {} if who is None else {"x-user-id": str(who)}
        return send(self.app, method, f"/tasks{path}", body, {**HERE, **named, **(headers or {})}, client)

    def task(self, initiator: int, role: int, title: str = "Count the chairs", **more: Any) -> int:
        made = self(initiator, "POST", "", {"title": title, "executor_role_id": role, **more})
        assert made.status == 201, made.body
        return int(made.json()["task_id"])

    def act(self, who: int, task_id: int, action: str, **body: Any) -> Answer:
        given = {"report_link": LINK, **body} if action == "report" else body
        return self(who, "POST", f"/{task_id}/actions/{action}", given)

    def status(self, who: int, task_id: int) -> str:
        return str(self(who, "GET", f"/{task_id}?include_archived=true").json()["status_code"])

    def feed(self, who: int, query: str = "") -> list[dict[str, Any]]:
        answer = self(who, "GET", f"/me/events{query}")
        assert answer.status == 200, answer.body
        found: list[dict[str, Any]] = answer.json()
        return found


def open_office(store: Store, clock: Any, service_token: str | None = None, **settings: Any) -> Office:
    tasks = TaskSettings.model_validate({"service_token": service_token})
    house = make_house(store, clock, settings={"tasks": tasks, **settings})
    store.write_now(hire)
    return Office(create_app(house), house)
