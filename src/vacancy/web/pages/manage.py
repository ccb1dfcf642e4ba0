"""`/manage/{id}`: one subscription in the hands of its owner."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.model.subscriptions import Status, Subscription
from vacancy.store.engine import Tx
from vacancy.subscriptions import manage, naming
from vacancy.subscriptions.contacts import masked
from vacancy.subscriptions.manage import Change
from vacancy.subscriptions.naming import Waited
from vacancy.subscriptions.preferences import running_snooze
from vacancy.subscriptions.rules import Desk
from vacancy.web.context import house
from vacancy.web.pages.ago import ago
from vacancy.web.pages.cards import card
from vacancy.web.pages.forms import read_form
from vacancy.web.pages.preference_fields import MOST_ALERTS, fields_of, read_fields, typed
from vacancy.web.pages.problems import Notice, Problem
from vacancy.web.pages.render import page
from vacancy.web.pages.tokens import checked
from vacancy.web.pages.trouble import Page

_ID: Final = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_REASON: Final = "manage page"
_CHANGES: Final[Mapping[str, tuple[Change, Notice]]] = {
    "pause": (Change({}, Status.PAUSED), Notice.PAUSED),
    "resume": (Change({}, Status.ACTIVE), Notice.RESUMED),
    "wake": (Change({"snooze_until": None}), Notice.AWAKE),
}
# The state is another than the page showed: shown as it is, with a word.
_OVERTAKEN: Final = ("illegal_move", "subscription_ended")


@dataclass(frozen=True, slots=True)
class Owned:
    """A subscription and the thing that it waits for, read in one transaction."""

    row: Subscription
    waited: Waited


class ManagePage(Page):
    async def get(self, request: Request) -> Response:
        home = house(request)
        number, token = _number(request), checked(request.query_params.get("token", ""))
        owned = await home.store.write(_owned, home.desk, lambda tx: manage.find_own(tx, number, token))
        return _show(request, owned)

    async def post(self, request: Request) -> Response:
        form = await read_form(request)
        number, token, wish = _number(request), checked(form.get("token", "")), form.get("do", "")
        if wish == "unsubscribe":
            return await _leave(request, number, token)
        if wish == "save":
            return await _save(request, number, token, form)
        if wish not in _CHANGES:
            raise UserError("validation_failed", "do: must be save, pause, resume, wake or unsubscribe")
        return await _change(request, number, token, *_CHANGES[wish])


def _number(request: Request) -> int:
    text = request.path_params["subscription_id"]
    if not _ID.fullmatch(text):
        raise UserError("subscription_not_found", "a subscription has a number")
    return int(text)


def _owned(tx: Tx, desk: Desk, read: Callable[[Tx], Subscription]) -> Owned:
    found = read(tx)
    return Owned(found, naming.look_at_own(tx, desk, found))


async def _save(request: Request, number: int, token: str, form: Mapping[str, str]) -> Response:
    home = house(request)
    owned = await home.store.write(_owned, home.desk, lambda tx: manage.find_own(tx, number, token))
    fields = typed(form, owned.row.preferences)
    changes, problems = read_fields(fields)
    if problems:
        return _show(request, owned, status=400, fields=fields, problems=problems)
    return await _change(request, number, token, Change(changes), Notice.SAVED)


async def _change(request: Request, number: int, token: str, wanted: Change, notice: Notice) -> Response:
    home = house(request)

    def change(tx: Tx) -> Subscription:
        return manage.change(tx, home.desk, number, token, wanted)

    try:
        return _show(request, await home.store.write(_owned, home.desk, change), notice)
    except UserError as error:
        if error.code not in _OVERTAKEN:
            raise
        owned = await home.store.write(_owned, home.desk, lambda tx: manage.find_own(tx, number, token))
        return _show(request, owned, Notice.NOT_NOW, status=error.status)


async def _leave(request: Request, number: int, token: str) -> Response:
    home = house(request)

    def leave(tx: Tx) -> Subscription:
        return manage.unsubscribe_own(tx, home.desk, number, token, _REASON)[0]

    owned = await home.store.write(_owned, home.desk, leave)
    return page(request, "unsubscribed.html", card=card(owned.waited))


def _show(
    request: Request, owned: Owned, notice: Notice | None = None, *, status: int = 200,
    fields: Mapping[str, str] | None = None, problems: Mapping[str, Problem] | None = None,
) -> Response:  # fmt: skip
    row = owned.row
    return page(
        request,
        "manage.html",
        status,
        card=card(owned.waited),
        **_facts(row, house(request).clock.now()),
        fields=fields or fields_of(row.preferences),
        problems=problems or {},
        notice=notice,
        most_alerts=MOST_ALERTS,
        token=row.manage_token,
    )


def _facts(row: Subscription, now: datetime) -> dict[str, Any]:
    snoozed = row.snooze_until if running_snooze(row.preferences, now) else None
    told = row.last_notified_at
    return {
        "number": row.subscription_id,
        "state": row.status,
        "is_live": row.is_live,
        "contact": masked(row.contact_value) if row.contact_value else None,
        "told": row.notified_count,
        "at_most": row.max_notifications,
        "begun": (iso(row.created_at), ago(now, row.created_at)),
        "last_told": (iso(told), ago(now, told)) if told else None,
        "snoozed_until": iso(snoozed) if snoozed else None,
    }
