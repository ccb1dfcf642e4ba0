"""Requests made out of our own OpenAPI document, good and bad: every answer is one that the document tells of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from tests.support.clock import ManualClock
from tests.web.subscribing import Registrar, in_catalogue, site, subscribe

from vacancy.store import migrate
from vacancy.store.engine import Store

load_all_checks()
_KNOWN: Final = CHECKS.get_by_names(
    ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
     "response_headers_conformance"]
)  # fmt: skip
# It never ends; what it answers has tests of its own.
_ENDLESS: Final = "/api/events/stream"
_EXAMPLES: Final = 25


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    clock = ManualClock()
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('schema')}/vacancy.db", clock)
    migrate.upgrade(store)
    app, house = site(store, clock, per_ip=1_000_000)
    in_catalogue(house, "12345")
    Registrar(house, clock).shows(12345)
    subscribe(app)
    yield schemathesis.openapi.from_asgi("/openapi.json", app)
    app.state.feed.close()
    store.close()


def test_every_answer_is_one_that_is_told_of(schema: Any) -> None:
    asked = 0
    for path, item in schema.raw_schema["paths"].items():
        if path != _ENDLESS:
            for verb in item:
                asked += sum(_ask(schema[path][verb], mode) for mode in GenerationMode)
    assert asked > 20 * _EXAMPLES


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
        case.call_and_validate(checks=_KNOWN)
        nonlocal asked
        asked += 1

    try:
        ask()
    except Unsatisfiable:
        # Whatever is sent there is right: nothing wrong can be made up.
        assert mode is GenerationMode.NEGATIVE
    return asked
