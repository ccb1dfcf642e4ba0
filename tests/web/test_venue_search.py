"""Venues as they were listed: found by name, written when they say something new and at no other time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from fastapi import FastAPI
from sqlalchemy import select
from tests.support.clock import ManualClock
from tests.support.open_tables import KEY, OTHER_KEY, Maitre, answer, table
from tests.web.calling import ask

from vacancy.model.availability import Complete, Group, Item
from vacancy.store import venues
from vacancy.store.engine import Store, Tx
from vacancy.store.schema_venues import venues as rows

CARBONE = Group("Carbone", "Greenwich Village", "https://images.example/1.jpg", "https://resy.com/carbone")
LISTED = {
    "1": CARBONE, "2": Group("Café Élan"), "3": Group("The Blue Fern"), "4": Group("Fern & Rose", "Park Row"),
    "5": Group("100% Pasta_Bar"),
}  # fmt: skip


def keep(tx: Tx, listed: dict[str, Group], provider: str = "resy") -> int:
    return venues.keep(tx, tx.now(), provider, listed)


def found(store: Store, query: str, at_most: int = 20, provider: str = "resy") -> list[str]:
    return [venue.venue_id for venue in store.read_now(venues.search, provider, query, at_most)]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("carbone", ["1"]), ("CARB", ["1"]), ("elan", ["2"]), ("Élan cafe", ["2"]), ("fern", ["4", "3"]),
        ("fern ro", ["4"]), ("arbone", []), ("nobody", []), ("100%", ["5"]), ("%", ["5", "2", "1", "4", "3"]),
        ("pasta bar", ["5"]), ("", ["5", "2", "1", "4", "3"]),
    ],
)  # fmt: skip
def test_a_venue_is_found_by_beginnings_of_its_words(store: Store, query: str, ids: list[str]) -> None:
    store.write_now(keep, LISTED)
    store.write_now(keep, {"9": CARBONE}, "elsewhere")
    assert found(store, query) == ids
    assert found(store, query, 1) == ids[:1]


def test_what_says_the_same_is_not_written_again(store: Store, clock: ManualClock) -> None:
    assert store.write_now(keep, LISTED) == 5
    began = clock.now()
    clock.jump(60)
    assert store.write_now(keep, LISTED) == 0
    assert store.write_now(keep, {**LISTED, "1": replace(CARBONE, name="Carbone Two"), "6": Group("New")}) == 2
    (first, updated) = store.read_now(
        lambda tx: tx.execute(select(rows.c.first_seen_at, rows.c.updated_at).where(rows.c.venue_id == "1")).one()
    )
    assert (first, updated) == (began, clock.now())
    assert found(store, "two") == ["1"]


def test_two_buckets_that_list_the_same_venues_at_once_keep_both_polls(postgres_store: Store) -> None:
    listed = {str(number): Group(f"Venue {number}") for number in range(300)}
    backwards = dict(reversed(listed.items()))
    with ThreadPoolExecutor(2) as threads:
        counts = list(threads.map(lambda each: postgres_store.write_now(keep, each), [listed, backwards]))
    assert max(counts) == 300
    assert len(found(postgres_store, "venue", 1000)) == 300


def listing(*tables: Item, **groups: Group) -> Complete:
    return replace(answer(*tables), groups=groups)


def test_a_poll_keeps_what_it_lists_and_looks_nothing_up_that_it_listed_before(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    maitre = Maitre(store, clock, KEY, OTHER_KEY)
    kept: list[int] = []
    really = venues.keep

    def counting(tx: Tx, *given: object) -> int:
        kept.append(really(tx, *given))  # type: ignore[arg-type]
        return kept[-1]

    monkeypatch.setattr(venues, "keep", counting)
    maitre.hears(KEY, listing(carbone=CARBONE))
    maitre.hears(KEY, listing(carbone=CARBONE))
    maitre.hears(OTHER_KEY, listing(carbone=CARBONE))
    assert kept == [1, 0]
    maitre.hears(KEY, listing(table("carbone", "20:30"), carbone=CARBONE, rose=Group("Rose")))
    assert kept == [1, 0, 1]
    assert found(store, "") == ["carbone", "rose"]


def test_a_bucket_that_is_doubted_names_nobody(store: Store, clock: ManualClock) -> None:
    """The first answer of a new target waits for one like it."""
    maitre = Maitre(store, clock, KEY)
    maitre.source.question = "another"
    maitre.configure()
    maitre.hears(KEY, listing(carbone=CARBONE))
    assert found(store, "") == []
    maitre.hears(KEY, listing(carbone=CARBONE))
    assert found(store, "") == ["carbone"]


def test_the_api_finds_venues(app: FastAPI, store: Store) -> None:
    store.write_now(keep, LISTED)
    said = ask(app, "/api/venues?q=carb").json()
    assert said == {"items": [{
        "venueId": "1", "name": "Carbone", "neighborhood": "Greenwich Village", "topic": "resy:venue/1",
        "imageUrl": "https://images.example/1.jpg", "bookUrl": "https://resy.com/carbone",
    }]}  # fmt: skip
    assert [each["venueId"] for each in ask(app, "/api/venues?limit=2").json()["items"]] == ["5", "2"]
    assert ask(app, "/api/venues?q=nobody").json() == {"items": []}
    for wrong in ("limit=0", "limit=101", "limit=x", "query=carb", f"q={'x' * 201}"):
        assert ask(app, f"/api/venues?{wrong}").status == 422
