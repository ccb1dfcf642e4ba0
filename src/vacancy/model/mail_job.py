"""The mail job: what a mail worker is handed, as JSON. A contract with other programs, so its schema is published.

Minor versions only add optional fields, so a job of a higher minor version is read without what is new in it; another
major version is refused. A field that is not there is left out, never null.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

VERSION: Final = "1.0"
TEMPLATE_VERSION: Final = "v1"
MAIL_JOB_ID: Final = "https://better-course-schedule/notify/mail_job.schema.json"
VERIFICATION_JOB_ID: Final = "https://better-course-schedule/notify/verification_job.schema.json"

T = TypeVar("T")
_UNRESERVED: Final = r"A-Za-z0-9\-._~!$&'()*+,;="


def _run(more: str, least: str = "*") -> str:
    """Characters of RFC 3986 and escapes; possessive, so that no address is looked at twice."""
    return rf"(?:[{_UNRESERVED}{more}]++|%[0-9A-Fa-f]{{2}}){least}+"


_URI: Final = re.compile(
    rf"""[A-Za-z][A-Za-z0-9+.\-]*:
    (?: //(?:{_run(":")}@)?(?:\[[0-9A-Fa-f:.]+\]|{_run("")})(?::[0-9]*)?(?:/{_run(":@")})*
      | /(?:{_run(":@", "+")}(?:/{_run(":@")})*)? | {_run(":@", "+")}(?:/{_run(":@")})* | )
    (?:\?{_run(":@/?")})? (?:\#{_run(":@/?")})?""",
    re.VERBOSE | re.ASCII,
)
_DATE_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+")
_VERSION: Final = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)", re.ASCII)


def _email(text: str) -> str:
    if not _EMAIL.fullmatch(text):
        raise ValueError("must be a mail address")
    return text


def _uri(text: str) -> str:
    if not _URI.fullmatch(text):
        raise ValueError("must be a whole address with its scheme")
    return text


def _date_time(text: str) -> str:
    found = _DATE_TIME.fullmatch(text)
    try:
        datetime.fromisoformat("".join(found.groups()) if found else "")
    except ValueError as problem:
        raise ValueError("must be a date and a time with its offset, such as 2026-01-05T12:00:00Z") from problem
    return text


def _whole(value: object) -> object:
    """To JSON 3.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _NeverNull:
    """None stands for a field that is not there; written down as null it is refused."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable: Any = handler(source)
        if nullable["type"] != "nullable":
            raise TypeError(f"{source} cannot be None, so it cannot be left out")
        inner: CoreSchema = nullable["schema"]
        return inner


Maybe = Annotated[T | None, _NeverNull()]
Email = Annotated[str, AfterValidator(_email), Field(json_schema_extra={"format": "email"})]
Uri = Annotated[str, AfterValidator(_uri), Field(json_schema_extra={"format": "uri"})]
DateTime = Annotated[str, AfterValidator(_date_time), Field(json_schema_extra={"format": "date-time"})]
Int = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
LeastThirty = Annotated[int, Field(ge=30), BeforeValidator(_whole)]
NotNegative = Annotated[int, Field(ge=0), BeforeValidator(_whole)]


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", alias_generator=to_camel)


class _Open(_Closed):
    model_config = ConfigDict(extra="allow")


class Recipient(_Closed):
    email: Email
    name: Maybe[str] = None


class Links(_Closed):
    manage_url: Maybe[Uri] = None
    unsubscribe_url: Maybe[Uri] = None


class Variables(_Open):
    course_title: str
    course_string: str
    section_index: str
    section_number: str
    meeting_summary: str
    campus: Maybe[str] = None
    event_detected_at: Maybe[DateTime] = None
    manage_url: Uri
    unsubscribe_url: Maybe[Uri] = None
    notes: Maybe[str] = None


class Template(_Closed):
    id: Literal["open-seat"]
    version: str = TEMPLATE_VERSION
    variables: Variables


class Event(_Open):
    section_id: Maybe[Int] = None
    term_id: str
    campus_code: str
    index_number: str
    section_number: Maybe[str] = None
    subject_code: Maybe[str] = None
    course_title: Maybe[str] = None
    status_before: Maybe[str] = None
    status_after: str
    event_at: DateTime
    detected_by: Maybe[str] = None
    snapshot_hash: Maybe[str] = None


class DeliveryWindow(_Open):
    start_minutes: Maybe[Int] = None
    end_minutes: Maybe[Int] = None


class JobPreferences(_Open):
    notify_on: Maybe[list[str]] = None
    max_notifications: Maybe[Int] = None
    delivery_window: Maybe[DeliveryWindow] = None
    snooze_until: Maybe[DateTime] = None


