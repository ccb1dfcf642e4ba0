"""The section of restaurants' tables: what it takes, and what stops the start."""

from __future__ import annotations

import pytest

from vacancy.errors import SettingsError
from vacancy.model.markets import MARKETS
from vacancy.settings import load
from vacancy.settings_sections import ResySettings

KEYS = {"VACANCY_RESY__API_KEY": "key", "VACANCY_RESY__AUTH_TOKEN": "token"}


def resy(**given: str) -> ResySettings:
    return load(None, {f"VACANCY_RESY__{name.upper()}": text for name, text in given.items()}).resy


def problems(**given: str) -> list[str]:
    with pytest.raises(SettingsError) as wrong:
        resy(**given)
    return str(wrong.value).splitlines()


def test_it_is_off_until_it_is_asked_for() -> None:
    settings = resy()
    assert not settings.enabled
    assert (settings.market, settings.bounding_box, settings.time_slots) == ("nyc", None, ("15:00", "20:30"))
    assert (settings.window_days, settings.party_sizes, settings.interval_s) == (14, (2, 4), 30)


@pytest.mark.parametrize(
    ("given", "name"), [({}, "API_KEY"), ({"api_key": "k"}, "AUTH_TOKEN"), ({"auth_token": "t"}, "API_KEY")]
)
def test_without_both_keys_it_does_not_start_and_says_so_in_one_line(given: dict[str, str], name: str) -> None:
    assert problems(enabled="true", **given) == [
        f"VACANCY_RESY__{name}: api_key and auth_token are needed when resy is enabled, except for a loopback base_url"
    ]


def test_an_upstream_on_this_machine_needs_no_keys_and_may_be_asked_often() -> None:
    settings = resy(enabled="true", base_url="http://127.0.0.1:9/resy/", interval_s="0.2")
    assert (settings.base_url, settings.interval_s) == ("http://127.0.0.1:9/resy", 0.2)
    assert problems(interval_s="4.9") == [
        "VACANCY_RESY__INTERVAL_S: must be at least 5 s, except for a loopback base_url"
    ]


def test_what_is_taken_is_made_one() -> None:
    settings = resy(time_slots="9:05, 20:30,20:30", party_sizes="4,2,4", market="LA", bounding_box="1,2,3,4")
    assert settings.time_slots == ("09:05", "20:30")
    assert settings.party_sizes == (2, 4)
    assert settings.market == "la"
    assert settings.bounding_box == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("time_slots", "25:00"), ("time_slots", "8 PM"), ("time_slots", "[]"), ("party_sizes", "0"),
        ("party_sizes", "21"), ("party_sizes", "[]"), ("window_days", "31"), ("window_days", "0"), ("market", "paris"),
        ("bounding_box", "1,2,3"), ("bounding_box", "3,2,1,4"), ("bounding_box", "1,4,3,2"),
        ("bounding_box", "1,2,91,4"), ("bounding_box", "nan,2,3,4"), ("dedupe_minutes", "0"), ("max_pages", "0"),
    ],
)  # fmt: skip
def test_what_is_refused_has_one_line(name: str, text: str) -> None:
    (line,) = problems(**{name: text})
    assert line.startswith(f"VACANCY_RESY__{name.upper()}: ")


@pytest.mark.parametrize("secret", ["two\nlines", 'a"b', "ünïcode"])
def test_a_key_that_breaks_out_of_its_header_is_refused_and_not_repeated(secret: str) -> None:
    for name in ("api_key", "auth_token"):
        (line,) = problems(**{name: secret})
        assert line.startswith(f"VACANCY_RESY__{name.upper()}: must be one line of plain characters")
        assert secret not in line


def test_every_market_is_a_place() -> None:
    for name, market in MARKETS.items():
        box = ",".join(map(str, market.box))
        assert resy(market=name, bounding_box=box).bounding_box == market.box
