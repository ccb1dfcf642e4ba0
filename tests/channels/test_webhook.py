"""Webhooks: real posts to a real endpoint on loopback."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook, WebhookVerificationError

from tests.channels.hook_parcels import AT, SECRET, alert, build, opening, play, section, verification, word
from tests.support.clock import ManualClock
from vacancy.channels import webhook
from vacancy.channels.webhook import WebhookChannel
from vacancy.channels.webhook_secret import signing_secret
from vacancy.clock import Clock, SystemClock
from vacancy.model.messages import Dead, Kind, Outcome, Parcel, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import DeliverySettings, OperatorSettings, WebhookSettings
from vacancy.simulator.hooks import Hooks

HERE = Settings(webhook=WebhookSettings(allow_loopback=True))
Act = Callable[[Hooks, WebhookChannel], Awaitable[None]]


def with_hooks(act: Act, settings: Settings = HERE, clock: Clock | None = None, secret: str | None = None) -> None:
    async def run(hooks: Hooks, client: Client) -> None:
        await act(hooks, build(webhook, settings, client, clock or SystemClock()))

    play(Hooks(secret), run, clock)


def sent_body(parcel: Callable[[str], Parcel], clock: Clock | None = None) -> Any:
    bodies: list[Any] = []

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        assert isinstance(await channel.send(parcel(hooks.url)), Sent)
        bodies.append(hooks.records[0].json())
        assert hooks.records[0].headers["Content-Type"] == "application/json"

    with_hooks(act, clock=clock)
    return bodies[0]


def outcome(settings: Settings = HERE, **fault: Any) -> Outcome:
    found: list[Outcome] = []

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        hooks.fault(**fault)
        url = hooks.url + "/s3cret?token=s3cret"
        found.append(await channel.send(alert(url)))
        assert len(hooks.records) <= 1  # one try, and nothing is followed
        if not isinstance(found[0], Sent):
            assert "s3cret" not in found[0].message
            assert "127.0.0.1" not in found[0].message

    with_hooks(act, settings)
    return found[0]


# --- contacts


def reader(**settings: Any) -> WebhookChannel:
    clock = SystemClock()
    found = build(webhook, Settings(webhook=WebhookSettings(**settings)), Client(clock, user_agent="test"), clock)
    assert isinstance(found, WebhookChannel)
    return found


@pytest.mark.parametrize(
    ("text", "contact"),
    [
        (" HTTPS://Example.COM ", "https://example.com/"),
        ("https://example.com.:443/a/../Hook?b=1", "https://example.com/Hook?b=1"),
        ("https://example.com?b=1", "https://example.com/?b=1"),
        ("https://münchen.example/ä", "https://xn--mnchen-3ya.example/%C3%A4"),
        ("https://93.184.215.14:8443/", "https://93.184.215.14:8443/"),
    ],
)
def test_an_address_has_one_spelling(text: str, contact: str) -> None:
    channel = reader()
    assert channel.contact(text) == contact
    assert channel.contact(contact) == contact


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("http://example.com/", "https://"),
        ("ftp://example.com/", "https://"),
        ("example.com/hook", "https://"),
        ("https:///hook", "https://"),
        ("https://./hook", "https://"),
        ("https://me@example.com/", "user"),
        ("https://me:word@example.com/", "user"),
        ("https://example.com/#part", "#"),
        ("https://example.com/#", "#"),
        ("https://example.com/a b", "spaces"),
        ("https://example.com/a\nb", "spaces"),
        ("https://example.com:80/", "443"),
        ("https://example.com:22/", "443"),
        ("https://example.com:99999/", "such as"),
        ("https://127.0.0.1/", "on the internet"),
        ("https://localhost:8443/", "on the internet"),
        ("https://10.0.0.1/", "on the internet"),
        ("https://169.254.169.254/latest", "on the internet"),
        ("https://2130706433/", "on the internet"),
        ("https://[::1]:8443/", "on the internet"),
        ("https://[::ffff:10.0.0.1]/", "on the internet"),
        ("https://example.com/" + "a" * 240, "256"),
        ("https://example.com/" + "ä" * 100, "256"),
    ],
)
def test_other_addresses_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        reader().contact(text)


def test_loopback_is_for_trying_out() -> None:
    channel = reader(allow_loopback=True)
    assert channel.contact("http://LOCALHOST:8001/a") == "http://localhost:8001/a"
    assert channel.contact("http://127.0.0.1:80/") == "http://127.0.0.1/"
    for text in ("http://example.com/", "https://10.0.0.1/", "http://10.0.0.1/"):
        with pytest.raises(ValueError, match="on the internet"):
            channel.contact(text)


# --- the message


def test_an_opening_tells_all_that_the_feed_does() -> None:
    told = opening(section("12345"), section("54321", courseTitle="LINEAR <ALGEBRA> 线性"))
    body = sent_body(lambda url: alert(url, told, is_last=True))
    assert list(body) == ["type", "timestamp", "data"]
    assert body["type"] == "opening.opened"
    assert body["timestamp"] == "2026-01-05T11:59:30.000Z"
    data = body["data"]
    items = data.pop("items")
    assert data == {
        "openEventId": 41, "dedupeKey": "dedupe-41", "traceId": "trace-1", "source": "soc", "targetKey": "12025|NB",
        "eventAt": "2026-01-05T11:59:30.000Z", "detectedBy": "open_sections", "statusBefore": "Closed",
        "statusAfter": "Open", "timeZone": "America/New_York", "subscriptionId": 9, "topic": "soc:12025:NB:12345",
        "locale": "en-US", "isLast": True, "manageUrl": "https://vacancy.example/manage/9",
        "unsubscribeUrl": "https://vacancy.example/leave/9",
    }  # fmt: skip
    assert [item["itemKey"] for item in items] == ["12345", "54321"]
    assert items[1] == {
        "itemKey": "54321", "episode": 1, "sectionId": 7, "termId": "12025", "campusCode": "NB",
        "indexNumber": "54321", "link": "https://sis.rutgers.edu/soc/#keyword=54321&semester=12025",
        "payload": dict(told.items[1].payload),
    }  # fmt: skip


def test_one_opening_is_told_to_each_with_what_is_theirs() -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        told = opening()
        for number in (1, 2):
            await channel.send(alert(hooks.url, told, key=f"key-{number}", number=number))
        # What is open of it has changed since: the kept part must not be said again.
        await channel.send(alert(hooks.url, replace(told, items=(section("99999"),)), key="key-3"))
        first, second, third = (record.json()["data"] for record in hooks.records)
        assert (first["subscriptionId"], first["manageUrl"]) == (1, "https://vacancy.example/manage/1")
        assert (second["subscriptionId"], second["manageUrl"]) == (2, "https://vacancy.example/manage/2")
        assert first["items"] == second["items"]
        assert [item["itemKey"] for item in third["items"]] == ["99999"]

    with_hooks(act)


def test_only_so_many_openings_are_kept() -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        for number in range(100):
            await channel.send(alert(hooks.url, opening(number=number), key=str(number)))
        assert [record.json()["data"]["openEventId"] for record in hooks.records] == list(range(100))
        assert len(channel._bodies._kept) == 64

    with_hooks(act)


def test_words_about_a_subscription() -> None:
    clock = ManualClock()
    body = sent_body(lambda url: word(url, "ended", title="Data", time_zone="UTC", since=AT, odd={1, 2} - {2}), clock)
    assert body["type"] == "subscription.notice"
    assert body["timestamp"] == "2026-01-05T12:00:00.000Z"
    data = body["data"]
    assert (data["code"], data["traceId"], data["subscriptionId"]) == ("ended", "trace-2", 9)
    assert list(data["facts"]) == ["title", "timeZone", "since", "odd"]
    assert datetime.fromisoformat(data["facts"]["since"]) == AT
    assert data["unsubscribeUrl"] == "https://vacancy.example/leave/9"


def test_a_verification_has_its_link() -> None:
    body = sent_body(verification)
    assert body["type"] == "subscription.verification"
    assert body["data"]["verifyUrl"] == "https://vacancy.example/verify?token=abc"
    assert body["data"]["topic"] == "soc:12025:NB:12345"


def test_the_operator_is_told_on_a_machine_of_their_own() -> None:
    """Its address comes from the settings: what users may not reach, operators may."""

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        assert isinstance(await channel.send(alert(hooks.url)), Dead)
        assert isinstance(await channel.send(word(hooks.url, "trouble", Kind.OPERATOR, what="soc")), Sent)
        body = hooks.records[0].json()
        assert body["type"] == "operator.trouble"
        assert body["data"] == {"code": "trouble", "traceId": "trace-2", "facts": {"what": "soc"}}

    with_hooks(act, Settings())


# --- the signature


def test_the_owner_can_check_the_signature() -> None:
    secret = signing_secret(SECRET.derive, "hash-of-it", 9)
    assert secret.startswith("whsec_")

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        sent = await channel.send(alert(hooks.url, opening(section(courseTitle='"Ünï" 线性 \\ \u2028'))))
        assert isinstance(sent, Sent), sent
        record = hooks.records[0]
        assert sent.message_id == record.headers["webhook-id"]
        assert Webhook(secret).verify(record.body, dict(record.headers)) == record.json()
        for derive, whose, number in (
            (SECRET.derive, "another-hash", 9), (SECRET.derive, "hash-of-it", 8), (lambda _: b"k", "hash-of-it", 9),
        ):  # fmt: skip
            with pytest.raises(WebhookVerificationError):
                Webhook(signing_secret(derive, whose, number)).verify(record.body, dict(record.headers))
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(record.body + b" ", dict(record.headers))

    with_hooks(act, secret=secret)


def test_who_subscribes_an_address_once_more_cannot_sign_for_the_first() -> None:
    first, second, elsewhere = (signing_secret(SECRET.derive, *of) for of in (("a", 1), ("a", 2), ("b", 1)))
    assert len({first, second, elsewhere}) == 3
    assert first == signing_secret(SECRET.derive, "a", 1)


def test_the_operator_may_choose_what_signs() -> None:
    chosen = "whsec_" + base64.b64encode(b"a key of twenty-four bytes").decode()

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        assert isinstance(await channel.send(word(hooks.url, "trouble", Kind.OPERATOR, what="soc")), Sent)
        # Nobody else's are signed with it.
        assert isinstance(await channel.send(alert(hooks.url)), Retry)

    settings = Settings(webhook=WebhookSettings(allow_loopback=True),
                        operator=OperatorSettings(webhook_secret=SecretStr(chosen)))  # fmt: skip
    with_hooks(act, settings, secret=chosen)


def test_a_message_that_comes_again_is_known_by_its_id() -> None:
    clock = ManualClock()

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        hooks.fault(status=500)
        first = await channel.send(alert(hooks.url))
        assert isinstance(first, Retry)
        clock.pass_time(7)
        again = await channel.send(alert(hooks.url, attempt=2))
        other = await channel.send(alert(hooks.url, key="key-2"))
        assert isinstance(again, Sent)
        assert isinstance(other, Sent)
        failed, taken, third = hooks.records
        assert failed.headers["webhook-id"] == taken.headers["webhook-id"] == again.message_id
        assert third.headers["webhook-id"] == other.message_id != again.message_id
        assert failed.body == taken.body
        times = [int(record.headers["webhook-timestamp"]) for record in (failed, taken)]
        assert times[1] - times[0] == 7
        assert list(hooks.taken) == [again.message_id, other.message_id]

    with_hooks(act, clock=clock)


def test_an_id_is_fit_for_a_header_whatever_the_key_holds() -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        sent = await channel.send(alert(hooks.url, key="a|b.c\r\nX-Injected: 1 é"))
        assert isinstance(sent, Sent)
        assert sent.message_id.replace("msg_", "").isalnum()
        assert "X-Injected" not in hooks.records[0].headers

    with_hooks(act)


# --- outcomes


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_taken(status: int) -> None:
    assert isinstance(outcome(status=status), Sent)


def test_an_endpoint_that_is_gone_ends_its_subscriptions() -> None:
    found = outcome(status=410)
    assert isinstance(found, Dead)
    assert (found.contact_is, found.alarm) == ("gone", False)


@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        hooks.fault(status=status, headers={"Location": f"{hooks.origin}/elsewhere"})
        found = await channel.send(alert(hooks.url))
        assert found == Dead("redirect", f"the endpoint answered {status}, and redirects are not followed",
                             provider="webhook")  # fmt: skip
        assert [record.path for record in hooks.records] == ["/hook"]

    with_hooks(act)


@pytest.mark.parametrize(
    ("status", "headers", "code", "after_s"),
    [
        (429, {"Retry-After": "30"}, "rate_limited", 30),
        (429, {}, "rate_limited", None),
        (429, {"Retry-After": "soon"}, "rate_limited", None),
        (503, {"Retry-After": "120"}, "provider_error", 120),
        (500, {}, "provider_error", None),
        (502, {}, "provider_error", None),
        (400, {}, "provider_error", None),
        (401, {}, "provider_error", None),
        (403, {}, "provider_error", None),
        (404, {}, "provider_error", None),
        (405, {}, "provider_error", None),
    ],
)
def test_trouble_of_one_endpoint_is_its_own_attempt(
    status: int, headers: dict[str, str], code: str, after_s: float | None
) -> None:
    """Never a breaker: one endpoint must not hold up everybody else's."""
    found = outcome(status=status, headers=headers)
    assert isinstance(found, Retry)
    assert (found.code, found.after_s, found.provider) == (code, after_s, "webhook")


