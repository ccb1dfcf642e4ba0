"""The documents say what the code does: every name, command, link, code and setting in them is looked up."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
from pydantic.alias_generators import to_camel

from vacancy.channels import CHANNELS, CONTACT_TYPES
from vacancy.cli import app
from vacancy.errors import CODES
from vacancy.metrics import Metrics
from vacancy.settings import CONFIG_ENV, render_docs, table
from vacancy.store.event_feed import HIDDEN
from vacancy.store.schema import open_events

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "vacancy"
DOCS: Final = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN: Final = re.compile(r"`([^`\n]+)`")
_PLACE: Final = re.compile(r"`([\w/]+\.py):([A-Za-z_][\w.]*)`")
_COMMAND: Final = re.compile(r"(?<![\w.-])vacancy ((?:--)?[a-z][^|;&>#]*)")
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_VARIABLE: Final = re.compile(r"\bVACANCY_[A-Z][A-Z0-9_]*")
_METRIC: Final = re.compile(r"`(vacancy_[a-z_]+)[`{]")
_ROW: Final = re.compile(r"^\| `(\w+)` \| `?(\w+)`? \|", re.MULTILINE)

each_document = pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)


def _text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def _section(text: str, heading: str) -> str:
    """From this heading to the next one of any level."""
    begun = text.split(f"\n{heading}\n", 1)[1]
    return re.split(r"^#+ ", begun, maxsplit=1, flags=re.MULTILINE)[0]


def _without_fences(text: str) -> str:
    return _FENCE.sub("", text)


def _code(text: str) -> Iterator[str]:
    for language, body in _FENCE.findall(text):
        if language in ("sh", "ini"):
            yield from body.splitlines()
    yield from _SPAN.findall(_without_fences(text))


def _defined(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (child for child in node.body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))
            names |= {f"{node.name}.{child.name}" for child in inner}
    return names


def test_the_walk_names_what_exists() -> None:
    places = _PLACE.findall(_text("docs/walk.md"))
    assert len(places) > 50
    missing = [
        f"{path}:{name}"
        for path, name in places
        if not (SOURCE / path).is_file() or name not in _defined(SOURCE / path)
    ]
    assert not missing


def _wrong_in(words: list[str]) -> str | None:
    """Why a command line cannot be: a verb or an option that is not there."""
    command: Any = typer.main.get_command(app)
    for word in words:
        if word.startswith("-"):
            options = {"--help", *(name for parameter in command.params for name in parameter.opts)}
            if word.partition("=")[0] not in options:
                return f"no option {word}"
        elif inner := getattr(command, "commands", None):
            if word not in inner:
                return f"no command {word}"
            command = inner[word]
    return None


@each_document
def test_commands_exist(document: Path) -> None:
    wrong = {}
    for line in _code(document.read_text("utf-8")):
        for found in _COMMAND.findall(line):
            if problem := _wrong_in(shlex.split(found)):
                wrong[line] = problem
    assert not wrong


def test_every_command_is_in_the_readme() -> None:
    commands: Any = typer.main.get_command(app)
    readme = _text("README.md")
    assert [name for name in commands.commands if f"`vacancy {name}" not in readme] == []


def _anchors(file: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _without_fences(file.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_document
def test_links_lead_somewhere(document: Path) -> None:
    broken = []
    for link in _LINK.findall(_without_fences(document.read_text("utf-8"))):
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        there = (document.parent / path).resolve() if path else document
        if not there.exists() or (anchor and anchor not in _anchors(there)):
            broken.append(link)
    assert not broken


@each_document
def test_variables_are_settings(document: Path) -> None:
    known = {CONFIG_ENV, *(row.env for row in table()), *(f"{row.env}_FILE" for row in table() if row.secret)}
    assert set(_VARIABLE.findall(document.read_text("utf-8"))) <= known


def test_the_page_of_settings_is_current() -> None:
    assert _text("docs/settings.md") == render_docs()


def test_error_codes_are_all_told_and_true() -> None:
    told = dict(_ROW.findall(_section(_text("docs/contracts.md"), "### Error codes")))
    assert told == {code: str(entry.status) for code, entry in CODES.items()}


def test_the_fields_of_an_event_are_all_told_and_true() -> None:
    told = dict(_ROW.findall(_section(_text("docs/contracts.md"), "## The event")))
    shown = [column.name for column in open_events.c if column.name not in HIDDEN]
    assert told == {to_camel(name): name for name in shown}


def test_every_channel_has_its_heading() -> None:
    told = re.findall(r"^## (\w+)$", _text("docs/channels.md"), re.MULTILINE)
    assert told == [line.name for line in CHANNELS] == list(CONTACT_TYPES)
    for name in told:
        for what in ("**Contact**", "**What arrives**", "**Set up**", "**Rate**"):
            assert what in _section(_text("docs/channels.md"), f"## {name}"), f"{name}: {what}"


def test_metrics_exist() -> None:
    named = set(_METRIC.findall(_text("docs/operations.md")))
    missing = [name for name in named if f"# TYPE {name} " not in Metrics().text().decode()]
    assert named
    assert not missing
