"""The change that the ways to write one are given, and what they have in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.enforced_key import is_enforced
from sqlext.command.change.held_rows import hold
from sqlext.command.change.read_set import ITS_SCAN, ConflictScope
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation
from sqlext.errors import DataError
from sqlext.spark.query.lowered_sql import log_lowered, lowered_change, lowered_query
from sqlext.spark.query.write_job import WrittenFiles
from sqlext.spec.expression import Predicate
from sqlext.sql.lowering.text import selected
from sqlext.sql.tokens.quoting import quote_name, quote_string
from sqlext.write.row_operation import OPERATION_COLUMNS
from sqlext.write.task import COPIES

_NAMED_ROWS = 5


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows to delete, replace and insert, as one SELECT.

    `lowered` gives operation, file and position, then, where there are new rows, the table's columns and the row id of
    the replaced row if the table has row ids. `isolation` is the level at which the commit is validated.

    `row_names` are columns that name a target row to the user, by the parts of their names, should two source rows
    match it; without it a row may be hit twice. With `shows_matches` target rows that stay are among them, each beside
    a source row that matches it. With `distinct_keys` the rows come distributed by key, and no two source rows may have
    one. With `keeps_keys` each new row has the key of the row it replaces.
    `reach` tells which rows it depends on. `row_filter` selects exactly the rows that a DELETE deletes, where that can
    be said. `one_copy`: the SELECT where the table has a key more than once, of whose rows one is replaced and the
    others go; it costs more. `kept_columns` are those that each new row has from the row which it replaces. `query` is
    the SELECT as Spark has analysed it, where it has.
    """

    lowered: str
    isolation: str
    row_names: tuple[tuple[str, ...], ...] | None = None
    shows_matches: bool = False
    distinct_keys: bool = False
    keeps_keys: bool = False
    scope: ConflictScope = ITS_SCAN
    row_filter: Predicate | None = None
    one_copy: str | None = None
    kept_columns: tuple[str, ...] = ()
    query: DataFrame | None = None


class KeyHasCopies(Exception):
    """The table has a key more than once that an upsert brings: the change is to be made by its `one_copy`."""


CarryOut: TypeAlias = Callable[[Environment, SparkSession, Target, RowChange, Writer], Counts]
"""Runs a change in one way, by the writer of its plan, and commits it.

Errors: DataError MERGE_CARDINALITY_VIOLATION, DUPLICATE_KEY or KEY_ALREADY_EXISTS, or that of the first row that breaks
a rule; then nothing is left behind. KeyHasCopies, and nothing is written.
"""


def with_copies(change: RowChange) -> RowChange:
    """The change where the table has a key more than once."""
    return replace(change, lowered=change.one_copy or change.lowered, one_copy=None, query=None)


def change_query(spark: SparkSession, change: RowChange) -> DataFrame:
    """The lowered SELECT. Errors: as `lowered_change`."""
    return lowered_change(spark, change.lowered) if change.query is None else change.query


def changed_rows(spark: SparkSession, operation: WriteOperation, change: RowChange) -> DataFrame:
    """The rows of the lowered SELECT, those that come in held to the table's rules."""
    log_lowered(change.lowered)
    rows = change_query(spark, change)
    return hold(rows, operation.plan, operations=True) if has_new_rows(rows) else rows


def conflict_scope(change: RowChange, target: Target) -> ConflictScope:
    """That of the change, and where the table's key is enforced no new row may have the key of another."""
    enforced = is_enforced(target.table.metadata) and not change.keeps_keys
    return replace(change.scope, keys_unique=True) if enforced else change.scope


def has_new_rows(rows: DataFrame) -> bool:
    """Whether rows of a lowered SELECT, not those of a DELETE, come with the table's columns."""
    return len(rows.columns) > OPERATION_COLUMNS


def changed_counts(written: WrittenFiles) -> Counts:
    """Deleted rows by their positions, since several source rows may delete one row."""
    updated = written.counts.get("updated", 0)
    positions = sum(len(bitmap) for bitmap in written.positions.values())
    return Counts(written.counts.get("inserted", 0), updated, positions - updated)


def require_one_change(spark: SparkSession, target: Target, change: RowChange, written: WrittenFiles) -> None:
    """DataError MERGE_CARDINALITY_VIOLATION where two source rows match one target row, and may not.

    KeyHasCopies where several target rows would become one and the same.
    """
    if written.counts.get(COPIES) and change.one_copy is not None:
        raise KeyHasCopies
    if written.repeated and change.row_names is not None:
        raise _cardinality_violation(spark, target, change.row_names, written.repeated)


def _cardinality_violation(
    spark: SparkSession, target: Target, names: Sequence[Sequence[str]], repeated: Mapping[str, BitMap64]
) -> DataError:
    """The error for target rows that several source rows match: those at the `repeated` positions, by data file.

    It reads the columns `names` of up to five of them in the target; the source is not looked at again.
    """
    places = islice(((file, position) for file in sorted(repeated) for position in repeated[file]), _NAMED_ROWS)
    rows = [{"_file": file, "_pos": position} for file, position in places]
    if names:
        tests = [f"(`_file` = {quote_string(str(row['_file']))} AND `_pos` = {row['_pos']})" for row in rows]
        columns = selected((quote_name(name), ".".join(name)) for name in names)
        text = f"SELECT {columns}\nFROM {target.relation}\nWHERE {' OR '.join(tests)}"
        rows = [row.asDict() for row in lowered_query(spark, text).collect()]
    keys = sorted(json.dumps(row, default=str, ensure_ascii=False) for row in rows)
    return DataError("MERGE_CARDINALITY_VIOLATION", name=target.name, keys=", ".join(keys))
