"""What each fault does to an answer."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from vacancy.simulator.answers import HTML_TYPE, Answer, Manner, Scene
from vacancy.simulator.quirks import conflict, swap

Args = Mapping[str, Any]
Effect = Callable[[Answer, Scene, Args], None]
# One that does not look at what was asked for serves every upstream.
AnyEffect = Callable[[Answer, object, Args], None]


def refuse(status: HTTPStatus) -> AnyEffect:
    def effect(answer: Answer, _scene: object, _args: Args) -> None:
        answer.status = status
        answer.content_type = HTML_TYPE
        answer.body = page(f"{status.value} {status.phrase}")

    return effect


def page(title: str) -> bytes:
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>".encode()


def behave(manner: Manner) -> AnyEffect:
    def effect(answer: Answer, _scene: object, _args: Args) -> None:
        answer.manner = manner

    return effect


def rate_limited(answer: Answer, scene: object, args: Args) -> None:
    refuse(HTTPStatus.TOO_MANY_REQUESTS)(answer, scene, args)
    if args["retry_after"] is not None:
        answer.headers["Retry-After"] = args["retry_after"]


def latency(answer: Answer, _scene: object, args: Args) -> None:
    answer.delay += args["seconds"]


def slow_body(answer: Answer, _scene: object, args: Args) -> None:
    answer.manner = Manner.DRIP
    answer.pieces, answer.piece_delay = args["pieces"], args["seconds"]


def too_large(answer: Answer, _scene: object, args: Args) -> None:
    answer.manner = Manner.FLOOD
    answer.flood_bytes = args["bytes"]


def html(answer: Answer, _scene: object, _args: Args) -> None:
    answer.content_type = HTML_TYPE
    answer.body = page("This service is being maintained")


def html_as_json(answer: Answer, _scene: object, _args: Args) -> None:
    answer.body = page("This service is being maintained")


def wrong_type(answer: Answer, _scene: object, _args: Args) -> None:
    answer.content_type = "text/plain"


def redirect(answer: Answer, scene: object, args: Args) -> None:
    refuse(HTTPStatus.FOUND)(answer, scene, args)
    answer.headers["Location"] = "/elsewhere"


def age(answer: Answer, _scene: Scene, args: Args) -> None:
    answer.headers["Age"] = str(args["seconds"])


def truncated(answer: Answer, _scene: object, _args: Args) -> None:
    answer.body = answer.body[: len(answer.body) // 2]


def empty(answer: Answer, _scene: Scene, _args: Args) -> None:
    answer.body = b"[]"


def not_an_array(answer: Answer, scene: Scene, _args: Args) -> None:
    answer.say({scene.endpoint: answer.members()})


def partial(answer: Answer, _scene: Scene, args: Args) -> None:
    """Ranks by a checksum of the index: the same seats give the same part on every call and in every process."""
    members = list(dict.fromkeys(answer.members()))
    count = args["count"] if args["count"] is not None else int(len(members) * args["keep"])
    # A subset that lacks nothing would be no fault.
    count = max(0, min(count, len(members) - 1))
    kept = set(sorted(members, key=lambda index: (zlib.crc32(str(index).encode()), str(index)))[:count])
    answer.say([index for index in members if index in kept])


def other_campus(answer: Answer, scene: Scene, args: Args) -> None:
    answer.body = scene.body_of(scene.other_world(args["other"]))


def numbers(answer: Answer, _scene: Scene, _args: Args) -> None:
    answer.say([int(index) for index in answer.members() if str(index).isdecimal()])


def four_digits(answer: Answer, _scene: Scene, _args: Args) -> None:
    members = answer.members()
    answer.say([*members[:-1], str(members[-1])[:4]] if members else ["1234"])


def all_open(answer: Answer, scene: Scene, _args: Args) -> None:
    answer.say(scene.world.catalogue_indexes)


def catalogue_swap(answer: Answer, scene: Scene, args: Args) -> None:
    open_now = scene.world.open_indexes
    answer.say(swap(answer.members(), args["share"], scene.world.catalogue.spares, open_now.__contains__))


def shrunk(answer: Answer, _scene: Scene, args: Args) -> None:
    courses = answer.members()
    answer.say(courses[: len(courses) - max(1, round(len(courses) * args["drop"]))] if courses else [])


def conflicting_duplicate(answer: Answer, _scene: Scene, _args: Args) -> None:
    courses = answer.members()
    conflict(courses)
    answer.say(courses)
