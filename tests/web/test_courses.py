from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from tests.support.catalogues import course, load, section, several
from tests.support.clock import START
from tests.support.rows import course_event, insert_events, insert_target
from tests.web.calling import ask, fill

from vacancy.store.engine import Tx
from vacancy.store.schema import availability, targets
from vacancy.web.api import courses
from vacancy.web.context import House

NOW = "2026-01-05T12:00:00.000Z"


def put_open(tx: Tx, *indexes: str) -> None:
    insert_target(tx, "soc", "12025|NB", baseline_at=START, last_complete_at=START)
    target = tx.execute(select(targets.c.target_id)).scalar_one()
    for index in indexes:
        values = {"state": "Open", "opened_at": START, "last_seen_at": START, "episode": 2}
        tx.execute(availability.insert().values(target_id=target, item_key=index, **values))


def prepare(house: House) -> None:
    load(house.store, [course("01:198:111", section(), section("04322"), title="INTRO COMPUTER SCI"), *several(25)])
    fill(house, put_open, "04321", "77777")


@pytest.fixture
def site(app: FastAPI, house: House) -> FastAPI:
    return _with_courses(app, house)


@pytest.fixture
def lite(sqlite_app: FastAPI, sqlite_house: House) -> FastAPI:
    return _with_courses(sqlite_app, sqlite_house)


def _with_courses(app: FastAPI, house: House) -> FastAPI:
    if "/api/courses" not in app.openapi()["paths"]:
        app.include_router(courses.router)
        app.openapi_schema = None
    prepare(house)
    return app


def test_a_search_answers_a_page(site: FastAPI) -> None:
    answer = ask(site, "/api/courses?term=12025&campus=NB&q=computer&include=sections,sectionsSummary,subjects")
    assert answer.status == 200
    body = answer.json()
    version = body["meta"].pop("version")
    assert len(version) == 12
    assert body["meta"] == {"page": 1, "pageSize": 20, "total": 1, "hasNext": False, "generatedAt": NOW}
    assert body["subjects"] == [{"code": "198", "name": "Widgetry", "courses": 1}]
    (item,) = body["items"]
    assert item["courseString"] == "01:198:111"
    assert item["sectionsSummary"] == {"total": 2, "open": 1}
    assert [(each["index"], each["status"], each["openedAt"]) for each in item["sections"]] == [
        ("04321", "Open", NOW), ("04322", "Closed", None),
    ]  # fmt: skip


def test_pages(site: FastAPI) -> None:
    first = ask(site, "/api/courses?term=12025&campus=NB").json()
    assert (len(first["items"]), first["meta"]["total"], first["meta"]["hasNext"]) == (20, 26, True)
    second = ask(site, "/api/courses?term=12025&campus=NB&page=2").json()
    assert (len(second["items"]), second["meta"]["total"], second["meta"]["hasNext"]) == (6, 26, False)
    assert "subjects" not in first
    assert "sections" not in first["items"][0]


@pytest.mark.parametrize("term", ["12025", "20251", "SP2025", "spring%202025"])
@pytest.mark.parametrize("campus", ["NB", "nb", "NB,NB"])
def test_terms_and_campuses_are_read_in_every_spelling(lite: FastAPI, term: str, campus: str) -> None:
    assert ask(lite, f"/api/courses?term={term}&campus={campus}").json()["meta"]["total"] == 26


@pytest.mark.parametrize(
    ("query", "total"),
    [
        ("subject=198", 1),
        ("subject=01:198&subject=01:640", 26),
        ("subject=14:198,01:640", 25),
        ("campus=NB&hasOpenSection=true", 1),
        ("campus=NB&hasOpenSection=false", 25),
        ("campus=NB&level=UG", 26),
        ("campus=NB&level=g", 0),
        ("campus=NB&creditsMin=3&creditsMax=3.0", 26),
        ("campus=NB&creditsMin=3.5", 0),
        ("campus=NB&delivery=in_person&examCode=c", 26),
        ("campus=NB&meetingDays=TH", 26),
        ("campus=NB&meetingDays=H,F", 26),
        ("campus=NB&meetingDays=MTW", 0),
        ("campus=NB&meetingStart=850&meetingEnd=930", 26),
        ("campus=NB&meetingCampus=bus", 26),
        ("campus=NB&meetingCampus=1", 0),
        ("campus=NB&campusLocation=1", 26),
        ("campus=NB&q=%26%7C%21", 0),
    ],
)
def test_parameters_reach_the_search(lite: FastAPI, query: str, total: int) -> None:
    assert ask(lite, f"/api/courses?term=12025&{query}").json()["meta"]["total"] == total


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("campus=NB", "term: Field required"),
        ("term=12025", "campus: must be given, unless there is a subject"),
        ("term=22026&campus=NB", "term: '22026' is not a term"),
        ("term=12025&campus=1", "campus: '1' is not a campus code"),
        ("term=12025&campus=NB&pageSize=101", "pageSize: must be at most 100"),
        ("term=12025&campus=NB&pageSize=0", "pageSize: must be at least 1"),
        ("term=12025&campus=NB&page=x", "page: must be a whole number from 1 to"),
        ("term=12025&campus=NB&page=1_0", "page: must be a whole number"),
        ("term=12025&campus=NB&sectionsLimit=301", "sectionsLimit: must be at most 300"),
        ("term=12025&campus=NB&q=a", "q: must have at least 2 characters"),
        ("term=12025&campus=NB&subject=a:b:c", "subject: must be a subject such as 198"),
        ("term=12025&campus=NB&level=X", "level: must be UG, GR or N/A"),
        ("term=12025&campus=NB&examCode=Z", "examCode: must be one of A B C"),
        ("term=12025&campus=NB&delivery=async", "delivery: must be in_person, online or hybrid"),
        ("term=12025&campus=NB&creditsMin=nan", "creditsMin: must be a number from 0 to 20"),
        ("term=12025&campus=NB&creditsMax=21", "creditsMax: must be at most 20"),
        ("term=12025&campus=NB&creditsMin=3&creditsMax=2", "creditsMin: must be at most creditsMax"),
        ("term=12025&campus=NB&meetingStart=5&meetingEnd=4", "meetingStart: must be at most meetingEnd"),
        ("term=12025&campus=NB&meetingStart=-1", "meetingStart: must be at least 0"),
        ("term=12025&campus=NB&meetingDays=X", "meetingDays: 'X' has no day at 'X'"),
        ("term=12025&campus=NB&coreCode=%00", "coreCode: must be plain text"),
        ("term=12025&campus=NB&sortBy=seats", "sortBy:"),
        ("term=12025&campus=NB&include=seats", "include: must be sectionsSummary, subjects or sections"),
        ("term=12025&campus=NB&hasOpenSections=1", "hasOpenSections: there is no such parameter; did you mean has"),
    ],
)
def test_what_cannot_be_used_is_named(lite: FastAPI, query: str, detail: str) -> None:
    answer = ask(lite, f"/api/courses?{query}")
    assert (answer.status, answer.error["code"]) == (422, "validation_failed")
    assert answer.error["details"][0].startswith(detail)


