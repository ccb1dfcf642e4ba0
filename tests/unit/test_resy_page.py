"""One page of the search: what is taken, what rejects it, and pages that do not fit together."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacancy.sources.resy_listing import Listing
from vacancy.sources.resy_page import Page, Reader
from vacancy.sources.resy_slots import Venue

DAY = date(2026, 2, 18)


def hit(number: Any = 834, *times: str, **more: Any) -> dict[str, Any]:
    slots = [{"date": {"start": f"2026-02-18 {time}:00"}} for time in times]
    return {"id": {"resy": number}, "name": "Blue Fern", "availability": {"slots": slots} if times else None, **more}


def offering(slot: dict[str, Any]) -> dict[str, Any]:
    return hit(9, availability={"slots": [slot]})


def body(*hits: Any, **search: Any) -> bytes:
    return json.dumps({"search": {"hits": list(hits), **search}}).encode()


def read(content: bytes) -> Page:
    page = Reader(DAY).read(content)
    assert isinstance(page, Page), page
    return page


@pytest.mark.parametrize(
    "named",
    [{"id": 834}, {"id": "834"}, {"id": {"resy": 834}}, {"id": {"resy": "834"}}, {"venue": {"id": 834}, "id": 1}],
)
def test_a_venue_has_one_id_however_it_is_written(named: dict[str, Any]) -> None:
    page = read(body({"name": "Blue Fern", **named}))
    assert set(page.venues) == {"834"}


def test_a_venue_without_tables_is_listed_all_the_same() -> None:
    page = read(body(hit(1), hit(2, availability={"slots": []}), hit(3, availability={"slots": None}), hit(4, "20:30")))
    assert page.hits == 4
    assert [venue.moments for venue in page.venues.values()] == [(), (), (), ("2026-02-18 20:30:00",)]


@pytest.mark.parametrize(
    ("content", "total"),
    [
        ({"search": {"hits": []}}, None),
        ({"search": {"hits": [], "total_pages": 3}}, 3),
        ({"search": {"hits": []}, "total_pages": 3}, 3),
        ({"search": {"hits": [], "pagination": {"total_pages": 3}}}, 3),
        ({"search": {"hits": [], "pagination": None}, "total_pages": 0}, 0),
    ],
)
def test_the_number_of_pages_is_looked_for_in_three_places(content: dict[str, Any], total: int | None) -> None:
    assert read(json.dumps(content).encode()).total == total


def test_what_adorns_may_be_anything() -> None:
    odd = {"rating": "good", "images": 7, "location": None, "price_range": [], "neighborhood": {"a": 1}, "unknown": 1}
    assert read(body(hit(1, "20:30", **odd))).hits == 1


@pytest.mark.parametrize(
    "content",
    [
        b"", b"null", b"[]", b"{}", b'{"search": null}', b'{"search": {}}', b'{"search": {"hits": null}}', b"\xff\xfe",
        b"<html>", b'{"error": "expired"}', b'{"search": {"hits": [' + b"[" * 100_000,
        b'{"search": {"hits": [{"id": 1, "name": "x", "images": ' + b"[" * 100_000,
        body(hit(), total_pages=-1), body(hit(), total_pages="3"), body(hit(), total_pages=1.5), body(None), body("x"),
        body(hit(None)), body(hit(0)), body(hit(-4)), body(hit("")), body(hit("a b")), body(hit("8@2026")),
        body(hit(True)),
        body(hit(1.5)), b'{"search": {"hits": [{"name": "x", "id": ' + b"9" * 5000 + b"}]}}",
        body(hit("x" * 65)), body({"name": "x"}), body({"id": 1}),
        body(hit(1, name=None)), body(hit(1, name="  ")), body(hit(1, name=7)),
        body(hit(1, availability=[])), body(hit(1, availability={"slots": {}})), body(offering({})),
        body(offering({"date": None})), body(offering({"date": {"start": 5}})),
        body(offering({"date": {"start": "soon"}})),
        body(hit(1, "20:30"), offering({"date": {"start": "2026-02-18T20:30:00Z"}})),
    ],
)  # fmt: skip
def test_one_malformed_member_rejects_the_page(content: bytes) -> None:
    why = Reader(DAY).read(content)
    assert isinstance(why, str)
    assert "\n" not in why
    assert len(why) < 400


def test_a_page_of_another_day_is_refused() -> None:
    other = {"slots": [{"date": {"start": "2026-02-19 20:30:00"}}]}
    assert "another day" in str(Reader(DAY).read(body(hit(1, availability=other))))
    # One table after midnight is no other day.
    assert read(body(hit(1, availability=other), hit(2, "23:30"))).hits == 2


def test_a_venue_twice_on_one_page_is_one_venue() -> None:
    page = read(body(hit(1, "20:30"), hit(1, "21:00")))
    assert page.hits == 2
    assert page.venues["1"].moments == ("2026-02-18 20:30:00", "2026-02-18 21:00:00")


@given(st.binary(max_size=80))
def test_no_bytes_are_more_than_a_value(content: bytes) -> None:
    assert isinstance(Reader(DAY).read(content), Page | str)


def page(total: int | None, *numbers: int) -> Page:
    return Page(total, len(numbers), {str(each): Venue(str(each), "x", ()) for each in numbers})


def listing(*pages: Page) -> Listing:
    made = Listing(2)
    for each in pages:
        assert not made.is_over
        made.add(each)
    return made


@pytest.mark.parametrize(
    "pages",
    [
        [page(0)], [page(1)], [page(1, 1)], [page(1, 1, 2)], [page(2, 1, 2), page(2, 3)],
        [page(2, 1, 2), page(2, 3, 4)],
        [page(None)], [page(None, 1, 2), page(None)], [page(None, 1, 2), page(None, 3), page(None)],
    ],
)  # fmt: skip
def test_pages_that_fit_are_the_whole(pages: list[Page]) -> None:
    made = listing(*pages)
    assert made.is_over
    assert made.lacking is None


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ([page(2, 1, 2), page(3, 3, 4), page(3, 5)], "page 2 tells of 3 pages, the one before it of 2"),
        ([page(3, 1, 2), page(2, 3, 4)], "page 2 tells of 2 pages, the one before it of 3"),
        ([page(None, 1, 2), page(2, 3)], "tells of 2 pages, the one before it of no number"),
        ([page(2, 1, 2), page(2, 2, 3)], "venue 2 stands on page 2 and on one before it"),
        ([page(2, 1), page(2, 2, 3)], "page 1 has 1 venues, not 2, and is not the last"),
        ([page(2, 1), page(2, 2)], "page 1 has 1 venues, not 2, and is not the last"),
        ([page(3, 1, 2), page(3, 3), page(3, 4)], "page 2 has 1 venues, not 2, and is not the last"),
        ([page(3, 1, 2), page(3), page(3, 4)], "page 2 has 0 venues, not 2, and is not the last"),
        ([page(2, 1, 2), page(2)], "page 2 has 0 venues, and there are 2 pages"),
        ([page(0, 1)], "page 1 has 1 venues, and there are 0 pages"),
        ([page(None, 1, 2), page(None, 3), page(None, 4), page(None)], "page 2 has 1 venues, not 2, and"),
    ],
)
def test_pages_that_do_not_fit_are_a_part(pages: list[Page], why: str) -> None:
    made = listing(*pages)
    assert made.is_over
    assert why in str(made.lacking)


@given(st.integers(1, 60), st.integers(1, 20), st.booleans())
def test_any_listing_that_stands_still_is_read_whole(venues: int, per_page: int, tells: bool) -> None:
    numbers = list(range(1, venues + 1))
    total = -(-venues // per_page) if tells else None
    made = Listing(per_page)
    number = 0
    while not made.is_over:
        made.add(page(total, *numbers[number * per_page : (number + 1) * per_page]))
        number += 1
    assert made.lacking is None
    assert set(made.venues) == {str(each) for each in numbers}


@given(st.integers(2, 40), st.integers(1, 10), st.data())
def test_a_venue_that_hops_between_two_pages_is_always_found_out(venues: int, per_page: int, data: Any) -> None:
    """Whatever moves where, after any page: what is missed has pushed something into sight twice."""
    order = list(range(1, venues + 1))
    total = -(-venues // per_page)
    made = Listing(per_page)
    for number in range(total):
        made.add(page(total, *order[number * per_page : (number + 1) * per_page]))
        if number < total - 1:
            moved = order.pop(data.draw(st.integers(0, venues - 1)))
            order.insert(data.draw(st.integers(0, venues - 1)), moved)
    assert made.lacking is not None or len(made.venues) == venues
