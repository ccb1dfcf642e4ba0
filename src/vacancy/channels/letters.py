"""From a parcel to a mail. An opening is laid out once for each language; each person's parts are put in after."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from vacancy.channels import jobs
from vacancy.channels.mail import MailMessage
from vacancy.channels.mail_templates import TEMPLATES, MailTemplates, MissingVariableError
from vacancy.channels.mime import Layout, is_mailable, lay_out, sender_header, slot
from vacancy.channels.short import NOTICES
from vacancy.channels.told import SOC, Told, shared_title, tell_all
from vacancy.channels.words import fact_moment, locale_of, moment, one_line, reason
from vacancy.clock import Clock
from vacancy.errors import SettingsError
from vacancy.model.mail_job import TEMPLATE_VERSION, Event
from vacancy.model.messages import Dead, Kind, Notice, Opening, Parcel, Person
from vacancy.settings import Settings

_KEPT: Final = 64
_ADDRESS: Final = re.compile(r"https?://[\x21-\x3b\x3d\x3f-\x7e]{1,900}", re.ASCII)  # no space, no angle brackets
_TRACE: Final = re.compile(r"[A-Za-z0-9\-]{1,64}", re.ASCII)
_LIT: Final = ("open-seat", "opening")

About = Opening | Notice | None
Key = tuple[str, str, int, bool, bool, bool]


@dataclass(frozen=True, slots=True)
class Laid:
    """What is the same for all. `about` is compared before use: what is still open may have changed since."""

    about: About
    layout: Layout
    variables: Mapping[str, Any] = field(default_factory=dict)
    event: Event | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


class _RefusedError(Exception):
    """Why there is no mail; never leaves this module."""

    def __init__(self, code: str, message: str, *, alarm: bool) -> None:
        super().__init__(message)
        self.dead = Dead(code, message, alarm=alarm)


class Letters:
    """SettingsError from the constructor: a template or the sender is not usable. `write` raises nothing."""

    def __init__(self, settings: Settings, clock: Clock, template_root: Path | None = None) -> None:
        self._settings = settings.email
        self._clock = clock
        self._templates = MailTemplates(template_root)
        self._host = _id_host(settings.base_url)
        self._policy = jobs.policy_of(settings.delivery)
        self._shared = _shared_headers(settings)
        self._kept: OrderedDict[Key, Laid] = OrderedDict()

    def write(self, parcel: Parcel) -> MailMessage | Dead:
        try:
            return self._written(parcel)
        except _RefusedError as refused:
            return refused.dead

    def _written(self, parcel: Parcel) -> MailMessage:
        to = self._recipient(parcel.person)
        locale, template = locale_of(parcel.person.locale), _template_of(parcel)
        values = _own_values(parcel)
        laid = self._laid(parcel, template, locale)
        self._check_job(parcel, template, locale, laid)
        return self._message(parcel, template, locale, to, laid, values)

    def _message(
        self, parcel: Parcel, template: str, locale: str, to: str, laid: Laid, values: Mapping[str, str]
    ) -> MailMessage:
        layout = laid.layout
        message_id = f"{sha256(parcel.key.encode()).hexdigest()[:32]}@{self._host}"
        headers = {**self._extra(parcel), "Content-Language": locale}
        own = {
            "To": to,
            "Message-ID": f"<{message_id}>",
            "Date": _date(self._clock.now().replace(microsecond=0)),
            **headers,
        }
        return MailMessage(
            to=to, sender=self._settings.sender, subject=layout.subject, text=layout.text_for(values),
            html=layout.html_for(values), locale=locale, template_id=template, template_version=TEMPLATE_VERSION,
            message_id=message_id, dedupe_key=parcel.key, trace_id=parcel.trace_id, raw=layout.raw_for(own, values),
            reply_to=self._settings.reply_to, headers=headers,
            metadata={"subscriptionId": str(parcel.person.subscription_id), **laid.metadata},
        )  # fmt: skip

    def _extra(self, parcel: Parcel) -> dict[str, str]:
        """The headers that a provider with an API is told as well."""
        headers = {"Auto-Submitted": "auto-generated"}
        if _TRACE.fullmatch(parcel.trace_id):
            headers["X-Trace-Id"] = parcel.trace_id
        if parcel.person.unsubscribe_url and parcel.kind in (Kind.ALERT, Kind.NOTICE):
            headers["List-Unsubscribe"] = f"<{parcel.person.unsubscribe_url}>"
            headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        return headers

    def _recipient(self, person: Person) -> str:
        to = (self._settings.override_recipient or person.contact).strip().lower()
        local, _, domain = to.rpartition("@")
        if not domain.isascii():
            try:
                to = f"{local}@{domain.encode('idna').decode('ascii')}"
            except UnicodeError as problem:
                raise _RefusedError("invalid_recipient", "the address has no usable domain", alarm=False) from problem
        if not is_mailable(to):
            raise _RefusedError("invalid_recipient", "this is no address that mail can be sent to", alarm=False)
        return to

    def _laid(self, parcel: Parcel, template: str, locale: str) -> Laid:
        about = parcel.opening or parcel.notice
        event = parcel.opening.open_event_id if parcel.opening else 0
        key = (template, locale, event, parcel.is_last, *_links_shown(parcel))
        kept = self._kept.get(key)
        if kept is not None and (kept.about is about or kept.about == about):
            self._kept.move_to_end(key)
            return kept
        laid = self._kept[key] = self._lay_out(parcel, template, locale)
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return laid

    def _lay_out(self, parcel: Parcel, template: str, locale: str) -> Laid:
        try:
            variables, values, event, metadata = _content(parcel, template, locale)
        except ValueError as problem:
            raise _RefusedError("validation_error", f"the mail job is not valid: {problem}", alarm=True) from problem
        has_manage, has_unsubscribe = _links_shown(parcel)
        own = {"manageUrl": slot("manage"), "unsubscribeUrl": slot("unsubscribe")}
        shown = {"hasManage": has_manage, "hasUnsubscribe": has_unsubscribe, "lit": template in _LIT}
        try:
            words = self._templates.render(template, locale, {**variables, **values, **own, **shown})
        except MissingVariableError as problem:
            raise _RefusedError("template_variable_missing", str(problem), alarm=True) from problem
        return Laid(parcel.opening or parcel.notice, lay_out(words, self._shared), variables, event, metadata)

    def _check_job(self, parcel: Parcel, template: str, locale: str, laid: Laid) -> None:
        """A mail whose job breaks the contract is not sent: somebody else's worker could not have sent it either."""
        try:
            if parcel.opening is not None and laid.event is not None:
                jobs.open_seat_job(parcel, parcel.opening, locale, laid.variables, laid.event, self._policy)
            elif template == "verification":
                jobs.verification_job(parcel, locale)
        except ValueError as problem:
            raise _RefusedError("validation_error", f"the mail job is not valid: {problem}", alarm=True) from problem


