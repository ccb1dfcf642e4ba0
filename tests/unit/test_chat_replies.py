"""What the bot says of what a chat waits for, as the catalogue knows it or does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from string import Formatter
from typing import Any

import pytest

from vacancy.channels.chat_words import CHAT_WORDS
from vacancy.channels.words import LOCALES
from vacancy.errors import CODES
from vacancy.model.subscriptions import Status, Subscription
from vacancy.model.topics import Topic
from vacancy.pipeline.chat_replies import Replies
from vacancy.subscriptions.chat_links import Claimed
from vacancy.subscriptions.chats import Own, Quiet
from vacancy.subscriptions.naming import Waited

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
LINK = "https://sis.example/soc/#keyword=12345&semester=12025"
SECTION = Topic("soc:12025:NB:12345", "soc", "12025|NB", "12345", "12025", "NB", "12345", LINK)
COURSE = Topic("soc:12025:NB:course/01:198:112", "soc", "12025|NB", None, "12025", "NB")
KNOWN = {"index": "12345", "courseTitle": "Data Structures", "sectionNumber": "03", "courseString": "01:198:112"}


def subscription(**changes: Any) -> Subscription:
    return Subscription(**{
        "subscription_id": 9, "topic": SECTION.name, "source": "soc", "target_key": "12025|NB", "item_key": "12345",
        "section_id": None, "term_id": "12025", "campus_code": "NB", "index_number": "12345",
        "contact_type": "telegram", "contact_value": "42", "contact_hash": "h", "locale": "en-US",
        "status": Status.ACTIVE, "is_verified": True, "created_at": NOW, "updated_at": NOW, "last_notified_at": None,
        "last_known_section_status": "Closed", "since_event_id": 0, "ends_at": None, "max_notifications": 3,
        "notified_count": 0, "wants_open": True, "snooze_until": None, "unsubscribe_token": "u", "manage_token": "m",
        "verification_nonce": None, "metadata": {}, **changes,
    })  # fmt: skip


def replies(locale: str = "en-US") -> Replies:
    return Replies(locale, "https://vacancy.example/subscribe", lambda _source: "America/New_York")


def linked(waited: Waited, locale: str = "en-US") -> str:
    return replies(locale).linked(Claimed(subscription(), True, waited)).text


def line(waited: Waited, **changes: Any) -> str:
    return replies().listed([Own(subscription(**changes), waited)], NOW).text.splitlines()[1]


def test_a_section_is_named_as_in_an_alert() -> None:
    assert linked(Waited(SECTION, "Closed", 1, KNOWN)).startswith(
        "You hear of it here: Data Structures, section 03 (12345).\nIt is closed right now."
    )
    assert linked(Waited(SECTION, "Unknown", 1, {"index": "12345"})).startswith(
        "You hear of it here: section 12345, New Brunswick, Spring 2025.\nWhether it is open is not known yet."
    )


def test_a_course_is_named_with_where_it_is() -> None:
    said = linked(Waited(COURSE, "Closed", 4, KNOWN))
    assert said.startswith("You hear of it here: Data Structures (01:198:112, New Brunswick, Spring 2025).")


def test_a_venue_is_named_with_its_address() -> None:
    venue = Topic("resy:venue/834@2026-02-28", "resy")
    payload = {"venueName": "Carbone", "title": "Carbone", "date": "2026-02-28", "time": "20:30"}
    said = "You hear of it here: Carbone (venue 834, 2026-02-28)."
    assert linked(Waited(venue, "Closed", 1, payload)).startswith(said)


def test_what_is_open_now_comes_with_where_to_go() -> None:
    assert f"It is open right now: {LINK}\n" in linked(Waited(SECTION, "Open", 1, KNOWN))
    assert "javascript" not in linked(Waited(COURSE, "Open", 1, {"link": "javascript:alert(1)"}))


def test_a_list_says_how_each_stands() -> None:
    waited = Waited(SECTION, "Open", 1, KNOWN)
    what = "9: Data Structures, section 03 (12345)"
    assert line(waited) == f"{what} (open now) /stop_9"
    assert line(waited, status=Status.PAUSED) == f"{what} (paused) /stop_9"
    assert line(waited, status=Status.PENDING) == f"{what} (waits for your confirmation) /stop_9"
    asleep = line(waited, snooze_until=NOW + timedelta(hours=1))
    assert asleep == f"{what} (silent until Mon, Jan 5, 8:00 AM EST) /stop_9"
    assert line(waited, snooze_until=NOW) == f"{what} (open now) /stop_9"


def test_silence_is_told_by_the_clock_of_the_place() -> None:
    quiet = Quiet(NOW + timedelta(hours=8), [subscription()])
    assert replies().quiet(quiet).text == "Silence until Mon, Jan 5, 3:00 PM EST."
    assert replies("zh").quiet(quiet).text == "静音至 1月5日 周一 15:00 EST。"
    assert "waits for nothing" in replies().quiet(Quiet(NOW, [])).text


def test_a_title_cannot_break_a_line_or_a_format() -> None:
    waited = Waited(SECTION, "Closed", 1, {**KNOWN, "courseTitle": "{page}\n/stop \u202eevil"})
    assert linked(waited).splitlines()[0] == "You hear of it here: {page} /stop evil, section 03 (12345)."


@pytest.mark.parametrize("code", CODES)
def test_every_refusal_has_words(code: str) -> None:
    assert all(replies(locale).refused(code).text for locale in LOCALES)


def test_both_languages_say_the_same_things() -> None:
    english, chinese = (CHAT_WORDS[locale] for locale in LOCALES)
    assert english.keys() == chinese.keys()
    for name in english:
        places = [{place for _, place, _, _ in Formatter().parse(words[name]) if place} for words in (english, chinese)]
        assert places[0] == places[1], name
