"""`/subscribe`: find a section, wait for it, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vacancy.errors import UserError
from vacancy.model.subscriptions import Contact, Preferences
from vacancy.model.terms import CAMPUS_NAMES, term_name
from vacancy.subscriptions import naming
from vacancy.subscriptions.contacts import read_contact
from vacancy.subscriptions.naming import Waited
from vacancy.subscriptions.rules import Desk
from vacancy.subscriptions.subscribe import Wish, subscribe
from vacancy.web.context import House, house
from vacancy.web.pages.cards import card
from vacancy.web.pages.forms import read_form
from vacancy.web.pages.language import reader_locale
from vacancy.web.pages.preference_fields import MOST_ALERTS, fields_of, read_fields, typed
from vacancy.web.pages.problems import Notice, Problem
from vacancy.web.pages.render import page
from vacancy.web.pages.trouble import Page, headers_of, status_of
from vacancy.web.places import place_topic, places
from vacancy.web.stamps import Verdict

_CHANNEL: Final = "email"
_BROWSER: Final = "webpush"
_INDEX: Final = re.compile(r"[0-9]{5}", re.ASCII)
# People do not see this field; what fills in every field it finds is no person.
TRAP: Final = "website"
_OF_TOPIC: Final = {
    "validation_failed": Notice.NO_SUCH_TOPIC,
    "section_not_found": Notice.NOT_WATCHED,
    "section_conflict": Notice.ELSEWHERE,
}
OF_STAMP: Final = {Verdict.EARLY: Notice.TOO_FAST, Verdict.LATE: Notice.TOO_OLD}
Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The form as it was sent: its fields as typed, and what they say or what is wrong with them."""

    fields: Fields
    contact: Contact | None
    preferences: Preferences
    problems: Mapping[str, Problem]


class SubscribePage(Page):
    async def get(self, request: Request) -> Response:
        home, query = house(request), request.query_params
        if "topic" not in query and "sectionIndex" not in query:
            return finder_page(request, query)
        try:
            waited = await home.store.read(naming.look, home.desk, topic_name(query))
        except UserError as error:
            return finder_page(request, query, error, error.status)
        return form_page(request, waited, Sheet({"email": "", **fields_of(Preferences())}, None, Preferences(), {}))

    async def post(self, request: Request) -> Response:
        home, form = house(request), await read_form(request)
        try:
            waited = await home.store.read(naming.look, home.desk, topic_name(form))
        except UserError as error:
            return finder_page(request, form, error, status_of(error))
        sheet = _read_sheet(home.desk, form)
        stamp = form.get("stamp", "")
        if sheet.contact is None or sheet.problems:
            return form_page(request, waited, sheet, stamp=stamp, status=400)
        try:
            home.count_attempt(request.scope)
        except UserError as error:
            return form_page(request, waited, sheet, Notice.TOO_OFTEN, stamp=stamp, error=error)
        if form.get(TRAP):
            must_confirm = home.desk.must_confirm(home.desk.channel(_CHANNEL))
            return _outcome(request, waited, sheet.contact, created=True, must_confirm=must_confirm)
        if notice := OF_STAMP.get(home.stamps.judge(stamp)):
            return form_page(request, waited, sheet, notice, stamp=stamp, status=400)
        return await _subscribe(request, waited, sheet, sheet.contact)


def topic_name(fields: Fields) -> str:
    if topic := fields.get("topic", "").strip():
        return topic
    index = fields.get("sectionIndex", "").strip()
    if not _INDEX.fullmatch(index):
        raise UserError("validation_failed", "sectionIndex: must be five digits", ["sectionIndex: must be five digits"])
    return place_topic(fields.get("term", ""), fields.get("campus", ""), index)


def _read_sheet(desk: Desk, form: Fields) -> Sheet:
    email = form.get("email", "").strip()
    fields = {"email": email, **typed(form, Preferences())}
    changes, problems = read_fields(fields)
    contact = None
    try:
        contact = read_contact(desk.secret, desk.channel(_CHANNEL), email)
    except UserError:
        problems = {"email": Problem.EMAIL_WRONG if email else Problem.EMAIL_MISSING, **problems}
    return Sheet(fields, contact, replace(Preferences(), **changes), problems)


async def _subscribe(request: Request, waited: Waited, sheet: Sheet, contact: Contact) -> Response:
    home = house(request)
    source, topic = home.desk.topic(waited.topic.name)
    wish = Wish(source, topic, home.desk.channel(_CHANNEL), contact, preferences=sheet.preferences)
    try:
        subscribed = await home.store.write(subscribe, home.desk, wish)
    except UserError as error:
        if error.code == "contact_suppressed":
            sheet = replace(sheet, problems={"email": Problem.EMAIL_SUPPRESSED})
            return form_page(request, waited, sheet, error=error)
        if error.code == "rate_limited":
            return form_page(request, waited, sheet, Notice.TOO_MANY, error=error)
        raise
    now = replace(waited, status=subscribed.status_now)
    return _outcome(request, now, contact, created=subscribed.created, must_confirm=subscribed.requires_verification)


def finder_page(request: Request, fields: Fields, error: UserError | None = None, status: int = 200) -> Response:
    terms, campuses = places(house(request).desk)
    is_index = error is not None and "sectionIndex" in fields and error.code == "validation_failed"
    elsewhere = _elsewhere(error, fields) if error else None
    return page(
        request,
        "subscribe_find.html",
        status,
        terms=[(term, term_name(term)) for term in terms],
        campuses=[(campus, CAMPUS_NAMES.get(campus, campus)) for campus in campuses],
        fields={name: fields.get(name, "").strip() for name in ("term", "campus", "sectionIndex")},
        problems={"sectionIndex": Problem.INDEX_WRONG} if is_index else {},
        notice=_OF_TOPIC.get(error.code, Notice.NO_SUCH_TOPIC) if error and not is_index else None,
        elsewhere=elsewhere,
    )


def _elsewhere(error: UserError, fields: Fields) -> tuple[str, str] | None:
    """The campus that the section is at, and its topic there."""
    if error.code != "section_conflict" or not isinstance(error.details, Mapping):
        return None
    term, campus = str(error.details["term"]), str(error.details["campus"])
    index = fields.get("sectionIndex", "").strip() or fields.get("topic", "").strip().rpartition(":")[2]
    return CAMPUS_NAMES.get(campus, campus), place_topic(term, campus, index)


def form_page(
    request: Request, waited: Waited, sheet: Sheet, notice: Notice | None = None, *, stamp: str = "",
    status: int = 200, error: UserError | None = None,
) -> Response:  # fmt: skip
    return page(
        request,
        "subscribe.html",
        error.status if error else status,
        headers_of(error) if error else None,
        card=card(waited),
        fields=sheet.fields,
        problems=sheet.problems,
        notice=notice,
        most_alerts=MOST_ALERTS,
        has_bot=house(request).deep_links is not None,
        locale=reader_locale(request),
        stamp=_stamp(house(request), stamp),
        tells_browsers=_BROWSER in house(request).desk.channels,
    )


def _stamp(home: House, before: str) -> str:
    """One that only came too soon is kept: its time goes on."""
    return home.stamps.make() if home.stamps.judge(before) is Verdict.LATE else before


def _outcome(request: Request, waited: Waited, contact: Contact, *, created: bool, must_confirm: bool) -> Response:
    return page(
        request,
        "subscribed.html",
        card=card(waited),
        email=contact.value,
        created=created,
        must_confirm=must_confirm,
    )
