"""Pages that came before are not read again: and whoever knows them reads the same as whoever does not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from vacancy.model.availability import Failed
from vacancy.sources.resy_page import Page, Reader
from vacancy.sources.resy_pile import Pile, read_mark, write_mark

DAY = date(2026, 2, 18)
PER_PAGE = 2


def body(total: int | None, *numbers: int, at: str = "20:30") -> bytes:
    slots = [{"date": {"start": f"{DAY} {at}:00"}}]
    hits = [{"id": number, "name": "Fern", "availability": {"slots": slots}} for number in numbers]
    return json.dumps({"search": {"hits": hits, "total_pages": total}}).encode()


class Counting(Reader):
    def __init__(self) -> None:
        super().__init__(DAY)
        self.read_pages = 0

    def read(self, page: bytes) -> Page | str:
        self.read_pages += 1
        return super().read(page)


def fill(bodies: Sequence[bytes], known: Sequence[bytes] = ()) -> tuple[Pile, Counting, Failed | None]:
    """As the search does; a body for each page that is asked for."""
    reader = Counting()
    pile = Pile(reader, PER_PAGE, known)
    for page in bodies:
        failed = pile.add(page)
        if failed or pile.is_over:
            return pile, reader, failed
    return pile, reader, None


def test_the_same_pages_are_not_read_at_all() -> None:
    pages = [body(2, 1, 2), body(2, 3)]
    first, _, _ = fill(pages)
    second, reader, _ = fill(pages, first.digests)
    assert second.is_as_before
    assert reader.read_pages == 0
    assert set(second.listing().venues) == {"1", "2", "3"}


def test_pages_before_one_that_changed_are_read_after_all() -> None:
    first, _, _ = fill([body(2, 1, 2), body(2, 3)])
    second, reader, _ = fill([body(2, 1, 2), body(2, 4)], first.digests)
    assert (second.is_as_before, second.is_over, reader.read_pages) == (False, True, 2)
    assert set(second.listing().venues) == {"1", "2", "4"}


def test_an_answer_that_broke_off_where_it_went_on_the_last_time_is_not_the_same() -> None:
    first, _, _ = fill([body(2, 1, 2), body(2, 3)])
    second, _, _ = fill([body(2, 1, 2)], first.digests)
    second.lack("page 2: timeout")
    assert not second.is_as_before
    assert (set(second.listing().venues), second.listing().lacking) == ({"1", "2"}, "page 2: timeout")


def test_a_mark_comes_back_as_it_went() -> None:
    piles = {2: fill([body(1, 1)])[0], 4: fill([body(2, 1, 2), body(2, 3)])[0]}
    assert read_mark(write_mark(piles)) == {size: pile.digests for size, pile in piles.items()}
    assert read_mark(None) == {}


pages = st.lists(
    st.builds(
        lambda total, numbers, at: body(total, *numbers, at=at),
        st.sampled_from([None, 1, 2, 3]),
        st.lists(st.integers(1, 6), max_size=2),
        st.sampled_from(["20:30", "8:30 PM", "soon"]),
    ),
    min_size=1,
    max_size=4,
)


@given(pages, pages, st.booleans())
def test_whoever_knows_the_last_answer_finds_what_a_stranger_finds(
    before: list[bytes], after: list[bytes], begins_alike: bool
) -> None:
    first, _, failed = fill(before)
    is_whole = not failed and first.is_over and first.listing().lacking is None
    if begins_alike:
        after = before[:1] + after
    knowing, _, why = fill(after, first.digests if is_whole else ())
    stranger, _, other_why = fill(after)
    assert why == other_why
    assert knowing.is_over == stranger.is_over
    assert knowing.digests == stranger.digests
    assert knowing.listing().venues == stranger.listing().venues
    assert knowing.listing().lacking == stranger.listing().lacking
