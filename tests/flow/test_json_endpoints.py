"""JSON endpoints, from the lines of settings to the rows: the engine is the one that courses and tables use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.boards import Restless, Watch, documented, watching
from vacancy.errors import UserError
from vacancy.model.availability import Item, Trouble
from vacancy.pipeline.settle import Came
from vacancy.store.engine import Store

EXAMPLES = documented()
TICKETS, CAMPSITES, NAMES = (EXAMPLES[name] for name in ("tickets", "campsites", "names"))


@pytest.fixture
def clock() -> Restless:
    return Restless()


@pytest.mark.parametrize(
    ("name", "key", "payload", "group"),
    [
        ("tickets", "gala-sat",
         {"title": "Gala, Sat", "lines": ["Great Hall"], "link": "{origin}/shows/gala-sat"}, "Great Hall"),
        ("campsites", "17",
         {"title": "Site 17", "lines": ["{loop}"], "link": "https://campsites.example/book/17"}, "{loop}"),
        ("names", "birch", {"title": "birch", "lines": [], "link": None}, None),
    ],
)  # fmt: skip
def test_the_examples_of_the_documents_do_what_is_said_of_them(
    store: Store, name: str, key: str, payload: dict[str, Any], group: str | None
) -> None:
    async def story(watch: Watch) -> None:
        watch.board.close(key)
        assert [(await watch.poll()).came for _ in range(3)] == [Came.WAITING, Came.BELIEVED, Came.UNCHANGED]
        assert watch.open_now() == watch.board.open_keys
        assert watch.events() == []
        watch.board.open(key)
        assert (await watch.poll()).opened == 1
        (event,) = watch.events()
        assert (event.source, event.target_key, event.item_key) == (f"json:{name}", "all", key)
        assert (event.detected_by, event.status_before, event.status_after) == ("json", "Closed", "Open")
        assert event.topics == [f"json:{name}:{key}", f"json:{name}"]
        words = {"origin": watch.origin, "loop": watch.board.things[key].group}
        assert event.payload.items() >= {part: _filled(said, words) for part, said in payload.items()}.items()
        assert event.group_key == _filled(group, words)
        # Seen again it is no news, and a close is written down as well.
        assert (await watch.poll()).opened == 0
        watch.board.close(key)
        for _ in range(EXAMPLES[name].get("misses_to_close", 2)):
            assert watch.events("Closed") == []
            await watch.poll()
        (closed,) = watch.events("Closed")
        assert (closed.item_key, closed.topics) == (key, event.topics)
        assert closed.payload["title"] == event.payload["title"]
        watch.board.open(key)
        await watch.poll()
        keys = [event.dedupe_key for event in watch.events()]
        assert len(set(keys)) == 2

    watching(store, EXAMPLES[name], story)


def _filled(said: Any, words: dict[str, str]) -> Any:
    if isinstance(said, list):
        return [_filled(each, words) for each in said]
    return said.format(**words) if isinstance(said, str) else said


def test_there_are_three_examples() -> None:
    assert list(EXAMPLES) == ["tickets", "campsites", "names"]


def test_a_key_is_sent_and_nothing_else_is_asked(store: Store) -> None:
    async def story(watch: Watch) -> None:
        await watch.poll()
        (request,) = watch.requests()
        assert request.headers["X-Api-Key"] == "the key that they gave you"
        assert request.headers["Accept"] == "application/json"

    watching(store, TICKETS, story)


def test_all_taken_is_an_answer_and_nothing_listed_is_doubted(store: Store) -> None:
    async def story(watch: Watch) -> None:
        await watch.baseline()
        before = watch.open_now()
        watch.upstream.fault("empty", times=2)
        assert [(await watch.poll()).came for _ in range(2)] == [Came.HELD, Came.HELD]
        assert watch.open_now() == before
        # One that is like the last believed one ends the hold: the next is judged for itself.
        await watch.poll()
        watch.board.close(*before)
        assert [(await watch.poll()).came for _ in range(2)] == [Came.BELIEVED, Came.BELIEVED]
        assert watch.open_now() == set()

    watching(store, CAMPSITES, story)


def test_an_empty_list_is_believed_where_it_says_so_and_doubted_where_not(store: Store) -> None:
    async def told(watch: Watch) -> None:
        await watch.baseline()
        watch.board.close(*watch.open_now())
        assert (await watch.poll()).came is Came.BELIEVED
        assert watch.open_now() == set()

    watching(store, NAMES, told)


def test_without_a_word_an_empty_list_is_doubted(store: Store) -> None:
    async def untold(watch: Watch) -> None:
        await watch.baseline()
        before = watch.open_now()
        watch.board.close(*before)
        assert (await watch.poll()).came is Came.HELD
        assert watch.open_now() == before

    watching(store, {**NAMES, "empty_is_valid": False}, untold)


@pytest.mark.parametrize(
    ("kind", "args", "trouble", "said"),
    [
        ("apology", {}, Trouble.UNREADABLE, "there is no sites"),
        ("renamed", {}, Trouble.UNREADABLE, "it has no available, which open_when compares"),
        ("no_key", {}, Trouble.UNREADABLE, "item 36 of 36: its key is not there: it has no site_id"),
        ("bad_key", {"as": "object"}, Trouble.UNREADABLE, "its key site_id is neither text nor a number"),
        ("bad_key", {"as": "long"}, Trouble.UNREADABLE, "its key site_id must be 1 to 200 characters"),
        ("twice", {}, Trouble.UNREADABLE, "'1' was listed before, in another state"),
        ("html", {}, Trouble.UNREADABLE, "not 200 with JSON"),
        ("html_as_json", {}, Trouble.UNREADABLE, "cannot be read as JSON"),
        ("wrong_type", {}, Trouble.UNREADABLE, "answered 200 with text/plain"),
        ("media_type", {"type": "text/x+json"}, Trouble.UNREADABLE, "answered 200 with text/x+json"),
        ("truncated", {}, Trouble.UNREADABLE, "cannot be read as JSON"),
        ("too_large", {"bytes": 5_000_000}, Trouble.UNREADABLE, "sent more than 4194304 bytes"),
        ("redirect", {}, Trouble.REFUSED, "a redirect, which is not followed"),
        ("rate_limited", {"retry_after": "60"}, Trouble.RATE_LIMITED, "answered 429"),
        ("unauthorized", {}, Trouble.UNAUTHORIZED, "answered 401"),
        ("not_found", {}, Trouble.MISCONFIGURED, "answered 404"),
        ("server_error", {}, Trouble.SERVER_ERROR, "answered 500"),
        ("reset", {}, Trouble.NETWORK, ""),
        ("drop_midway", {}, Trouble.NETWORK, ""),
    ],
)  # fmt: skip
def test_what_is_no_answer_changes_nothing(
    sqlite_store: Store, kind: str, args: dict[str, Any], trouble: Trouble, said: str
) -> None:
    async def story(watch: Watch) -> None:
        await watch.baseline()
        before = watch.open_now()
        watch.board.set_items(["2"], before)
        watch.upstream.fault(kind, **args)
        failed = (await watch.poll(100)).failed
        assert failed is not None
        assert failed.trouble is trouble
        assert said in failed.message
        assert watch.open_now() == before
        assert watch.events() == watch.events("Closed") == []

    watching(sqlite_store, CAMPSITES, story)


def test_any_json_type_of_an_application_is_read(sqlite_store: Store) -> None:
    async def story(watch: Watch) -> None:
        watch.upstream.fault("media_type", type="application/vnd.board+json; charset=utf-8")
        await watch.baseline()
        assert watch.open_now()

    watching(sqlite_store, CAMPSITES, story)


def test_what_opens_in_one_hall_at_once_is_one_message(store: Store) -> None:
    async def story(watch: Watch) -> None:
        watch.board.close("gala-fri", "gala-sat", "quartet-fri")
        await watch.baseline()
        watch.board.open("gala-fri", "gala-sat", "quartet-fri")
        await watch.poll()
        leads = {event.item_key: event.lead_event_id for event in watch.events()}
        assert leads["gala-fri"] == leads["gala-sat"] != leads["quartet-fri"]

    watching(store, TICKETS, story)


def test_another_rule_is_a_new_baseline_and_another_key_is_not(store: Store) -> None:
    async def story(watch: Watch) -> None:
        watch.board.close("gala-sat", "gala-sun")
        await watch.baseline()
        watch.board.open("gala-sat")
        other = watch.again(open_when="seats > 0")
        assert [(await other.poll()).came for _ in range(2)] == [Came.WAITING, Came.BELIEVED]
        assert other.events() == []
        assert "gala-sat" in other.open_now()
        watch.board.open("gala-sun")
        renewed = watch.again(open_when="seats  >  0", headers={"X-API-Key": "a new one"})
        assert (await renewed.poll()).opened == 1

    watching(store, TICKETS, story)


def test_topics_are_an_item_or_all_of_it(store: Store) -> None:
    async def story(watch: Watch) -> None:
        await watch.baseline()
        source = watch.source
        item = source.topic("json:tickets: gala-sat ")
        assert (item.name, item.source, item.target_key, item.item_key) == (
            "json:tickets:gala-sat", "json:tickets", "all", "gala-sat",
        )  # fmt: skip
        whole = source.topic("json:tickets")
        assert (whole.name, whole.item_key) == ("json:tickets", None)
        assert {name.item_key for name in store.read_now(source.items_of, whole)} == watch.open_now()
        assert [name.item_key for name in store.read_now(source.items_of, item)] == ["gala-sat"]
        assert source.topic("json:tickets:a:b c").item_key == "a:b c"
        for wrong in (
            "json:tickets:",
            "json:tickets: ",
            "json:ticket",
            "json:tickets:" + "x" * 201,
            "json:tickets:a\nb",
        ):
            with pytest.raises(UserError, match="topic: must be json:tickets or json:tickets:ITEM"):
                source.topic(wrong)
        known = sorted(watch.open_now())[0]
        said = store.read_now(source.describe, "all", [Item(known), Item("nobody saw it")])
        assert said[known].payload["title"] == watch.board.things[known].label
        assert said["nobody saw it"].payload == {"title": "nobody saw it"}
        assert source.is_item_key("17")
        assert not any(source.is_item_key(text) for text in ("", " a", "a\n", "x" * 201))

    watching(store, TICKETS, story)


def test_a_long_list_is_read_as_a_short_one(sqlite_store: Store) -> None:
    async def story(watch: Watch) -> None:
        names = [f"name {number:05d}" for number in range(8000)]
        watch.board.open(*names)
        await watch.baseline()
        assert watch.open_now() > set(names)

    watching(sqlite_store, NAMES, story)
