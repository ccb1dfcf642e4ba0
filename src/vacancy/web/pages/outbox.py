"""`/outbox`: the mails of a house without a mail server, for whoever runs it. They hold live links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.store import outbox
from vacancy.store.outbox import Kept
from vacancy.web.context import house
from vacancy.web.operators import check_outbox
from vacancy.web.pages.ago import ago
from vacancy.web.pages.languages import language
from vacancy.web.pages.render import HEADERS, POLICY, page
from vacancy.web.pages.trouble import Page, trouble
from vacancy.web.parameters import read_query, whole

_SHOWN: Final = 50
_LARGEST: Final = 2**63 - 1
_ID: Final = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_CHALLENGE: Final = {"WWW-Authenticate": 'Basic realm="Vacancy outbox", charset="UTF-8"'}
# What a mail is laid out with, and nothing that could run, load, or reach the page around it.
_MAIL_HEADERS: Final = {
    **HEADERS,
    "Content-Security-Policy": (
        "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
}
_FRAMING: Final = {"Content-Security-Policy": f"{POLICY}; frame-src 'self'"}
# In a frame that may not leave it, a link has to open beside it.
_HEAD: Final = re.compile(r"<head>", re.IGNORECASE)
_BESIDE: Final = '<head><base target="_blank">'


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    to: str
    subject: str
    locale: str
    at: str
    ago: str


class _OutboxPage(Page):
    async def dispatch(self) -> None:
        request = Request(self.scope, self.receive)
        try:
            check_outbox(request, house(request))
        except UserError as error:
            await _refused(request, error)(self.scope, self.receive, self.send)
        else:
            await super().dispatch()


class OutboxList(_OutboxPage):
    async def get(self, request: Request) -> Response:
        before = read_query(request.scope, {"before": whole(1, _LARGEST)}, strict=False).get("before")
        home = house(request)
        kept = await home.store.read(outbox.latest, _SHOWN, before)
        now = home.clock.now()
        return page(
            request, "outbox.html", **_common(request), mails=[_row(each, now) for each in kept],
            older=kept[-1].outbox_id if len(kept) == _SHOWN else None, is_first=before is None,
        )  # fmt: skip


class OutboxMail(_OutboxPage):
    async def get(self, request: Request) -> Response:
        kept = await _kept(request)
        now = house(request).clock.now()
        return page(
            request, "outbox_mail.html", headers=_FRAMING, **_common(request), mail=_row(kept, now), text=kept.mail.text
        )


class OutboxHtml(_OutboxPage):
    async def get(self, request: Request) -> Response:
        kept = await _kept(request)
        return HTMLResponse(_HEAD.sub(_BESIDE, kept.mail.html, count=1), headers=_MAIL_HEADERS)


async def _kept(request: Request) -> Kept:
    text = request.path_params["outbox_id"]
    found = await house(request).store.read(outbox.find, int(text)) if _ID.fullmatch(text) else None
    if found is None:
        raise UserError("mail_not_found", "there is no such mail in the outbox")
    return found


def _common(request: Request) -> dict[str, Any]:
    return {"language": language(request)}


def _row(kept: Kept, now: datetime) -> Row:
    mail, at = kept.mail, kept.created_at
    return Row(kept.outbox_id, mail.to_address, mail.subject, mail.locale, iso(at), ago(now, at))


def _refused(request: Request, error: UserError) -> Response:
    refused = trouble(request, error)
    if error.code == "unauthorized":
        refused.headers.update(_CHALLENGE)
    return refused
