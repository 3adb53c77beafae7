"""Two tables compared by their key, and a report of what differs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlext.local.given_rows import names_of
from sqlext.testing.comparable_rows import GivenRows, Row, comparable, given_rows

_MOST_ROWS = 10
_MOST_CHARACTERS = 120


@dataclass(frozen=True)
class DifferentRow:
    """A row that both tables have under one key; `columns` has the actual and the expected value of each that
    differs."""

    key: Row
    columns: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class TableDifference:
    """What differs between two tables; false if nothing does, and as text a report.

    `missing` rows are expected and not there, `unexpected` ones are there and not expected. With a key, `repeated` are
    the keys that one of the tables has more than once, unless it is as expected, with the numbers of rows in both; such
    rows are neither missing nor unexpected. The report tells at most `most_rows` of each.
    """

    key: tuple[str, ...]
    missing_columns: tuple[str, ...] = ()
    unexpected_columns: tuple[str, ...] = ()
    missing: tuple[Row, ...] = ()
    unexpected: tuple[Row, ...] = ()
    different: tuple[DifferentRow, ...] = ()
    repeated: tuple[tuple[Row, int, int], ...] = ()
    actual_rows: int = 0
    expected_rows: int = 0
    most_rows: int = _MOST_ROWS

    def __bool__(self) -> bool:
        rows = self.missing or self.unexpected or self.different or self.repeated
        return bool(rows or self.missing_columns or self.unexpected_columns)

    def __str__(self) -> str:
        if not self:
            return f"the tables are equal: {_counted(self.actual_rows)}"
        return "\n".join(self._report())

    def _report(self) -> Iterator[str]:
        by = ", ".join(self.key) or "all columns"
        yield f"the tables differ, compared by {by}: {_counted(self.actual_rows)}, expected {self.expected_rows}"
        if self.missing_columns:
            yield f"missing columns: {', '.join(self.missing_columns)}"
        if self.unexpected_columns:
            yield f"unexpected columns: {', '.join(self.unexpected_columns)}"
        yield from self._bounded("missing rows", [_shown(row, self.key) for row in self.missing])
        yield from self._bounded("unexpected rows", [_shown(row, self.key) for row in self.unexpected])
        yield from self._bounded("different rows", [_differing(one) for one in self.different])
        counts = [f"{_shown(key)}: {_counted(actual)}, {expected} expected" for key, actual, expected in self.repeated]
        yield from self._bounded("keys of another number of rows", counts)

    def _bounded(self, title: str, lines: Sequence[str]) -> Iterator[str]:
        if lines:
            yield f"{title}: {len(lines)}"
            yield from (f"  {line}" for line in lines[: self.most_rows])
        if len(lines) > self.most_rows:
            yield f"  and {len(lines) - self.most_rows} more"


def _counted(rows: int) -> str:
    return f"{rows} row" if rows == 1 else f"{rows} rows"


def table_difference(
    actual: Any,
    expected: Any,
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    most_rows: int = _MOST_ROWS,
) -> TableDifference:
    """What differs between the rows of two tables, in whatever order they are.

    Each is a table of `sqlext.local`, a DataFrame of Spark, Polars or pandas, rows of PyArrow, or a list of
    dictionaries; both are taken into memory. `key` has the columns by which a row is the same row: without it those of
    the primary key of `actual` or `expected`, else all columns, which tells which rows are missing and which are
    unexpected. `columns` are those to compare beside the key, by default all.

    Values are compared as SQL compares them: null and NaN equal themselves, decimals whatever their scale, timestamps
    with a zone as moments; one without a zone equals none that has one. Floating-point numbers beside the key may
    differ by `atol` and `rtol` times the expected one.

    Raises ValueError for a key or columns that neither table has, or a tolerance without a key, and TypeError for what
    is no table.
    """
    there, wanted = given_rows(actual), given_rows(expected)
    by = there.key or wanted.key if key is None else names_of(key)
    if (rtol or atol) and not by:
        raise ValueError("a tolerance needs a key: without one, rows are found by all of their values")
    compared = None if columns is None else (*by, *(name for name in columns if name not in by))
    chosen = _chosen(there, wanted, by, compared)
    both = [name for name in chosen if name in there.columns and name in wanted.columns]
    difference = TableDifference(
        key=by,
        missing_columns=tuple(name for name in chosen if name not in there.columns),
        unexpected_columns=tuple(name for name in chosen if name not in wanted.columns),
        actual_rows=len(there.rows),
        expected_rows=len(wanted.rows),
        most_rows=most_rows,
    )
    if not by:
        return _with_rows(difference, _of_all_columns(there.rows, wanted.rows, both))
    return _with_rows(difference, _by_key(there.rows, wanted.rows, by, both, rtol, atol))


def assert_tables_equal(
    actual: Any,
    expected: Any,
    *,
    key: str | Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    most_rows: int = _MOST_ROWS,
) -> None:
    """Raises AssertionError with a report unless both tables have the same rows; otherwise as `table_difference`.

    >>> import sqlext.testing
    >>> there = [{"id": 1, "buyer": "Ada"}, {"id": 2, "buyer": "Bo"}]
    >>> sqlext.testing.assert_tables_equal(there, reversed(there), key="id")
    >>> sqlext.testing.assert_tables_equal(there, [{"id": 1, "buyer": "Eve"}, {"id": 3, "buyer": None}], key="id")
    Traceback (most recent call last):
    ...
    AssertionError: the tables differ, compared by id: 2 rows, expected 2
    missing rows: 1
      id=3, buyer=None
    unexpected rows: 1
      id=2, buyer='Bo'
    different rows: 1
      id=1: buyer is 'Ada', expected 'Eve'
    """
    __tracebackhide__ = True
    difference = table_difference(actual, expected, key=key, columns=columns, rtol=rtol, atol=atol, most_rows=most_rows)
    if difference:
        raise AssertionError(str(difference))


@dataclass(frozen=True)
class _Rows:
    missing: tuple[Row, ...] = ()
    unexpected: tuple[Row, ...] = ()
    different: tuple[DifferentRow, ...] = ()
    repeated: tuple[tuple[Row, int, int], ...] = ()


def _with_rows(difference: TableDifference, rows: _Rows) -> TableDifference:
    return TableDifference(**{**vars(difference), **vars(rows)})


def _chosen(there: GivenRows, wanted: GivenRows, key: Sequence[str], columns: Sequence[str] | None) -> Sequence[str]:
    """The columns to compare. Raises ValueError for one that neither table has, or a key that one lacks."""
    tops = [name.partition(".")[0] if name not in (*there.columns, *wanted.columns) else name for name in key]
    # No rows in a list of dictionaries have no columns.
    sides = [side for side in (there, wanted) if side.columns or side.rows]
    for name, top in zip(key, tops, strict=True):
        if any(top not in side.columns for side in sides):
            raise ValueError(f"one of the tables has no column {name}, which is of the key")
    if columns is not None:
        for name in columns[len(key) :]:
            if all(name not in side.columns for side in sides):
                raise ValueError(f"none of the tables has a column {name}")
        return [*tops, *columns[len(key) :]]
    if len(sides) < 2:
        return []
    return list(dict.fromkeys((*wanted.columns, *there.columns)))


def _of_all_columns(there: Sequence[Row], wanted: Sequence[Row], columns: Sequence[str]) -> _Rows:
    expected = Counter(_of(row, columns) for row in wanted)
    unexpected = []
    for row in there:
        value = _of(row, columns)
        if expected[value]:
            expected[value] -= 1
        else:
            unexpected.append(row)
    missing = []
    for row in wanted:
        value = _of(row, columns)
        if expected[value]:
            expected[value] -= 1
            missing.append(row)
    return _Rows(tuple(missing), tuple(unexpected))


def _by_key(
    there: Sequence[Row], wanted: Sequence[Row], key: Sequence[str], columns: Sequence[str], rtol: float, atol: float
) -> _Rows:
    actual, expected = _grouped(there, key), _grouped(wanted, key)
    missing: list[Row] = []
    unexpected: list[Row] = []
    different: list[DifferentRow] = []
    repeated: list[tuple[Row, int, int]] = []
    for value in dict.fromkeys((*expected, *actual)):
        ours, theirs = actual.get(value, []), expected.get(value, [])
        if len(ours) == len(theirs) == 1:
            differing = _columns_that_differ(ours[0], theirs[0], columns, rtol, atol)
            if differing:
                different.append(DifferentRow(_key_of(theirs[0], key), differing))
        elif len(ours) <= 1 and len(theirs) <= 1:
            missing += theirs
            unexpected += ours
        elif len(ours) != len(theirs):
            repeated.append((_key_of((ours or theirs)[0], key), len(ours), len(theirs)))
        else:
            rest = _of_all_columns(ours, theirs, columns)
            missing += rest.missing
            unexpected += rest.unexpected
    return _Rows(tuple(missing), tuple(unexpected), tuple(different), tuple(repeated))


def _grouped(rows: Sequence[Row], key: Sequence[str]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(comparable(_value(row, name)) for name in key), []).append(row)
    return groups


def _columns_that_differ(
    ours: Row, theirs: Row, columns: Sequence[str], rtol: float, atol: float
) -> dict[str, tuple[Any, Any]]:
    pairs = {name: (ours[name], theirs[name]) for name in columns}
    return {name: pair for name, pair in pairs.items() if not _are_equal(*pair, rtol, atol)}


def _are_equal(actual: Any, expected: Any, rtol: float, atol: float) -> bool:
    are_same: bool = comparable(actual) == comparable(expected)
    if are_same or not (rtol or atol):
        return are_same
    numbers = isinstance(actual, float | Decimal | int) and isinstance(expected, float | Decimal | int)
    is_floating = numbers and (isinstance(actual, float) or isinstance(expected, float))
    if not is_floating or isinstance(actual, bool) or isinstance(expected, bool):
        return False
    ours, theirs = float(actual), float(expected)
    return math.isfinite(ours) and math.isfinite(theirs) and abs(ours - theirs) <= atol + rtol * abs(theirs)


def _of(row: Row, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(comparable(row[name]) for name in columns)


def _key_of(row: Row, key: Sequence[str]) -> Row:
    return {name: _value(row, name) for name in key}


def _value(row: Row, name: str) -> Any:
    """The value of a column, or of a field in structs."""
    if name in row:
        return row[name]
    value: Any = row
    for part in name.split("."):
        value = None if value is None else value[part]
    return value


def _shown(row: Row, first: Sequence[str] = ()) -> str:
    """The row with the columns of the key first."""
    names = [*(name for name in first if name in row), *(name for name in row if name not in first)]
    return _cut(", ".join(f"{name}={_text(row[name])}" for name in names), 4 * _MOST_CHARACTERS)


def _differing(row: DifferentRow) -> str:
    columns = (
        f"{name} is {_text(actual)}, expected {_text(expected)}" for name, (actual, expected) in row.columns.items()
    )
    return _cut(f"{_shown(row.key)}: {'; '.join(columns)}", 8 * _MOST_CHARACTERS)


def _text(value: Any) -> str:
    return _cut(repr(value), _MOST_CHARACTERS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
