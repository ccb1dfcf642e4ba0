"""The OpenAPI document: FastAPI's own, with the plain routes described by hand beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.json_schema import models_json_schema

from vacancy.errors import CODES
from vacancy.web.api import events, tables
from vacancy.web.api.table_shapes import CountedDays, OpenDays
from vacancy.web.errors import Error

_REF: Final = "#/components/schemas/{model}"
Operation = dict[str, Any]


class OpenEvent(BaseModel):
    """Something opened, or closed again. Never changes; numbered in the order of commits."""

    model_config = ConfigDict(alias_generator=to_camel)

    open_event_id: int
    section_id: int | None = Field(description="Null for other sources, as are the next three.")
    term_id: str | None = Field(examples=["12025"])
    campus_code: str | None = Field(examples=["NB"])
    index_number: str | None = Field(examples=["09214"])
    subscription_id: int | None
    status_before: str
    status_after: str = Field(description="`Open`; `Closed` is kept for the record and is sent to nobody.")
    seat_delta: int
    event_at: str = Field(description="When the change was seen: UTC, ISO 8601, milliseconds.")
    detected_by: str
    snapshot_id: int | None
    dedupe_key: str
    trace_id: str
    payload: dict[str, Any] = Field(description="The item in its source's words, as they were at that moment.")
    source: str = Field(examples=["soc"])
    target_key: str = Field(examples=["12025|NB"])
    item_key: str
    group_key: str | None
    episode: int = Field(description="Numbered by item, from an opening to its recorded close.")
    lead_event_id: int | None = Field(description="The first of the events that one poll raised for one group.")
    topics: list[str] = Field(description="What subscriptions to this event may name.")


class EventPage(BaseModel):
    """Events in ascending order, and the cursor for the next page; an empty page gives the cursor back."""

    items: list[OpenEvent]
    nextAfterId: int  # noqa: N815


class Ready(BaseModel):
    """Each check is `ok`, or says what is wrong."""

    status: str
    checks: dict[str, str]


class VacancyApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            document["paths"] = {**_BY_HAND, **document["paths"]}
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas.update(_schemas(EventPage, OpenDays, CountedDays, Error, Ready))
            self.openapi_schema = document
        return self.openapi_schema


def _schemas(*models: type[BaseModel]) -> Mapping[str, Any]:
    _, definitions = models_json_schema([(model, "serialization") for model in models], ref_template=_REF)
    found: Mapping[str, Any] = definitions["$defs"]
    return found


def _ref(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": _REF.format(model=model.__name__)}


def _answer(what: str, media_type: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": what, "content": {media_type: {"schema": schema}}}


def _errors(*codes: str) -> dict[str, Any]:
    return {
        str(CODES[code].status): _answer(f"`{code}`: {CODES[code].summary}", "application/json", _ref(Error))
        for code in (*codes, "internal_error")
    }


def _query(name: str, what: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": what, "schema": schema}


def _operation(tag: str, name: str, summary: str, what: str, answers: Mapping[str, Any], *parameters: Any) -> Operation:
    operation: Operation = {
        "tags": [tag], "operationId": name, "summary": summary, "description": what, "responses": dict(answers),
    }  # fmt: skip
    if parameters:
        operation["parameters"] = list(parameters)
    return operation


def _get(tag: str, name: str, summary: str, what: str, answers: Mapping[str, Any], *parameters: Any) -> Operation:
    return {"get": _operation(tag, name, summary, what, answers, *parameters)}


def _pages(*codes: str, form: bool = False) -> dict[str, Any]:
    """A page, and the pages that say what is wrong. Only a fault of ours is told in JSON even here."""
    found = {"200": _answer("A page.", "text/html", _TEXT), **_errors()}
    for code in codes:
        # What is wrong with a form is the body's: 400, as in the API.
        status = "400" if form and code == "validation_failed" else str(CODES[code].status)
        entry = found.setdefault(status, _answer("", "text/html", _TEXT))
        entry["description"] = f"{entry['description']} `{code}`: {CODES[code].summary}".strip()
    return found


def _form(operation: Operation, *, required: Sequence[str] = (), **fields: str) -> Operation:
    """The fields that a form sends, each with what it is for."""
    properties = {name: {"type": "string", "description": what} for name, what in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    return {**operation, "requestBody": {"required": True, "content": content}}


_FILTERS: Final = (
    _query("source", "Only events of this source, such as `soc`.", type="string"),
    _query("topic", "Only events that carry this topic, such as `soc:12025:NB:12345`.", type="string"),
    _query("status", "Only events that lead to this state.", type="string", enum=["Open", "Closed"]),
)
_TEXT: Final = {"type": "string"}

_EVENTS: Final = _get(
    "events",
    "events",
    "Events in order",
    "Ask with `after_id`, act on the items, keep `nextAfterId`, ask again. Nothing is skipped and nothing comes twice. "
    "Without `after_id`, or with 0, the oldest event kept comes first.",
    {
        "200": _answer("A page of events, perhaps an empty one.", "application/json", _ref(EventPage)),
        **_errors("validation_failed", "cursor_expired", "unavailable"),
    },
    _query("after_id", "The last event you have; what comes after it is answered.", type="integer", minimum=0),
    _query(
        "limit", "How many events at most.", type="integer", minimum=1, maximum=events.MOST,
        default=events.DEFAULT_LIMIT,
    ),
    _query(
        "wait", "Seconds to wait for an event when there is none.", type="integer", minimum=0,
        maximum=events.LONGEST_WAIT_S, default=0,
    ),
    *_FILTERS,
)  # fmt: skip

_STREAM: Final = _get(
    "events",
    "event_stream",
    "Events as they happen",
    "Server-sent events: `id` is the event's number, `event` is `opening` or `closing`, `data` is an OpenEvent. "
    "Without a place to begin the stream begins now. A comment every 15 seconds shows that the line is alive.",
    {
        "200": _answer("Events, until either side ends it.", "text/event-stream", _TEXT),
        **_errors("validation_failed", "cursor_expired"),
        "503": _answer(
            f"`too_many_streams`: {CODES['too_many_streams'].summary} `unavailable`: {CODES['unavailable'].summary}",
            "application/json", _ref(Error),
        ),
    },
    _query("after_id", "Begin after this event.", type="integer", minimum=0),
    {
        "name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "integer", "minimum": 0},
        "description": "Begin after this event; wins over `after_id`. A browser sends it when it comes back.",
    },
    *_FILTERS,
)  # fmt: skip

_MINUTES: Final = _query(
    "minutes", "How long ago the event may be.", type="integer", minimum=1, maximum=tables.MOST_MINUTES,
    default=tables.DEFAULT_MINUTES,
)  # fmt: skip
_TABLE_FILTERS: Final = tuple(
    {**_query(name, what, type="array", items=items), "style": "form", "explode": True}
    for name, what, items in (
        ("date", "Days.", {"type": "string", "format": "date"}),
        ("time_slot", "Times of day that are watched.", {"type": "string", "pattern": f"^{tables.TIME_SLOT}$"}),
        ("party_size", "For how many people a table is free.",
         {"type": "integer", "minimum": 1, "maximum": tables.MOST_PEOPLE}),
        ("venue", "Venues, by id.", {"type": "string", "pattern": f"^{tables.VENUE}$"}),
        ("neighborhood", "Neighborhoods, in either case.", {"type": "string", "minLength": 1, "maxLength": 200}),
    )
)  # fmt: skip
_HOW_TABLES_ARE_ASKED: Final = (
    "Filters are joined by and, the values of one by or: given several times, or with commas between. Nothing is left "
    "off. Go on with `/api/events?after_id=` from `asOfEventId`, and no opening is missed."
)


def _tables(name: str, summary: str, what: str, shape: type[BaseModel], *more: Any) -> Operation:
    answers = {
        "200": _answer("What is open, by day.", "application/json", _ref(shape)),
        "304": {"description": "It is what `If-None-Match` names."},
        **_errors("validation_failed", "unavailable"),
    }
    return _get("tables", name, summary, f"{what} {_HOW_TABLES_ARE_ASKED}", answers, *_TABLE_FILTERS, *more)


_JUST_OPENED: Final = _tables(
    "just_opened", "Tables that just opened",
    "Tables that have an event within `minutes` and are free still, by day and venue.", OpenDays, _MINUTES,
)  # fmt: skip
_STILL_OPEN: Final = _tables("still_open", "Tables that are free", "All of them, by day and venue.", OpenDays)
_OPEN_COUNTS: Final = _tables(
    "open_counts", "How many venues have a table", "For a calendar: 0 where there is nothing.", CountedDays, _MINUTES
)

_CHOICES: Final = {
    "alerts": "After how many alerts it pauses, 1 to 10.",
    "quietFrom": "When quiet hours begin, such as `22:00`; empty for none.",
    "quietTo": "When they end.",
}
_PLACE: Final = {
    "topic": "What to wait for; or a section by the next three.",
    "term": "Such as `12025`.",
    "campus": "Such as `NB`.",
    "sectionIndex": "Five digits.",
}
_UNSUBSCRIBE_TOKEN: Final = _query("token", "The unsubscribe token, as it stands in the link.", type="string")
_MANAGE_NUMBER: Final = {
    "name": "subscription_id", "in": "path", "required": True, "description": "The subscription's number.",
    "schema": {"type": "integer", "minimum": 1},
}  # fmt: skip

_SUBSCRIBE_PAGE: Final = {
    "get": _operation(
        "pages", "subscribe_page", "Find a section, wait for it",
        "Without parameters the finder; with a topic or a section, the form.",
        _pages("validation_failed", "section_not_found", "section_conflict", "unavailable"),
        *(_query(name, what, type="string") for name, what in _PLACE.items()),
    ),
    "post": _form(
        _operation(
            "pages", "subscribe_by_form", "Subscribe by the form",
            "The same rules as `/api/subscribe`. What is wrong is shown beside its field, with all that was typed.",
            _pages("validation_failed", "section_not_found", "section_conflict", "contact_suppressed", "rate_limited",
                   "unavailable", form=True),
        ),
        **_PLACE, email="Where the news goes.", **_CHOICES, stamp="When the form was handed out, signed.",
        website="People leave it empty.",
    ),
}  # fmt: skip
_TELEGRAM_PAGE: Final = {
    "post": _form(
        _operation(
            "pages", "telegram_by_form", "Be told by Telegram",
            "The form of `/subscribe`, by its other button: a page with the link that opens a chat with the bot.",
            _pages("validation_failed", "section_not_found", "section_conflict", "channel_unavailable",
                   "rate_limited", "unavailable", form=True),
        ),
        **_PLACE, **_CHOICES, stamp="When the form was handed out, signed.", website="People leave it empty.",
    ),
}  # fmt: skip
_VERIFY_PAGE: Final = {
    "get": _operation(
        "pages", "verify_page", "Confirm an address", "Shows a button and changes nothing.",
        _pages("link_invalid", "link_expired", "unavailable"),
        _query("token", "The token of the link in the mail.", type="string"),
    ),
    "post": _form(
        _operation(
            "pages", "verify_by_form", "Confirm by the button", "All that waits for the address begins.",
            _pages("validation_failed", "link_invalid", "link_expired", "unavailable", form=True),
        ),
        required=["token"], token="The token of the link in the mail.",  # noqa: S106 - what it is for, not one
    ),
}  # fmt: skip
_UNSUBSCRIBE_PAGE: Final = {
    "get": _operation(
        "pages", "unsubscribe_page", "Leave", "Shows a button and changes nothing.",
        _pages("subscription_not_found", "unavailable"), _UNSUBSCRIBE_TOKEN,
    ),
    "post": _operation(
        "pages", "unsubscribe_in_one_click", "Leave in one click",
        "What a mail program sends by itself (RFC 8058): no cookie, no field, whatever the body.",
        _pages("subscription_not_found", "unavailable"), _UNSUBSCRIBE_TOKEN,
    ),
}  # fmt: skip
_MANAGE_PAGE: Final = {
    "get": _operation(
        "pages", "manage_page", "One subscription", "For whoever has its manage token.",
        _pages("subscription_not_found", "unavailable"), _MANAGE_NUMBER,
        _query("token", "The manage token.", type="string"),
    ),
    "post": _form(
        _operation(
            "pages", "manage_by_form", "Change a subscription", "The page again, as it stands then.",
            _pages("validation_failed", "subscription_not_found", "subscription_ended", "illegal_move", "unavailable",
                   form=True),
            _MANAGE_NUMBER,
        ),
        required=["token", "do"], token="The manage token.",  # noqa: S106 - what it is for, not one
        do="`save`, `pause`, `resume`, `wake` or `unsubscribe`.", **_CHOICES,
    ),
}  # fmt: skip
_OUTBOX_REFUSALS: Final = ("unauthorized", "admin_closed", "validation_failed", "rate_limited", "unavailable")
_MAIL_NUMBER: Final = {
    "name": "outbox_id", "in": "path", "required": True, "description": "The mail's number.",
    "schema": {"type": "integer", "minimum": 1},
}  # fmt: skip

_BY_HAND: Final[dict[str, Operation]] = {
    "/api/events": _EVENTS,
    "/api/events/stream": _STREAM,
    "/api/just-opened": _JUST_OPENED,
    "/api/still-open": _STILL_OPEN,
    "/api/open-counts": _OPEN_COUNTS,
    "/healthz": _get(
        "health", "healthz", "Is the process alive?", "Asks nothing of the database.",
        {"200": _answer("It is.", "text/plain", _TEXT), **_errors()},
    ),
    "/readyz": _get(
        "health", "readyz", "Is the service ready?",
        "The database answers, its schema is the newest, every loop runs. A dead upstream does not matter.",
        {"200": _answer("It is.", "application/json", _ref(Ready)), **_errors("unavailable")},
    ),
    "/metrics": _get(
        "health", "metrics", "Figures for Prometheus", "Every name begins with `vacancy_`.",
        {"200": _answer("Prometheus' text format.", "text/plain", _TEXT), **_errors()},
    ),
    "/": _get(
        "pages", "board", "The board", "What is polled, and the last openings, live.",
        {"200": _answer("A page.", "text/html", _TEXT), **_errors("unavailable")},
    ),
    "/docs": _get(
        "pages", "docs", "This description, to read", "Made of the OpenAPI document; works offline.",
        {"200": _answer("A page.", "text/html", _TEXT), **_errors()},
    ),
    "/sw.js": _get(
        "pages", "service_worker", "What shows notifications", "The script that a browser keeps to be told by.",
        {"200": _answer("A script.", "text/javascript", _TEXT), **_errors()},
    ),
    "/manifest.webmanifest": _get(
        "pages", "manifest", "What a phone keeps the site by", "A web app manifest.",
        {"200": _answer("A manifest.", "application/manifest+json", {"type": "object"}), **_errors()},
    ),
    "/subscribe": _SUBSCRIBE_PAGE,
    "/subscribe/telegram": _TELEGRAM_PAGE,
    "/verify": _VERIFY_PAGE,
    "/unsubscribe": _UNSUBSCRIBE_PAGE,
    "/manage/{subscription_id}": _MANAGE_PAGE,
    "/outbox": _get(
        "pages", "outbox_page", "The mails of a house without a mail server",
        "For its operator: with a token by HTTP Basic, any name and `web.admin_token` as the password; without one, on "
        "this machine alone.",
        _pages("not_found", *_OUTBOX_REFUSALS, form=True),
        _query("before", "Only mails with smaller numbers.", type="integer", minimum=1),
    ),
    "/outbox/{outbox_id}": _get(
        "pages", "outbox_mail_page", "One mail", "Its links are live.",
        _pages("mail_not_found", *_OUTBOX_REFUSALS, form=True), _MAIL_NUMBER,
    ),
    "/outbox/{outbox_id}/html": _get(
        "pages", "outbox_mail_html", "One mail as its reader sees it", "Nothing in it runs.",
        _pages("mail_not_found", *_OUTBOX_REFUSALS, form=True), _MAIL_NUMBER,
    ),
}  # fmt: skip
