"""Writes of a DataFrame to a table, and statements that Spark plans as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_branch
from sqlext.command.change.rerun import gives_identities, run_with_reruns
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.change.schema_evolution import grown_for_rows, merges_schema
from sqlext.command.dml.replaced_rows import ReplacedRows
from sqlext.command.dml.row_write import write_rows_to
from sqlext.command.dml.write_mode import WriteMode, asked_mode, in_tasks, is_upsert, with_options
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Way
from sqlext.command.plan.planner import plan_insert
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.equality_columns import told_apart_by
from sqlext.command.upsert.upsert import upsert
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spark.catalog.frame_options import WriteOptions, write_options
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.store_assignment import align
from sqlext.spark.scan.pushdown import exact_predicate
from sqlext.sql.statements.statement import TableName


def write_data_frame(
    environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame
) -> Counts:
    """Runs a DataFrame write, or a statement that Spark plans as one, described by the shim's `arguments`.

    Raises as an INSERT does, and as `write_options`.
    """
    table = _written_name(arguments).parts
    if arguments["mode"] == "append" or gives_identities(environment, table):
        return run_with_reruns(environment, table, lambda now: _write_once(now, spark, arguments, rows))
    return _write_once(environment, spark, arguments, rows)


def _write_once(environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame) -> Counts:
    handle, name = TableHandle.decode(arguments["table"]), _written_name(arguments)
    options = write_options(arguments["options"])
    target = with_options(load_target(environment, spark, name, _branch(handle, options)), options)
    target = told_apart_by(target, options.equality_columns)
    mode = WriteMode(asked_mode(arguments["mode"], options, target), _replaced_rows(arguments, target))
    upserts = is_upsert(target, options, overwrites=mode.mode != "append")
    by_name = bool(arguments["by_name"])
    if arguments["evolving"] or merges_schema(spark, options.merge_schema):
        target = grown_for_rows(environment, spark, target, rows, by_name=by_name)
    writing = environment.writing_in(options.parallelism)
    if upserts:
        kind = row_kind_column(target, rows.columns)
        counts = upsert(writing, spark, target, align_changes(spark, rows, target, by_name=by_name, kind=kind))
    else:
        rows = align(spark, rows, name.parts, target.table.metadata.schema(), by_name=by_name)
        plan = plan_insert(writing.planning, Way(mode.mode))
        counts = Counts(inserted=write_rows_to(writing, target, in_tasks(rows, options.parallelism), mode, plan.writer))
    care_after_commit(environment, spark, target)
    return counts


def _written_name(arguments: Mapping[str, Any]) -> TableName:
    """The table to write. Raises UnsupportedError PATH_TABLE_READ_ONLY for a table loaded by path."""
    handle = TableHandle.decode(arguments["table"])
    if handle.catalog is None:
        raise UnsupportedError("PATH_TABLE_READ_ONLY", name=handle.full_name)
    return TableName((handle.catalog, *handle.namespace, handle.name))


def _branch(handle: TableHandle, options: WriteOptions) -> str | None:
    """The branch in the table's name or the options. Raises AnalysisError PLACE_READ_ONLY for a snapshot."""
    if handle.snapshot_id is not None:
        raise AnalysisError("PLACE_READ_ONLY", name=handle.full_name)
    return written_branch(handle.branch, options.branch, handle.full_name)


def _replaced_rows(arguments: Mapping[str, Any], target: Target) -> ReplacedRows | None:
    if "condition" not in arguments:
        return None
    described = arguments["filter"]
    schema = target.table.metadata.schema()
    return ReplacedRows(arguments["condition"], None if described is None else exact_predicate(described, schema))
