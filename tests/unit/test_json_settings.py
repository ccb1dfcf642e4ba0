"""`[[json]]`: a list of tables, from a file or from one variable, and what stops the start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vacancy.clock import SystemClock
from vacancy.errors import SettingsError
from vacancy.net.client import Client
from vacancy.settings import load, masked, table
from vacancy.settings_json import JsonSettings
from vacancy.sources import anything_wanted, build, by_name
from vacancy.sources.json_endpoint import budget_of
from vacancy.sources.json_plan import make_plan

SHOP = {"name": "shop", "url": "https://shop.example/list", "items": "$[*]"}


def endpoints(*given: dict[str, Any]) -> tuple[JsonSettings, ...]:
    return load(None, {"VACANCY_JSON": json.dumps(given)}).json_endpoints


def problems(*given: object) -> list[str]:
    with pytest.raises(SettingsError) as wrong:
        load(None, {"VACANCY_JSON": json.dumps(given)})
    return str(wrong.value).splitlines()


def toml(folder: Path, text: str) -> Path:
    path = folder / "vacancy.toml"
    path.write_text(text, "utf-8")
    return path


def test_without_any_nothing_is_polled() -> None:
    settings = load(None, {"VACANCY_JSON": ""})
    assert settings.json_endpoints == ()
    assert not anything_wanted(settings)
    assert anything_wanted(load(None, {"VACANCY_JSON": json.dumps([SHOP])}))


def test_three_lines_are_enough() -> None:
    (shop,) = endpoints(SHOP)
    assert (shop.key, shop.label, shop.open_when, shop.headers) == ("@", None, None, {})
    assert (shop.interval_s, shop.jitter, shop.misses_to_close, shop.empty_is_valid) == (30, 0.3, 2, False)
    assert shop.time_zone == "UTC"


def test_the_environment_replaces_the_file(tmp_path: Path) -> None:
    config = toml(tmp_path, "".join(
        f"[[json]]\nname = '{name}'\nurl = 'https://{name}.example/?a=b'\nitems = '$[*]'\n" for name in ("one", "two")
    ))  # fmt: skip
    assert [each.name for each in load(config, {}).json_endpoints] == ["one", "two"]
    assert [each.name for each in load(config, {"VACANCY_JSON": json.dumps([SHOP])}).json_endpoints] == ["shop"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "Shop"}, "Shop: name: must be a to z, 0 to 9 and -"),
        ({"name": "a" * 33}, "a: name: "), ({"name": ""}, "number 1: name: "),
        ({"name": "a:b"}, "a:b: name: "), ({"url": "http://shop.example"}, "shop: url: must start with https://"),
        ({"url": "https://u:hunter2@shop.example"}, "shop: url: must not hold a user"),
        ({"url": "https://shop.example/#x"}, "shop: url: must not hold a user or a fragment"),
        ({"url": "https://shop.example:port/"}, "shop: url: "),
        ({"url": "file:///etc/passwd"}, "shop: url: must be an"),
        ({"url": "https://shop.example/a b"}, "shop: url: must be written with plain characters"),
        ({"items": ""}, "shop: items: "), ({"itms": "$"}, "shop: itms: there is no such setting; did you mean items?"),
        ({"interval_s": 4.9}, "shop: interval_s: must be at least 5 s, except for a loopback url"),
        ({"interval_s": 0}, "shop: interval_s: "), ({"jitter": 0.6}, "shop: jitter: "),
        ({"misses_to_close": 0}, "shop: misses_to_close: "), ({"empty_is_valid": "perhaps"}, "shop: empty_is_valid: "),
        ({"time_zone": "Mars/Base"}, "shop: time_zone: must be a time zone such as Europe/Berlin"),
        ({"headers": {"X Key": "hunter2"}}, "shop: headers: has a header whose name is none"),
        ({"headers": {"Host": "hunter2"}}, "shop: headers: must not set Host"),
        ({"headers": {"X-Key": "hun\r\nter2"}}, "shop: headers: X-Key must be one line of plain characters"),
        ({"headers": {"X-Key": " "}}, "shop: headers: X-Key must be one line of plain characters"),
        ({"headers": {"X-Key": "hunter2", "x-key": "b"}}, "shop: headers: must name each header once"),
        ({"headers": {"X-Key": 7}}, "shop: headers.X-Key: must be a valid string"),
        ({"headers": "hunter2"}, "shop: headers: "),
    ],
)  # fmt: skip
def test_what_is_wrong_has_one_line_that_names_the_entry(given: dict[str, Any], said: str) -> None:
    (line,) = problems({**SHOP, **given})
    assert line.startswith("VACANCY_JSON ")
    assert said in line
    assert "hunter2" not in line


def test_what_is_needed_and_what_is_no_table() -> None:
    assert problems({}) == [f"VACANCY_JSON number 1: {name}: is needed" for name in ("name", "url", "items")]
    assert problems(SHOP, 7) == ["VACANCY_JSON number 2: must be a table"]
    assert problems(SHOP, SHOP) == ["VACANCY_JSON: two are called shop; each needs a name of its own"]
    for text in ("nonsense", "{}", "3"):
        with pytest.raises(SettingsError, match=r"VACANCY_JSON: must be a list of tables, each written \[\[json\]\]"):
            load(None, {"VACANCY_JSON": text})


def test_in_a_file_the_file_is_named(tmp_path: Path) -> None:
    config = toml(tmp_path, "[[json]]\nname = 'shop'\nurl = 'https://shop.example'\nitems = '$'\nlabl = 'x'\n")
    with pytest.raises(SettingsError) as wrong:
        load(config, {})
    assert str(wrong.value) == f"{config}: [[json]] shop: labl: there is no such setting; did you mean label?"
    with pytest.raises(SettingsError, match="must be a list of tables"):
        load(toml(tmp_path, "[json]\nname = 'shop'\n"), {})


def test_paths_and_rules_that_are_none_stop_the_start_with_a_line_each() -> None:
    wrong = {**SHOP, "items": "$[", "key": "$.id", "open_when": "seats = 1"}
    settings = load(None, {"VACANCY_JSON": json.dumps([wrong, {**SHOP, "name": "other", "link": "a[*]"}])})
    with pytest.raises(SettingsError) as stopped:
        build(settings, Client(SystemClock(), user_agent="test"), None)  # type: ignore[arg-type]
    lines = str(stopped.value).splitlines()
    assert [line.split(": ")[0:2] for line in lines] == [
        ["[[json]] shop", "items"], ["[[json]] shop", "key"], ["[[json]] shop", "open_when"],
        ["[[json]] other", "link"],
    ]  # fmt: skip
    assert lines[2].endswith("column 7: `= 1` is nothing that a rule is made of; write == to compare")


def test_headers_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    held = tmp_path / "headers"
    held.write_text("Authorization: Bearer hunter2\n\nX-Key:  a:b \n", "utf-8")
    (shop,) = endpoints({**SHOP, "headers": {"x-other": "x"}, "headers_file": str(held)})
    assert make_plan(shop).headers == {"X-Other": "x", "Authorization": "Bearer hunter2", "X-Key": "a:b"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Authorization hunter2", "line 1: must be written `Name: value`"),
        ("Host: hunter2", "line 1: must not set Host"),
        ("\nX-Other: hunter2", "line 2: names a header that is set already"), ("X: ü", "line 1: X must be one line"),
        (None, "cannot be read (No such file or directory)"),
    ],
)  # fmt: skip
def test_a_file_of_headers_that_is_none(tmp_path: Path, text: str | None, said: str) -> None:
    held = tmp_path / "headers"
    if text is not None:
        held.write_text(text, "utf-8")
    (shop,) = endpoints({**SHOP, "headers": {"X-Other": "x"}, "headers_file": str(held)})
    with pytest.raises(SettingsError) as wrong:
        make_plan(shop)
    assert said in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


def test_what_an_endpoint_must_not_repeat_is_its_headers_and_its_query() -> None:
    (shop,) = endpoints({**SHOP, "url": "https://shop.example/?key=k", "headers": {"accept": "application/ld+json"}})
    assert make_plan(shop).secrets == ("application/ld+json", "key=k")
    assert list(make_plan(shop).headers) == ["Accept"]
    assert make_plan(endpoints(SHOP)[0]).secrets == ()


def test_no_secret_is_shown() -> None:
    settings = load(None, {"VACANCY_JSON": json.dumps([
        {**SHOP, "url": "https://shop.example/?key=hunter2", "headers": {"X-Key": "hunter2"}}
    ])})  # fmt: skip
    assert "hunter2" not in json.dumps(masked(settings)) + repr(settings.json_endpoints[0].headers)
    assert masked(settings)["json"][0]["url"] == "https://shop.example/?***"


def test_each_entry_is_a_source_found_by_its_name() -> None:
    settings = load(None, {"VACANCY_JSON": json.dumps([SHOP, {**SHOP, "name": "other"}])})
    client = Client(SystemClock(), user_agent="test")
    sources, references = build(settings, client, None)  # type: ignore[arg-type]
    assert [source.name for source in sources] == ["json:shop", "json:other"]
    assert {source.budget for source in sources} == {"json:shop.example"}
    assert references == []
    found = by_name("json:other", settings, client, None)  # type: ignore[arg-type]
    assert found is not None
    assert found.name == "json:other"
    assert by_name("json:none", settings, client, None) is None  # type: ignore[arg-type]
    assert by_name("json", settings, client, None) is None  # type: ignore[arg-type]
    assert len(budget_of("x" * 200)) <= 64


def test_the_table_has_the_list_and_its_members() -> None:
    rows = {row.name: row for row in table()}
    assert (rows["json"].env, rows["json"].type) == ("VACANCY_JSON", "list of tables")
    assert (rows["json[].url"].env, rows["json[].key"].default) == ("", '"@"')
    assert rows["json[].headers"].type == "table of secrets"
