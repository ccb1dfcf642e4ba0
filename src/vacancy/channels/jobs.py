"""The mail job of a parcel, by the contract: seed 001's words for what the engine knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from vacancy.channels.told import Told
from vacancy.channels.words import campus, one_line
from vacancy.clock import iso
from vacancy.model.mail_job import (
    TEMPLATE_VERSION,
    VERSION,
    DeliveryPolicy,
    Event,
    MailJob,
    VerificationJob,
    first_problem,
    read_job,
    read_verification_job,
)
from vacancy.model.messages import Opening, OpenItem, Parcel, Person
from vacancy.model.subscriptions import Preferences
from vacancy.settings_sections import DeliverySettings

VERIFICATION_MINUTES: Final = 24 * 60
NO_MEETING: Final = "TBA"
_CONTACT_TYPE: Final = "email"


def section_variables(opening: Opening, told: tuple[Told, ...]) -> dict[str, Any]:
    """What is said of an opening to everybody alike. The lead section stands in the fields of the contract, all of
    them in `sections`."""
    lead, first = opening.items[0], told[0]
    return {
        "courseTitle": first.title,
        "courseString": _text(lead, "courseString"),
        "sectionIndex": first.index,
        "sectionNumber": first.section,
        "meetingSummary": _text(lead, "meetingSummary") or NO_MEETING,
        "campus": campus(lead.campus_code or _text(lead, "campus")),
        "eventDetectedAt": iso(opening.event_at),
        "sections": [_section(item, each) for item, each in zip(opening.items, told, strict=True)],
    }


def event_of(opening: Opening) -> Event:
    lead = opening.items[0]
    term, _, place = opening.target_key.partition("|")
    event = {
        "sectionId": lead.section_id,
        "termId": lead.term_id or _text(lead, "term") or term,
        "campusCode": lead.campus_code or _text(lead, "campus") or place,
        "indexNumber": lead.index_number or lead.item_key,
        "sectionNumber": _text(lead, "sectionNumber"),
        "subjectCode": _text(lead, "subject"),
        "courseTitle": _text(lead, "courseTitle"),
        "statusBefore": opening.status_before,
        "statusAfter": opening.status_after,
        "eventAt": iso(opening.event_at),
        "detectedBy": opening.detected_by,
        "snapshotHash": _text(lead, "snapshotHash"),
    }
    try:
        return Event.model_validate(_present(event))
    except ValidationError as problems:
        raise ValueError(first_problem(problems)) from None


def open_seat_job(
    parcel: Parcel,
    opening: Opening,
    locale: str,
    variables: Mapping[str, Any],
    event: Event,
    policy: DeliveryPolicy,
) -> MailJob:
    """What is the same for all who hear of it comes ready made and is not looked at again. ValueError says what is
    wrong."""
    person, links = parcel.person, links_of(parcel.person)
    document = {
        **_head(parcel, locale),
        "openEventId": opening.open_event_id,
        "dedupeKey": opening.dedupe_key,
        "template": {"id": "open-seat", "version": TEMPLATE_VERSION, "variables": {**variables, **links}},
        "event": event,
        "links": links,
        "deliveryPolicy": policy,
    }
    if person.status:
        document["subscription"] = _subscription(person)
    return read_job(document)


def verification_job(parcel: Parcel, locale: str) -> VerificationJob:
    person = parcel.person
    variables = {
        "verificationUrl": person.verify_url,
        "expirationMinutes": VERIFICATION_MINUTES,
        "contactValue": person.contact,
    }
    template = {"id": "verification", "version": TEMPLATE_VERSION, "variables": variables}
    document = {**_head(parcel, locale), "dedupeKey": parcel.key, "template": template}
    if links := links_of(person):
        document["links"] = links
    return read_verification_job(document)


def policy_of(delivery: DeliverySettings) -> DeliveryPolicy:
    policy = {
        "maxAttempts": delivery.max_attempts,
        "lockTtlSeconds": delivery.lock_ttl_s,
        "retryScheduleMs": list(delivery.retry_schedule_ms),
    }
    return DeliveryPolicy.model_validate(policy)


def links_of(person: Person) -> dict[str, str]:
    return _present({"manageUrl": person.manage_url, "unsubscribeUrl": person.unsubscribe_url})


def _head(parcel: Parcel, locale: str) -> dict[str, Any]:
    trace = {"traceId": parcel.trace_id} if parcel.trace_id else {}
    return {
        "version": VERSION,
        "notificationId": parcel.notification_id,
        "subscriptionId": parcel.person.subscription_id,
        **trace,
        "locale": locale,
        "recipient": {"email": parcel.person.contact.strip()},
    }


def _section(item: OpenItem, told: Told) -> dict[str, Any]:
    return {
        "courseTitle": told.title,
        "courseString": _text(item, "courseString"),
        "sectionIndex": told.index,
        "sectionNumber": told.section,
        "meetingSummary": _text(item, "meetingSummary") or NO_MEETING,
        "instructors": told.people,
        "link": told.link or "",
    }


def _subscription(person: Person) -> dict[str, Any]:
    known = {
        "contactValue": person.contact.strip(),
        "contactHash": person.contact_hash,
        "lastKnownSectionStatus": person.last_known_status,
    }
    preferences = _preferences(person.preferences)
    return {"status": person.status, "contactType": _CONTACT_TYPE, **_present(known), "preferences": preferences}


def _preferences(wishes: Preferences) -> dict[str, Any]:
    written = {
        "notifyOn": list(wishes.notify_on),
        "maxNotifications": wishes.max_notifications,
        "deliveryWindow": {"startMinutes": wishes.window_start, "endMinutes": wishes.window_end},
    }
    return written | ({"snoozeUntil": iso(wishes.snooze_until)} if wishes.snooze_until else {})


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _text(item: OpenItem, name: str) -> str:
    value = item.payload.get(name)
    return "" if value is None else one_line(value)
