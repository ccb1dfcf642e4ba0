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
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource

from vacancy.errors import SettingsError
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
    email: EmailSettings = EmailSettings()
    telegram: TelegramSettings = TelegramSettings()
    discord: DiscordSettings = DiscordSettings()
    webhook: WebhookSettings = WebhookSettings()
    webpush: WebpushSettings = WebpushSettings()
    apprise: AppriseSettings = AppriseSettings()
    delivery: DeliverySettings = DeliverySettings()
    operator: OperatorSettings = OperatorSettings()
    subscriptions: SubscriptionSettings = SubscriptionSettings()
    retention: RetentionSettings = RetentionSettings()


@dataclass(frozen=True, slots=True)
class SettingRow:
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
    arguments = get_args(annotation)
    if get_origin(annotation) is Literal:
        return ", ".join(arguments)
    if SecretStr in arguments:
        return "secret"
    inner = _type_word(arguments[0])
    return f"list of {inner}" if get_origin(annotation) is tuple else inner


def _fields(model: type[BaseModel] = Settings, path: tuple[str, ...] = ()) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in model.model_fields.items():
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _fields(annotation, (*path, name))
        else:
            yield ".".join((*path, name)), info


def env_name(name: str) -> str:
    return PREFIX + name.replace(".", "__").upper()


def table() -> list[SettingRow]:
    rows = []
    for name, info in _fields():
        word = _type_word(info.annotation)
        default = "" if info.default is None else json.dumps(info.default)
        rows.append(SettingRow(name, env_name(name), word, default, info.description or "", word == "secret"))
    return rows


def masked(settings: Settings) -> dict[str, Any]:
    """What is in force, fit to be shown: secrets and the database's password are stars."""
    shown: dict[str, Any] = settings.model_dump(mode="json")
    scheme, _, rest = settings.database_url.partition("://")
    user, at, place = rest.rpartition("@")
    place, query, _ = place.partition("?")
    if at:
        user = user.partition(":")[0] + (":***" if ":" in user else "")
    if scheme != "sqlite":
        shown["database_url"] = f"{scheme}://{user}{at}{place}{'?***' if query else ''}"
    return shown


_INTRODUCTION: Final = """\
# Settings

This page is written by `vacancy.settings.render_docs()`; a test fails when it is not current.

A setting is read from the environment, then from the TOML file that `--config` or `VACANCY_CONFIG` names, then from the
default below. In the file, `soc.terms` is `terms` under `[soc]`. In the environment a list is JSON or has commas
between its members, and an empty variable counts as absent. A secret may also stand in a file of its own, named by
the same variable with `_FILE` added (`VACANCY_SECRET_KEY_FILE`). An unknown name, in either place, stops the start.

| setting | environment | type | default | what it is |
|---|---|---|---|---|
"""


def render_docs() -> str:
    lines = [
        f"| `{row.name}` | `{row.env}` | {row.type} | {f'`{row.default}`' if row.default else ''} | {row.help} |"
        for row in table()
    ]
    return _INTRODUCTION + "\n".join(lines) + "\n"


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


def _closest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else "`vacancy settings` prints all names"


def _environment(environ: Mapping[str, str], problems: list[str]) -> _Layer:
    rows = table()
    files = {f"{row.env}_FILE": row for row in rows if row.secret}
    known = [CONFIG_ENV, *(row.env for row in rows), *files]
    ours = {name.upper(): value for name, value in environ.items() if name.upper().startswith(PREFIX)}
    unknown = sorted(set(ours) - set(known))
    problems += [f"{name}: there is no such setting; {_closest(name, known)}" for name in unknown]
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
    return _Layer(_Environment(values)(), "environment", origins)


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
    path = tuple(str(step) for step in error["loc"][:2] if isinstance(step, str))
    # What was not given at all is asked for where its section was begun.
    nearest = (layer for depth in (path, path[:1]) for layer in layers if layer.has(depth))
    where, name = next(nearest, _Layer({}, "environment")).where(path), ".".join(path)
    rows = {row.name: row for row in table()}
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such setting; {_closest(name, [*rows, *Settings.model_fields])}"
    if error["type"] == "model_type":
        return f"{where}: must be a table, written [{name}] with its settings below it"
    problem = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    shown = error["type"] != "together" and isinstance(error["input"], str | int | float)
    # An address may carry a password, and a secret is one.
    hidden = name not in rows or rows[name].secret or name.endswith("_url")
    return f"{where}: {problem}" + (f", not {error['input']!r}" if shown and not hidden else "")


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
