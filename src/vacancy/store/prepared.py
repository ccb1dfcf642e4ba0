"""Statements of the hot path, compiled once and handed to the driver as they are.

SQLAlchemy works through its parameters row by row, and looks every statement up anew; on a poll, of which a service
makes thousands an hour, that costs more than the database does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Dialect, Select
from sqlalchemy.sql.expression import UpdateBase

_Process = Callable[[Any], Any]
_Convert = Callable[[Mapping[str, Any]], Any]


class Prepared:
    """One statement that writes. `columns` are those that each row of an insert has."""

    def __init__(self, statement: UpdateBase | Select[*tuple[Any, ...]], columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._ready: dict[str, tuple[str, _Convert]] = {}

    def ready(self, dialect: Dialect) -> tuple[str, _Convert]:
        """SQL in the driver's own style, and what makes its parameters of a row."""
        found = self._ready.get(dialect.name)
        if found is None:
            found = self._ready[dialect.name] = self._prepare(dialect)
        return found

    def _prepare(self, dialect: Dialect) -> tuple[str, _Convert]:
        compiled = self._statement.compile(dialect=dialect, column_keys=self._columns)
        binds = compiled.binds
        names = compiled.positiontup or tuple(binds)
        # What the statement itself fixes (a state, a zero) is converted once; what rows bring, row by row.
        constant = {name: _convert(binds[name].type, dialect, binds[name].value) for name in names
                    if not binds[name].required}  # fmt: skip
        given = [name for name in names if name not in constant]
        converters = [
            (at, convert) for at, name in enumerate(given) if (convert := _processor(binds[name].type, dialect))
        ]
        take = _positions(names, constant, given, converters)
        if compiled.positiontup:
            return str(compiled), take
        return str(compiled), lambda row: dict(zip(names, take(row), strict=True))


class PreparedSelect(Prepared):
    """One statement that reads; its rows are plain tuples, in the order of its columns."""

    def __init__(self, statement: Select[*tuple[Any, ...]]) -> None:
        super().__init__(statement)
        self._columns_read = tuple(statement.selected_columns)
        self._converters: dict[str, Sequence[tuple[int, _Process]]] = {}

    def rows(self, dialect: Dialect, found: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
        converters = self._converters.get(dialect.name)
        if converters is None:
            processes = [column.type.dialect_impl(dialect).result_processor(dialect, None) for column in
                         self._columns_read]  # fmt: skip
            converters = [(at, process) for at, process in enumerate(processes) if process]
            self._converters[dialect.name] = converters
        return [_converted(row, converters) for row in found]


def _converted(row: Sequence[Any], converters: Sequence[tuple[int, _Process]]) -> tuple[Any, ...]:
    values = list(row)
    for at, convert in converters:
        values[at] = convert(values[at])
    return tuple(values)


def _positions(
    names: Sequence[str], constant: Mapping[str, Any], given: Sequence[str], converters: Sequence[tuple[int, _Process]]
) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    pick = itemgetter(*given) if len(given) > 1 else lambda row: tuple(row[name] for name in given)
    template = [constant.get(name) for name in names]
    places = [at for at, name in enumerate(names) if name not in constant]

    def take(row: Mapping[str, Any]) -> Sequence[Any]:
        values = list(pick(row))
        for at, convert in converters:
            values[at] = convert(values[at])
        if not constant:
            return values
        filled = template.copy()
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        return filled

    return take


def _processor(column_type: Any, dialect: Dialect) -> _Process | None:
    made: _Process | None = column_type.dialect_impl(dialect).bind_processor(dialect)
    return made


def _convert(column_type: Any, dialect: Dialect, value: Any) -> Any:
    process = _processor(column_type, dialect)
    return process(value) if process else value
