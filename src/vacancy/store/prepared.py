"""Statements of the hot path, compiled once and handed to the driver as they are.

SQLAlchemy works through its parameters row by row, and looks every statement up anew; on a poll, of which a service
makes thousands an hour, that costs more than the database does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import JSON, ColumnElement, Dialect, Select, Text, bindparam, cast, column, func, select
from sqlalchemy.sql.expression import Update, UpdateBase
from sqlalchemy.types import TypeEngine

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

    def run(self, cursor: Any, dialect: Dialect, rows: Sequence[Mapping[str, Any]]) -> None:
        sql, parameters = self.ready(dialect)
        if len(rows) == 1:
            cursor.execute(sql, parameters(rows[0]))
        else:
            cursor.executemany(sql, list(map(parameters, rows)))

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


Values = Callable[[str], ColumnElement[Any]]


class PreparedForAll(Prepared):
    """One statement that writes many rows, each of them once. On PostgreSQL it runs once, over a table of what the rows
    bring; on SQLite once for each, which costs little more there. `make` builds it around a value's name."""

    def __init__(self, make: Callable[[Values], UpdateBase], **types: TypeEngine[Any]) -> None:
        super().__init__(make(lambda name: bindparam(name, type_=types[name])))
        given = func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
        table = given.table_valued(*[column(name, kind) for name, kind in types.items()])
        # The limit changes nothing but the guess of how many they are: by it PostgreSQL looks each up by its number.
        few = select(table.render_derived(name="all", with_types=True)).limit(bindparam("count")).subquery("given")
        self._over_all = Prepared(make(few.c.__getitem__))

    def run(self, cursor: Any, dialect: Dialect, rows: Sequence[Mapping[str, Any]]) -> None:
        if dialect.name != "postgresql":
            super().run(cursor, dialect, rows)
            return
        sql, parameters = self._over_all.ready(dialect)
        cursor.execute(sql, parameters({"rows": msgspec.json.encode(rows).decode(), "count": len(rows)}))


class PreparedForThose(PreparedForAll):
    """The same for rows that are found by the number in `key`; `make` need not say so. Those that bring the same but
    for their number are written at one stroke on SQLite as well."""

    def __init__(
        self, key: str, number: ColumnElement[int], make: Callable[[Values], Update], **types: TypeEngine[Any]
    ) -> None:  # fmt: skip
        super().__init__(lambda value: make(value).where(number == value(key)), **{key: number.type}, **types)
        self._key = key
        self._said = itemgetter(*types)
        numbers = select(func.json_each(bindparam(key, type_=Text)).table_valued("value").c.value)
        self._over_numbers = Prepared(make(lambda name: bindparam(name, type_=types[name])).where(number.in_(numbers)))

    def run(self, cursor: Any, dialect: Dialect, rows: Sequence[Mapping[str, Any]]) -> None:
        if dialect.name == "postgresql" or not self._are_alike(rows):
            super().run(cursor, dialect, rows)
            return
        sql, parameters = self._over_numbers.ready(dialect)
        numbers = msgspec.json.encode([row[self._key] for row in rows]).decode()
        cursor.execute(sql, parameters({**rows[0], self._key: numbers}))

    def _are_alike(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        first = self._said(rows[0])
        return len(rows) > 1 and all(self._said(row) == first for row in rows)


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
    fixed = [(at, constant[name]) for at, name in enumerate(names) if name in constant]
    pick = itemgetter(*given) if len(given) > 1 else lambda row: tuple(row[name] for name in given)
    if not constant and not converters:
        return pick

    def take(row: Mapping[str, Any]) -> Sequence[Any]:
        values = list(pick(row))
        for at, convert in converters:
            values[at] = convert(values[at])
        for at, value in fixed:
            values.insert(at, value)
        return values

    return take


def _processor(column_type: Any, dialect: Dialect) -> _Process | None:
    made: _Process | None = column_type.dialect_impl(dialect).bind_processor(dialect)
    return made


def _convert(column_type: Any, dialect: Dialect, value: Any) -> Any:
    process = _processor(column_type, dialect)
    return process(value) if process else value
