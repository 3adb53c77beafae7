"""Rows of a DataFrame into a table: the one writer path of INSERT, CTAS and the DataFrame API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.distribution import distribute, order
from sqlext.command.environment import Environment
from sqlext.command.row_level import Target, require_delete_files, row_delta
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.errors import UnsupportedError
from sqlext.spark.table_handle import TableHandle
from sqlext.spark.write_job import WrittenFiles, is_small, run_write, task_identity
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.table_metadata import TableMetadata
from sqlext.sql.statement import TableName
from sqlext.transaction.action import Action
from sqlext.transaction.append import AppendFiles
from sqlext.transaction.overwrite import OverwriteFiles
from sqlext.write.task import write_changes, write_rows

Mode = Literal["append", "overwrite", "overwrite partitions", "overwrite where"]


@dataclass(frozen=True, slots=True)
class WriteMode:
    """What happens to the rows that are there; `condition` is SQL over the table's columns."""

    mode: Mode
    condition: str | None = None


def write_data_frame(
    environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame
) -> None:
    """A DataFrame write, its rows already in the table's columns and types."""
    handle = TableHandle.decode(arguments["table"])
    if handle.catalog is None:
        raise UnsupportedError("PATH_TABLE_READ_ONLY", name=handle.full_name)
    name = TableName((handle.catalog, *handle.namespace, handle.name))
    table = environment.catalogs.load(name.parts)
    target = Target(name, table, environment.version(handle.catalog, table))
    write_rows_to(environment, target, rows, WriteMode(arguments["mode"], arguments.get("condition")))


def write_rows_to(environment: Environment, target: Target, rows: DataFrame, mode: WriteMode) -> int:
    """Writes and commits rows that are in the table's columns; the number of rows written."""
    operation = begin_write(target.table.metadata, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        written = write_files(operation, target.table.metadata, rows)
        action = _action(environment, target, operation, rows.sparkSession, written, mode)
    if action is not None:
        environment.commit(target.name.catalog, target.table, action)
    return sum(file.record_count for file in written.data_files)


def write_files(operation: WriteOperation, metadata: TableMetadata, rows: DataFrame) -> WrittenFiles:
    """Data files of the rows, on the driver when they are few."""
    on_driver = is_small(rows)
    spread = order(rows, metadata) if on_driver else order(distribute(rows, metadata), metadata)
    return run_write(spread, write_rows(operation.plan, task_identity=task_identity), on_driver=on_driver)


def _action(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    spark: SparkSession,
    written: WrittenFiles,
    mode: WriteMode,
) -> Action | None:
    """What is to be committed; None where nothing changes."""
    files = written.data_files
    if mode.mode == "overwrite":
        return OverwriteFiles(files, delete_all=True)
    if mode.mode == "overwrite where":
        return _replace_where(environment, target, operation, spark, written, str(mode.condition))
    if not files:
        return None
    if mode.mode == "append":
        return AppendFiles(files)
    return OverwriteFiles(files, partitions=frozenset((file.spec_id, file.partition) for file in files))


def _replace_where(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    spark: SparkSession,
    written: WrittenFiles,
    condition: str,
) -> Action | None:
    """The rows that the condition selects go, the new rows come, in one snapshot."""
    require_delete_files(target, "OVERWRITE with a condition")
    old = spark.sql(f"SELECT 1Y AS `__operation`, `_file`, `_pos` FROM {target.relation} WHERE {condition}")
    task = write_changes(operation.plan, task_identity=task_identity)
    removed = run_write(old, task, on_driver=is_small(old))
    changed = WrittenFiles(written.data_files, positions=removed.positions)
    return row_delta(environment, target, operation, changed, read_filter=AlwaysTrue(), isolation="serializable")
