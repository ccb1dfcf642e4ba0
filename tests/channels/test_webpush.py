"""Web push against a service that opens what it is sent, and checks who signed it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import http_ece  # type: ignore[import-untyped]
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.channels.chat_parcels import LINK, MANAGE, SECRET, alert, kit, notice, opening, verification
from tests.support.clock import ManualClock
from vacancy.channels import webpush
from vacancy.channels.webpush import LARGEST_PAYLOAD, LONGEST, Webpush, payload, public_key, subject
from vacancy.channels.webpush_crypto import _ORDER, b64, browser_keys, private_key, unb64
from vacancy.model.messages import Dead, Outcome, Parcel, Retry, Sent
from vacancy.net.client import Client
from vacancy.settings import Settings
from vacancy.settings_sections import WebpushSettings
from vacancy.simulator.push import OTHER_KEY, Browser, PushService

HERE = Settings(webpush=WebpushSettings(allow_loopback=True, contact="mailto:desk@vacancy.example", ttl_s=300))
Act = Callable[[PushService, Webpush, ManualClock], Awaitable[None]]
P256DH = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"


def play(act: Act, chosen: Settings = HERE) -> None:
    async def main() -> None:
        clock = ManualClock()
        service, client = PushService(clock), Client(clock, user_agent="vacancy/test")
        await service.start()
        try:
            await act(service, webpush.build(kit(chosen, client, clock)), clock)
        finally:
            await client.close()
            await service.stop()

    asyncio.run(main())


def channel(chosen: Settings = Settings()) -> Webpush:  # noqa: B008 - frozen
    clock = ManualClock()
    return webpush.build(kit(chosen, Client(clock, user_agent="vacancy/test"), clock))


def outcome_of(arrange: Callable[[PushService, Browser], object], parcel: Callable[[str], Parcel] = alert) -> Outcome:
    got: list[Outcome] = []

    async def act(service: PushService, channel: Webpush, clock: ManualClock) -> None:
        browser = service.subscribe(public_key(SECRET.derive))
        arrange(service, browser)
        got.append(await channel.send(parcel(channel.contact(browser.subscription()))))
        assert browser.endpoint.rpartition("/")[2] not in repr(got)

    play(act)
    return got[0]


def given_subscription(endpoint: str = "https://push.example/abc", **changes: Any) -> str:
    whole = {"endpoint": endpoint, "expirationTime": None, "keys": {"p256dh": P256DH, "auth": AUTH}}
    return json.dumps(whole | changes, indent=1)


def test_a_message_arrives_and_can_be_opened_by_its_browser_alone() -> None:
    async def act(service: PushService, channel: Webpush, clock: ManualClock) -> None:
        browser = service.subscribe(public_key(SECRET.derive))
        contact = channel.contact(browser.subscription())
        outcome = await channel.send(alert(contact))
        (pushed,) = browser.messages
        assert outcome == Sent("webpush", str(pushed.topic))
        assert pushed.payload == {
            "title": "Open: DATA STRUCTURES (12345)",
            "body": pushed.payload["body"],
            "url": LINK,
            "tag": pushed.topic,
            "manageUrl": MANAGE,
            "manage": "Manage",
        }
        assert "It may be gone already" in pushed.payload["body"]
        assert (pushed.ttl_s, pushed.urgency) == (300, "high")
        assert b"STRUCTURES" not in service.records[0].body

    play(act)


def test_who_sends_it_is_signed_for_that_service_and_half_a_day() -> None:
    async def act(service: PushService, channel: Webpush, clock: ManualClock) -> None:
        browser = service.subscribe(public_key(SECRET.derive))
        contact = channel.contact(browser.subscription())
        for _ in range(3):
            assert isinstance(await channel.send(alert(contact)), Sent)
            claims = browser.messages[-1].claims
            assert claims["aud"] == service.origin
            assert claims["sub"] == "mailto:desk@vacancy.example"
            assert 11 * 3600 <= claims["exp"] - clock.now().timestamp() <= 12 * 3600
            clock.pass_time(20 * 3600)
        signed = [record.headers["Authorization"] for record in service.records]
        assert len(set(signed)) == 3
        await channel.send(alert(contact))
        await channel.send(alert(contact))
        assert service.records[-1].headers["Authorization"] == service.records[-2].headers["Authorization"]

    play(act)


def test_a_second_try_replaces_the_first_and_another_opening_does_not() -> None:
    async def act(service: PushService, channel: Webpush, clock: ManualClock) -> None:
        browser = service.subscribe(public_key(SECRET.derive))
        contact = channel.contact(browser.subscription())
        for key in ("one", "one", "two"):
            await channel.send(alert(contact, opening(dedupe_key=key)))
        assert (len(browser.messages), len(browser.waiting)) == (3, 2)
        topics = {message.topic for message in browser.messages}
        assert all(len(str(topic)) == 32 for topic in topics)
        # The service must not be able to find out by trying whose opening it is.
        assert b64(hashlib.sha256(b"one").digest()[:24]) not in topics

    play(act)


def test_words_that_are_not_about_an_opening() -> None:
    async def act(service: PushService, channel: Webpush, clock: ManualClock) -> None:
        browser = service.subscribe(public_key(SECRET.derive))
        contact = channel.contact(browser.subscription())
        assert isinstance(await channel.send(notice(contact)), Sent)
        assert isinstance(await channel.send(verification(contact)), Sent)
        assert browser.messages[0].payload["url"] == MANAGE
        assert "s3cret-verify" in browser.messages[1].payload["url"]

    play(act)


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_is_gone(status: int) -> None:
    found = outcome_of(lambda service, _: service.fault(status=status))
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("recipient_gone", False, "gone")


def test_a_browser_that_unsubscribed() -> None:
    def leave(service: PushService, browser: Browser) -> None:
        browser.gone = True

    assert getattr(outcome_of(leave), "contact_is", None) == "gone"


@pytest.mark.parametrize(
    ("status", "body"),
    [(403, OTHER_KEY), (400, '{"reason":"VapidPkHashMismatch"}'), (401, '{"message": "VAPID public key mismatch"}')],
)
def test_a_browser_that_subscribed_under_another_key_is_gone(status: int, body: str) -> None:
    found = outcome_of(lambda service, _: service.fault(status=status, body=body))
    assert isinstance(found, Dead)
    assert found.contact_is == "gone"


def test_another_secret_is_noticed_by_the_service_itself() -> None:
    def resubscribe(service: PushService, browser: Browser) -> None:
        browser.server_key = public_key(lambda purpose: b"another secret" + purpose.encode())

    assert getattr(outcome_of(resubscribe), "contact_is", None) == "gone"


@pytest.mark.parametrize("status", [401, 403])
def test_a_fault_of_ours_costs_nobody_the_subscription(status: int) -> None:
    found = outcome_of(lambda service, _: service.fault(status=status, body='{"reason":"BadJwtToken"}'))
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("unauthorized", True, None)


@pytest.mark.parametrize("status", [400, 413, 415])
def test_what_a_service_does_not_take_is_an_alarm(status: int) -> None:
    found = outcome_of(lambda service, _: service.fault(status=status))
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("provider_error", True, None)


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limited"), (406, "rate_limited"), (503, "provider_error")])
def test_a_service_that_asks_to_wait(status: int, code: str) -> None:
    found = outcome_of(lambda service, _: service.fault(status=status, headers={"Retry-After": "12"}))
    assert found == Retry(code, f"the push service answered {status}", 12, "webpush")


def test_a_service_that_hangs_up_is_not_the_channels_trouble() -> None:
    found = outcome_of(lambda service, _: service.fault(drop=True))
    assert isinstance(found, Retry)
    assert found.code == "network_error"


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_taken(status: int) -> None:
    assert isinstance(outcome_of(lambda service, _: service.fault(status=status)), Sent)


def test_an_endless_answer_is_not_asked_for_again() -> None:
    """It may have been taken: another try would be another message."""
    found = outcome_of(lambda service, _: service.fault(status=201, body="x" * 100_000))
    assert isinstance(found, Dead)
    assert (found.code, found.alarm, found.contact_is) == ("provider_error", False, None)


def test_an_address_that_leads_inside_is_not_connected_to() -> None:
    async def act(service: PushService, _: Webpush, clock: ManualClock) -> None:
        browser = service.subscribe(public_key(SECRET.derive))
        client = Client(clock, user_agent="vacancy/test")
        strict = webpush.build(kit(Settings(), client, clock))
        found = await strict.send(alert(browser.subscription()))
        await client.close()
        assert isinstance(found, Dead)
        assert not found.alarm
        assert service.records == []

    play(act)


def test_a_contact_that_was_spoilt_is_an_alarm() -> None:
    found = outcome_of(lambda *_: None, lambda _: alert('{"endpoint": "https://push.example"}'))
    assert isinstance(found, Dead)
    assert found.alarm


def test_a_subscription_has_one_spelling() -> None:
    written = channel().contact(given_subscription("HTTPS://Push.Example:443/a%7Eb?q=1#part"))
    assert written == (
        '{"endpoint":"https://push.example/a~b?q=1","keys":{"auth":"' + AUTH + '","p256dh":"' + P256DH + '"}}'
    )
    assert channel().contact(written) == written
    padded = given_subscription(keys={"p256dh": P256DH + "=", "auth": AUTH + "=="}).replace("abc", "a~b?q=1")
    assert channel().contact(padded) == written


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "JSON"),
        ("[]", "JSON"),
        ("[" * 1000, "JSON"),
        ('"\ud800"', "JSON"),
        (given_subscription(keys=None), "JSON"),
        (given_subscription(keys={"p256dh": P256DH}), "each a text"),
        (given_subscription(endpoint=7), "each a text"),  # type: ignore[arg-type]
        (given_subscription("http://push.example/a"), "endpoint"),
        (given_subscription("https://user:pw@push.example/a"), "endpoint"),
        (given_subscription("https://127.0.0.1:9/a"), "endpoint"),
        (given_subscription("https://10.1.2.3/a"), "endpoint"),
        (given_subscription("https://[/a"), "endpoint"),
        (given_subscription("/relative"), "endpoint"),
        (given_subscription("https://push.example/" + "a" * 800, keys={"p256dh": P256DH, "auth": "x" * 200}), "most"),
        (given_subscription(keys={"p256dh": P256DH[:-2], "auth": AUTH}), "keys"),
        (given_subscription(keys={"p256dh": P256DH, "auth": AUTH[:-2]}), "keys"),
        (given_subscription(keys={"p256dh": P256DH, "auth": AUTH[:-1] + "+"}), "keys"),
        (given_subscription(keys={"p256dh": "B" + "A" * 86, "auth": AUTH}), "keys"),
    ],
)
def test_what_is_no_subscription(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        channel().contact(text)


def test_the_longest_subscription_fits() -> None:
    room = LONGEST - len(channel().contact(given_subscription("https://push.example/")))
    written = channel().contact(json.dumps(json.loads(given_subscription("https://push.example/" + "a" * (room - 30)))))
    assert len(written) == LONGEST - 30


@given(st.text(max_size=40) | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_contact_raises_anything_but_a_line(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        channel().contact(text)


def test_a_sealed_message_is_as_the_standard_has_it() -> None:
    """The example in RFC 8291, section 5: our keys are read, and the library seals, as it is written there."""
    keys = browser_keys(P256DH, AUTH)
    private = ec.derive_private_key(
        int.from_bytes(unb64("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", 32), "big"), ec.SECP256R1()
    )
    sealed = http_ece.encrypt(
        b"When I grow up, I want to be a watermelon", salt=unb64("DGv6ra1nlYgDCS1FRnbzlw", 16), private_key=private,
        dh=keys.p256dh, auth_secret=keys.auth,
    )  # fmt: skip
    assert b64(sealed) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru"
        "3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_every_machine_has_the_same_key() -> None:
    assert public_key(SECRET.derive) == public_key(SECRET.derive) != public_key(lambda _: b"another")
    point = base64.urlsafe_b64decode(public_key(SECRET.derive) + "=")
    assert (len(point), point[0]) == (65, 4)
    # Whoever changes how it is made makes every browser subscribe again: this is what it was from the first day.
    assert public_key(lambda purpose: purpose.encode().ljust(32, b"."))[:20] == "BKiFU4cVVolEPgxFPEzN"


@given(st.binary(min_size=1, max_size=64))
@settings(max_examples=50)
def test_no_secret_makes_a_key_that_is_none(secret: bytes) -> None:
    scalar = private_key(lambda _: secret).private_numbers().private_value
    assert 0 < scalar < _ORDER


@pytest.mark.parametrize(
    ("contact", "base_url", "expected"),
    [
        ("mailto:vacancy@localhost", "https://vacancy.example", "https://vacancy.example"),
        ("mailto:vacancy@localhost", "http://127.0.0.1:8000", "mailto:vacancy@localhost"),
        ("mailto:desk@vacancy.example", "https://vacancy.example", "mailto:desk@vacancy.example"),
        ("https://vacancy.example/contact", "https://other.example", "https://vacancy.example/contact"),
    ],
)
def test_apple_is_not_told_of_a_localhost(contact: str, base_url: str, expected: str) -> None:
    assert subject(Settings(base_url=base_url, webpush=WebpushSettings(contact=contact))) == expected


@given(st.text(st.sampled_from('a"\\é中\U0001f4da\ud83d\x01'), min_size=1, max_size=50).map(lambda piece: piece * 100))
def test_whatever_is_told_fits_and_keeps_its_addresses(title: str) -> None:
    parcel = alert("-", opening(title))
    packed = payload(parcel, "t" * 32)
    assert len(packed) <= LARGEST_PAYLOAD
    found = json.loads(packed)
    assert (found["url"], found["manageUrl"]) == (LINK, MANAGE)
    assert found["title"]


def test_addresses_beyond_all_measure_are_left_out() -> None:
    packed = payload(alert("-", opening(link="https://a.example/" + "x" * 4000)), "tag")
    assert len(packed) <= LARGEST_PAYLOAD
    assert json.loads(packed)["url"] == ""


def test_a_subscription_needs_no_confirmation() -> None:
    assert channel().verifies is False
    assert channel().pace.per_second == 200
    assert asyncio.run(channel().probe()) is None