@lru_cache(maxsize=4)
def _date(at: datetime) -> str:
    return format_datetime(at)


def _template_of(parcel: Parcel) -> str:
    if parcel.kind is Kind.VERIFICATION:
        return "verification"
    if parcel.kind is Kind.ALERT and parcel.opening is not None and parcel.opening.items:
        return "open-seat" if parcel.opening.source == SOC else "opening"
    if parcel.notice is not None and parcel.notice.code in NOTICES:
        return parcel.notice.code
    about = f"notice {one_line(parcel.notice.code)}" if parcel.notice else f"{parcel.kind} without an opening"
    raise _RefusedError("validation_error", f"there is no mail for a {about}", alarm=True)


def _own_values(parcel: Parcel) -> dict[str, str]:
    """What fills the slots, each safe in a header: ours by make, and looked at all the same."""
    person = parcel.person
    values = {"manage": person.manage_url, "unsubscribe": person.unsubscribe_url, "verify": person.verify_url}
    needed = {"verify"} if parcel.kind is Kind.VERIFICATION else {"manage"} if parcel.kind is Kind.ALERT else set()
    for name, value in values.items():
        if (value or name in needed) and not _ADDRESS.fullmatch(value):
            raise _RefusedError("validation_error", f"the {name} address is not usable", alarm=True)
    return {**values, "contact": one_line(person.contact)}


def _links_shown(parcel: Parcel) -> tuple[bool, bool]:
    """Not to whoever has not said yet that the address is his: he did not ask for anything."""
    asked = parcel.kind is not Kind.VERIFICATION
    return asked and bool(parcel.person.manage_url), asked and bool(parcel.person.unsubscribe_url)


Content = tuple[Mapping[str, Any], Mapping[str, Any], Event | None, Mapping[str, str]]


def _content(parcel: Parcel, template: str, locale: str) -> Content:
    """The job's variables, what only the template has besides, the job's event, the metadata."""
    if template == "verification":
        own = {"verificationUrl": slot("verify"), "contactValue": slot("contact")}
        return {}, {**own, "expirationMinutes": jobs.VERIFICATION_MINUTES}, None, {}
    if parcel.opening is None:
        return {}, _facts(parcel.notice or Notice(template), template, locale), None, {}
    return _opened(parcel.opening, template, locale, is_last=parcel.is_last)


def _opened(opening: Opening, template: str, locale: str, *, is_last: bool) -> Content:
    told = tell_all(opening, locale)
    seen = moment(opening.event_at, opening.time_zone, locale)
    extra: dict[str, Any] = {"seenAt": seen, "isLast": is_last, "sharedTitle": shared_title(told)}
    metadata = {"openEventId": str(opening.open_event_id)}
    if template == "opening":
        return {}, {**extra, "openings": [_as_values(each) for each in told]}, None, metadata
    event = jobs.event_of(opening)
    extra |= {"what": told[0].named(locale), "place": told[0].place}
    metadata |= {"term": event.term_id, "campus": event.campus_code}
    return jobs.section_variables(opening, told), extra, event, metadata


def _as_values(told: Told) -> Mapping[str, Any]:
    return {"title": told.title, "lines": told.lines, "link": told.link or ""}


def _facts(notice: Notice, template: str, locale: str) -> Mapping[str, Any]:
    """Only the facts that its template knows, each as one line; one that is absent is left for the template to miss."""
    zone = str(notice.facts.get("time_zone") or "UTC")
    given = {name: notice.facts[name] for name in TEMPLATES[template].given if notice.facts.get(name) is not None}
    facts = {name: one_line(value) for name, value in given.items()}
    if "since" in given:
        facts["since"] = fact_moment(given["since"], zone, locale)
    if template == "ended" and "reason" in given:
        facts["reason"] = reason(str(given["reason"]), locale)
    return facts


def _shared_headers(settings: Settings) -> dict[str, str]:
    headers: dict[str, str] = {}
    wanted: tuple[tuple[str, Literal["sender", "reply_to"]], ...] = (("From", "sender"), ("Reply-To", "reply_to"))
    for name, setting in wanted:
        if value := getattr(settings.email, setting):
            try:
                headers[name] = sender_header(value)
            except ValueError as problem:
                raise SettingsError(f"email.{setting}: {problem}") from problem
    return headers


def _id_host(base_url: str) -> str:
    host = urlsplit(base_url).hostname or "localhost"
    if ":" in host:
        return f"[{host}]"
    return host if host.isascii() else host.encode("idna").decode("ascii")
