from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from fastapi import FastAPI
from tests.support.clock import START, ManualClock
from tests.support.rows import course_event, insert_events, insert_target
from tests.web.calling import ask, fill

from vacancy.web.context import House


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


SHARED = "fbclid=a1&utm_source=x&x=%00&x=2"


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/subscribe", "/subscribe?topic=soc:12025:NB:12345", "/sw.js", "/outbox", "/outbox?before=9"]
)
def test_a_link_that_was_shared_leads_to_its_page(sqlite_app: FastAPI, path: str) -> None:
    here = {"host": "localhost"}
    plain = ask(sqlite_app, path, headers=here)
    shared = ask(sqlite_app, f"{path}{'&' if '?' in path else '?'}{SHARED}", headers=here)
    assert (plain.status, shared.status) == (200, 200)
    assert ask(sqlite_app, "/outbox?before=x", headers=here).status == 400


def board(app: FastAPI) -> str:
    answer = ask(app, "/")
    assert answer.status == 200
    return answer.body.decode()


def test_an_empty_board_says_so(app: FastAPI) -> None:
    html = board(app)
    assert 'data-open="no"' in html
    assert "Nothing is watched yet" in html
    assert re.search(r'id="none">', html)


def test_the_board_shows_what_opened(app: FastAPI, house: House, clock: ManualClock) -> None:
    fill(house, insert_target, "soc", "12025|NB", baseline_at=START, last_complete_at=START, open_count=4312)
    fill(house, insert_events, [course_event(9214), course_event(7, status_after="Closed")])
    clock.pass_time(4)
    html = board(app)
    assert 'data-open="yes"' in html
    assert "New Brunswick, Spring 2025" in html
    assert "checked 4 s ago" in html
    assert "4,312" in html
    for text in ("INTRO COMPUTER SCI", "01:198:111", "Section 02", "Index 09214", "MW 10:20-11:40 LSH-AUD"):
        assert text in html
    assert 'href="https://sis.rutgers.edu/soc/#keyword=09214&amp;semester=12025"' in html
    assert 'href="/subscribe?topic=soc%3A12025%3ANB%3A09214"' in html
    assert html.count('<li class="opening"') == 1
    # The stream goes on after the newest event, whatever it is.
    assert 'data-after="2"' in html


def test_an_index_outside_the_catalogue_is_shown_by_its_number(app: FastAPI, house: House) -> None:
    fill(house, insert_events, [course_event(42, payload={})])
    assert "Index 00042" in board(app)


def test_other_sources_have_a_label(app: FastAPI, house: House) -> None:
    columns = {"source": "resy", "term_id": None, "campus_code": None, "index_number": None, "item_key": "slot"}
    fill(house, insert_events, [course_event(1, payload={"label": "Lilia, 20:30"}, **columns),
                                course_event(2, payload={}, **columns)])  # fmt: skip
    html = board(app)
    assert "Lilia, 20:30" in html
    assert "slot" in html


def test_what_is_watched_has_a_name_that_people_would_use(app: FastAPI, house: House) -> None:
    for source, key in (("resy", "2026-02-28_20:30"), ("json:tickets", "all"), ("soc", "12025|NK")):
        fill(house, insert_target, source, key)
    html = board(app)
    for name in ("Tables around Sat, Feb 28, 8:30 PM", "Tickets", "Newark, Spring 2025"):
        assert f'<p class="name">{name} <span' in html


HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(1)>'"


@pytest.mark.parametrize("link", ["javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", 7, None, HOSTILE])
def test_hostile_text_stays_text(app: FastAPI, house: House, link: object) -> None:
    payload = {"courseTitle": HOSTILE, "sectionNumber": HOSTILE, "meetingSummary": HOSTILE, "courseString": HOSTILE,
               "link": link}  # fmt: skip
    fill(house, insert_events, [course_event(1, payload=payload), course_event(2, payload=[HOSTILE])])
    fill(house, insert_target, "soc", HOSTILE[:100], failures=1, last_error={"code": "x", "message": HOSTILE})
    tags = Tags(board(app)).found
    assert [attrs.get("src") for tag, attrs in tags if tag == "script"] == [_script(tags)]
    assert not [tag for tag, _ in tags if tag == "img"]
    for tag, attrs in tags:
        assert not [name for name in attrs if name.startswith("on")]
        if tag == "a":
            assert (attrs["href"] or "").startswith(("/", "#", "https://"))


def _script(tags: list[tuple[str, dict[str, str | None]]]) -> str:
    (source,) = [attrs["src"] or "" for tag, attrs in tags if tag == "script"]
    assert source.startswith("/static/board.js?v=")
    return source


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_let_nothing_else_run(sqlite_app: FastAPI, path: str) -> None:
    answer = ask(sqlite_app, path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    tags = Tags(answer.body.decode()).found
    assert not [tag for tag, attrs in tags if "style" in attrs or tag == "style"]
    assert not [tag for tag, attrs in tags if tag == "script" and "src" not in attrs]
    assert next(attrs["lang"] for tag, attrs in tags if tag == "html")


@pytest.mark.parametrize("path", ["/", "/docs", "/subscribe", "/unsubscribe?token=x"])
def test_a_phone_may_keep_every_page(sqlite_app: FastAPI, path: str) -> None:
    answer = ask(sqlite_app, path)
    assert "manifest-src 'self'" in answer.headers["content-security-policy"]
    links = {attrs["rel"]: attrs["href"] for tag, attrs in Tags(answer.body.decode()).found if tag == "link"}
    assert links["manifest"] == "/manifest.webmanifest"
    icon = ask(sqlite_app, links["apple-touch-icon"] or "")
    assert (icon.headers["content-type"], _size(icon.body)) == ("image/png", "180x180")


def test_the_manifest_names_what_there_is(sqlite_app: FastAPI) -> None:
    answer = ask(sqlite_app, "/manifest.webmanifest")
    assert answer.headers["content-type"] == "application/manifest+json"
    found = answer.json()
    # An iPhone takes pushes of what stands alone, from its home screen; what is named is meant from where this lies.
    assert (found["display"], found["start_url"], found["scope"]) == ("standalone", "./", "./")
    for icon in found["icons"]:
        image = ask(sqlite_app, f"/{icon['src']}")
        assert (image.status, image.headers["content-type"]) == (200, icon["type"])
        assert icon["sizes"] == (_size(image.body) if icon["type"] == "image/png" else "any")
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in found["icons"]}


def _size(png: bytes) -> str:
    assert png.startswith(b"\x89PNG")
    return "x".join(str(int.from_bytes(png[at : at + 4])) for at in (16, 20))


def test_the_board_works_without_scripts(sqlite_app: FastAPI) -> None:
    assert '<noscript><meta http-equiv="refresh" content="30"></noscript>' in board(sqlite_app)


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/healthz", "/readyz", "/metrics", "/static/vacancy.css", "/openapi.json"]
)
def test_head_is_answered_as_get(sqlite_app: FastAPI, path: str) -> None:
    seen, asked = ask(sqlite_app, path), ask(sqlite_app, path, "HEAD")
    assert asked.status == seen.status == 200
    assert asked.headers["content-type"] == seen.headers["content-type"]


def test_static_files_can_be_kept(sqlite_app: FastAPI) -> None:
    source = _script(Tags(board(sqlite_app)).found)
    answer = ask(sqlite_app, source)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "javascript" in answer.headers["content-type"]
    plain = ask(sqlite_app, "/static/board.js")
    assert plain.headers["cache-control"] == "no-cache"
    again = ask(sqlite_app, "/static/board.js", headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
