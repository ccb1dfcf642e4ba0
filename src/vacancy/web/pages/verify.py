"""`/verify`: where the link in the first mail leads. Looking confirms nothing, for scanners of mails look as well."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from vacancy.model.subscriptions import Subscription
from vacancy.store.engine import Tx
from vacancy.subscriptions import naming, verification
from vacancy.subscriptions.naming import Waited
from vacancy.subscriptions.rules import Desk
from vacancy.web.context import house
from vacancy.web.pages.cards import card
from vacancy.web.pages.forms import read_form
from vacancy.web.pages.render import page
from vacancy.web.pages.trouble import Page


class VerifyPage(Page):
    async def get(self, request: Request) -> Response:
        token = request.query_params.get("token", "")
        house(request).links.read(token)
        return page(request, "verify.html", token=token)

    async def post(self, request: Request) -> Response:
        home, form = house(request), await read_form(request)
        subscription_id, nonce = home.links.read(form.get("token", ""))
        begun = await home.store.write(_verify, home.desk, subscription_id, nonce)
        # Whoever holds the link has shown that the address is theirs: from here on they may manage what it began.
        shown = [(card(waited), each.subscription_id, each.manage_token) for each, waited in begun]
        return page(request, "verified.html", begun=shown)


def _verify(tx: Tx, desk: Desk, subscription_id: int, nonce: str) -> Sequence[tuple[Subscription, Waited]]:
    begun = verification.verify(tx, desk, subscription_id, nonce)
    return [(each, naming.look_at_own(tx, desk, each)) for each in begun]
