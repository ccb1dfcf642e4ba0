"""Apprise's own code against an endpoint on loopback: what it sends, what it may not do, what becomes of it."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from tests.channels.hook_parcels import SECRET, alert, build, play, verification
from tests.support.desks import make_desk
from vacancy import channels, logs
from vacancy.channels import apprise
from vacancy.channels.apprise import LONGEST, AppriseChannel
from vacancy.channels.base import Kit
from vacancy.clock import Dice, SystemClock
from vacancy.errors import SettingsError, UserError
from vacancy.model.messages import Dead, Outcome, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings, load
from vacancy.settings_sections import AppriseSettings
from vacancy.simulator.hooks import Hooks
from vacancy.store.engine import Store

SCHEMAS = ("json", "jsons", "ntfys", "pover")
HERE = Settings(apprise=AppriseSettings(enabled=True, allowed_schemas=SCHEMAS, allow_loopback=True))
ABROAD = Settings(apprise=AppriseSettings(enabled=True, allowed_schemas=SCHEMAS))
Act = Callable[[Hooks, AppriseChannel], Awaitable[None]]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def with_sink(act: Act, settings: Settings = HERE) -> None:
    async def run(hooks: Hooks, client: Client) -> None:
        channel = build(apprise, settings, client, SystemClock())
        try:
            await act(hooks, channel)
        finally:
            await channel.close()

    play(Hooks(), run)


def at(hooks: Hooks, path: str = "/s3cret") -> str:
    return hooks.origin.replace("http://", "json://") + path


def outcome(query: str = "", settings: Settings = HERE, **fault: Any) -> Outcome:
    found: list[Outcome] = []

    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        hooks.fault(**fault)
        found.append(await channel.send(alert(at(hooks) + query)))
        assert len(hooks.records) == 1
        assert "s3cret" not in repr(found)

    with_sink(act, settings)
    return found[0]


def reader(settings: Settings = ABROAD) -> AppriseChannel:
    clock = SystemClock()
    found = build(apprise, settings, Client(clock, user_agent="test"), clock)
    assert isinstance(found, AppriseChannel)
    return found


def test_an_opening_arrives_in_plain_words() -> None:
    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        sent = await channel.send(alert(channel.contact(at(hooks))))
        assert isinstance(sent, Sent)
        said = hooks.records[0].json()
        assert said["title"] == "Open: DATA STRUCTURES, section 03 (12345)"
        assert "https://sis.rutgers.edu/soc/#keyword=12345&semester=12025" in said["message"]
        assert "https://vacancy.example/manage/9" in said["message"]
        again = await channel.send(alert(at(hooks), attempt=2))
        other = await channel.send(alert(at(hooks), key="key-2"))
        assert sent == again != other

    with_sink(act)


def test_an_address_is_confirmed_by_a_link() -> None:
    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        assert channel.verifies
        assert isinstance(await channel.send(verification(at(hooks))), Sent)
        assert "https://vacancy.example/verify?token=abc" in hooks.records[0].json()["message"]

    with_sink(act)


@pytest.mark.parametrize(
    "text",
    [
        " JSON://Example.com/a?method=post ",
        "jsons://user:pass@example.com:8443/a?+X-Key=b",
        "ntfys://ntfy.sh/topic?priority=high",
        "pover://user@token",
        # What it asks of our side is not for a URL to say.
        "json://example.com/?retry=5&wait=60&optional=yes&verify=no&redirect=yes&rto=900&cto=900",
    ],
)
def test_an_address_has_one_spelling(text: str) -> None:
    channel = reader()
    written = channel.contact(text)
    assert channel.contact(written) == written
    for word in ("optional=yes", "verify=no", "redirect=yes", "retry=5", "900"):
        assert word not in written


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "must be an Apprise URL"),
        ("example.com", "must be an Apprise URL"),
        ("mailto://a:b@example.com", "must begin with one of json://"),
        ("file:///etc/passwd", "must begin with one of"),
        ("syslog://", "must begin with one of"),
        ("json://example.com/ä", "must be written in plain characters"),
        ("json://example.com/a b", "must be written in plain characters"),
        ("json://", "must be a whole json:// URL"),
        ("pover://token", "must be a whole pover:// URL"),
        ("ntfys://ntfy.sh/one/two", "must name one recipient"),
        ("json://127.0.0.1/", "must name a host on the internet"),
        ("json://localhost:8000/", "must name a host on the internet"),
        ("json://10.0.0.1/", "must name a host on the internet"),
        ("json://[::1]:8000/", "must name a host on the internet"),
        ("json://169.254.169.254/latest", "must name a host on the internet"),
        ("json://2130706433/", "must name a host on the internet"),
        ("json://example.com:22/", "must name a host on the internet"),
        ("json://example.com/" + "a" * LONGEST, "must be at most"),
        ("json://example.com/" + "%" * 500, "must be at most"),
    ],
)
def test_other_addresses_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        reader().contact(text)


@given(
    st.sampled_from(["", "json://", "ntfys://", "pover://"]),
    st.text(st.sampled_from("aB1/:@?&=+%#[].-_~!$'") | st.characters(), max_size=60),
)
def test_whatever_is_given_is_read_or_refused_in_a_line(schema: str, text: str) -> None:
    channel = reader()
    try:
        written = channel.contact(schema + text)
    except ValueError:
        return
    assert channel.contact(written) == written


@pytest.mark.parametrize("status", [301, 400, 401, 404, 410, 429, 500, 503])
def test_apprise_does_not_say_why(status: int) -> None:
    found = outcome(status=status, headers={"Location": "/elsewhere"})
    assert found == Retry("provider_error", "the service did not take it, and Apprise does not say why",
                          provider="apprise")  # fmt: skip


def test_a_connection_that_breaks_off() -> None:
    assert isinstance(outcome(drop=True), Retry)


def test_a_service_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise, "_READ_S", 0.05)
    assert isinstance(outcome(delay_s=60), Retry)


@pytest.mark.parametrize("query", ["?retry=3&wait=0", "?optional=yes", "?redirect=yes"])
def test_a_url_may_not_ask_for_more_than_one_honest_try(query: str) -> None:
    assert isinstance(outcome(query, status=302, headers={"Location": "/elsewhere"}), Retry)


def test_a_name_that_leads_inside_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its spelling it is fine; what it resolves to at the last moment is not."""

    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        port = int(hooks.origin.rpartition(":")[2])
        inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: inside)
        contact = channel.contact(f"json://rebinding.example:{port}/")
        found = await channel.send(alert(contact))
        assert isinstance(found, Dead)
        assert (found.code, found.alarm) == ("address_refused", False)
        assert hooks.records == []

    with_sink(act, ABROAD)
    # And not because loopback is never reached: where it is allowed, it is by its own name alone.
    with_sink(act, HERE)


