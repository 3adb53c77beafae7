"""Writes of a DataFrame to a table, by INSERT, CTAS and the DataFrame API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_branch
from sqlext.command.change.rerun import run_until_not_overtaken
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.change.schema_evolution import changes_for_rows, grown, merges_schema
from sqlext.command.compaction.compaction import compact_after_commit
from sqlext.command.dml.replaced_rows import ReplacedRows
from sqlext.command.dml.row_write import Mode, WriteMode, write_rows_to
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.upsert import require_upsertable, upsert
from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import MERGE_ENGINE, ROWKIND_FIELD, UPSERT_ENABLED
from sqlext.spark.catalog.frame_options import WriteOptions, write_options
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.store_assignment import align
from sqlext.spark.scan.pushdown import exact_predicate
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.sql.statements.statement import TableName


def write_data_frame(
    environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame
) -> Counts:
    """Runs a DataFrame write, or a statement that Spark plans as one, described by the shim's `arguments`.

    Raises as an INSERT does, and as `write_options`.
    """
    if arguments["mode"] == "append":
        return run_until_not_overtaken(
            environment, _written_name(arguments).parts, lambda now: _write_once(now, spark, arguments, rows)
        )
    return _write_once(environment, spark, arguments, rows)


def _write_once(environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame) -> Counts:
    handle, name = TableHandle.decode(arguments["table"]), _written_name(arguments)
    options = write_options(arguments["options"])
    target = with_options(load_target(environment, spark, name, _branch(handle, options)), options)
    mode = WriteMode(asked_mode(arguments["mode"], options, target), _replaced_rows(arguments, target))
    upserts = is_upsert(target, options, overwrites=mode.mode != "append")
    by_name = bool(arguments["by_name"])
    if merges_schema(spark) if options.merge_schema is None else options.merge_schema:
        exact = is_case_sensitive(spark)
        target = grown(environment, target, changes_for_rows(target, rows, by_name=by_name), case_sensitive=exact)
    writing = environment.writing_in(options.parallelism)
    if upserts:
        kind = row_kind_column(target, rows.columns)
        counts = upsert(writing, spark, target, align_changes(spark, rows, target, by_name=by_name, kind=kind))
    else:
        rows = align(spark, rows, name.parts, target.table.metadata.schema(), by_name=by_name)
        counts = Counts(inserted=write_rows_to(writing, target, in_tasks(rows, options), mode))
    compact_after_commit(environment, spark, target)
    return counts


def _written_name(arguments: Mapping[str, Any]) -> TableName:
    """The table to write. Raises UnsupportedError PATH_TABLE_READ_ONLY for a table loaded by path."""
    handle = TableHandle.decode(arguments["table"])
    if handle.catalog is None:
        raise UnsupportedError("PATH_TABLE_READ_ONLY", name=handle.full_name)
    return TableName((handle.catalog, *handle.namespace, handle.name))


def asked_mode(mode: Mode, options: WriteOptions, target: Target) -> Mode:
    """The mode, which the option `overwrite-enabled` changes to an overwrite of the partitions of the new rows, or of
    an unpartitioned table.

    Raises UnsupportedError OPTION_NOT_SUPPORTED if the option is false and the statement an overwrite.
    """
    if options.overwrite is False and mode != "append":
        reason = "what it stands at is an overwrite"
        raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name="overwrite-enabled", reason=reason)
    if not options.overwrite or mode == "overwrite where":
        return mode
    return "overwrite" if target.table.metadata.spec().is_unpartitioned else "overwrite partitions"


def in_tasks(rows: DataFrame, options: WriteOptions) -> DataFrame:
    """The rows in at most `write-parallelism` tasks."""
    return rows if options.parallelism is None else rows.coalesce(options.parallelism)


def with_options(target: Target, options: WriteOptions) -> Target:
    """The target with the snapshot properties and settings of one write's options."""
    to = replace(target.destination, summary=options.summary)
    return replace(target, destination=to, settings=options.settings)


def is_upsert(target: Target, options: WriteOptions, *, overwrites: bool) -> bool:
    """Whether rows are upserted: by the option `upsert-enabled`, else by the table's `write.upsert.enabled`, or because
    it has a merge engine or a row-kind field.

    Raises AnalysisError UPSERT_WITH_OVERWRITE, MERGE_ENGINE_BYPASSED, ROW_KINDS_BYPASSED, or as `require_upsertable`.
    """
    properties = target.table.metadata.properties
    merges = has_merge_engine(properties)
    kinds = ROWKIND_FIELD.of(properties)
    enabled = merges or kinds is not None or UPSERT_ENABLED.of(properties)
    said = enabled if options.upsert is None else options.upsert
    if kinds is not None and (overwrites or not said):
        way_out = "Empty the table with DELETE, and write with INSERT" if overwrites else "Leave 'upsert-enabled' out"
        raise AnalysisError("ROW_KINDS_BYPASSED", name=target.name, column=kinds, way_out=way_out)
    if merges and not said and not overwrites:
        raise AnalysisError("MERGE_ENGINE_BYPASSED", name=target.name, engine=MERGE_ENGINE.of(properties))
    if said and overwrites:
        way_out = "Say 'upsert-enabled'='false' for this write" if enabled else "Leave 'upsert-enabled' out"
        raise AnalysisError("UPSERT_WITH_OVERWRITE", name=target.name, way_out=f"{way_out}, or do not overwrite")
    if said:
        by_option = "leave 'upsert-enabled' out"
        require_upsertable(target, by_option if options.upsert else "set write.upsert.enabled to false")
    return said


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
