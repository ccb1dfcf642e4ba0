"""`/unsubscribe`: where every mail's way out leads. A GET shows a button, a POST leaves.

The POST may be a mail program's own (RFC 8058): no cookie, no field of a form, whatever the body, and no redirect.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from vacancy.errors import UserError
from vacancy.store.engine import Tx
from vacancy.subscriptions import manage, naming
from vacancy.subscriptions.naming import Waited
from vacancy.subscriptions.rules import Desk
from vacancy.web.context import house
from vacancy.web.pages.cards import card
from vacancy.web.pages.render import page
from vacancy.web.pages.tokens import checked
from vacancy.web.pages.trouble import Page

_REASON = "unsubscribe link"


class UnsubscribePage(Page):
    async def get(self, request: Request) -> Response:
        home, token = house(request), checked(request.query_params.get("token", ""))
        is_live, waited = await home.store.write(_look, home.desk, token)
        if not is_live:
            return page(request, "unsubscribed.html", card=card(waited))
        return page(request, "unsubscribe.html", card=card(waited), token=token)

    async def post(self, request: Request) -> Response:
        home, token = house(request), checked(request.query_params.get("token", ""))
        waited = await home.store.write(_leave, home.desk, token)
        return page(request, "unsubscribed.html", card=card(waited))


def _look(tx: Tx, desk: Desk, token: str) -> tuple[bool, Waited]:
    found = manage.find_by_token(tx, token)
    return found.is_live, naming.look_at_own(tx, desk, found)


def _leave(tx: Tx, desk: Desk, token: str) -> Waited:
    try:
        left, _ = manage.unsubscribe_by_token(tx, desk, token, _REASON)
    except UserError as error:
        if error.code != "subscription_ended":
            raise
        # It hears nothing any more, which is what was asked for.
        left = manage.find_by_token(tx, token)
    return naming.look_at_own(tx, desk, left)
