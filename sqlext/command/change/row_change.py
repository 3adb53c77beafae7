"""A row-level change as a lowered SELECT, and what all strategies to write it share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.checked_rows import with_violations
from sqlext.command.change.enforced_key import is_enforced
from sqlext.command.change.named_rows import NamedRows
from sqlext.command.change.read_set import SCANNED_ROWS, ConflictScope
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation
from sqlext.errors import DataError
from sqlext.spark.query.few_joined_rows import with_few_joined
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
    """Rows to delete, replace and insert, as one lowered SELECT.

    `lowered` selects operation, file and position and, if there are new rows, the table's columns and, if the table has
    row ids, the replaced row's id. `isolation` is the level at which the commit is validated; `scope` is the conflict
    scope.

    `row_names` are paths of columns that name a target row in the error for two source rows that match it; None permits
    such rows. `shows_matches`: the SELECT also has matched rows that stay, once for each matching source row.
    `distinct_keys`: rows are distributed by key, and no two source rows may have the same key. `keeps_keys`: each new
    row has the key of the row that it replaces. `row_filter` selects exactly the rows of a DELETE; None if it cannot be
    expressed. `named`: the same rows as literals, and what they are assigned, if the statement consists of literals.
    `one_copy`: a SELECT, at higher cost, for a table with several rows of a key: it replaces one and deletes the
    others. `kept_columns` are not assigned: new rows have the values of the replaced rows. `query` is `lowered` as
    analysed by Spark; None before that. `gives_rows`: new rows are those of a source, as in an UPSERT, so that one that
    replaces another has no values of it in identity columns. `sent_bytes`: Spark sends the rows of the joined source to
    all tasks if they turn out to have no more bytes; 0 if that is not tried.
    """

    lowered: str
    isolation: str
    row_names: tuple[tuple[str, ...], ...] | None = None
    shows_matches: bool = False
    distinct_keys: bool = False
    keeps_keys: bool = False
    scope: ConflictScope = SCANNED_ROWS
    row_filter: Predicate | None = None
    named: NamedRows | None = None
    one_copy: str | None = None
    kept_columns: tuple[str, ...] = ()
    query: DataFrame | None = None
    gives_rows: bool = False
    sent_bytes: int = 0


class KeyHasCopies(Exception):
    """The table has several rows of a source key: the change must be computed by its `one_copy`."""


CarryOut: TypeAlias = Callable[[Environment, SparkSession, Target, RowChange, Writer], Counts]
"""Writes a change in one way, with the plan's writer, and commits it.

Raises DataError MERGE_CARDINALITY_VIOLATION, DUPLICATE_KEY, KEY_ALREADY_EXISTS or that of a violated constraint; then
all files written are deleted. Raises KeyHasCopies before anything is committed.
"""


def with_copies(change: RowChange) -> RowChange:
    """The change for a table with several rows of a key."""
    return replace(change, lowered=change.one_copy or change.lowered, one_copy=None, query=None)


def change_query(spark: SparkSession, change: RowChange) -> DataFrame:
    """The lowered SELECT as a DataFrame. Raises as `lowered_change`."""
    return lowered_change(spark, change.lowered) if change.query is None else change.query


def changed_rows(spark: SparkSession, operation: WriteOperation, change: RowChange) -> DataFrame:
    """The rows of the lowered SELECT; new rows are checked against the table's constraints by `hold`."""
    log_lowered(change.lowered)
    rows = change_query(spark, change)
    if not has_new_rows(rows):
        return rows
    return with_violations(rows, operation.plan, operations=True, keeps_identities=not change.gives_rows)


def with_sent_source(rows: DataFrame, change: RowChange) -> DataFrame:
    """The rows of the change's query as tasks compute them. A source that may be sent to them is evaluated for it."""
    return with_few_joined(rows, change.sent_bytes) if change.sent_bytes else rows


def conflict_scope(change: RowChange, target: Target) -> ConflictScope:
    """The change's scope; for an enforced key also with `keys_unique`, unless new rows keep their keys."""
    enforced = is_enforced(target.table.metadata) and not change.keeps_keys
    return replace(change.scope, keys_unique=True) if enforced else change.scope


def has_new_rows(rows: DataFrame) -> bool:
    """Whether a lowered SELECT has the table's columns, which that of a DELETE has not."""
    return len(rows.columns) > OPERATION_COLUMNS


def changed_counts(written: WrittenFiles) -> Counts:
    """Row counts of a change. Deleted rows are counted by position, since several source rows may delete one row."""
    updated = written.counts.get("updated", 0)
    positions = sum(len(bitmap) for bitmap in written.positions.values())
    return Counts(written.counts.get("inserted", 0), updated, positions - updated)


def require_one_change(spark: SparkSession, target: Target, change: RowChange, written: WrittenFiles) -> None:
    """Raises DataError MERGE_CARDINALITY_VIOLATION if several source rows match one target row and may not.

    Raises KeyHasCopies if several target rows would be replaced by equal rows.
    """
    if written.counts.get(COPIES) and change.one_copy is not None:
        raise KeyHasCopies
    if written.repeated and change.row_names is not None:
        raise _cardinality_violation(spark, target, change.row_names, written.repeated)


def _cardinality_violation(
    spark: SparkSession, target: Target, names: Sequence[Sequence[str]], repeated: Mapping[str, BitMap64]
) -> DataError:
    """The error for target rows that several source rows match, at the `repeated` positions by data file.

    It reads the columns `names` of up to five of these target rows; the source is not read again.
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
