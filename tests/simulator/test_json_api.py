"""The make-believe JSON endpoints: the same for the same seed, and wrong in the ways that they are told to be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.harness import Rig, with_rig
from tests.support.clock import ManualClock
from vacancy.simulator.churn import Churn, Rates
from vacancy.simulator.errors import SimulatorError, UnknownTargetError
from vacancy.simulator.json_boards import Boards
from vacancy.simulator.json_faults import KINDS, read_board_fault


async def ask(rig: Rig, board: str, status: int = 200) -> Any:
    async with rig.session.get(f"{rig.simulator.json_url}/{board}", allow_redirects=False) as response:
        assert response.status == status, await response.text()
        return await response.json() if status == 200 else response


def test_the_same_seed_shows_the_same() -> None:
    one, same, other = Boards(1), Boards(1), Boards(2)
    for name in one.every:
        assert one.board(name).content() == same.board(name).content()
        assert one.board(name).open_keys
    assert one.board("campsites").content() != other.board("campsites").content()


def test_each_board_has_a_shape_of_its_own() -> None:
    async def story(rig: Rig) -> None:
        tickets = (await ask(rig, "tickets"))["data"]["events"]
        assert {each["status"] for each in tickets} == {"ON_SALE", "LIMITED", "SOLD_OUT"}
        assert all((each["seats"] > 0) == (each["status"] != "SOLD_OUT") for each in tickets)
        sites = (await ask(rig, "campsites"))["sites"]
        assert {each["available"] for each in sites} == {True, False}
        assert all(isinstance(each["site_id"], int) for each in sites)
        assert set(await ask(rig, "names")) == rig.simulator.json.boards.board("names").open_keys
        assert [record.target for record in rig.simulator.requests] == ["json/tickets", "json/campsites", "json/names"]
        await ask(rig, "nothing", 404)

    with_rig(story)


def test_things_open_and_close_on_demand() -> None:
    async def story(rig: Rig) -> None:
        order = {"board": "names", "open": ["newcomer"], "close": ["alder"]}
        shown = await rig.control("POST", "/json/items", order)
        assert "newcomer" in shown["open"]
        assert "alder" not in shown["open"]
        assert sorted(await ask(rig, "names")) == shown["open"]
        await rig.control("POST", "/json/items", {"board": "nothing"}, 404)
        await rig.control("POST", "/json/items", {"board": "names", "open": [""]}, 422)
        assert (await rig.control("POST", "/json/step", {"board": "names", "openings": 2, "closings": 1}))["moved"] == 3
        await rig.control("POST", "/json/step", {"board": "names", "openings": -1}, 422)
        boards = (await rig.control("GET", "/json"))["boards"]
        assert "newcomer" in boards["names"]["items"]

    with_rig(story)


@pytest.mark.parametrize(
    ("kind", "args", "seen"),
    [
        ("empty", {}, lambda content: content == {"sites": []}),
        ("apology", {}, lambda content: "sites" not in content),
        ("part", {"keep": 0.25}, lambda content: len(content["sites"]) == 9),
        ("no_key", {}, lambda content: "site_id" not in content["sites"][-1]),
        ("bad_key", {"as": "true"}, lambda content: content["sites"][-1]["site_id"] is True),
        ("renamed", {}, lambda content: "available_v2" in content["sites"][0]),
        ("twice", {}, lambda content: len({e["available"] for e in content["sites"] if e["site_id"] == 1}) == 2),
    ],
)
def test_a_fault_changes_what_is_said_of_its_board_alone(kind: str, args: dict[str, Any], seen: Any) -> None:
    async def story(rig: Rig) -> None:
        whole = await ask(rig, "campsites")
        await rig.control("POST", "/json/faults", {"kind": kind, "board": "campsites", "times": 1, **args})
        await ask(rig, "names")
        assert not seen(whole)
        assert seen(await ask(rig, "campsites"))
        assert await ask(rig, "campsites") == whole

    with_rig(story)


def test_a_bare_list_can_have_bad_members() -> None:
    async def story(rig: Rig) -> None:
        rig.simulator.json.fault("no_key", board="names", times=1)
        assert (await ask(rig, "names"))[-1] is None
        rig.simulator.json.fault("bad_key", board="names", times=1)
        assert (await ask(rig, "names"))[-1] == {}

    with_rig(story)


def test_faults_of_the_connection_and_their_end() -> None:
    async def story(rig: Rig) -> None:
        await rig.control("POST", "/json/faults", {"kind": "rate_limited", "retry_after": "7"})
        assert (await ask(rig, "names", 429)).headers["Retry-After"] == "7"
        assert rig.simulator.requests[-1].faults == ["rate_limited"]
        assert await rig.control("DELETE", "/json/faults") == {"faults": []}
        await ask(rig, "names")

    with_rig(story)


@pytest.mark.parametrize(
    ("kind", "args", "said"),
    [
        ("nonsense", {}, "kind: 'nonsense' is not one of latency"),
        ("empty", {"keep": 1}, "keep: empty takes no arguments"),
        ("empty", {"times": 0}, "times: must be from 1"),
        ("bad_key", {"as": "x"}, "as: must be one of object"),
        ("empty", {"board": 3}, "board: must be of type str"),
    ],
)
def test_a_fault_that_would_never_fire_is_refused(kind: str, args: dict[str, Any], said: str) -> None:
    with pytest.raises(SimulatorError, match=said):
        read_board_fault(kind, args)


def test_a_fault_of_no_board_is_refused() -> None:
    async def story(rig: Rig) -> None:
        with pytest.raises(UnknownTargetError, match="there is no board 'nothing' here"):
            rig.simulator.json.fault("empty", board="nothing")
        await rig.control("POST", "/json/faults", {"times": 1}, 422)
        assert set(KINDS) > {"empty", "hang", "reset"}

    with_rig(story)


def test_boards_move_by_themselves_when_they_are_told_to() -> None:
    clock, boards = ManualClock(), Boards(1)
    churn = Churn(clock, Rates(3, 3), boards.every.values)
    before = [set(board.open_keys) for board in boards.every.values()]
    clock.pass_time(120)
    churn.advance()
    assert all(set(board.open_keys) != was for board, was in zip(boards.every.values(), before, strict=True))

    async def story(rig: Rig) -> None:
        assert await rig.control("POST", "/json/churn", {"openings_per_minute": 1, "closings_per_minute": 1}) == {
            "enabled": True
        }
        await rig.control("POST", "/json/churn", {"openings_per_minute": -1, "closings_per_minute": 1}, 422)

    with_rig(story)
