"""When a target is asked again: politely, however hot it is and whatever the dice say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from vacancy.clock import Dice, SystemClock
from vacancy.model.availability import Claim, Failed, Policy, Trouble
from vacancy.net.client import Client
from vacancy.pipeline import pace
from vacancy.settings_json import JsonSettings
from vacancy.settings_sections import ResySettings, SocSettings
from vacancy.sources.json_endpoint import JsonEndpoint
from vacancy.sources.json_plan import make_plan
from vacancy.sources.resy import Resy
from vacancy.sources.resy_search import ResySearch
from vacancy.sources.soc import Soc

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
CLOCK = SystemClock()
CLIENT = Client(CLOCK, user_agent="test")
ELSEWHERE = "https://upstream.example"
HERE = "http://127.0.0.1:9"


def resy(base_url: str, interval_s: float, jitter: float) -> Policy:
    settings = ResySettings(base_url=base_url, interval_s=interval_s, jitter=jitter)
    return Resy(settings, ResySearch(settings, CLIENT, CLOCK), CLOCK).policy


def soc(base_url: str, interval_s: float, jitter: float) -> Policy:
    return Soc(SocSettings(base_url=base_url, interval_s=interval_s, jitter=jitter), CLIENT).policy


def endpoint(base_url: str, interval_s: float, jitter: float) -> Policy:
    settings = JsonSettings(name="any", url=base_url, items="$[*]", interval_s=interval_s, jitter=jitter)
    return JsonEndpoint(settings, make_plan(settings), CLIENT).policy


def claim(*, believed: bool) -> Claim:
    return Claim(1, "any", "any", 1, 0, "me", "trace", believed, (), None, 0, None, slowed=False)


@given(
    st.sampled_from([resy, soc, endpoint]),
    st.floats(5, 3600),
    st.floats(0, 0.5),
    st.integers(),
    st.none() | st.integers(-60, 100_000),
    st.booleans(),
)
def test_nobody_elses_upstream_is_asked_again_within_five_seconds(
    source: object, interval_s: float, jitter: float, seed: int, edge_s: int | None, held: bool
) -> None:
    policy, dice = source(ELSEWHERE, interval_s, jitter), Dice(seed)  # type: ignore[operator]
    edge_at = None if edge_s is None else NOW - timedelta(seconds=edge_s)
    assert pace.next_delay(policy, dice, NOW, edge_at, held=held) >= 5
    for trouble in Trouble:
        setback = pace.after_failure(policy, dice, claim(believed=True), Failed(trouble, ""), NOW)
        assert setback.target_delay_s >= 5


def test_this_machine_may_be_asked_as_often_as_it_likes() -> None:
    for source in (resy, soc, endpoint):
        assert pace.next_delay(source(HERE, 0.2, 0), Dice(1), NOW, None, held=False) <= 0.4


def test_a_hot_bucket_is_asked_at_half_its_interval_and_a_cold_one_at_twice() -> None:
    def delay_s(interval_s: float, edge: timedelta | None) -> float:
        edge_at = None if edge is None else NOW - edge
        return pace.next_delay(resy(ELSEWHERE, interval_s, 0), Dice(1), NOW, edge_at, held=False)

    hot, warm, cold = timedelta(minutes=9), timedelta(hours=1), timedelta(hours=3)
    assert [delay_s(30, edge) for edge in (hot, warm, cold, None)] == [15, 30, 60, 60]
    assert [delay_s(6, edge) for edge in (hot, warm, cold, None)] == [5, 6, 12, 12]
