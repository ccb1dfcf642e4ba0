"""The table of settings. Environment over TOML; all that is wrong is said at once, a line each, and stops the start."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeGuard, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from vacancy.errors import SettingsError
from vacancy.settings_bot import BotSettings
from vacancy.settings_json import JsonEndpoints
from vacancy.settings_sections import (
    AppriseSettings,
    DeliverySettings,
    DiscordSettings,
    EmailSettings,
    LogLevel,
    OperatorSettings,
    ResySettings,
    RetentionSettings,
    Secret,
    Section,
    SocSettings,
    SubscriptionSettings,
    TaskSettings,
    TelegramSettings,
    WebhookSettings,
    WebpushSettings,
    WebSettings,
    database_url_of,
    http_url_of,
)

PREFIX: Final = "VACANCY_"
CONFIG_ENV: Final = "VACANCY_CONFIG"
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Settings(Section):
    database_url: Annotated[str, AfterValidator(database_url_of)] = Field(
        default="sqlite:///vacancy.db", description="Where everything is kept: sqlite:///FILE or postgresql+psycopg://…"
    )
    base_url: Annotated[str, AfterValidator(http_url_of)] = Field(
        default="http://127.0.0.1:8000", description="The public address, as links that leave this machine name it."
    )
    secret_key: Secret = Field(
        default=None,
        description="Keys the hashes of contacts; made and kept beside an SQLite database when not set.",
    )
    log_format: Literal["auto", "console", "json"] = Field(
        default="auto", description="How log lines look; auto is console on a terminal and json elsewhere."
    )
    log_level: LogLevel = Field(default="info", description="The least important lines that are still written.")
    web: WebSettings = WebSettings()
    soc: SocSettings = SocSettings()
    resy: ResySettings = ResySettings()
    # Its name in Python is another: pydantic's own `json` is in the way.
    json_endpoints: JsonEndpoints = Field(
        default=(), alias="json", description="JSON endpoints to watch, each in a table of its own: `[[json]]`."
    )
    email: EmailSettings = EmailSettings()
    telegram: TelegramSettings = TelegramSettings()
    discord: DiscordSettings = DiscordSettings()
    webhook: WebhookSettings = WebhookSettings()
    webpush: WebpushSettings = WebpushSettings()
    apprise: AppriseSettings = AppriseSettings()
    bot: BotSettings = BotSettings()
    delivery: DeliverySettings = DeliverySettings()
    operator: OperatorSettings = OperatorSettings()
    subscriptions: SubscriptionSettings = SubscriptionSettings()
    tasks: TaskSettings = TaskSettings()
    retention: RetentionSettings = RetentionSettings()


@dataclass(frozen=True, slots=True)
class SettingRow:
    """Of a member of a list of tables, such as `json[].url`, `env` is empty: the list has a variable, as a whole."""

    name: str
    env: str
    type: str
    default: str
    help: str
    secret: bool


_WORDS: Final[Mapping[object, str]] = MappingProxyType(
    {str: "text", int: "whole number", float: "number", bool: "true or false", IPv4Network: "network", Path: "file"}
)


def _type_word(annotation: object) -> str:
    if annotation in _WORDS:
        return _WORDS[annotation]
    if _tables_in(annotation):
        return "list of tables"
    arguments = get_args(annotation)
    if get_origin(annotation) is Literal:
        return ", ".join(arguments)
    if SecretStr in arguments:
        return "table of secrets" if get_origin(annotation) is dict else "secret"
    inner = _type_word(arguments[0])
    return f"list of {inner}" if get_origin(annotation) is tuple else inner


def _is_table(annotation: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _tables_in(annotation: object) -> type[BaseModel] | None:
    """What the members are of a list of tables."""
    member = get_args(annotation)[0] if get_origin(annotation) is tuple else None
    return member if _is_table(member) else None


def _fields(model: type[BaseModel] = Settings, path: tuple[str, ...] = ()) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        name, annotation = info.alias or name, info.annotation
        if _is_table(annotation):
            yield from _fields(annotation, (*path, name))
            continue
        yield ".".join((*path, name)), info
        if members := _tables_in(annotation):
            yield from _fields(members, (*path, f"{name}[]"))


def env_name(name: str) -> str:
    return PREFIX + name.replace(".", "__").upper()


def table() -> list[SettingRow]:
    rows = []
    for name, info in _fields():
        word = _type_word(info.annotation)
        env = "" if "[]" in name else env_name(name)
        rows.append(SettingRow(name, env, word, _default(info), info.description or "", word == "secret"))
    return rows


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return ""
    value = info.get_default(call_default_factory=True, validated_data={})
    return "" if value is None else json.dumps(value)


def masked(settings: Settings) -> dict[str, Any]:
    """What is in force, fit to be shown: secrets and the database's password are stars."""
    shown: dict[str, Any] = settings.model_dump(mode="json", by_alias=True)
    shown["database_url"] = _without_password(settings.database_url)
    shown["bot"]["database_url"] = _without_password(settings.bot.database_url)
    for endpoint in shown["json"]:
        address, mark, _ = endpoint["url"].partition("?")
        endpoint["url"] = f"{address}?***" if mark else address
    return shown


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        return url
    user, at, place = rest.rpartition("@")
    place, query, _ = place.partition("?")
    if at:
        user = user.partition(":")[0] + (":***" if ":" in user else "")
    return f"{scheme}://{user}{at}{place}{'?***' if query else ''}"


