"""A new source touches nothing of the engine: what watches JSON endpoints is not named there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from vacancy.sources import SOURCES

PACKAGE: Final = Path(__file__).parents[2] / "src" / "vacancy"
ENGINE: Final = sorted(file for part in ("model", "pipeline", "store") for file in (PACKAGE / part).rglob("*.py"))
WORDS: Final = ("json_endpoint", "json_plan", "json_paths", "json_rules", "json_reader", "json_topics", "settings_json")


def _words(file: Path) -> Iterator[str]:
    """What a file imports, calls things, and says: all but its comments."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.Constant(value=str(text)):
                yield text
            case ast.Attribute(attr=name) | ast.Name(id=name):
                yield name


@pytest.mark.parametrize("file", ENGINE, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_the_engine_has_no_word_of_json_endpoints(file: Path) -> None:
    said = list(_words(file))
    found = [text for text in said if text.startswith("json:") or any(word in text for word in WORDS)]
    assert found == []


def test_there_is_an_engine_to_look_at() -> None:
    assert len(ENGINE) > 60
    assert "json" in {line.name for line in SOURCES}


def test_each_source_is_one_line_and_one_module() -> None:
    for line in SOURCES:
        assert (PACKAGE / "sources" / f"{line.module}.py").is_file()
    registry = (PACKAGE / "sources" / "__init__.py").read_text("utf-8")
    assert registry.count("json") == len(["json", "json_endpoints", "json_endpoint"])
