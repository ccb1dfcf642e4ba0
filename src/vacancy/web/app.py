"""The web: every route in one place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import Depends, FastAPI
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route

from vacancy.web import health
from vacancy.web.api import admin, courses, subscriptions, targets, tasks, telegram, venues, webpush
from vacancy.web.api.events import EventPages
from vacancy.web.api.open_tables import OpenTables, View
from vacancy.web.api.stream import EventStream
from vacancy.web.api.tables import TablePages
from vacancy.web.api.tail import EventFeed
from vacancy.web.context import House
from vacancy.web.errors import add_error_handlers, documented, last_resort
from vacancy.web.openapi import VacancyApp
from vacancy.web.pages.board import board
from vacancy.web.pages.docs import docs
from vacancy.web.pages.manage import ManagePage
from vacancy.web.pages.outbox import OutboxHtml, OutboxList, OutboxMail
from vacancy.web.pages.render import Static, manifest, service_worker
from vacancy.web.pages.subscribe import SubscribePage
from vacancy.web.pages.telegram import TelegramPage
from vacancy.web.pages.unsubscribe import UnsubscribePage
from vacancy.web.pages.verify import VerifyPage
from vacancy.web.parameters import only_known_parameters
from vacancy.web.trace import Trace

_ABOUT = "Tells people the moment something opens. Every answer carries `X-Trace-Id`; every error has one shape."


def create_app(house: House) -> FastAPI:
    feed = EventFeed(house.store, house.clock)
    tables = OpenTables(house, feed)
    labels: dict[object, str] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        feed.close()

    app = VacancyApp(
        title="Vacancy",
        version=version("vacancy"),
        description=_ABOUT,
        # The feed comes first: routes are tried in this order, and it is asked far more often than all the rest.
        routes=[
            Route("/api/events", EventPages(house, feed), methods=["GET"]),
            Route("/api/events/stream", EventStream(house, feed), methods=["GET"]),
            Route("/api/just-opened", TablePages(tables, View.JUST_OPENED), methods=["GET"]),
            Route("/api/still-open", TablePages(tables, View.STILL_OPEN), methods=["GET"]),
            Route("/api/open-counts", TablePages(tables, View.COUNTS), methods=["GET"]),
            Route("/", board),
            Route("/docs", docs),
            Route("/subscribe", SubscribePage),
            Route("/subscribe/telegram", TelegramPage),
            Route("/verify", VerifyPage),
            Route("/unsubscribe", UnsubscribePage),
            Route("/manage/{subscription_id}", ManagePage),
            Route("/sw.js", service_worker),
            Route("/manifest.webmanifest", manifest),
            Route("/outbox", OutboxList),
            Route("/outbox/{outbox_id}", OutboxMail),
            Route("/outbox/{outbox_id}/html", OutboxHtml),
            Route("/healthz", health.healthz),
            Route("/readyz", health.readyz),
            Route("/metrics", health.metrics),
            Mount("/static", Static()),
        ],
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(only_known_parameters)],
        responses=documented("validation_failed", "internal_error", "unavailable"),
        middleware=[Middleware(Trace, house=house, labels=labels), last_resort()],
        lifespan=lifespan,
    )
    app.include_router(targets.router)
    app.include_router(courses.router)
    app.include_router(venues.router)
    app.include_router(subscriptions.router)
    app.include_router(webpush.router)
    app.include_router(telegram.router)
    app.include_router(admin.router)
    app.include_router(tasks.service_router)
    app.include_router(tasks.router)
    app.state.house = house
    app.state.feed = feed
    add_error_handlers(app)
    labels.update(_labels(app.routes))
    return app


def _labels(routes: list[BaseRoute]) -> dict[object, str]:
    plain: dict[object, str] = {route.endpoint: route.path for route in routes if isinstance(route, Route)}
    return {**plain, **{route.app: route.path for route in routes if isinstance(route, Mount)}}
