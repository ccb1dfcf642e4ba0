"""Subscribe, change, confirm, leave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request
from starlette.responses import Response

from vacancy.channels import webhook_secret
from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.model.availability import OPEN
from vacancy.model.subscriptions import Status, Subscription
from vacancy.store.live_sections import when
from vacancy.subscriptions import manage, verification
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.manage import Change
from vacancy.subscriptions.preferences import shown
from vacancy.subscriptions.subscribe import Subscribed, Wish, subscribe
from vacancy.web.api.subscription_bodies import (
    AskedAgainShown,
    ChangeAsked,
    PreferencesChanged,
    ResendAsked,
    SubscribeAsked,
    SubscribedShown,
    SubscriptionShown,
    UnsubscribeAsked,
    UnsubscribedShown,
    VerifiedShown,
    VerifyAsked,
)
from vacancy.web.api.wishes import read_locale, read_metadata, read_preferences, read_topic, said_in_body
from vacancy.web.context import House, HouseDep
from vacancy.web.errors import documented
from vacancy.web.trace import trace_id

router = APIRouter(prefix="/api", tags=["subscriptions"])

_WEBHOOK: Final = "webhook"
_KEY: Final = re.compile(r"[\x21-\x7e]{1,128}")
_BEARER: Final = re.compile(r"(?i)bearer\s+([A-Za-z0-9_-]{16,128})")
_ID = Annotated[int, Path(ge=1, le=2**63 - 1)]

# What the answer leads on to, for programs that read the document.
_ITSELF: Final = {"subscription_id": "$response.body#/subscriptionId", "token": "$response.body#/manageToken"}
_LINKS: Final[Mapping[str, Any]] = {
    "look": {"operationId": "subscription", "parameters": _ITSELF},
    "change": {"operationId": "change_subscription", "parameters": _ITSELF},
    "leave": {
        "operationId": "unsubscribe", "requestBody": {"unsubscribeToken": "$response.body#/unsubscribeToken"}
    },
}  # fmt: skip


@router.post(
    "/subscribe",
    status_code=201,
    summary="Wait for something",
    response_model=SubscribedShown,
    responses={
        201: {"links": _LINKS},
        200: {"model": SubscribedShown, "description": "This contact waits for it already; nothing was added."},
        **documented("validation_failed", "invalid_contact", "channel_unavailable", "section_not_found",
                     "section_conflict", "idempotency_conflict", "contact_suppressed", "rate_limited", in_body=True),
    },
)  # fmt: skip
async def subscribe_to(
    request: Request,
    house: HouseDep,
    asked: SubscribeAsked,
    idempotency_key: Annotated[str | None, Header(description="The same key and request have the same answer.")] = None,
) -> Response:
    """One subscription for a contact and a topic, however often it is asked for. Keep the tokens: they come once."""
    house.count_attempt(request.scope)
    wish = _wish(house, asked, _key(idempotency_key))
    subscribed = await house.store.write(subscribe, house.desk, wish)
    return _json(_subscribed(request, house, wish, subscribed), 201 if subscribed.created else 200)


@router.post("/unsubscribe", operation_id="unsubscribe", summary="Wait no more", response_model=UnsubscribedShown,
             responses=documented("validation_failed", "contact_mismatch", "subscription_not_found",
                                  "subscription_ended", "rate_limited", in_body=True))  # fmt: skip
async def unsubscribe(request: Request, house: HouseDep, asked: UnsubscribeAsked) -> Response:
    """By its token, or by its number and the contact; so that nobody finds that pair by trying, wrong ones are counted.
    Asking again changes nothing."""
    if asked.unsubscribe_token is not None:
        left, before = await house.store.write(
            manage.unsubscribe_by_token, house.desk, asked.unsubscribe_token, asked.reason
        )
    else:
        with house.counting_guesses(request.scope):
            left, before = await house.store.write(
                manage.unsubscribe_by_contact, house.desk, asked.subscription_id or 0, asked.contact_value or "",
                asked.reason,
            )  # fmt: skip
    return _json({
        "subscriptionId": left.subscription_id, "status": left.status, "previousStatus": before,
        "traceId": trace_id(request.scope),
    })  # fmt: skip


@router.get("/subscriptions/{subscription_id}", operation_id="subscription", summary="One subscription",
            response_model=SubscriptionShown,
            responses=documented("validation_failed", "subscription_not_found"))  # fmt: skip
async def look(
    request: Request, house: HouseDep, subscription_id: _ID,
    authorization: Annotated[str | None, Header(description="`Bearer` and the manage token.")] = None,
    token: Annotated[str | None, Query(description="The manage token, where no header can be sent.")] = None,
) -> Response:  # fmt: skip
    found = await house.store.write(manage.find_own, subscription_id, _manage_token(authorization, token))
    return _json(_view(request, house, found))


@router.patch("/subscriptions/{subscription_id}", operation_id="change_subscription",
              summary="Change a subscription", response_model=SubscriptionShown,
              responses=documented("validation_failed", "subscription_not_found", "subscription_ended",
                                   "illegal_move", in_body=True))  # fmt: skip
async def change(
    request: Request, house: HouseDep, subscription_id: _ID, asked: ChangeAsked,
    authorization: Annotated[str | None, Header(description="`Bearer` and the manage token.")] = None,
    token: Annotated[str | None, Query(description="The manage token, where no header can be sent.")] = None,
) -> Response:  # fmt: skip
    """Only what is sent is changed. `status` pauses it or lets it go on."""
    wanted = Change(_changed(asked.preferences), asked.status, asked.locale and read_locale(asked.locale))
    with said_in_body("preferences", "deliveryWindow"):
        found = await house.store.write(
            manage.change, house.desk, subscription_id, _manage_token(authorization, token), wanted
        )
    return _json(_view(request, house, found))


@router.post("/verify", summary="Confirm an address", response_model=VerifiedShown,
             responses=documented("validation_failed", "link_invalid", "link_expired", in_body=True))  # fmt: skip
async def verify(request: Request, house: HouseDep, asked: VerifyAsked) -> Response:
    """With the token of the link in the mail. Everything that waits for this address begins."""
    subscription_id, nonce = house.links.read(asked.token)
    verified = await house.store.write(verification.verify, house.desk, subscription_id, nonce)
    return _json({
        "subscriptionIds": [each.subscription_id for each in verified], "status": Status.ACTIVE,
        "traceId": trace_id(request.scope),
    })  # fmt: skip


@router.post("/verify/resend", status_code=202, summary="Ask for the link again", response_model=AskedAgainShown,
             responses=documented("validation_failed", "invalid_contact", "channel_unavailable", "rate_limited",
                                  in_body=True))  # fmt: skip
async def resend(request: Request, house: HouseDep, asked: ResendAsked) -> Response:
    """At most one mail to an address in an hour; the answer is the same whether or not anybody waits."""
    house.count_attempt(request.scope)
    contact = read_contact(house.desk.secret, house.desk.channel(asked.contact_type), asked.contact_value)
    await house.store.write(verification.ask_again, contact)
    return _json({"status": "accepted", "traceId": trace_id(request.scope)}, 202)


def _wish(house: House, asked: SubscribeAsked, key: str | None) -> Wish:
    channel = house.desk.channel(asked.contact_type)
    contact = read_contact(house.desk.secret, channel, asked.contact_value)
    source, topic = read_topic(house.desk, asked)
    return Wish(source, topic, channel, contact, read_locale(asked.locale), read_preferences(asked.preferences),
                read_metadata(asked), key)  # fmt: skip


def _changed(asked: PreferencesChanged | None) -> dict[str, Any]:
    """What was sent, in the words of Preferences."""
    if asked is None:
        return {}
    sent = asked.model_fields_set
    changes: dict[str, Any] = {
        name: getattr(asked, name)
        for name in ("max_notifications", "snooze_until", "channel_metadata", "party_size") if name in sent
    }  # fmt: skip
    if "notify_on" in sent:
        changes["notify_on"] = tuple(asked.notify_on)
    if "delivery_window" in sent and asked.delivery_window is not None:
        window = asked.delivery_window
        ends = {"window_start": window.start_minutes, "window_end": window.end_minutes}
        changes |= {name: minutes for name, minutes in ends.items() if minutes is not None}
    if "time_range" in sent:
        changes["time_range"] = asked.hours
    return changes


def _key(text: str | None) -> str | None:
    if text is not None and not _KEY.fullmatch(text):
        line = "Idempotency-Key: must be 1 to 128 visible characters"
        raise UserError("validation_failed", line, [line])
    return text


def _manage_token(authorization: str | None, token: str | None) -> str:
    given = _BEARER.fullmatch(authorization.strip()) if authorization else None
    return given[1] if given else (token or "")


def _subscribed(request: Request, house: House, wish: Wish, subscribed: Subscribed) -> dict[str, Any]:
    found, tokens = subscribed.subscription, subscribed.created
    return {
        "subscriptionId": found.subscription_id,
        "status": found.status,
        "requiresVerification": subscribed.requires_verification,
        "existing": not subscribed.created,
        "unsubscribeToken": found.unsubscribe_token if tokens else None,
        "manageToken": found.manage_token if tokens else None,
        "webhookSecret": _webhook_secret(house, found) if tokens else None,
        **_place(found),
        "sectionStatus": subscribed.status_now,
        "registrationLink": wish.topic.link if subscribed.status_now == OPEN else None,
        "preferences": shown(found.preferences),
        "traceId": trace_id(request.scope),
    }


def _view(request: Request, house: House, found: Subscription) -> dict[str, Any]:
    return {
        "subscriptionId": found.subscription_id,
        "status": found.status,
        **_place(found),
        "contactType": found.contact_type,
        "webhookSecret": _webhook_secret(house, found),
        "locale": found.locale,
        "isVerified": found.is_verified,
        "notifiedCount": found.notified_count,
        "lastKnownSectionStatus": found.last_known_section_status,
        "createdAt": iso(found.created_at),
        "updatedAt": iso(found.updated_at),
        "lastNotifiedAt": when(found.last_notified_at),
        "preferences": shown(found.preferences),
        "traceId": trace_id(request.scope),
    }


def _webhook_secret(house: House, found: Subscription) -> str | None:
    if found.contact_type != _WEBHOOK:
        return None
    return webhook_secret.signing_secret(house.desk.secret.derive, found.contact_hash, found.subscription_id)


def _place(found: Subscription) -> dict[str, Any]:
    return {
        "topic": found.topic,
        "term": found.term_id,
        "campus": found.campus_code,
        "sectionIndex": found.index_number,
        "sectionResolved": found.section_id is not None,
    }


def _json(body: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body), status, media_type="application/json", headers={"Cache-Control": "no-store"}
    )
