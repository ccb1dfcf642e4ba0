"""Taking catalogues in, on both databases."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, select, text

from tests.support.catalogues import Json, course, load, meeting, read, section, several, taken
from tests.support.clock import START
from tests.support.rows import course_event, insert_events, insert_target
from vacancy.clock import later
from vacancy.model.availability import Flips
from vacancy.model.catalogue import Refused
from vacancy.store import catalogue, section_status
from vacancy.store.engine import Store, Tx
from vacancy.store.schema import availability, courses, section_status_events, sections, targets

NOW = START


def rows(store: Store, statement: Any) -> list[Any]:
    def fetch(tx: Tx) -> list[Any]:
        return list(tx.execute(statement).all())

    return store.read_now(fetch)


def of_section(store: Store, index: str) -> Any:
    (row,) = rows(store, select(sections, courses.c.course_key).join(courses).where(sections.c.index_number == index))
    return row


def keys(store: Store, *, live: bool = True) -> dict[str, str]:
    query = select(courses.c.course_key, courses.c.variant)
    return dict(rows(store, query.where(courses.c.retired_at.is_(None)) if live else query))


def known_version(store: Store, key: str = "12025|NB") -> int:
    return int(
        rows(store, select(targets.c.known_version).where(targets.c.source == "soc", targets.c.key == key))[0][0]
    )


def count(store: Store, table: Any) -> int:
    return int(rows(store, select(func.count()).select_from(table))[0][0])


def flips_since(store: Store, since: datetime) -> Flips:
    return store.read_now(section_status.flips_since, "12025", "NB", since)


def many() -> list[Json]:
    return several(12)


def test_a_first_load_inserts_everything_and_writes_no_status_events(store: Store) -> None:
    store.write_now(insert_target, "soc", "12025|NB")
    result = taken(load(store, [*many(), course("01:998:205", section())]))
    assert (result.courses_changed, result.sections_changed, result.retired) == (13, 13, 0)
    assert count(store, section_status_events) == 0
    assert "04321" in store.read_now(catalogue.known_indexes, "12025", "NB")
    assert known_version(store) == 1


def test_a_catalogue_with_nothing_new_is_passed_over_and_writes_one_row(store: Store) -> None:
    store.write_now(insert_target, "soc", "12025|NB")
    load(store, many())
    answer = read(store, list(reversed(many())))
    assert answer.courses == ()
    assert len(answer.kept) == 12
    written: list[int] = []

    def counting(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if statement.startswith(("INSERT", "UPDATE", "DELETE")):
            written.append(cursor.rowcount)

    event.listen(store._writer, "after_cursor_execute", counting)
    result = taken(store.write_now(catalogue.swap, later(NOW, 600), answer))
    assert written == [1]
    assert (result.courses_changed, result.sections_changed) == (0, 0)
    assert known_version(store) == 1


def test_a_changed_course_is_the_only_one_that_is_read_and_written(store: Store) -> None:
    load(store, many())
    changed = many()
    changed[3]["title"] = "GEOMETRY"
    answer = read(store, changed)
    assert [each.title for each in answer.courses] == ["GEOMETRY"]
    result = taken(store.write_now(catalogue.swap, later(NOW, 600), answer))
    assert (result.courses_changed, result.sections_changed, result.retired) == (1, 0, 0)
    assert keys(store)["01:640:103"] == "|GEOMETRY"
    updated = rows(store, select(courses.c.course_key).where(courses.c.updated_at == later(NOW, 600)))
    assert updated == [("01:640:103",)]


def test_a_flip_of_the_open_status_is_recorded_and_changes_nothing_else(store: Store) -> None:
    load(store, many())
    flipped = many()
    flipped[2]["sections"][0]["openStatus"] = False
    seen = NOW + timedelta(minutes=10)
    result = taken(load(store, flipped, observed=seen))
    assert (result.courses_changed, result.sections_changed) == (0, 0)
    assert flips_since(store, NOW) == Flips(frozenset(), frozenset({"20102"}), seen)
    (row,) = rows(store, select(section_status_events))
    assert (row.previous_status, row.current_status, row.source) == ("Open", "Closed", "courses.json")
    assert (row.snapshot_term, row.snapshot_campus, row.snapshot_received_at) == ("12025", "NB", seen)
    load(store, many(), observed=seen + timedelta(minutes=10))
    assert flips_since(store, NOW) == Flips(frozenset({"20102"}), frozenset(), seen + timedelta(minutes=10))
    assert flips_since(store, seen + timedelta(minutes=10)).opened == frozenset()
    assert store.read_now(section_status.flips_since, "12025", "NK", NOW).opened == frozenset()


def test_what_vanished_is_retired_and_comes_back(store: Store) -> None:
    store.write_now(insert_target, "soc", "12025|NB")
    load(store, many())
    before = of_section(store, "20105")
    result = taken(load(store, many()[:5] + many()[6:]))
    assert result.retired == 1
    assert of_section(store, "20105").retired_at == NOW
    assert "20105" not in store.read_now(catalogue.known_indexes, "12025", "NB")
    assert "01:640:105" not in keys(store)
    assert known_version(store) == 2
    load(store, many())
    after = of_section(store, "20105")
    assert (after.section_id, after.course_id, after.retired_at) == (before.section_id, before.course_id, None)
    assert "01:640:105" in keys(store)
    assert known_version(store) == 3


@pytest.mark.parametrize(("left", "refused"), [(20, False), (17, False), (16, True), (1, True)])
def test_a_catalogue_that_shrinks_by_a_fifth_is_refused(store: Store, left: int, refused: bool) -> None:
    load(store, several(20))
    answer = read(store, several(left))
    result = store.write_now(catalogue.swap, NOW, answer)
    assert isinstance(result, Refused) is refused
    assert len(store.read_now(catalogue.known_indexes, "12025", "NB")) == (20 if refused else left)
    if isinstance(result, Refused):
        assert result == Refused("shrunk", f"the new catalogue has {left} courses; the stored one has 20")
        taken(store.write_now(catalogue.swap, NOW, answer, despite_shrinking=True))


def test_fewer_sections_in_as_many_courses_are_refused_too(store: Store) -> None:
    load(store, [course("01:998:205", *(section(f"{nth:05d}") for nth in range(10)))])
    result = load(store, [course("01:998:205", *(section(f"{nth:05d}") for nth in range(8)))])
    assert result == Refused("shrunk", "the new catalogue has 8 sections; the stored one has 10")


def test_an_empty_catalogue_is_refused_after_a_full_one_and_taken_before(store: Store) -> None:
    assert taken(load(store, [], campus="H")).courses_changed == 0
    load(store, many())
    result = load(store, [])
    assert isinstance(result, Refused)
    assert result.code == "empty"


def test_a_catalogue_that_another_process_overtook_is_refused(store: Store) -> None:
    load(store, many())
    late = read(store, [*many(), course()])
    load(store, [*many(), course("01:998:206")])
    result = store.write_now(catalogue.swap, NOW, late)
    assert isinstance(result, Refused)
    assert result.code == "overtaken"


# --- variants and shared sections


def variants() -> list[Json]:
    return [
        course("01:998:205", section("00001"), title="A"),
        course("01:998:205", section("00002"), title="A", supplementCode="LB"),
        course("01:998:205", section("00003"), title="B"),
    ]


def test_variants_of_one_course_string_have_keys_that_their_order_does_not_decide(store: Store) -> None:
    load(store, variants())
    assert keys(store) == {"01:998:205": "LB|A", "01:998:205#2": "|A", "01:998:205#3": "|B"}
    changed = [each | {"credits": 4} for each in reversed(variants())]
    load(store, changed)
    assert keys(store) == {"01:998:205": "LB|A", "01:998:205#2": "|A", "01:998:205#3": "|B"}


def test_a_new_variant_moves_no_other(store: Store) -> None:
    load(store, variants()[:1] + many())
    load(store, variants() + many())
    assert keys(store)["01:998:205"] == "|A"
    assert set(keys(store).values()) >= {"|A", "LB|A", "|B"}


def test_a_variant_that_leaves_takes_no_other_with_it(store: Store) -> None:
    load(store, [*variants(), *many()])
    before = of_section(store, "00003").course_id
    left = [each | {"credits": 4} for each in variants() if each["supplementCode"] == "  "]
    load(store, [*left, *many()])
    assert {key: variant for key, variant in keys(store).items() if "205" in key} == {
        "01:998:205#2": "|A",
        "01:998:205#3": "|B",
    }
    assert of_section(store, "00003").course_id == before
    assert of_section(store, "00001").course_key == "01:998:205#2"
    assert of_section(store, "00002").retired_at == NOW


def test_a_renamed_course_keeps_its_row(store: Store) -> None:
    load(store, [course(title="OLD"), *many()])
    before = of_section(store, "20101").course_id, rows(store, select(func.max(courses.c.course_id)))
    load(store, [course(title="NEW"), *many()])
    assert (of_section(store, "20101").course_id, rows(store, select(func.max(courses.c.course_id)))) == before
    assert keys(store, live=False)["01:998:205"] == "|NEW"


def test_a_section_in_two_courses_is_stored_once_and_stays_while_either_lists_it(store: Store) -> None:
    first, second = course("01:998:205", section()), course("16:998:205", section())
    load(store, [first, second, *many()])
    assert of_section(store, "04321").course_key == "01:998:205"
    unshared = course("01:998:205", section("04399"))
    result = taken(load(store, [unshared, second, *many()]))
    assert result.retired == 0
    assert of_section(store, "04321").course_key == "16:998:205"


def test_a_section_that_reads_otherwise_in_an_unchanged_course_refuses_the_whole(store: Store) -> None:
    load(store, [course("01:998:205", section()), course("16:998:205"), *many()])
    result = load(store, [course("01:998:205", section()), course("16:998:205", section(number="77")), *many()])
    assert result == Refused("conflict", "section 04321 stands in two courses, unlike")
    assert of_section(store, "04321").section_number == "01"


def test_two_courses_with_the_very_same_bytes_are_one(store: Store) -> None:
    load(store, [course("01:998:205", section()), course("01:998:205", section()), *many()])
    assert len(keys(store)) == 13


# --- campuses and terms


def test_a_section_that_moved_to_another_campus_is_moved(store: Store) -> None:
    for campus in ("NB", "NK"):
        store.write_now(insert_target, "soc", f"12025|{campus}")
    load(store, [course("01:998:205", section()), *many()])
    before = of_section(store, "04321").section_id
    load(store, [course("21:998:205", section())], campus="NK")
    moved = of_section(store, "04321")
    assert (moved.section_id, moved.campus_code, moved.course_key) == (before, "NK", "21:998:205")
    assert known_version(store, "12025|NB") == 2
    assert known_version(store, "12025|NK") == 1
    assert taken(load(store, many())).retired == 0
    assert of_section(store, "04321").retired_at is None


def test_a_course_that_lost_a_section_to_another_campus_claims_it_again(store: Store) -> None:
    """Its bytes never changed; passed over as known, it could never have the section back."""
    load(store, [course("01:998:205", section()), *many()])
    load(store, [course("21:998:205", section()), *several(9, first=500)], campus="NK")
    load(store, several(9, first=500), campus="NK")
    assert of_section(store, "04321").retired_at == NOW
    load(store, [course("01:998:205", section()), *several(13)])
    back = of_section(store, "04321")
    assert (back.campus_code, back.course_key, back.retired_at) == ("NB", "01:998:205", None)


def test_the_same_index_in_another_term_is_another_section(store: Store) -> None:
    load(store, [course("01:998:205", section())])
    load(store, [course("01:998:205", section())], term="92025")
    assert count(store, sections) == 2


# --- readers


def test_events_are_described_in_one_query(store: Store) -> None:
    load(store, [course("01:998:205", section(), section("04322", instructors=[])), *many()])
    asked: list[str] = []
    event.listen(store._reader, "before_cursor_execute", lambda *args: asked.append(args[2]))
    facts = store.read_now(catalogue.describe, "12025", "NB", ["04321", "99999"])
    assert [statement[:6] for statement in asked if statement != "BEGIN"] == ["SELECT"]
    assert set(facts) == {"04321"}
    found = facts["04321"]
    assert (found.course_string, found.course_title, found.subject) == ("01:998:205", "INTRO WIDGETS", "998")
    assert (found.section_number, found.instructors, found.credits, found.campus) == ("01", "DOE, JANE", "3", "NB")
    assert found.meeting_summary == "H 14:10-15:30 BUS XYZ 101"
    everything = [f"{nth:05d}" for nth in range(20100, 20700)] + ["04321"]
    assert len(store.read_now(catalogue.describe, "12025", "NB", everything)) == 13


def open_list(store: Store, key: str, **states: str) -> None:
    def put(tx: Tx) -> None:
        insert_target(tx, "soc", key, baseline_at=NOW, last_complete_at=NOW)
        target = tx.execute(select(targets.c.target_id).where(targets.c.key == key)).scalar_one()
        for name, state in states.items():
            values = {"state": state, "opened_at": NOW, "last_seen_at": later(NOW, -60), "episode": 3}
            tx.execute(availability.insert().values(target_id=target, item_key=name.strip("_"), **values))

    store.write_now(put)


def test_a_section_in_detail_has_the_live_state_and_the_history(store: Store) -> None:
    load(store, [course("01:998:205", section(), section("04322"), section("04323")), *many()])
    unknown = store.read_now(catalogue.section_detail, "12025", "NB", "04321")
    assert unknown is not None
    assert unknown.live.status == "Unknown"
    open_list(store, "12025|NB", _04321="Open", _04323="Closed", _77777="Open")
    store.write_now(insert_events, [course_event(4321), course_event(4321, dedupe_key="b"), course_event(9)])
    detail = store.read_now(catalogue.section_detail, "12025", "NB", "04321")
    assert detail is not None
    assert detail.section is not None
    assert detail.course is not None
    assert (detail.live.status, detail.live.episode, detail.live.last_seen_at) == ("Open", 3, NOW)
    assert detail.course["title"] == "INTRO WIDGETS"
    assert [each["openEventId"] for each in detail.history] == [2, 1]
    closed = [store.read_now(catalogue.section_detail, "12025", "NB", index) for index in ("04322", "04323")]
    assert [each.live.status for each in closed if each] == ["Closed", "Closed"]
    orphan = store.read_now(catalogue.section_detail, "12025", "NB", "77777")
    assert orphan is not None
    assert (orphan.section, orphan.live.status) == (None, "Open")
    assert store.read_now(catalogue.section_detail, "12025", "NB", "66666") is None
    past = store.read_now(catalogue.section_detail, "12025", "NB", "00009")
    assert past is not None, "the events of an index outlive its row in the open list"


def test_the_word_index_follows_every_change(sqlite_store: Store) -> None:
    store = sqlite_store
    load(store, many())
    changed = many()
    changed[0]["title"] = "ZOOLOGY"
    changed[1]["sections"][0]["meetingTimes"] = [meeting("M")]
    load(store, changed[:11])

    def check(tx: Tx) -> list[int]:
        tx.execute(text("INSERT INTO course_search (course_search, rank) VALUES ('integrity-check', 1)"))
        return [
            tx.execute(text("SELECT count(*) FROM course_search WHERE course_search MATCH :q"), {"q": q}).scalar_one()
            for q in ("zoology", "algebra")
        ]

    assert store.write_now(check) == [1, 11]
