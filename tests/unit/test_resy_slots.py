"""What Resy writes, made one: a slot is the same slot however its time is spelt and whoever else is listed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacancy.model.availability import Item
from vacancy.model.markets import MARKETS
from vacancy.sources.resy_slots import Shelf, Venue, normal_moment, read_adornments
from vacancy.sources.tables import Bucket, read_bucket, slot_id

NYC = MARKETS["nyc"]
DAY = date(2026, 2, 18)
EVENING = Bucket(DAY, "20:30")


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-18 20:30:00", "2026-02-18T20:30:00", "2026-02-18T20:30", "2026-02-18 20:30", "2026-02-18t20:30",
        "2026-02-18T20:30:00.000", "20:30", "20:30:00", "8:30 PM", "08:30 pm", "8:30PM", "8:30 p.m.",
        "2026-02-18 8:30 PM", "2026-02-18  20:30", " 20:30 ",
    ],
)  # fmt: skip
def test_every_spelling_of_a_time_is_one_moment(text: str) -> None:
    assert normal_moment(text, DAY) == "2026-02-18 20:30:00"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("9:05", "2026-02-18 09:05:00"), ("20:30:15", "2026-02-18 20:30:15"), ("12:15 AM", "2026-02-18 00:15:00"),
        ("12:15 PM", "2026-02-18 12:15:00"), ("2026-02-19 00:15", "2026-02-19 00:15:00"),
        ("00:00", "2026-02-18 00:00:00"),
    ],
)  # fmt: skip
def test_a_time_keeps_its_own_day_and_seconds(text: str, moment: str) -> None:
    assert normal_moment(text, DAY) == moment


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "20", "20.30", "24:00", "20:60", "20:30:60", "13:00 PM", "0:30 AM", "2026-02-30 20:30",
        "18/02/2026 20:30",
        "2026-02-18", "2026-02-18T20:30:00Z", "2026-02-18T20:30:00-05:00", "20:30 EST", "٢٠:٣٠", "20:30\n20:31",
        "020:30", "2026-02-18T20:30:00.5",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no time"):
        normal_moment(text, DAY)


SPELLINGS = (
    lambda at: at.strftime("%Y-%m-%d %H:%M:%S"),
    lambda at: at.strftime("%Y-%m-%dT%H:%M:%S"),
    lambda at: at.strftime("%Y-%m-%dT%H:%M"),
    lambda at: at.strftime("%Y-%m-%d %H:%M"),
    lambda at: at.strftime("%H:%M"),
    lambda at: f"{(at.hour - 1) % 12 + 1}:{at.minute:02d} {'AM' if at.hour < 12 else 'PM'}",
    lambda at: f"{at.hour}:{at.minute:02d}:00.000",
)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1)).map(lambda at: at.replace(second=0, microsecond=0)),  # noqa: DTZ001
    st.sampled_from(SPELLINGS),
    st.sampled_from(SPELLINGS),
)
def test_a_drift_of_format_never_makes_another_slot(at: datetime, one: Any, other: Any) -> None:
    ids = {slot_id("resy", "834", normal_moment(spell(at), at.date())) for spell in (one, other)}
    assert len(ids) == 1


@given(st.text(max_size=30))
def test_no_text_is_more_than_a_moment_or_a_refusal(text: str) -> None:
    try:
        moment = normal_moment(text, DAY)
    except ValueError:
        return
    assert datetime.strptime(moment, "%Y-%m-%d %H:%M:%S").isoformat(" ") == moment  # noqa: DTZ007


def test_the_id_is_the_hash_that_was_promised() -> None:
    expected = hashlib.sha256(b"resy|834|2026-02-18 20:30:00").hexdigest()[:32]
    assert slot_id("resy", "834", "2026-02-18 20:30:00") == expected


def test_a_bucket_takes_in_the_hours_around_its_time_slot() -> None:
    times = [f"{hour:02d}:{minute}" for hour in range(24) for minute in ("00", "59")]
    taken = [slot.payload["time"] for slot in gathered((2, venue("834", *times)))]
    assert taken == ["19:00", "19:59", "20:00", "20:59", "21:00", "21:59"]
    tomorrow = Venue("834", "Blue Fern", ("2026-02-19 20:30:00",))
    assert gathered((2, tomorrow)) == []
    assert (Bucket(DAY, "23:30").hours, Bucket(DAY, "00:15").hours) == ((22, 23), (0, 1))
    assert read_bucket("2026-02-18_20:30") == EVENING
    assert EVENING.key == "2026-02-18_20:30"


def venue(number: str = "834", *moments: str, **adornments: Any) -> Venue:
    return Venue(number, "Blue Fern", tuple(f"2026-02-18 {at}:00" for at in moments), read_adornments(adornments))


def gathered(*seen: tuple[int, Venue], bucket: Bucket = EVENING) -> list[Item]:
    slots = Shelf(NYC, bucket).gather(listed(*seen))
    return sorted(slots.values(), key=lambda slot: str(slot.payload["time"]))


def listed(*seen: tuple[int, Venue]) -> list[tuple[int, dict[str, Venue]]]:
    found: dict[int, dict[str, Venue]] = {}
    for size, each in seen:
        found.setdefault(size, {})[each.venue_id] = each
    return list(found.items())


def test_slots_of_a_venue_that_says_the_same_are_not_made_again() -> None:
    shelf, fern, rose = Shelf(NYC, EVENING), venue("834", "20:30"), venue("835", "20:30")
    first = shelf.gather(listed((2, fern), (2, rose)))
    again = shelf.gather(listed((2, venue("834", "20:30")), (2, venue("835", "20:30", rating={"average": 4}))))
    same, other = (slot_id("resy", number, "2026-02-18 20:30:00") for number in ("834", "835"))
    assert again[same] is first[same]
    assert (again[other].payload["rating"], "rating" in first[other].payload) == (4.0, False)
    (bigger,) = shelf.gather(listed((2, fern), (4, fern))).values()
    assert bigger.payload["partySizes"] == [2, 4]
    assert shelf.gather(listed((2, rose))).keys() == {other}


def test_a_slot_has_the_party_sizes_that_it_was_listed_for_and_no_other() -> None:
    slots = gathered((2, venue("834", "20:00", "20:30")), (4, venue("834", "20:30", "21:00")))
    assert [(slot.payload["time"], slot.payload["partySizes"]) for slot in slots] == [
        ("20:00", [2]), ("20:30", [2, 4]), ("21:00", [4]),
    ]  # fmt: skip


def test_party_sizes_do_not_make_another_slot() -> None:
    (two,) = gathered((2, venue("834", "20:30")))
    (four,) = gathered((4, venue("834", "20:30")))
    assert two.key == four.key
    assert two.payload != four.payload


def test_a_slot_in_two_buckets_is_one_slot() -> None:
    (evening,) = gathered((2, venue("834", "19:15")))
    (early,) = gathered((2, venue("834", "19:15")), bucket=Bucket(DAY, "18:30"))
    assert evening == early
    assert gathered((2, venue("834", "19:15")), bucket=Bucket(DAY, "15:00")) == []


def test_two_tables_at_one_time_are_one_slot() -> None:
    (slot,) = gathered((2, venue("834", "20:30", "20:30")))
    assert slot.payload["partySizes"] == [2]


def payload(**adornments: Any) -> Mapping[str, Any]:
    return gathered((4, venue("834", "20:30", **adornments)))[0].payload


def test_what_a_slot_says() -> None:
    said = payload(
        neighborhood="Old  Market", price_range=3, rating={"average": 4.649, "count": 12}, url_slug="blue-fern",
        images=["https://image.resy.com/1.jpg"], location={"url_slug": "brooklyn-ny"},
    )  # fmt: skip
    assert said == {
        "provider": "resy", "market": "nyc", "venueId": "834", "venueName": "Blue Fern", "date": "2026-02-18",
        "time": "20:30", "partySizes": [4], "neighborhood": "Old Market", "priceRange": 3, "rating": 4.6,
        "imageUrl": "https://image.resy.com/1.jpg",
        "bookUrl": "https://resy.com/cities/brooklyn-ny/venues/blue-fern?date=2026-02-18&seats=4",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("adornments", "link"),
    [
        ({}, "https://resy.com/cities/new-york-ny?date=2026-02-18&seats=4"),
        ({"slug": "fern"}, "https://resy.com/cities/new-york-ny/venues/fern?date=2026-02-18&seats=4"),
        ({"slug": "../evil"}, "https://resy.com/cities/new-york-ny?date=2026-02-18&seats=4"),
        ({"url": "https://resy.com/a"}, "https://resy.com/a"),
        ({"url": "https://resy.com/cities/x?y=1"}, "https://resy.com/cities/x?y=1"),
        ({"resy_url": "https://www.resy.com/a"}, "https://www.resy.com/a"),
        ({"url": "http://resy.com/a"}, "https://resy.com/cities/new-york-ny?date=2026-02-18&seats=4"),
        ({"url": "https://resy.com.evil.example/"}, "https://resy.com/cities/new-york-ny?date=2026-02-18&seats=4"),
        ({"url": "javascript:alert(1)"}, "https://resy.com/cities/new-york-ny?date=2026-02-18&seats=4"),
        ({"slug": "fern", "location": {"url_slug": "a b"}}, "https://resy.com/cities/new-york-ny/venues/fern?date=2026-02-18&seats=4"),
    ],
)  # fmt: skip
def test_the_link_to_book_leads_to_the_site_and_nowhere_else(adornments: dict[str, Any], link: str) -> None:
    assert payload(**adornments)["bookUrl"] == link


@pytest.mark.parametrize(
    "odd", [None, 5, True, [], {}, "", "  ", ["x"], {"average": "x"}, {"average": True}, [None], "http://x/y.jpg", -1]
)
def test_an_adornment_that_is_none_is_left_out(odd: Any) -> None:
    said = payload(location=odd, rating=odd, images=odd, hero_image=odd, image_url=odd, url_slug=odd)
    assert not {"rating", "imageUrl", "neighborhood"} & set(said)
