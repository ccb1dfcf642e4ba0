from __future__ import annotations

import dataclasses

from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from tests.support.clock import START
from tests.support.rows import insert_target
from tests.web.calling import ask, broken, fill

from vacancy.errors import StoreError
from vacancy.store import migrate
from vacancy.store.engine import Tx
from vacancy.web.app import create_app
from vacancy.web.context import House


def samples(app: FastAPI) -> dict[tuple[str, tuple[str, ...]], float]:
    answer = ask(app, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.body.decode())
    return {
        (sample.name, tuple(sorted(sample.labels.values()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_alive_asks_nothing_of_the_database(sqlite_app: FastAPI, sqlite_house: House) -> None:
    with broken(sqlite_house.store, StoreError("gone")):
        answer = ask(sqlite_app, "/healthz")
    assert (answer.status, answer.body) == (200, b"alive\n")


def test_ready(app: FastAPI) -> None:
    answer = ask(app, "/readyz")
    assert answer.status == 200
    assert answer.json() == {
        "status": "ready", "checks": {"database": "ok", "schema": "ok", "loops": "ok", "serving": "ok"},
    }  # fmt: skip


def test_a_failing_upstream_does_not_make_us_unready(app: FastAPI, house: House) -> None:
    fill(house, insert_target, "soc", "12025|NB", failures=9, failing_since=START)
    assert ask(app, "/readyz").status == 200


def test_not_ready_without_a_database(sqlite_app: FastAPI, sqlite_house: House) -> None:
    with broken(sqlite_house.store, StoreError("the database does not answer: no such host")):
        answer = ask(sqlite_app, "/readyz")
    assert answer.status == 503
    assert answer.error["code"] == "unavailable"
    assert answer.error["message"] == "not ready: database, schema"
    assert answer.error["details"]["database"] == "the database does not answer: no such host"


def test_not_ready_with_another_schema(app: FastAPI, house: House) -> None:
    def age(tx: Tx) -> None:
        tx.execute(text("UPDATE alembic_version SET version_num = '0000'"))

    def mend(tx: Tx) -> None:
        tx.execute(text("UPDATE alembic_version SET version_num = :head"), {"head": migrate.HEAD})

    house.store.write_now(age)
    try:
        answer = ask(app, "/readyz")
    finally:
        house.store.write_now(mend)
    assert answer.status == 503
    assert answer.error["message"] == "not ready: schema"


def test_not_ready_while_a_loop_is_down(sqlite_house: House) -> None:
    house = dataclasses.replace(sqlite_house, loops=lambda: {"poll": "restarting", "upkeep": "running"})
    answer = ask(create_app(house), "/readyz")
    assert answer.status == 503
    assert answer.error["details"]["loops"] == "poll is restarting"


def test_not_ready_while_stopping(sqlite_app: FastAPI, sqlite_house: House) -> None:
    sqlite_house.stopping.set()
    answer = ask(sqlite_app, "/readyz")
    assert (answer.status, answer.error["message"]) == (503, "not ready: serving")


def test_metrics(app: FastAPI, house: House) -> None:
    house.metrics.polled("soc", "complete", 0.2)
    house.metrics.polled("soc", "timeout", 15.0)
    house.metrics.raised("soc", "Open", 3)
    fill(house, insert_target, "soc", "12025|NB", open_count=11, last_complete_at=START)
    ask(app, "/api/events?x=1")
    ask(app, "/somewhere/else")
    found = samples(app)
    assert found["vacancy_polls_total", ("complete", "soc")] == 1
    assert found["vacancy_poll_duration_seconds_count", ("soc",)] == 2
    assert found["vacancy_events_total", ("Open", "soc")] == 3
    assert found["vacancy_open_items", ("12025|NB", "soc")] == 11
    assert found["vacancy_last_complete_timestamp_seconds", ("12025|NB", "soc")] == START.timestamp()
    assert found["vacancy_http_requests_total", ("/api/events", "422")] == 1
    assert found["vacancy_http_requests_total", ("404", "none")] == 1
    assert all(name.startswith("vacancy_") for name, _ in found)
    assert any(name == "vacancy_build_info" for name, _ in found)
    assert any(name == "vacancy_process_resident_memory_bytes" for name, _ in found)


def test_metrics_live_on_without_the_database(sqlite_app: FastAPI, sqlite_house: House) -> None:
    sqlite_house.metrics.raised("soc", "Open", 1)
    with broken(sqlite_house.store, StoreError("gone")):
        assert samples(sqlite_app)["vacancy_events_total", ("Open", "soc")] == 1


def test_a_target_that_is_gone_leaves_the_gauges(app: FastAPI, house: House) -> None:
    fill(house, insert_target, "soc", "12025|NB")
    assert ("vacancy_open_items", ("12025|NB", "soc")) in samples(app)
    fill(house, lambda tx: tx.execute(text("DELETE FROM targets")))
    assert ("vacancy_open_items", ("12025|NB", "soc")) not in samples(app)
