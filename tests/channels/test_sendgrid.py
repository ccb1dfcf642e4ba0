"""SendGrid against a server on loopback that refuses what the real one refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from tests.support.clock import START, ManualClock
from tests.support.mails import TO, mail
from vacancy.channels.mail import SendError, SendResult
from vacancy.channels.sendgrid import SendgridSender
from vacancy.net.client import Client, Reach
from vacancy.simulator.sendgrid import FakeSendgrid

KEY = "SG.s3cret-key"
Play = Callable[[FakeSendgrid, SendgridSender], Awaitable[None]]


def plays(play: Play, *, key: str = KEY, timeout_s: float = 5, fake: FakeSendgrid | None = None) -> None:
    async def main() -> None:
        clock = ManualClock()
        provider = fake or FakeSendgrid(KEY)
        await provider.start()
        client = Client(clock, user_agent="vacancy/test")
        sender = SendgridSender(client, clock, base_url=provider.origin, api_key=key, timeout_s=timeout_s)
        try:
            await play(provider, sender)
        finally:
            await sender.close()
            await client.close()
            await provider.stop()

    asyncio.run(main())


def error_of(result: SendResult) -> SendError:
    assert result.error is not None
    assert TO not in str(result.error)
    assert KEY not in str(result.error)
    return result.error


def test_a_mail_is_taken_as_the_api_wants_it() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        result = await sender.send(mail(reply_to="Help <help@house.example>"))
        assert (result.status, result.provider, result.provider_message_id) == ("sent", "sendgrid", "loopback-1")
        body = fake.mails[0]
        assert body["personalizations"] == [{"to": [{"email": TO}]}]
        assert body["from"] == {"email": "vacancy@house.example", "name": "Vacancy"}
        assert body["reply_to"] == {"email": "help@house.example", "name": "Help"}
        assert body["subject"] == "1 seat"
        assert body["content"] == [
            {"type": "text/plain", "value": "There is a seat."},
            {"type": "text/html", "value": "<p>There is a seat.</p>"},
        ]
        assert body["custom_args"] == {
            "dedupe_key": "d1:7", "trace_id": "t1", "template_version": "v1", "subscription_id": "7",
            "open_event_id": "3",
        }  # fmt: skip
        assert body["headers"] == {
            "List-Unsubscribe": "<https://house.example/u?token=tok3n>",
            "Message-ID": "<m1@house.example>",
            "X-Trace-Id": "t1",
        }
        assert {name for name, setting in body["tracking_settings"].items() if not setting["enable"]} == {
            "click_tracking", "open_tracking", "subscription_tracking",
        }  # fmt: skip
        asked = fake.records[0]
        assert (asked.method, asked.path) == ("POST", "/v3/mail/send")
        assert asked.headers["Authorization"] == f"Bearer {KEY}"
        assert asked.headers["X-Trace-Id"] == "t1"

    plays(play)


def test_without_an_id_of_its_own_the_mail_keeps_ours() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        fake.fault(status=202)
        assert (await sender.send(mail())).provider_message_id == "m1@house.example"

    plays(play)


TABLE: list[tuple[int, Mapping[str, str], tuple[str, str, bool], float | None]] = [
    (200, {}, ("failed", "unknown", True), None),
    (204, {}, ("failed", "unknown", True), None),
    (302, {"Location": "/"}, ("failed", "unknown", True), None),
    (400, {}, ("failed", "provider_error", True), None),
    (401, {}, ("failed", "unauthorized", False), None),
    (403, {}, ("failed", "unauthorized", False), None),
    (404, {}, ("failed", "provider_error", True), None),
    (413, {}, ("failed", "provider_error", True), None),
    (429, {}, ("retryable", "rate_limited", False), 30),
    (429, {"Retry-After": "7"}, ("retryable", "rate_limited", False), 7),
    (429, {"Retry-After": "0"}, ("retryable", "rate_limited", False), 0),
    (429, {"Retry-After": "soon"}, ("retryable", "rate_limited", False), 30),
    (429, {"Retry-After": format_datetime(START + timedelta(seconds=90), usegmt=True)},
     ("retryable", "rate_limited", False), 90),
    (500, {}, ("retryable", "provider_error", True), None),
    (503, {"Retry-After": "20"}, ("retryable", "provider_error", True), 20),
]  # fmt: skip


@pytest.mark.parametrize(("status", "headers", "told", "after_s"), TABLE)
def test_what_a_status_means(
    status: int, headers: Mapping[str, str], told: tuple[str, str, bool], after_s: float | None
) -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        fake.fault(status=status, headers=headers, body={"errors": [{"message": f"no\n{TO} with {KEY}, a@b.example"}]})
        result = await sender.send(mail())
        assert (result.status, error_of(result).code, result.begun) == told
        assert result.retry_after_s == after_s
        said = "" if status == 204 else " no *** with ***, ***"
        assert error_of(result).message == f"sendgrid answered {status}{said}"
        assert error_of(result).detail == str(status)
        assert (await sender.send(mail())).status == "sent"

    plays(play)


@pytest.mark.parametrize(
    "body", ["", "<html>", "[]", "{}", '{"errors": {}}', '{"errors": ["x"]}', '{"errors": []}', b"\xff"]
)
def test_a_complaint_that_cannot_be_read(body: str | bytes) -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        fake.fault(status=400, body=body)
        assert error_of(await sender.send(mail())).message == "sendgrid answered 400"

    plays(play)


def test_what_the_service_itself_would_refuse() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        result = await sender.send(replace(mail(), to="nobody"))
        assert (result.status, error_of(result).code) == ("failed", "provider_error")
        for broken in ({"subject": ""}, {"text": ""}, {"sender": "x"}, {"headers": {"Subject": "twice"}}):
            assert (await sender.send(mail(**broken))).status == "failed"
        assert fake.mails == []

    plays(play)


def test_a_wrong_key() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        for result in (await sender.send(mail()), await sender.verify()):
            assert (result.status, error_of(result).code, result.begun) == ("failed", "unauthorized", False)

    plays(play, key="SG.other")


def test_a_connection_that_breaks_may_have_taken_the_mail() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        fake.fault(drop=True)
        result = await sender.send(mail())
        assert (result.status, error_of(result).code, result.begun) == ("retryable", "network_error", True)

    plays(play)


def test_an_answer_that_does_not_come() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        fake.fault(delay_s=60)
        result = await sender.send(mail())
        assert (result.status, error_of(result).code, result.begun) == ("retryable", "network_error", True)

    plays(play, timeout_s=0.1)


def test_nobody_listens_so_nothing_was_begun() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        await fake.stop()
        for result in (await sender.send(mail()), await sender.verify()):
            assert (result.status, error_of(result).code, result.begun) == ("retryable", "network_error", False)

    plays(play)


def test_verify_asks_what_the_key_may_do_and_sends_nothing() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        assert (await sender.verify()).status == "sent"
        assert [(asked.method, asked.path) for asked in fake.records] == [("GET", "/v3/scopes")]
        fake.fault(status=429, headers={"Retry-After": "9"})
        result = await sender.verify()
        assert (error_of(result).code, result.retry_after_s, result.begun) == ("rate_limited", 9, False)
        assert fake.mails == []

    plays(play)


def test_a_key_that_may_not_send() -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        result = await sender.verify()
        assert (result.status, error_of(result).code, result.begun) == ("failed", "unauthorized", False)
        assert "mail.send" in error_of(result).message

    plays(play, fake=FakeSendgrid(KEY, scopes=["stats.read"]))


@pytest.mark.parametrize("scopes", [b"{}", b"[]", b"x"])
def test_scopes_that_cannot_be_read_stop_nothing(scopes: bytes) -> None:
    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        fake.fault(status=200, body=scopes)
        assert (await sender.verify()).status == "sent"

    plays(play)


def test_the_fake_itself_is_strict() -> None:
    good: dict[str, Any] = {
        "personalizations": [{"to": [{"email": "a@b.example"}]}],
        "from": {"email": "c@d.example"},
        "subject": "x",
        "content": [{"type": "text/plain", "value": "x"}],
    }
    text, html = {"type": "text/plain", "value": "x"}, {"type": "text/html", "value": "x"}
    broken: list[dict[str, Any]] = [
        {"personalizations": []}, {"personalizations": [{"to": []}]}, {"personalizations": [{"to": [{"email": "a"}]}]},
        {"from": {}}, {"reply_to": {"email": ""}}, {"subject": ""}, {"content": []}, {"content": [html, text]},
        {"content": [{"type": "text/plain", "value": ""}]}, {"headers": {"To": "x"}}, {"headers": {"X": 1}},
        {"custom_args": {"a": 1}}, {"custom_args": {"a": "x" * 10_000}},
    ]  # fmt: skip

    async def play(fake: FakeSendgrid, sender: SendgridSender) -> None:
        from_here = Client(ManualClock(), user_agent="x")
        try:
            for body, status in [(good, 202), *(({**good, **change}, 400) for change in broken)]:
                assert await post(from_here, fake, body) == status, body
        finally:
            await from_here.close()

    plays(play)


async def post(client: Client, fake: FakeSendgrid, body: object) -> int:
    answer = await client.post(
        f"{fake.origin}/v3/mail/send",
        reach=Reach.UPSTREAM,
        timeout_s=5,
        max_bytes=10_000,
        body=json.dumps(body).encode(),
        content_type="application/json",
        headers={"Authorization": f"Bearer {KEY}"},
    )
    return answer.status