def test_what_is_not_allowed_any_more_is_not_sent() -> None:
    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        for contact in (at(hooks), "mailto://a:b@example.com"):
            found = await channel.send(alert(contact))
            assert isinstance(found, Dead)
            assert found.code == "invalid_recipient"
        assert hooks.records == []

    with_sink(act, ABROAD)


def test_one_that_hangs_holds_up_no_other() -> None:
    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        hooks.fault(delay_s=60, path="/slow")
        waiting = asyncio.ensure_future(channel.send(alert(at(hooks, "/slow"))))
        await hooks.arrived()
        assert isinstance(await channel.send(alert(at(hooks))), Sent)
        assert not waiting.done()
        await hooks.stop()
        assert isinstance(await waiting, Retry)

    with_sink(act)


def test_nothing_of_an_address_is_logged() -> None:
    log = io.StringIO()
    logs.configure("json", "debug", log)

    async def act(hooks: Hooks, channel: AppriseChannel) -> None:
        hooks.fault(status=500)
        hooks.fault(drop=True)
        for _ in range(3):
            await channel.send(alert(at(hooks, "/s3cret?+X-Key=s3cret")))
        with pytest.raises(ValueError, match="must"):
            channel.contact("pover://s3cret")
        assert len(hooks.records) == 3

    with_sink(act)
    logging.getLogger("vacancy").info("the log is open")
    assert "the log is open" in log.getvalue()
    assert "s3cret" not in log.getvalue()
    assert "127.0.0.1" not in log.getvalue()


def test_without_the_library_it_cannot_be_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    monkeypatch.delitem(sys.modules, "vacancy.channels.apprise")
    clock = SystemClock()
    kit = Kit(HERE, clock, Dice(1), Client(clock, user_agent="test"), cast("Store", None), SECRET.derive)
    with pytest.raises(SettingsError, match=r"apprise\.enabled: the library is not here; install it"):
        channels.build(kit)


def test_it_is_off_unless_an_operator_wants_it() -> None:
    assert "apprise" not in make_desk().channels
    with pytest.raises(UserError, match="apprise cannot be reached here yet") as refused:
        make_desk().channel("apprise")
    assert refused.value.code == "channel_unavailable"


@pytest.mark.parametrize("schema", ["mqtt", "xmpps", "MACOSX", "a b", "", "https://x"])
def test_what_the_guard_cannot_see_cannot_be_allowed(schema: str) -> None:
    with pytest.raises(SettingsError, match="VACANCY_APPRISE__ALLOWED_SCHEMAS: "):
        load(None, {"VACANCY_APPRISE__ALLOWED_SCHEMAS": json.dumps([schema])})


def test_schemas_are_read_in_any_spelling() -> None:
    assert load(None, {"VACANCY_APPRISE__ALLOWED_SCHEMAS": "NTFYS://, pover"}).apprise.allowed_schemas == (
        "ntfys", "pover",
    )  # fmt: skip
