"""Who may ask below /tasks: the header names somebody, the service token proves it; and what errors look like there."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from tests.support.clock import ManualClock
from tests.support.people import ADA, GONE, PAT, PORTERS
from tests.web.calling import Answer, broken, send
from tests.web.serving import served
from tests.web.tasking import Office, open_office

from vacancy.errors import StoreError
from vacancy.settings_sections import TaskSettings, WebSettings
from vacancy.store.engine import Store

TOKEN = "a-service-token-of-some-length"
PROOF = {"authorization": f"Bearer {TOKEN}"}
WAYS: list[tuple[str, str, Any]] = [
    ("GET", "/me/events", None), ("GET", "/me", None), ("POST", "/me/telegram-code", None),
    ("POST", "/telegram-codes/consume", {"code": "1A2B-3C4D"}), ("GET", "", None),
    ("POST", "", {"title": "x", "executor_role_id": PORTERS}), ("GET", "/1", None), ("PATCH", "/1", {"title": "x"}),
    ("DELETE", "/1", None), ("POST", "/1/actions/report", {"report_link": "https://example.com"}),
    ("GET", "/1/events", None),
]  # fmt: skip
each_way = pytest.mark.parametrize(("method", "path", "body"), WAYS, ids=[f"{verb} {path}" for verb, path, _ in WAYS])


@pytest.fixture
def open_house(sqlite_store: Store, clock: ManualClock) -> Office:
    """Without a token."""
    return open_office(sqlite_store, clock)


@pytest.fixture
def guarded(sqlite_store: Store, clock: ManualClock) -> Office:
    return open_office(sqlite_store, clock, TOKEN)


def turned_away(answer: Answer) -> None:
    assert answer.status == 401, answer.body
    assert isinstance(answer.json()["detail"], str)
    assert answer.headers["www-authenticate"] == "Bearer"


@each_way
def test_with_a_token_the_header_alone_proves_nothing(guarded: Office, method: str, path: str, body: Any) -> None:
    for header in (None, "", "Bearer", "Bearer ", "Bearer wrong", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x",
                   f"Basic {TOKEN}", TOKEN, "Bearer ünïcode"):  # fmt: skip
        turned_away(guarded(ADA, method, path, body, {} if header is None else {"authorization": header}))
    assert guarded(ADA, method, path, body, PROOF).status != 401
    # From anywhere, for that is what it is for.
    assert guarded(ADA, method, path, body, PROOF, client="203.0.113.9").status != 401


@each_way
def test_without_a_token_this_machine_alone_is_served(open_house: Office, method: str, path: str, body: Any) -> None:
    spoofs = [{}, {"x-forwarded-for": "127.0.0.1"}, {"forwarded": "for=127.0.0.1"}, {"x-real-ip": "127.0.0.1"}]
    for spoof in spoofs:
        turned_away(open_house(ADA, method, path, body, spoof, client="203.0.113.9"))
    # A token that nobody set is not one.
    turned_away(open_house(ADA, method, path, body, {"authorization": "Bearer None"}, client="203.0.113.9"))
    for here in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert open_house(ADA, method, path, body, client=here).status != 401


@each_way
def test_what_a_proxy_on_this_machine_passes_on_is_not_of_this_machine(
    open_house: Office, method: str, path: str, body: Any
) -> None:
    for passed_on in ({"x-forwarded-for": "203.0.113.9"}, {"via": "1.1 proxy"}, {"host": "tasks.example.com"}):
        turned_away(open_house(ADA, method, path, body, passed_on))


def test_a_house_with_a_proxy_or_a_public_name_needs_a_token(sqlite_store: Store, clock: ManualClock) -> None:
    named = open_office(sqlite_store, clock, base_url="https://vacancy.example.edu")
    turned_away(named(ADA, "GET", "/me"))


def test_a_house_behind_a_proxy_needs_a_token(sqlite_store: Store, clock: ManualClock) -> None:
    office = open_office(sqlite_store, clock)
    web = WebSettings(trusted_proxies=(ipaddress.ip_network("127.0.0.0/8"),))
    behind = office.house.settings.model_copy(update={"web": web})
    object.__setattr__(office.house, "settings", behind)
    turned_away(office(ADA, "GET", "/me"))
    turned_away(office(ADA, "GET", "/me", headers={"x-forwarded-for": "127.0.0.1"}))


@pytest.mark.parametrize("who", [None, "0", "-1", "777", str(GONE), str(2**63), "9" * 400])
def test_whoever_is_nobody_is_not_served(guarded: Office, who: str | None) -> None:
    for method, path, body in WAYS:
        if "consume" not in path:
            turned_away(guarded(who, method, path, body, PROOF))


@pytest.mark.parametrize("who", ["ada", "", "1.0", "0x1", "+1", " ", "11 12", "٣", "1,2", "--1"])
def test_what_is_no_number_is_malformed(guarded: Office, who: str) -> None:
    for method, path, body in WAYS:
        if "consume" not in path:
            answer = guarded(who.encode().decode("latin-1"), method, path, body, PROOF)
            assert answer.status == 422
            assert [wrong["loc"] for wrong in answer.json()["detail"]] == [["header", "X-User-Id"]]
            # Who may not name anybody is not told how to.
            turned_away(guarded(who.encode().decode("latin-1"), method, path, body))


def test_the_service_needs_no_user_to_consume_a_code(guarded: Office) -> None:
    code = guarded(ADA, "POST", "/me/telegram-code", None, PROOF).json()["code"]
    assert guarded(None, "POST", "/telegram-codes/consume", {"code": code}, PROOF).json()["user_id"] == ADA


def test_a_token_is_no_part_of_what_is_shown(guarded: Office) -> None:
    assert TOKEN not in repr(guarded.house.settings)
    with pytest.raises(ValueError, match="one line of plain characters"):
        TaskSettings.model_validate({"service_token": "two\nlines"})


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/1/nothing", 404), ("PUT", "/1", 405), ("POST", "/me", 405)]
)
def test_what_is_not_there_is_told_in_the_same_shape(guarded: Office, method: str, path: str, status: int) -> None:
    answer = guarded(ADA, method, path, None, PROOF)
    assert (answer.status, type(answer.json()["detail"])) == (status, str)
    # And elsewhere as ever.
    elsewhere = send(guarded.app, method, "/tasksforce")
    assert set(elsewhere.json()) == {"error"}


def test_a_database_that_does_not_answer(guarded: Office) -> None:
    with broken(guarded.house.store, StoreError("disk I/O error at /secret/place")):
        answer = guarded(ADA, "GET", "/me/events", None, PROOF)
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert "secret" not in answer.json()["detail"]


def test_over_a_real_socket(store: Store, clock: ManualClock) -> None:
    office = open_office(store, clock)
    with served(office.app) as ask:
        made = ask("POST", "/tasks", {"title": "x", "executor_role_id": PORTERS}, {"X-User-Id": str(ADA)})
        assert made.status == 201
        task = made.json()["task_id"]
        body = {"report_link": "https://example.com"}
        assert ask("POST", f"/tasks/{task}/actions/report", body, {"X-User-Id": str(PAT)}).status == 200
        (event,) = ask("GET", "/tasks/me/events?after_id=0", headers={"X-User-Id": str(ADA)}).json()
        assert event["event_type"] == "REPORT_SUBMITTED"
        assert ask("GET", "/tasks/me/events").status == 401
        # Two names in one request are one too many; `http.client` joins them as some proxies do.
        assert ask("GET", "/tasks/me/events", headers={"X-User-Id": f"{ADA}, {PAT}"}).status == 422