_INTRODUCTION: Final = """\
# Settings

This page is written by `vacancy.settings.render_docs()`; a test fails when it is not current.

A setting is read from the environment, then from the TOML file that `--config` or `VACANCY_CONFIG` names, then from the
default below. In the file, `soc.terms` is `terms` under `[soc]`. In the environment a list is JSON or has commas
between its members, and an empty variable counts as absent. A secret may also stand in a file of its own, named by
the same variable with `_FILE` added (`VACANCY_SECRET_KEY_FILE`). An unknown name, in either place, stops the start.

`json[].url` is `url` in each table under `[[json]]`. In the environment all of these tables are one JSON array of
objects, in `VACANCY_JSON`, which replaces those of the file.

| setting | environment | type | default | what it is |
|---|---|---|---|---|
"""


def render_docs() -> str:
    lines = [f"| `{row.name}` | {_code(row.env)} | {row.type} | {_code(row.default)} | {row.help} |" for row in table()]
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


class _Environment(EnvSettingsSource):
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        # Settings is no BaseSettings: Settings() then depends on nothing outside. The source asks for its fields only.
        model = cast("type[BaseSettings]", Settings)
        super().__init__(model, case_sensitive=False, env_prefix=PREFIX, env_nested_delimiter="__")

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._environ.items() if value}

    def decode_complex_value(self, field_name: str, field: FieldInfo | None, value: Any) -> Any:  # noqa: ARG002
        text = str(value).strip()
        if not text.startswith("["):
            return [part.strip() for part in text.split(",") if part.strip()]
        try:
            return json.loads(text)
        except ValueError:
            return value  # the model then says what it wants, and under which name


@dataclass(frozen=True, slots=True)
class _Layer:
    """One place that settings come from. `origins` are names that differ from the usual spelling."""

    values: Mapping[str, Any]
    place: str
    origins: Mapping[str, str] = field(default_factory=dict)

    def has(self, path: tuple[str, ...]) -> bool:
        found: Any = self.values
        for step in path:
            if not isinstance(found, Mapping) or step not in found:
                return not isinstance(found, Mapping)
            found = found[step]
        return True

    def where(self, path: tuple[str, ...]) -> str:
        name = ".".join(path)
        if self.place == "environment":
            return self.origins.get(name) or env_name(name)
        return f"{self.place}: {f'[{path[0]}] {path[1]}' if len(path) > 1 else name}"


def _closest(name: str, known: list[str], prefix: str = "") -> str:
    """What all names begin with makes none of them like another."""
    rest = [each.removeprefix(prefix) for each in known]
    close = difflib.get_close_matches(name.removeprefix(prefix), rest, n=1, cutoff=0.7)
    return f"did you mean {prefix}{close[0]}?" if close else "`vacancy settings` prints all names"


def _environment(environ: Mapping[str, str], problems: list[str]) -> _Layer:
    rows = table()
    files = {f"{row.env}_FILE": row for row in rows if row.secret}
    known = [CONFIG_ENV, *(row.env for row in rows if row.env), *files]
    ours = {name.upper(): value for name, value in environ.items() if name.upper().startswith(PREFIX)}
    unknown = sorted(set(ours) - set(known))
    problems += [f"{name}: there is no such setting; {_closest(name, known, PREFIX)}" for name in unknown]
    values = {row.env: ours[row.env] for row in rows if ours.get(row.env)}
    origins: dict[str, str] = {}
    for name, row in files.items():
        if not ours.get(name):
            continue
        origins[row.name] = name
        if row.env in values:
            problems.append(f"{name}: {row.env} is given as well; keep one of the two")
        elif (text := _secret_file(name, ours[name], problems)) is not None:
            values[row.env] = text
    return _Layer({**_Environment(values)(), **_tables(rows, values)}, "environment", origins)