@pytest.mark.parametrize("query", ["term=92025&campus=NB", "term=12025&campus=XY", "term=92025&subject=198"])
@pytest.mark.parametrize("path", ["courses", "filters"])
def test_a_term_or_campus_that_is_not_kept_is_not_an_empty_result(lite: FastAPI, path: str, query: str) -> None:
    if path == "filters":
        query = query.replace("&subject=198", "")
    answer = ask(lite, f"/api/{path}?{query}")
    assert (answer.status, answer.error["code"]) == (404, "section_not_found")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(q=st.text(min_size=2, max_size=30))
def test_any_text_is_answered(lite: FastAPI, q: str) -> None:
    answer = ask(lite, f"/api/courses?term=12025&campus=NB&q={quote(q.encode('utf-8', 'replace'))}")
    assert answer.status in (200, 422)


def test_a_section_with_its_course_state_and_history(site: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(4321), course_event(4321, dedupe_key="other")])
    body: Any = ask(site, "/api/sections/20251/nb/04321").json()
    assert (body["sectionResolved"], body["status"], body["openedAt"]) == (True, "Open", NOW)
    assert (body["lastCheckedAt"], body["episode"], body["retiredAt"]) == (NOW, 2, None)
    assert body["registrationLink"] == "https://sis.rutgers.edu/soc/#keyword=04321&semester=12025"
    assert body["course"]["title"] == "INTRO COMPUTER SCI"
    assert body["meetingSummary"] == "H 14:10-15:30 BUS XYZ 101"
    assert body["meetings"][0]["startMinutes"] == 850
    assert [event["openEventId"] for event in body["history"]] == [2, 1]
    assert body["history"][0]["eventAt"] == NOW
    assert ask(site, "/api/sections/12025/NB/04322").json()["status"] == "Closed"


def test_an_index_that_only_the_open_list_knows(site: FastAPI) -> None:
    body = ask(site, "/api/sections/12025/NB/77777").json()
    assert (body["sectionResolved"], body["status"], body["course"]) == (False, "Open", None)


@pytest.mark.parametrize("path", ["12025/NB/66666", "12025/NK/04321", "92025/NB/04321", "x/NB/04321", "12025/1/04321",
                                  "12025/NB/4321", "12025/NB/0432%0A"])  # fmt: skip
def test_an_unknown_section(lite: FastAPI, path: str) -> None:
    answer = ask(lite, f"/api/sections/{path}")
    assert (answer.status, answer.error["code"]) == (404, "section_not_found")


def test_values_for_filters(site: FastAPI) -> None:
    body = ask(site, "/api/filters?term=12025&campus=NB").json()
    assert [each["code"] for each in body["subjects"]] == ["198", "640"]
    assert (body["levels"], body["deliveries"], body["examCodes"]) == (["U"], ["in_person"], ["C"])
    assert ask(site, "/api/filters?term=12025").json() == body


def test_the_answers_are_what_the_document_says(lite: FastAPI) -> None:
    document = lite.openapi()
    pages = {
        "/api/courses": "/api/courses?term=12025&campus=NB&include=sections,subjects,sectionsSummary",
        "/api/sections/{term}/{campus}/{index}": "/api/sections/12025/NB/04321",
        "/api/filters": "/api/filters?term=12025",
    }
    for path, target in pages.items():
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        model = getattr(courses, schema["$ref"].rpartition("/")[2])
        model.model_validate(ask(lite, target).json(), strict=True)
    sizes = {each["name"]: each["schema"] for each in document["paths"]["/api/courses"]["get"]["parameters"]}
    assert sizes["pageSize"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "title": "Pagesize"}
