"""How JSON endpoints misbehave on demand."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from vacancy.simulator import effects
from vacancy.simulator.answers import Manner
from vacancy.simulator.effects import AnyEffect, Args
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.faults import Arg, read_args, read_times
from vacancy.simulator.json_boards import Content, Shape

# The last one may put something in place of the whole.
Change = Callable[[Content, Shape, Args], Content]


@dataclass(frozen=True, slots=True)
class Kind:
    """A change is one of the content, before it is written; an effect one of the answer."""

    effect: AnyEffect | None = None
    change: Change | None = None
    args: Mapping[str, Arg] = field(default_factory=dict)


def _empty(content: Content, shape: Shape, _args: Args) -> Content:
    shape.listed(content).clear()
    return content


def _apology(_content: Content, _shape: Shape, _args: Args) -> Content:
    """Said with 200, as some do."""
    return {"error": "try again later"}


def _no_key(content: Content, shape: Shape, _args: Args) -> Content:
    listed = shape.listed(content)
    if shape.member:
        del listed[-1][shape.member]
    else:
        listed.append(None)
    return content


def _bad_key(content: Content, shape: Shape, args: Args) -> Content:
    listed = shape.listed(content)
    wrong = {"object": {}, "true": True, "long": "x" * 201, "blank": "  "}[args["as"]]
    if shape.member:
        listed[-1][shape.member] = wrong
    else:
        listed.append(wrong)
    return content


def _twice(content: Content, shape: Shape, _args: Args) -> Content:
    """One thing in two states: the first copy is that of a thing in another one."""
    listed = shape.listed(content)
    if shape.member and shape.state:
        other = next((each for each in listed if each[shape.state] != listed[0][shape.state]), listed[0])
        listed.append({**copy.deepcopy(other), shape.member: listed[0][shape.member]})
    return content


def _renamed(content: Content, shape: Shape, _args: Args) -> Content:
    """A new version of the endpoint."""
    for each in shape.listed(content):
        if shape.state:
            each[f"{shape.state}_v2"] = each.pop(shape.state)
    return content


def _part(content: Content, shape: Shape, args: Args) -> Content:
    listed = shape.listed(content)
    del listed[int(len(listed) * args["keep"]) :]
    return content


def _media_type(answer: Any, _scene: object, args: Args) -> None:
    answer.content_type = args["type"]


KINDS: Final[Mapping[str, Kind]] = {
    "latency": Kind(effects.latency, args={"seconds": Arg(float, 1.0)}),
    "rate_limited": Kind(effects.rate_limited, args={"retry_after": Arg(str)}),
    "unavailable": Kind(effects.refuse(HTTPStatus.SERVICE_UNAVAILABLE)),
    "server_error": Kind(effects.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)),
    "not_found": Kind(effects.refuse(HTTPStatus.NOT_FOUND)),
    "bad_request": Kind(effects.refuse(HTTPStatus.BAD_REQUEST)),
    "unauthorized": Kind(effects.refuse(HTTPStatus.UNAUTHORIZED)),
    "forbidden": Kind(effects.refuse(HTTPStatus.FORBIDDEN)),
    "redirect": Kind(effects.redirect),
    "reset": Kind(effects.behave(Manner.RESET)),
    "hang": Kind(effects.behave(Manner.HANG)),
    "drop_midway": Kind(effects.behave(Manner.MIDWAY)),
    "slow_body": Kind(effects.slow_body, args={"seconds": Arg(float, 1.0), "pieces": Arg(int, 10, 1, 10_000)}),
    "too_large": Kind(effects.too_large, args={"bytes": Arg(int, 65 * 1024 * 1024, 1)}),
    "html": Kind(effects.html),
    "html_as_json": Kind(effects.html_as_json),
    "wrong_type": Kind(effects.wrong_type),
    "media_type": Kind(_media_type, args={"type": Arg(str, "application/vnd.board+json")}),
    "truncated": Kind(effects.truncated),
    "empty": Kind(change=_empty),
    "part": Kind(change=_part, args={"keep": Arg(float, 0.5, 0, 1)}),
    "apology": Kind(change=_apology),
    "no_key": Kind(change=_no_key),
    "bad_key": Kind(change=_bad_key, args={"as": Arg(str, "object", choices=("object", "true", "long", "blank"))}),
    "twice": Kind(change=_twice),
    "renamed": Kind(change=_renamed),
}


@dataclass(slots=True, eq=False)
class BoardFault:
    name: str
    kind: Kind
    args: Mapping[str, Any]
    board: str | None
    times: int | None

    def meets(self, board: str) -> bool:
        return self.board in (None, board)

    def shown(self) -> dict[str, Any]:
        return {"kind": self.name, "board": self.board, "times": self.times} | dict(self.args)


def read_board_fault(name: str, given: Mapping[str, object]) -> BoardFault:
    """As strict as for the other upstreams: a fault that never fires hides bugs."""
    kind = KINDS.get(name)
    if kind is None:
        raise SimulatorError(f"kind: {name!r} is not one of {', '.join(KINDS)}")
    rest = dict(given)
    board, times = rest.pop("board", None), read_times(rest.pop("times", None))
    named = None if board is None else Arg(str).read("board", board)
    return BoardFault(name, kind, read_args(name, kind.args, rest), named, times)
