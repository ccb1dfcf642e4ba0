"""The table of settings. Environment over TOML; all that is wrong is said at once, a line each, and stops the start."""

from __future__ import annotations

import difflib
import ipaddress
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic import model_validator as rule
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, EnvSettingsSource

from vacancy.errors import SettingsError
from vacancy.model.terms import parse_campus, parse_term

PREFIX: Final = "VACANCY_"
CONFIG_ENV: Final = "VACANCY_CONFIG"
POLITE_S: Final = MappingProxyType({"interval_s": 5, "catalogue_interval_s": 60})
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def is_loopback_host(host: str) -> bool:
    """By its spelling alone; what a name resolves to is checked when the connection is made."""
    host = host.rstrip(".").lower()
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(text: str) -> SplitResult:
    parts = urlsplit(text)
    _ = parts.port  # reading it is what checks it
    return parts


def _database_url(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme == "sqlite":
        if not rest.startswith("/") or rest == "/" or "?" in rest or ":memory:" in rest:
            raise ValueError("must name a file, such as sqlite:///vacancy.db; a database in memory forgets")
        return text
    if scheme not in ("postgresql", "postgresql+psycopg"):
        raise ValueError("must start with sqlite:/// or postgresql+psycopg://")
    _split(text)
    return f"postgresql+psycopg://{rest}"


def _http_url(text: str) -> str:
    parts = _split(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address that starts with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must not hold a user, a query or a fragment")
    return text.rstrip("/")


def _upstream_url(text: str) -> str:
    text = _http_url(text)
    parts = _split(text)
    if parts.scheme != "https" and not is_loopback_host(parts.hostname or ""):
        raise ValueError("must start with https://; plain http is for this machine alone (127.0.0.1, localhost)")
    return text


def _not_blank(secret: SecretStr | None) -> SecretStr | None:
    if secret is not None and not secret.get_secret_value().strip():
        raise ValueError("must not be blank; leave it out instead")
    return secret


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _unique(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


Secret = Annotated[SecretStr | None, AfterValidator(_not_blank)]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(lambda text: ipaddress.ip_network(str(text)))]
Terms = Annotated[tuple[Annotated[str, AfterValidator(parse_term)], ...], AfterValidator(_unique)]
Campuses = Annotated[tuple[Annotated[str, AfterValidator(parse_campus)], ...], AfterValidator(_unique)]
LogLevel = Annotated[Literal["debug", "info", "warning", "error", "critical"], BeforeValidator(_lower)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WebSettings(Section):
    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on; 0.0.0.0 or :: means all.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes any free one.")
    admin_token: Secret = Field(default=None, description="Will open the admin pages; there are none yet.")
    trusted_proxies: tuple[Network, ...] = Field(
        default=(), description="Networks of the proxies whose word on the client's address is believed."
    )
    max_streams: int = Field(default=1000, ge=1, le=100_000, description="Most live event streams open at one time.")


class SocSettings(Section):
    enabled: bool = Field(default=True, description="Poll the course lists, once terms are named; false rests them.")
    base_url: Annotated[str, AfterValidator(_upstream_url)] = Field(
        default="https://classes.rutgers.edu/soc/api",
        description="Where the lists are; https, or http on this machine.",
    )
    terms: Terms = Field(default=(), description="Terms to poll, such as 12025 (spring 2025); none, none is polled.")
    campuses: Campuses = Field(default=("NB",), min_length=1, description="Campuses to poll: NB, NK, CM.")
    interval_s: float = Field(
        default=15, gt=0, le=3600, description="Seconds between two polls of a list; under 5 on this machine alone."
    )
    jitter: float = Field(default=0.3, ge=0, le=0.5, description="Share by which the interval varies; 0 is not at all.")
    catalogue_interval_s: float = Field(
        default=600, gt=0, le=86_400, description="Seconds between two catalogues; under 60 on this machine alone."
    )
    fetch_timeout_s: float = Field(default=15, gt=0, le=300, description="Seconds after which a list is given up.")
    catalogue_timeout_s: float = Field(default=120, gt=0, le=3600, description="The same for a catalogue.")

    @rule(mode="after")
    def _together(self) -> SocSettings:
        wrong: list[InitErrorDetails] = []
        if "enabled" in self.model_fields_set and self.enabled and not self.terms:
            wrong.append(_wrong("terms", self.terms, "must name at least one term, such as 12025, when soc is enabled"))
        if not is_loopback_host(_split(self.base_url).hostname or ""):
            wrong += [
                _wrong(name, getattr(self, name), f"must be at least {least} s, except for a loopback base_url")
                for name, least in POLITE_S.items()
                if getattr(self, name) < least
            ]
        if wrong:
            raise ValidationError.from_exception_data("soc", wrong)
        return self


class RetentionSettings(Section):
    events_days: int = Field(default=30, ge=1, le=3650, description="Days that events are kept.")
    closed_items_days: int = Field(default=90, ge=1, le=3650, description="The same for the state of a closed item.")


class Settings(Section):
    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        default="sqlite:///vacancy.db", description="Where everything is kept: sqlite:///FILE or postgresql+psycopg://…"
    )
    base_url: Annotated[str, AfterValidator(_http_url)] = Field(
        default="http://127.0.0.1:8000", description="The public address, as links that leave this machine name it."
    )
    secret_key: Secret = Field(default=None, description="Will key the hashes of contacts; nothing needs it yet.")
    log_format: Literal["auto", "console", "json"] = Field(
        default="auto", description="How log lines look; auto is console on a terminal and json elsewhere."
    )
    log_level: LogLevel = Field(default="info", description="The least important lines that are still written.")
    web: WebSettings = WebSettings()
    soc: SocSettings = SocSettings()
    retention: RetentionSettings = RetentionSettings()


def _wrong(name: str, value: object, message: str) -> InitErrorDetails:
    return {"type": PydanticCustomError("together", "{problem}", {"problem": message}), "loc": (name,), "input": value}


@dataclass(frozen=True, slots=True)
class SettingRow:
    name: str
    env: str
    type: str
    default: str
    help: str
    secret: bool


_WORDS: Final[Mapping[object, str]] = MappingProxyType(
    {str: "text", int: "whole number", float: "number", bool: "true or false", IPv4Network: "network"}
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
