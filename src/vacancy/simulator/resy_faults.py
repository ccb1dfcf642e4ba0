"""How the search for tables misbehaves on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from vacancy.simulator import effects
from vacancy.simulator.answers import Answer, Manner
from vacancy.simulator.effects import Args
from vacancy.simulator.errors import SimulatorError
from vacancy.simulator.faults import Arg, read_args, read_times
from vacancy.simulator.resy_world import FIRST_NUMBER

LOGIN: Final = "/resy/login"
FORMATS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "t": lambda day, time: f"{day}T{time}:00",
    "t_short": lambda day, time: f"{day}T{time}",
    "short": lambda day, time: f"{day} {time}",
    "time": lambda _day, time: time,
    "twelve": lambda _day, time: f"{(int(time[:2]) - 1) % 12 + 1}{time[2:]} {'PM' if time[:2] >= '12' else 'AM'}",
    "zulu": lambda day, time: f"{day}T{time}:00Z",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `previous` are the hits of the page before, for faults that move a venue between two pages."""

    day: str
    size: int
    page: int
    previous: tuple[dict[str, Any], ...] = ()


Content = dict[str, Any]
Change = Callable[[Content, Asked, Args], None]
Effect = Callable[[Answer, Asked, Args], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """A change is one of the content, before it is written; an effect one of the answer."""

    effect: Effect | None = None
    change: Change | None = None
    args: Mapping[str, Arg] = field(default_factory=dict)


def _to_login(answer: Answer, asked: Asked, args: Args) -> None:
    effects.refuse(HTTPStatus.FOUND)(answer, asked, args)
    answer.headers["Location"] = f"{LOGIN}?then=/3/venuesearch/search"


def _says(status: int) -> Effect:
    def effect(answer: Answer, _asked: Asked, _args: Args) -> None:
        answer.status = status
        answer.say({"status": status, "message": "Unauthorized"})

    return effect


def _hits(content: Content) -> list[Any]:
    found: list[Any] = content["search"]["hits"]
    return found


def _slots(content: Content) -> list[dict[str, Any]]:
    return [slot for hit in _hits(content) for slot in (hit["availability"] or {"slots": []})["slots"]]


def _empty(content: Content, _asked: Asked, _args: Args) -> None:
    content["search"] = {"hits": [], "total_pages": 0}


def _sold_out(content: Content, _asked: Asked, _args: Args) -> None:
    for hit in _hits(content):
        hit["availability"] = None


def _short_page(content: Content, _asked: Asked, _args: Args) -> None:
    hits = _hits(content)
    del hits[len(hits) // 2 :]


def _total(content: Content, asked: Asked, args: Args) -> None:
    if asked.page >= args["since"]:
        content["search"]["total_pages"] += args["by"]


def _no_total(content: Content, _asked: Asked, _args: Args) -> None:
    del content["search"]["total_pages"]


def _total_elsewhere(content: Content, _asked: Asked, _args: Args) -> None:
    content["search"]["pagination"] = {"total_pages": content["search"].pop("total_pages")}


def _hop(content: Content, asked: Asked, _args: Args) -> None:
    """The last venue of the page before went down by one, and the first of this one up: it is missed."""
    if asked.previous:
        content["search"]["hits"] = [asked.previous[-1], *_hits(content)[1:]]


def _time_format(content: Content, _asked: Asked, args: Args) -> None:
    write = FORMATS[args["format"]]
    for slot in _slots(content):
        day, time = slot["date"]["start"][:10], slot["date"]["start"][11:16]
        slot["date"]["start"] = write(day, time)


def _other_day(content: Content, _asked: Asked, args: Args) -> None:
    for slot in _slots(content):
        slot["date"]["start"] = f"{args['instead']}{slot['date']['start'][10:]}"


def _bad_time(content: Content, _asked: Asked, _args: Args) -> None:
    for slot in _slots(content)[-1:]:
        slot["date"]["start"] = "soon"


def _bad_id(content: Content, _asked: Asked, _args: Args) -> None:
    for hit in _hits(content)[-1:]:
        hit.pop("venue", None)
        hit["id"] = None


def _vanish(content: Content, _asked: Asked, args: Args) -> None:
    """Flicker: a restaurant's tables are gone for as many answers as the fault is met."""
    for hit in _hits(content):
        number = hit["venue"]["id"] if "venue" in hit else hit["id"]["resy"]
        if number == args["venue"]:
            hit["availability"] = None


KINDS: Final[Mapping[str, Kind]] = {
    "latency": Kind(effects.latency, args={"seconds": Arg(float, 1.0)}),
    "rate_limited": Kind(effects.rate_limited, args={"retry_after": Arg(str)}),
    "unavailable": Kind(effects.refuse(HTTPStatus.SERVICE_UNAVAILABLE)),
    "server_error": Kind(effects.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)),
    "not_found": Kind(effects.refuse(HTTPStatus.NOT_FOUND)),
    "bad_request": Kind(effects.refuse(HTTPStatus.BAD_REQUEST)),
    "unauthorized": Kind(_says(401)),
    "forbidden": Kind(_says(403)),
    "session_over": Kind(_says(419)),
    "login": Kind(_to_login),
    "redirect": Kind(effects.redirect),
    "reset": Kind(effects.behave(Manner.RESET)),
    "hang": Kind(effects.behave(Manner.HANG)),
    "drop_midway": Kind(effects.behave(Manner.MIDWAY)),
    "slow_body": Kind(effects.slow_body, args={"seconds": Arg(float, 1.0), "pieces": Arg(int, 10, 1, 10_000)}),
    "too_large": Kind(effects.too_large, args={"bytes": Arg(int, 65 * 1024 * 1024, 1)}),
    "html": Kind(effects.html),
    "html_as_json": Kind(effects.html_as_json),
    "wrong_type": Kind(effects.wrong_type),
    "truncated": Kind(effects.truncated),
    "empty": Kind(change=_empty),
    "sold_out": Kind(change=_sold_out),
    "short_page": Kind(change=_short_page),
    "total_changes": Kind(change=_total, args={"by": Arg(int, 1, -20, 1000), "since": Arg(int, 2, 1)}),
    "no_total": Kind(change=_no_total),
    "total_elsewhere": Kind(change=_total_elsewhere),
    "hop": Kind(change=_hop),
    "time_format": Kind(change=_time_format, args={"format": Arg(str, "t", choices=tuple(FORMATS))}),
    "other_day": Kind(change=_other_day, args={"instead": Arg(str, "2000-01-01")}),
    "bad_time": Kind(change=_bad_time),
    "bad_id": Kind(change=_bad_id),
    "vanish": Kind(change=_vanish, args={"venue": Arg(int, FIRST_NUMBER)}),
}


@dataclass(slots=True, eq=False)
class TableFault:
    name: str
    kind: Kind
    args: Mapping[str, Any]
    day: str | None
    party_size: int | None
    page: int | None
    times: int | None

    def meets(self, asked: Asked) -> bool:
        return (
            self.day in (None, asked.day) and self.party_size in (None, asked.size) and self.page in (None, asked.page)
        )

    def shown(self) -> dict[str, Any]:
        where = {"day": self.day, "party_size": self.party_size, "page": self.page, "times": self.times}
        return {"kind": self.name} | where | dict(self.args)


def read_table_fault(name: str, given: Mapping[str, object]) -> TableFault:
    """As strict as for the other upstream: a fault that never fires hides bugs."""
    kind = KINDS.get(name)
    if kind is None:
        raise SimulatorError(f"kind: {name!r} is not one of {', '.join(KINDS)}")
    rest = dict(given)
    day, size, page = rest.pop("day", None), rest.pop("party_size", None), rest.pop("page", None)
    times = read_times(rest.pop("times", None))
    return TableFault(
        name,
        kind,
        read_args(name, kind.args, rest),
        None if day is None else Arg(str).read("day", day),
        None if size is None else Arg(int, low=1).read("party_size", size),
        None if page is None else Arg(int, low=1).read("page", page),
        times,
    )
