"""`/subscribe/telegram`: from the form to a chat with the bot. The page has the link; the chat makes the contact."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import Response

from vacancy.channels.words import moment
from vacancy.errors import UserError
from vacancy.model.subscriptions import Preferences
from vacancy.subscriptions import naming
from vacancy.subscriptions.chat_links import Plan
from vacancy.subscriptions.naming import Waited
from vacancy.web.context import house
from vacancy.web.pages.cards import card
from vacancy.web.pages.forms import read_form
from vacancy.web.pages.language import reader_locale
from vacancy.web.pages.preference_fields import read_fields, typed
from vacancy.web.pages.problems import Notice
from vacancy.web.pages.render import page
from vacancy.web.pages.subscribe import OF_STAMP, TRAP, Fields, Sheet, finder_page, form_page, topic_name
from vacancy.web.pages.trouble import Page, status_of
from vacancy.web.telegram_links import make_link


class TelegramPage(Page):
    async def post(self, request: Request) -> Response:
        home, form = house(request), await read_form(request)
        try:
            waited = await home.store.read(naming.look, home.desk, topic_name(form))
        except UserError as error:
            return finder_page(request, form, error, status_of(error))
        sheet, stamp = _read_sheet(form), form.get("stamp", "")
        if sheet.problems:
            return form_page(request, waited, sheet, stamp=stamp, status=400)
        try:
            home.count_attempt(request.scope)
        except UserError as error:
            return form_page(request, waited, sheet, Notice.TOO_OFTEN, stamp=stamp, error=error)
        notice = Notice.TOO_FAST if form.get(TRAP) else OF_STAMP.get(home.stamps.judge(stamp))
        if notice:
            return form_page(request, waited, sheet, notice, stamp=stamp, status=400)
        return await _link(request, waited, sheet.preferences)


def _read_sheet(form: Fields) -> Sheet:
    """The same form as for a mail; an address in it is left alone."""
    fields = {"email": form.get("email", "").strip(), **typed(form, Preferences())}
    changes, problems = read_fields(fields)
    return Sheet(fields, None, replace(Preferences(), **changes), problems)


async def _link(request: Request, waited: Waited, preferences: Preferences) -> Response:
    home, locale = house(request), reader_locale(request)
    source, topic = home.desk.topic(waited.topic.name)
    made = await make_link(home, Plan(source, topic, locale, preferences))
    return page(
        request,
        "telegram.html",
        card=card(waited),
        url=made.url,
        when=moment(made.expires_at, source.policy.time_zone, locale),
        locale=locale,
    )
