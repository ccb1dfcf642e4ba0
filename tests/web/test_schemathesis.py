"""Requests made out of our own OpenAPI document, good and bad: every answer is one that the document tells of."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.stateful import run_state_machine_as_test
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from sqlalchemy import delete
from tests.support.clock import ManualClock
from tests.support.databases import PostgresDatabase
from tests.support.open_tables import KEY, Maitre, table
from tests.support.people import ADA, PORTERS, hire
from tests.support.queue_rows import MAIL as KEPT_MAIL
from tests.support.queue_rows import make_dead_letter
from tests.web.calling import fill
from tests.web.subscribing import MAIL, SECTION, Registrar, in_catalogue, site, subscribe

from vacancy.channels.telegram_api import BotApi
from vacancy.channels.telegram_hearing import Hearing
from vacancy.channels.telegram_link import DeepLinks
from vacancy.channels.telegram_parse import Update
from vacancy.channels.telegram_relay import Relay
from vacancy.model.tasks import Scope
from vacancy.settings_sections import TaskSettings
from vacancy.store import migrate, outbox
from vacancy.store.engine import Store
from vacancy.store.schema import subscriptions
from vacancy.tasks import workflow

load_all_checks()
_KNOWN: Final = CHECKS.get_by_names(
    ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
     "response_headers_conformance"]
)  # fmt: skip
# It never ends; what it answers has tests of its own.
_ENDLESS: Final = "/api/events/stream"
_EXAMPLES: Final = 15
_SUBSCRIBE: Final = "POST /api/subscribe"
SERVICE_TOKEN: Final = "a-token-of-the-service-long-and-random"
ADMIN_TOKEN: Final = "a token of the operator's, long and random"
# What an address lets in whoever has it. Those without have a test of their own.
_KEYS: Final = {
    "api/admin": {"Authorization": f"Bearer {ADMIN_TOKEN}"},
    "tasks": {"Authorization": f"Bearer {SERVICE_TOKEN}", "X-User-Id": str(ADA)},
    "api/telegram/update": {"Authorization": f"Bearer {SERVICE_TOKEN}"},
    "outbox": {"Authorization": f"Basic {b64encode(f'me:{ADMIN_TOKEN}'.encode()).decode()}"},
}


class Named(DeepLinks):
    async def name(self) -> str:
        return "vacancy_bot"


class Deaf(Relay):
    """Reads what it is handed, and tells nobody."""

    async def _once(self, number: int, update: Update) -> None:
        pass


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def schema(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Each database refuses other things: a NUL in a text, a number beyond its own."""
    clock = ManualClock()
    url = f"sqlite:///{tmp_path_factory.mktemp('schema')}/vacancy.db"
    if request.param == "postgres":
        database: PostgresDatabase = request.getfixturevalue("postgres")
        database.empty()
        url = database.url
    store = Store(url, clock, database_time=False)
    migrate.upgrade(store)
    tasks = TaskSettings.model_validate({"service_token": SERVICE_TOKEN})
    app, house = site(
        store, clock, per_ip=1_000_000, per_contact=10_000, admin_token=ADMIN_TOKEN, settings={"tasks": tasks}
    )
    app.state.house = replace(house, relay=Deaf(cast("Hearing", None), Named(cast("BotApi", None))))
    in_catalogue(house, "12345")
    Registrar(house, clock).shows(12345)
    subscribe(app)
    # A table to find, in whatever way it is asked for.
    Maitre(store, clock, KEY).now({KEY: [table("carbone", "20:30")]})
    # A message to look at, a dead letter to requeue, a mail to read.
    fill(house, make_dead_letter, 1)
    fill(house, outbox.add, clock.now(), KEPT_MAIL)
    # Somebody who asks, and a task to look at.
    fill(house, hire)
    fill(house, workflow.create, ADA, "Count the chairs", None, PORTERS, Scope.FUNCTIONAL)
    yield schemathesis.openapi.from_asgi("/openapi.json", app)
    app.state.feed.close()
    store.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("operators", [False, True], ids=["for all", "with a key"])
def test_every_answer_is_one_that_is_told_of(schema: Any, operators: bool) -> None:
    asked = 0
    for path, item in schema.raw_schema["paths"].items():
        if path != _ENDLESS and (_key(path) is not None) is operators:
            for verb in item:
                asked += sum(_ask(schema[path][verb], mode) for mode in GenerationMode)
    assert asked > 12 * _EXAMPLES


def _key(path: str) -> Mapping[str, str] | None:
    return next((key for place, key in _KEYS.items() if path.startswith(f"/{place}")), None)


@pytest.mark.timeout(600)
def test_whoever_has_subscribed_goes_on_as_the_links_say(schema: Any) -> None:
    """With the tokens of real subscriptions: they are looked at, changed and left, rightly and wrongly."""
    met: Counter[tuple[str, int]] = Counter()

    class Owners(schema.as_state_machine()):  # type: ignore[misc]
        asked = 0

        def setup(self) -> None:
            schema.app.state.house.store.write_now(lambda tx: tx.execute(delete(subscriptions)))

        def before_call(self, case: Any) -> None:
            if case.operation.label == _SUBSCRIBE and isinstance(case.body, dict):
                # Nothing that is only made up names a term that is watched.
                for name in ("topic", "courseString"):
                    case.body.pop(name, None)
                self.asked += 1
                case.body |= {**SECTION, "sectionIndex": f"{self.asked:05d}", **MAIL}

        def validate_response(self, response: Any, case: Any, *_: Any, **__: Any) -> None:
            met[case.operation.label, response.status_code] += 1
            case.validate_response(response, checks=_KNOWN)

    run_state_machine_as_test(
        Owners,
        settings=settings(
            max_examples=40, stateful_step_count=12, deadline=None, derandomize=True, database=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
    itself = "/api/subscriptions/{subscription_id}"
    for label in (f"GET {itself}", f"PATCH {itself}", "POST /api/unsubscribe"):
        assert met[label, 200], met
    # An ended one is not changed, and a body that is none is refused: a real token met both.
    assert met[f"PATCH {itself}", 409], met
    assert met[f"PATCH {itself}", 400], met


def _ask(operation: Any, mode: GenerationMode) -> int:
    asked = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=_EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    def ask(case: Any) -> None:
        if isinstance(case.query, dict):
            # Nobody moves the clock here.
            case.query.pop("wait", None)
        case.call_and_validate(checks=_KNOWN, headers=_key(operation.path))
        nonlocal asked
        asked += 1

    try:
        ask()
    except Unsatisfiable:
        # Whatever is sent there is right: nothing wrong can be made up.
        assert mode is GenerationMode.NEGATIVE
    return asked
