"""Where settings come from, which one wins, and what is said of a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from vacancy.errors import SettingsError
from vacancy.settings import Settings, env_name, load, masked, render_docs, table

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


def toml(folder: Path, text: str) -> Path:
    path = folder / "vacancy.toml"
    path.write_text(text, "utf-8")
    return path


def problems(environ: Mapping[str, str], config: Path | None = None) -> list[str]:
    with pytest.raises(SettingsError) as wrong:
        load(config, environ)
    return str(wrong.value).splitlines()


def test_without_anything_the_defaults_hold_and_nothing_is_polled() -> None:
    settings = load(None, {"PATH": "/bin", "VACANCY_SECRET_KEY": ""})
    assert settings == Settings()
    assert settings.database_url == "sqlite:///vacancy.db"
    assert settings.soc.terms == ()
    assert settings.secret_key is None


def test_override_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    config = toml(tmp_path, "[web]\nport = 1\nhost = 'file'\nmax_streams = 7\n")
    environ = {"VACANCY_CONFIG": str(config), "VACANCY_WEB__PORT": "2", "VACANCY_WEB__HOST": "env"}
    web = load(None, environ, {"web.port": 3}).web
    assert (web.port, web.host, web.max_streams) == (3, "env", 7)
    assert load(None, {}, {"web": {"port": 4}, "web.host": "both"}).web.port == 4


def test_the_file_on_the_command_line_replaces_the_one_in_the_environment(tmp_path: Path) -> None:
    config = toml(tmp_path, "log_level = 'DEBUG'")
    assert load(config, {"VACANCY_CONFIG": "/nowhere"}).log_level == "debug"


@pytest.mark.parametrize("text", ["12025, 20259", '["12025", "20259"]', "SP2025,92025,12025"])
def test_a_list_in_the_environment_is_json_or_has_commas_and_is_normalised(text: str) -> None:
    soc = load(None, {"VACANCY_SOC__TERMS": text, "VACANCY_SOC__CAMPUSES": "nb"}).soc
    assert soc.terms == ("12025", "92025")
    assert soc.campuses == ("NB",)


def test_a_typo_is_named_with_the_closest_name(tmp_path: Path) -> None:
    config = toml(tmp_path, "bse_url = 'x'\n[soc]\nintervl_s = 3\n[sock]\na = 1\n")
    assert problems({"VACANCY_SOC__INTERVL_S": "3", "VACANCY_NONSENSE": "1"}, config) == [
        "VACANCY_NONSENSE: there is no such setting; `vacancy settings` prints all names",
        "VACANCY_SOC__INTERVL_S: there is no such setting; did you mean VACANCY_SOC__INTERVAL_S?",
        f"{config}: [soc] intervl_s: there is no such setting; did you mean soc.interval_s?",
        f"{config}: bse_url: there is no such setting; did you mean base_url?",
        f"{config}: sock: there is no such setting; did you mean soc?",
    ]


def test_every_wrong_value_has_its_line_and_no_secret_is_repeated(tmp_path: Path) -> None:
    config = toml(tmp_path, "web = 3\n[soc]\nenabled = 'maybe'\njitter = 0.6\n")
    lines = problems(
        {
            "VACANCY_SOC__INTERVAL_S": "abc",
            "VACANCY_SOC__TERMS": "22026",
            "VACANCY_DATABASE_URL": "mysql://u:hunter2@h/d",
            "VACANCY_BASE_URL": "http://u:hunter2@h/",
            "VACANCY_SECRET_KEY": "   ",
        },
        config,
    )
    assert [line.split(": ")[0 if line.startswith("VACANCY") else 1] for line in lines] == [
        "VACANCY_DATABASE_URL",
        "VACANCY_BASE_URL",
        "VACANCY_SECRET_KEY",
        "web",
        "[soc] enabled",
        "VACANCY_SOC__TERMS",
        "VACANCY_SOC__INTERVAL_S",
        "[soc] jitter",
    ]
    assert "hunter2" not in "".join(lines)
    assert lines[6].endswith("not 'abc'")
    assert "must be a table, written [web]" in lines[3]


@pytest.mark.parametrize("networks", ["10.0.0.1/8", "nonsense", "[1"])
def test_a_network_that_is_none_is_one_line(networks: str) -> None:
    assert len(problems({"VACANCY_WEB__TRUSTED_PROXIES": networks})) == 1


def test_networks_are_read() -> None:
    web = load(None, {"VACANCY_WEB__TRUSTED_PROXIES": "10.0.0.0/8,::1"}).web
    assert [str(network) for network in web.trusted_proxies] == ["10.0.0.0/8", "::1/128"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql+psycopg:///d?host=/run/pg", "postgresql+psycopg:///d?host=/run/pg"),
        ("sqlite:////var/lib/vacancy.db", "sqlite:////var/lib/vacancy.db"),
    ],
)
def test_database_addresses_that_are_taken(given: str, kept: str) -> None:
    assert load(None, {"VACANCY_DATABASE_URL": given}).database_url == kept


@pytest.mark.parametrize(
    "given",
    [
        "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///file:x?mode=memory", "mysql://h/d", "vacancy.db",
        "postgres://h/d", "postgresql://h:port/d",
    ],
)  # fmt: skip
def test_database_addresses_that_are_refused(given: str) -> None:
    (line,) = problems({"VACANCY_DATABASE_URL": given})
    assert line.startswith("VACANCY_DATABASE_URL: ")


@pytest.mark.parametrize(
    "given", ["http://example.org", "ftp://127.0.0.1", "http://127.0.0.1.example.org", "https://", "http://10.0.0.1"]
)
def test_an_upstream_is_https_or_on_this_machine(given: str) -> None:
    (line,) = problems({"VACANCY_SOC__BASE_URL": given})
    assert line.startswith("VACANCY_SOC__BASE_URL: ")


@pytest.mark.parametrize("given", ["http://localhost:1/x/", "http://[::1]:1/x", "https://example.org/x"])
def test_upstreams_that_are_taken(given: str) -> None:
    assert load(None, {"VACANCY_SOC__BASE_URL": given}).soc.base_url == given.rstrip("/")


def test_enabled_without_terms_names_the_setting_where_it_was_enabled(tmp_path: Path) -> None:
    config = toml(tmp_path, "[soc]\nenabled = true\n")
    assert problems({}, config)[0].startswith(f"{config}: [soc] terms: must name at least one term")
    assert problems({"VACANCY_SOC__ENABLED": "true"})[0].startswith("VACANCY_SOC__TERMS: must name at least one")


def test_short_intervals_are_for_this_machine_alone() -> None:
    short = {"VACANCY_SOC__INTERVAL_S": "0.2", "VACANCY_SOC__CATALOGUE_INTERVAL_S": "1"}
    assert problems(short) == [
        "VACANCY_SOC__INTERVAL_S: must be at least 5 s, except for a loopback base_url",
        "VACANCY_SOC__CATALOGUE_INTERVAL_S: must be at least 60 s, except for a loopback base_url",
    ]
    assert load(None, {**short, "VACANCY_SOC__BASE_URL": "http://127.0.0.1:9"}).soc.interval_s == 0.2


@pytest.mark.parametrize("secret", ["s3cret", "whsec_", "whsec_s3cret", "whsec_" + "s3cret==", "x whsec_" + "A" * 40])
def test_what_signs_for_the_operator_is_a_key(secret: str) -> None:
    assert problems({"VACANCY_OPERATOR__WEBHOOK_SECRET": secret}) == [
        "VACANCY_OPERATOR__WEBHOOK_SECRET: must be whsec_ followed by 24 to 64 bytes in base64"
    ]
    kept = load(None, {"VACANCY_OPERATOR__WEBHOOK_SECRET": "whsec_" + "A" * 32}).operator.webhook_secret
    assert kept is not None


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    held = tmp_path / "key"
    held.write_text("from a file\n")
    settings = load(None, {"VACANCY_SECRET_KEY_FILE": str(held), "VACANCY_WEB__ADMIN_TOKEN_FILE": str(held)})
    assert settings.secret_key is not None
    assert settings.secret_key.get_secret_value() == "from a file"
    assert settings.web.admin_token == settings.secret_key


def test_a_secret_given_twice_or_not_readable_or_empty_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert "keep one" in problems({"VACANCY_SECRET_KEY": "a", "VACANCY_SECRET_KEY_FILE": str(empty)})[0]
    assert "is empty" in problems({"VACANCY_SECRET_KEY_FILE": str(empty)})[0]
    assert "No such file" in problems({"VACANCY_WEB__ADMIN_TOKEN_FILE": str(tmp_path / "none")})[0]


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2"])
def test_a_file_that_is_not_toml(tmp_path: Path, text: str) -> None:
    assert "cannot be read as TOML" in problems({}, toml(tmp_path, text))[0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "No such file" in problems({}, tmp_path / "none.toml")[0]


def test_what_is_shown_holds_no_secret() -> None:
    environ = {
        "VACANCY_SECRET_KEY": "hunter2",
        "VACANCY_WEB__ADMIN_TOKEN": "hunter2",
        "VACANCY_DATABASE_URL": "postgresql://u:hunter2@h:5/d?password=hunter2",
        "VACANCY_BOT__DATABASE_URL": "postgresql://u:hunter2@h:5/d?password=hunter2",
    }
    settings = load(None, environ)
    assert "hunter2" not in str(masked(settings)) + repr(settings).replace(settings.database_url, "")
    shown = masked(settings)
    assert shown["database_url"] == shown["bot"]["database_url"] == "postgresql+psycopg://u:***@h:5/d?***"


def test_the_table_and_the_page_say_the_same_as_the_code() -> None:
    rows = {row.name: row for row in table()}
    assert all(row.help.endswith((".", "…", "CM.")) for row in rows.values())
    assert {name for name, row in rows.items() if row.secret} == {
        "secret_key", "web.admin_token", "email.smtp_password", "email.sendgrid_api_key", "telegram.token",
        "discord.bot_token", "operator.webhook_secret", "resy.api_key", "resy.auth_token", "tasks.service_token",
        "bot.service_token",
    }  # fmt: skip
    assert rows["soc.interval_s"].env == env_name("soc.interval_s") == "VACANCY_SOC__INTERVAL_S"
    assert DOCS.read_text("utf-8") == render_docs(), "write docs/settings.md again from render_docs()"
