"""Parcels of every kind, for the tests of what is written into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.support.clock import START
from vacancy.model.messages import Kind, Notice, Opening, OpenItem, Parcel, Person

BASE: Final = "https://vacancy.example.org"
ADA: Final = Person(
    subscription_id=3, contact="ada@example.com", locale="en-US", topic="soc:12025:NB:12345", status="active",
    last_known_status="Closed", contact_hash="ab" * 32, manage_url=f"{BASE}/manage/3?token=manage-me&x=1",
    unsubscribe_url=f"{BASE}/unsubscribe?token=let-me-go&x=1", verify_url=f"{BASE}/verify?token=it-is-me&x=1",
)  # fmt: skip
OPERATOR: Final = Person(0, "op@example.com", "en-US")
FACTS: Final[Mapping[str, Any]] = {
    "what": "the open list of NB", "title": "Data Structures", "reason": "term_over",
    "since": "2026-01-05T12:00:00.000Z", "detail": "no answer within 15 s", "time_zone": "America/New_York",
}  # fmt: skip


def section(index: str = "12345", **changed: Any) -> OpenItem:
    payload = {
        "term": "12025", "campus": "NB", "index": index, "link": f"https://sis.example/soc/#keyword={index}&semester=12025",
        "sectionNumber": "03", "courseString": "01:198:112", "courseTitle": "Data Structures", "subject": "198",
        "meetingSummary": "M H 14:10-15:30 TIL 232", "instructors": ["DOE, JANE"], "credits": 4,
    }  # fmt: skip
    return OpenItem(index, 1, payload | changed, 7, "12025", "NB", index)


def unknown_section(index: str = "54321") -> OpenItem:
    """One that the catalogue does not know."""
    payload = {"term": "12025", "campus": "NB", "index": index, "link": f"https://sis.example/soc/#keyword={index}"}
    return OpenItem(index, 1, payload, None, "12025", "NB", index)


def opening(*items: OpenItem, source: str = "soc", event: int = 5) -> Opening:
    return Opening(
        event, "edge-key", "0123456789abcdef" * 2, source, "12025|NB", START, "open_sections", "Closed", "Open",
        "America/New_York", items,
    )  # fmt: skip


def alert(*items: OpenItem, person: Person = ADA, source: str = "soc", is_last: bool = False, event: int = 5) -> Parcel:
    told = opening(*(items or (section(),)), source=source, event=event)
    return Parcel(11, Kind.ALERT, "edge-key/3", told.trace_id, 1, person, told, is_last=is_last)


def verification(person: Person = ADA) -> Parcel:
    return Parcel(12, Kind.VERIFICATION, "verify/3", "trace-12", 1, person)


def notice(code: str, facts: Mapping[str, Any] = FACTS, person: Person = ADA) -> Parcel:
    return Parcel(13, Kind.NOTICE, f"{code}/3", "trace-13", 1, person, notice=Notice(code, facts))


def trouble(code: str = "trouble", person: Person = OPERATOR) -> Parcel:
    return Parcel(14, Kind.OPERATOR, f"{code}/1", "trace-14", 1, person, notice=Notice(code, FACTS))


TABLE: Final = OpenItem(
    "834@20:30", 1, {"title": "Carbone", "lines": ["20:30"], "link": "https://book.example/834?d=1&s=2"}
)


def every_kind(locale: str) -> list[Parcel]:
    ada, operator = ADA._replace(locale=locale), OPERATOR._replace(locale=locale)
    return [
        alert(person=ada),
        alert(person=ada, is_last=True),
        alert(section(), section("00042"), unknown_section(), person=ada, event=6),
        alert(unknown_section(), person=ada, event=7),
        alert(TABLE, person=ada, source="resy", event=8),
        alert(TABLE, TABLE, person=ada, source="resy", event=9, is_last=True),
        verification(ada),
        *(notice(code, person=ada) for code in ("ended", "source_unreadable", "source_readable")),
        *(trouble(code, operator) for code in ("trouble", "trouble_over")),
    ]