def test_a_connection_that_breaks_off() -> None:
    found = outcome(drop=True)
    assert isinstance(found, Retry)
    assert found.code == "network_error"


def test_an_endpoint_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "_TIMEOUT_S", 0.05)
    found = outcome(delay_s=60)
    assert isinstance(found, Retry)
    assert (found.code, found.message) == ("network_error", "the endpoint did not answer in time")


def test_nobody_listens() -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        url = hooks.url
        await hooks.stop()
        found = await channel.send(alert(url))
        assert isinstance(found, Retry)
        assert found.code == "network_error"

    with_hooks(act)


def test_an_endless_answer_is_not_read() -> None:
    found = outcome(status=200, body=b"x" * 100_000)
    assert isinstance(found, Dead)
    assert not found.alarm


@pytest.mark.parametrize("url", ["{origin}/hook", "https://10.0.0.1/hook", "http://192.168.0.1/", "https://[::1]/"])
def test_the_guard_keeps_users_off_what_is_ours(url: str) -> None:
    """Rows may be older than the rules that addresses are read by: it is looked at again when it is sent."""

    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        found = await channel.send(alert(url.format(origin=hooks.origin)))
        assert isinstance(found, Dead)
        assert (found.code, found.alarm, found.contact_is) == ("address_refused", False, None)
        assert hooks.records == []

    with_hooks(act, Settings())


def test_there_is_nothing_to_probe_and_the_pace_is_the_settings() -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        assert not channel.verifies
        assert (channel.pace.per_second, channel.pace.contact_gap_s) == (25, 0)
        await channel.probe()
        await channel.close()
        assert hooks.records == []

    with_hooks(act, Settings(delivery=DeliverySettings(webhook_per_second=25)))


def test_bodies_are_json_without_gaps() -> None:
    async def act(hooks: Hooks, channel: WebhookChannel) -> None:
        await channel.send(alert(hooks.url))
        body = hooks.records[0].body
        assert json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode() == body

    with_hooks(act)