class JobSubscription(_Open):
    status: Literal["pending", "active", "paused", "suppressed", "unsubscribed"]
    contact_type: Literal["email"]
    contact_value: Maybe[Email] = None
    contact_hash: Maybe[str] = None
    last_known_section_status: Maybe[str] = None
    preferences: Maybe[JobPreferences] = None


class DeliveryPolicy(_Closed):
    max_attempts: Number = 3
    lock_ttl_seconds: LeastThirty = 120
    retry_schedule_ms: list[NotNegative] = Field(default=[0, 2000, 7000])


class MailJob(_Closed):
    version: Literal["1.0"]
    notification_id: Number
    open_event_id: Number
    subscription_id: Number
    dedupe_key: str
    trace_id: Maybe[str] = None
    locale: str
    recipient: Recipient
    template: Template
    event: Event
    subscription: Maybe[JobSubscription] = None
    links: Links
    delivery_policy: Maybe[DeliveryPolicy] = None


class VerificationVariables(_Open):
    verification_url: Uri
    expiration_minutes: Number
    contact_value: str


class VerificationTemplate(_Closed):
    id: Literal["verification"]
    version: str = TEMPLATE_VERSION
    variables: VerificationVariables


class VerificationJob(_Closed):
    """The mail that asks whether an address is yours: nothing opened, so it has no event."""

    version: Literal["1.0"]
    notification_id: Number
    subscription_id: Number
    dedupe_key: str
    trace_id: Maybe[str] = None
    locale: str
    recipient: Recipient
    template: VerificationTemplate
    links: Maybe[Links] = None


Job = TypeVar("Job", MailJob, VerificationJob)


def read_job(document: Mapping[str, Any]) -> MailJob:
    """ValueError says in one line what is wrong, and never shows a value: a job has a contact in it."""
    return _read(MailJob, document)


def read_verification_job(document: Mapping[str, Any]) -> VerificationJob:
    return _read(VerificationJob, document)


def as_document(job: MailJob | VerificationJob) -> dict[str, Any]:
    """Exactly what was given: what was left out stays out."""
    return job.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _read(model: type[Job], document: Mapping[str, Any]) -> Job:
    ours = VERSION
    found = _VERSION.fullmatch(given) if isinstance(given := document.get("version"), str) else None
    if found is None:
        raise ValueError("version: must be MAJOR.MINOR, such as 1.0")
    if found[1] != ours.partition(".")[0]:
        raise ValueError(
            f"version: {found[0]} is of another major version; this worker reads {ours} and what adds to it"
        )
    try:
        if found[0] == ours:
            return model.model_validate(document)
        return _read_known(model, {**document, "version": ours})
    except ValidationError as problems:
        raise ValueError(first_problem(problems)) from None


def _read_known(model: type[Job], document: dict[str, Any]) -> Job:
    """A later minor version: optional fields that we do not know are passed over."""
    try:
        return model.model_validate(document)
    except ValidationError as problems:
        new = [error["loc"] for error in problems.errors(include_input=False) if error["type"] == "extra_forbidden"]
        return model.model_validate(_without(document, new))


def _without(document: dict[str, Any], places: list[tuple[int | str, ...]]) -> dict[str, Any]:
    copy = deepcopy(document)
    for *path, name in places:
        holder: Any = copy
        for step in path:
            holder = holder[step]
        holder.pop(name)
    return copy


def first_problem(problems: ValidationError) -> str:
    """One line, without the value: it may be a contact."""
    first: ErrorDetails = problems.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


class _Published(GenerateJsonSchema):
    """Without pydantic's titles, and without a default for what is left out."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def schema_of(model: type[MailJob | VerificationJob], address: str) -> dict[str, Any]:
    made = model.model_json_schema(schema_generator=_Published)
    parts = made.pop("$defs", {})
    body: dict[str, Any] = _inlined(made, parts)
    return {"$id": address, "$schema": "https://json-schema.org/draft/2020-12/schema", **body}


def _inlined(node: Any, parts: Mapping[str, Any]) -> Any:
    """One whole to read from top to bottom. A title that is a text is pydantic's; a field may be called so."""
    if isinstance(node, list):
        return [_inlined(each, parts) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(parts[node["$ref"].rpartition("/")[2]], parts)
    return {
        key: _inlined(value, parts)
        for key, value in node.items()
        if not (key in ("title", "description") and isinstance(value, str))
    }


def published() -> dict[str, str]:
    """File name -> text, as it lies in docs/contracts."""
    schemas = {
        "mail_job.schema.json": schema_of(MailJob, MAIL_JOB_ID),
        "verification_job.schema.json": schema_of(VerificationJob, VERIFICATION_JOB_ID),
    }
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in schemas.items()}
