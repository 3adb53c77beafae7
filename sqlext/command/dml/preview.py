"""PREVIEW: the changes of rows that a statement would commit.

The statement runs as it always does, in a transaction of its own that is rolled back. So the preview is what happens,
with the statement's constraints and errors; its files are written, counted and deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.query.kept_rows import keep_rows
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.schema import Schema
from sqlext.sql.lowering.changes import lower_change_counts, lower_changes, lower_preview
from sqlext.sql.statements.statement import TableName

# Columns of a summary after the counts of rows, by the key of the snapshot summary (spec: Optional Snapshot Summary
# Fields).
_TOTALS = {
    "added_data_files": "added-data-files",
    "removed_data_files": "deleted-data-files",
    "added_delete_files": "added-delete-files",
    "removed_delete_files": "removed-delete-files",
    "added_bytes": "added-files-size",
    "removed_bytes": "removed-files-size",
}
PREVIEW_SUMMARY_COLUMNS = tuple(
    (name, "long") for name in ("num_inserted_rows", "num_updated_rows", "num_deleted_rows", *_TOTALS)
)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What the statement has staged: a SELECT of the changes of rows as in a change feed, and its snapshots."""

    changes: str
    schema: Schema
    snapshots: Sequence[Snapshot]


def preview_columns(environment: Environment, table: TableName) -> Sequence[tuple[str, Any]]:
    """Names and types, as in Spark's JSON, of the columns of a preview. Raises as `Catalogs.locate`."""
    _, loaded = environment.catalogs.locate(table.parts)
    return _columns(loaded.metadata.schema())


def preview(
    environment: Environment,
    spark: SparkSession,
    table: TableName,
    run: Callable[[Environment], object],
    result: Mapping[str, Any],
) -> str:
    """The name of the rows that the JVM keeps: those that `run`, a statement on `table`, would change, in the columns
    of `result`, Spark's JSON of a schema.

    Raises as the statement, UnsupportedError PREVIEW_TOO_LONG for more rows than `sqlext.plan.preview-rows`, and
    AnalysisError PREVIEW_OF_OTHER_COLUMNS if the table would have other columns, as with schema evolution.
    """
    most = environment.planning.thresholds.preview_rows
    with _carried_out(environment, table, run) as trial:
        if _columns(trial.schema) != [(field["name"], field["type"]) for field in result["fields"]]:
            raise AnalysisError("PREVIEW_OF_OTHER_COLUMNS", name=table)
        kept = keep_rows(lowered_query(spark, lower_preview(trial.changes, trial.schema, most + 1)), most)
    if kept is None:
        raise UnsupportedError("PREVIEW_TOO_LONG", name=table, most=most)
    return kept


def preview_summary(
    environment: Environment, spark: SparkSession, table: TableName, run: Callable[[Environment], object]
) -> Outcome:
    """One row of `PREVIEW_SUMMARY_COLUMNS`: rows that `run` would change, files and bytes that it would add and remove.

    Raises as the statement.
    """
    with _carried_out(environment, table, run) as trial:
        rows = lowered_query(spark, lower_change_counts(trial.changes)).collect()[0]
    totals = [sum(int(one.summary.get(key, "0")) for one in trial.snapshots) for key in _TOTALS.values()]
    return Outcome([[*rows, *totals]])


@contextmanager
def _carried_out(environment: Environment, table: TableName, run: Callable[[Environment], object]) -> Iterator[_Trial]:
    """The statement, carried out until the end of the block."""
    with environment.transactions.trial(environment.catalogs.transaction) as transaction:
        within = replace(environment, catalogs=environment.catalogs.within(transaction))
        _, before = within.catalogs.locate(table.parts)
        run(within)
        _, after = within.catalogs.locate(table.parts)
        snapshots = after.metadata.snapshots_not_in(before.metadata)
        feed, handle = ChangeFeed(within), handle_of(table.catalog, after)
        if snapshots:
            parent_id = snapshots[0].parent_snapshot_id
            parent = None if parent_id is None else after.metadata.snapshot(parent_id)
            step = feed.net_step(handle, after.metadata, parent, snapshots[-1], 0)
        else:
            step = feed.nothing(handle)
        schema = after.metadata.schema()
        yield _Trial(lower_changes([step], schema), schema, snapshots)


def _columns(schema: Schema) -> list[tuple[str, Any]]:
    fields = schema_to_spark(schema)["fields"]
    return [("_change_type", "string"), *((field["name"], _plain(field["type"])) for field in fields)]


def _plain(type: Any) -> Any:
    """The type without metadata of fields, and with nulls, as a result has it."""
    if not isinstance(type, dict):
        return type
    told = {name: _plain(value) for name, value in type.items()}
    told |= dict.fromkeys(told.keys() & {"nullable", "containsNull", "valueContainsNull"}, True)
    if "fields" in told:
        told["fields"] = [_plain(field) for field in told["fields"]]
    if "metadata" in told:
        told["metadata"] = {}
    return told
