"""One request to an upstream: what its answer means, and what of it may be repeated."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from tests.support.clock import ManualClock

from vacancy.model.availability import Failed, Trouble
from vacancy.net.client import Client, Reach, Response
from vacancy.sources.upstream import fetch, post

SECRET = "s3cret-of-a-test"


def asked(answer: web.Response, *, by_get: bool = False, **more: bool) -> Response | Failed:
    async def respond(request: web.Request) -> web.Response:
        assert await request.read() == (b"" if by_get else b"{}")
        assert request.headers["X-Key"] == SECRET
        return answer

    async def run() -> Response | Failed:
        app = web.Application()
        app.router.add_route("*", "/search", respond)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        client = Client(ManualClock(), user_agent="test")
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            url, keys = f"http://127.0.0.1:{runner.addresses[0][1]}/search", {"X-Key": SECRET}
            if by_get:
                return await fetch(
                    client,
                    url,
                    reach=Reach.UPSTREAM,
                    timeout_s=5,
                    max_bytes=100_000,
                    headers=keys,
                    secrets=[SECRET],
                    **more,
                )
            return await post(
                client, url, reach=Reach.UPSTREAM, timeout_s=5, max_bytes=100_000, body=b"{}", headers=keys,
                secrets=[SECRET],
            )  # fmt: skip
        finally:
            await client.close()
            await runner.cleanup()

    return asyncio.run(run())


def test_json_is_an_answer() -> None:
    answer = asked(web.json_response([1]))
    assert isinstance(answer, Response)
    assert answer.body == b"[1]"


@pytest.mark.parametrize("by_get", [True, False])
@pytest.mark.parametrize("before", ["", "x" * 195, "x" * 184])
def test_an_upstream_that_repeats_a_secret_gets_none_of_it_into_the_message(before: str, *, by_get: bool) -> None:
    answer = asked(web.Response(status=400, text=f"{before}{SECRET} and more"), by_get=by_get)
    assert isinstance(answer, Failed)
    assert SECRET[:4] not in answer.message


def test_other_types_of_json_are_taken_where_they_are_asked_for() -> None:
    geo = {"body": b"[1]", "content_type": "application/geo+json"}
    assert isinstance(asked(web.Response(**geo), by_get=True, any_json=True), Response)  # type: ignore[arg-type]
    assert isinstance(asked(web.Response(**geo), by_get=True), Failed)  # type: ignore[arg-type]
    text = web.Response(body=b"[1]", content_type="text/x+json")
    assert isinstance(asked(text, by_get=True, any_json=True), Failed)


@pytest.mark.parametrize(
    ("status", "place", "trouble"),
    [
        (302, "https://resy.com/login?then=/", Trouble.UNAUTHORIZED),
        (303, "/account/Sign-In", Trouble.UNAUTHORIZED),
        (302, "/elsewhere?login=1", Trouble.REFUSED),
        (302, "http://[", Trouble.REFUSED),
        (200, "/login", Trouble.UNREADABLE),
        (419, "/", Trouble.UNAUTHORIZED),
    ],
)
def test_a_way_to_a_login_means_that_we_are_not_let_in(status: int, place: str, trouble: Trouble) -> None:
    answer = asked(web.Response(status=status, text="", headers={"Location": place}))
    assert isinstance(answer, Failed)
    assert answer.trouble is trouble
