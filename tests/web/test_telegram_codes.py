"""Codes that make a chat a user's: once, for half an hour, the newest alone, and not to be found by trying."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select
from tests.support.clock import ManualClock
from tests.support.people import ADA, PAT
from tests.web.calling import Answer
from tests.web.conftest import make_house
from tests.web.tasking import Office, open_office

from vacancy.pipeline.upkeep import prune
from vacancy.settings_sections import RetentionSettings
from vacancy.store import people
from vacancy.store.engine import Store
from vacancy.store.schema_tasks import telegram_codes as table
from vacancy.tasks import telegram_codes
from vacancy.web.app import create_app


@pytest.fixture
def office(store: Store, clock: ManualClock) -> Office:
    return open_office(store, clock)


def issue(office: Office, who: int = ADA) -> str:
    answer = office(who, "POST", "/me/telegram-code")
    assert answer.status == 200
    return str(answer.json()["code"])


def consume(office: Office, code: str, client: str = "127.0.0.1") -> Answer:
    return office(None, "POST", "/telegram-codes/consume", {"code": code}, client=client)


def refused(answer: Answer) -> None:
    assert answer.status == 409
    told = answer.json()["detail"]
    assert (told["error"], told["code"]) == ("conflict", "TGBIND_CONFLICT_CODE_INVALID")
    assert set(told) == {"error", "code", "message", "reason", "hint"}


def test_a_code_is_good_once(office: Office) -> None:
    answer = office(ADA, "POST", "/me/telegram-code").json()
    assert re.fullmatch(r"[0-9A-F]{4}-[0-9A-F]{4}", answer["code"])
    assert answer["expires_at"] == "2026-01-05T12:30:00.000Z"
    assert consume(office, answer["code"]).json() == {"user_id": ADA, "name": "Ada"}
    refused(consume(office, answer["code"]))


@pytest.mark.parametrize("typed", ["{}", " {} ", "{lower}", "{bare}", "{spaced}"])
def test_as_people_type_it(office: Office, typed: str) -> None:
    code = issue(office)
    forms = {"lower": code.lower(), "bare": code.replace("-", ""), "spaced": code.replace("-", " ")}
    assert consume(office, typed.format(code, **forms)).status == 200


def test_missing_used_expired_and_replaced_codes_have_one_answer(office: Office, clock: ManualClock) -> None:
    replaced, used = issue(office), issue(office)
    assert consume(office, used).status == 200
    expired = issue(office)
    clock.jump(30 * 60)
    answers = [consume(office, code) for code in ("0000-0000", "garbage", used, replaced, expired)]
    for answer in answers:
        refused(answer)
    assert len({answer.body for answer in answers}) == 1


def test_a_code_is_good_for_half_an_hour(office: Office, clock: ManualClock) -> None:
    code = issue(office)
    clock.jump(30 * 60 - 1)
    assert consume(office, code).status == 200


def test_everybody_has_a_code_of_his_own(office: Office) -> None:
    mine, his = issue(office, ADA), issue(office, PAT)
    assert consume(office, mine).json()["user_id"] == ADA
    assert consume(office, his).json()["user_id"] == PAT


def test_a_code_survives_a_restart_and_is_not_kept_in_clear(office: Office, store: Store, clock: ManualClock) -> None:
    code = issue(office)
    (kept,) = store.read_now(lambda tx: tx.execute(select(table.c.code_hash)).scalars().all())
    assert len(kept) == 64
    assert code.replace("-", "").lower() not in kept
    other = Store(store.url, clock, database_time=False)
    try:
        restarted = Office(create_app(house := make_house(other, clock)), house)
        assert consume(restarted, code).json()["user_id"] == ADA
    finally:
        other.close()


def test_whoever_left_meanwhile_is_tied_to_nothing(office: Office, store: Store) -> None:
    code = issue(office)
    store.write_now(people.set_active, ADA, active=False)
    refused(consume(office, code))


def test_of_two_who_send_the_same_code_one_is_first(office: Office) -> None:
    code = issue(office)
    with ThreadPoolExecutor(2) as threads:
        assert sorted(answer.status for answer in threads.map(lambda _: consume(office, code), range(2))) == [200, 409]


def test_guesses_are_counted_and_right_codes_are_not(office: Office) -> None:
    for _ in range(70):
        assert consume(office, issue(office)).status == 200
    guesses = [consume(office, f"{n:08X}").status for n in range(100)]
    assert guesses[:60] == [409] * 60
    assert set(guesses[60:]) == {429}
    late = consume(office, issue(office))
    assert late.status == 429
    assert isinstance(late.json()["detail"], str)
    assert 1 <= int(late.headers["retry-after"]) <= 600


def test_a_burst_of_guesses_finds_no_gap(office: Office) -> None:
    with ThreadPoolExecutor(8) as threads:
        tried = [answer.status for answer in threads.map(lambda n: consume(office, f"{n:08X}"), range(120))]
    assert 60 <= tried.count(409) <= 60 + 8


@pytest.mark.parametrize("body", [{}, {"code": ""}, {"code": 5}, {"code": None}, {"code": "x" * 65}, {"kode": "x"}, []])
def test_what_is_no_code_at_all(office: Office, body: object) -> None:
    assert office(None, "POST", "/telegram-codes/consume", body).status == 422


def test_two_users_never_have_the_same_code(
    office: Office, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    drawn = iter(["00000001", "00000001", "00000001", "00000002"])
    monkeypatch.setattr(telegram_codes, "_new", lambda: next(drawn))
    assert (issue(office, ADA), issue(office, PAT)) == ("0000-0001", "0000-0002")


def test_old_codes_are_swept_away(office: Office, store: Store, clock: ManualClock) -> None:
    issue(office)
    assert store.write_now(prune, RetentionSettings()) == 0
    clock.jump(30 * 60)
    assert store.write_now(prune, RetentionSettings()) == 1