def _tables(rows: list[SettingRow], values: Mapping[str, str]) -> dict[str, Any]:
    """Lists of tables: what is no JSON is handed on as it is, for the model to say what it wants."""
    found: dict[str, Any] = {}
    for row in rows:
        if row.type == "list of tables" and row.env in values:
            try:
                found[row.name] = json.loads(values[row.env])
            except ValueError:
                found[row.name] = values[row.env]
    return found


def _secret_file(name: str, path: str, problems: list[str]) -> str | None:
    try:
        text = Path(path).read_text("utf-8").strip()
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else "it is not text"
        problems.append(f"{name}: {path} cannot be read ({reason}); name a file that this user may read")
        return None
    if not text:
        problems.append(f"{name}: {path} is empty; put the secret into it")
    return text or None


def _file(path: Path, problems: list[str]) -> _Layer:
    values: Mapping[str, Any] = {}
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as trouble:
        reason = trouble.strerror if isinstance(trouble, OSError) else trouble
        problems.append(f"{path}: cannot be read as TOML ({reason}); correct it, or --config and {CONFIG_ENV}")
    return _Layer(values, str(path))


def _nested(overrides: Mapping[str, object]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in overrides.items():
        for step in reversed(name.split(".")):
            value = {step: value}
        values = _merge(values, cast("dict[str, Any]", value))
    return values


def _merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(lower)
    for name, value in upper.items():
        below = merged.get(name)
        merged[name] = _merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def _line(error: Mapping[str, Any], layers: list[_Layer]) -> str:
    if len(error["loc"]) > 1 and isinstance(error["loc"][1], int) and _is_list_of_tables(error["loc"][0]):
        return _line_in_table(error, layers)
    path = tuple(str(step) for step in error["loc"][:2] if isinstance(step, str))
    # What was not given at all is asked for where its section was begun.
    nearest = (layer for depth in (path, path[:1]) for layer in layers if layer.has(depth))
    where, name = next(nearest, _Layer({}, "environment")).where(path), ".".join(path)
    rows = {row.name: row for row in table()}
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such setting; {_closest(name, [*rows, *Settings.model_fields])}"
    if error["type"] == "tuple_type" and rows[name].type == "list of tables":
        return f"{where}: must be a list of tables, each written [[{name}]], or a JSON array of objects"
    if error["type"] == "model_type":
        return f"{where}: must be a table, written [{name}] with its settings below it"
    problem = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    shown = error["type"] != "together" and isinstance(error["input"], str | int | float)
    # An address may carry a password, and a secret is one.
    hidden = name not in rows or rows[name].secret or name.endswith("_url")
    return f"{where}: {problem}" + (f", not {error['input']!r}" if shown and not hidden else "")


def _is_list_of_tables(name: object) -> bool:
    return any(row.name == name and row.type == "list of tables" for row in table())


def _line_in_table(error: Mapping[str, Any], layers: list[_Layer]) -> str:
    """It is told by its name, if it has one that can be told."""
    section, number, *steps = error["loc"]
    layer = next(layer for layer in layers if layer.has((section,)))
    given = layer.values[section][number]
    name = given.get("name") if isinstance(given, Mapping) else None
    called = name if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 64 else f"number {number + 1}"
    member = ".".join(str(step) for step in steps)
    where = layer.where((section,)) if layer.place == "environment" else f"{layer.place}: [[{section}]]"
    where = f"{where} {called}" + (f": {member}" if member else "")
    if error["type"] == "extra_forbidden":
        members = [row.name.partition("[].")[2] for row in table() if row.name.startswith(f"{section}[].")]
        return f"{where}: there is no such setting; {_closest(member, members)}"
    if error["type"] == "missing":
        return f"{where}: is needed"
    if error["type"] == "model_type":
        return f"{where}: must be a table"
    problem = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    return f"{where}: {problem}"


def load(config: Path | None, environ: Mapping[str, str], overrides: Mapping[str, object] = NOTHING) -> Settings:
    """Overrides, by dotted name, win over the environment, the environment over the file, the file over defaults."""
    problems: list[str] = []
    named = config or (Path(environ[CONFIG_ENV]) if environ.get(CONFIG_ENV) else None)
    layers = [_Layer(_nested(overrides), "override"), _environment(environ, problems)]
    if named:
        layers.append(_file(named, problems))
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        values = _merge(values, layer.values)
    try:
        settings = Settings(**values)
    except ValidationError as wrong:
        problems += [_line(error, layers) for error in wrong.errors(include_url=False)]
        raise SettingsError("\n".join(problems)) from None
    if problems:
        raise SettingsError("\n".join(problems))
    return settings
