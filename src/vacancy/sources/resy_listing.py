"""The pages of one search, put together, and whether they fit together: pages are read one after the other, and what is
listed may move between two of them."""

from __future__ import annotations

from vacancy.sources.resy_page import Page
from vacancy.sources.resy_slots import Venue


class Listing:
    """`lacking` says why it may not be all; the first reason stays."""

    def __init__(self, per_page: int) -> None:
        self.venues: dict[str, Venue] = {}
        self.pages = 0
        self.lacking: str | None = None
        self.is_over = False
        self._total: int | None = None
        self._per_page = per_page
        self._last_size = 0

    def add(self, page: Page) -> None:
        if self.pages:
            self._compare(page)
        self.pages += 1
        self._total, self._last_size = page.total, page.hits
        for venue_id, venue in page.venues.items():
            self.venues.setdefault(venue_id, venue)
        self.is_over = self._has_ended(page)

    def lack(self, reason: str) -> None:
        self.lacking = self.lacking or reason

    def _compare(self, page: Page) -> None:
        number = self.pages + 1
        if page.total != self._total:
            self.lack(f"page {number} tells of {_counted(page.total)}, the one before it of {_counted(self._total)}")
        # All pages but the last are full: one that is not was cut off.
        if page.hits and self._last_size != self._per_page:
            self.lack(f"page {self.pages} has {self._last_size} venues, not {self._per_page}, and is not the last")
        if twice := page.venues.keys() & self.venues.keys():
            # What moved here while we read has left its place to one that we missed.
            self.lack(f"venue {min(twice)} stands on page {number} and on one before it")

    def _has_ended(self, page: Page) -> bool:
        if page.total is None:
            # Told nothing, we go on to where nothing is: a short page may have been cut off.
            return not page.hits
        if self.pages < page.total:
            return False
        may_be_empty = page.total <= 1 and not self.venues
        if (page.hits and not page.total) or (not page.hits and not may_be_empty):
            self.lack(f"page {self.pages} has {page.hits} venues, and there are {_counted(page.total)}")
        return True


def _counted(total: int | None) -> str:
    return "no number of pages" if total is None else f"{total} pages"
