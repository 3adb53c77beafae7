"""Copy-on-write by a query, where tasks cannot read the files as they are or new values change the order of rows."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.checked_rows import with_task_count
from sqlext.command.change.distribution import distribute, keeps_order, partition_expressions, write_distributed
from sqlext.command.change.file_copies import FileCopies, united
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import Writer
from sqlext.command.writing import write_by
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.query.write_job import task_identity
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.row_operation import DELETE, INSERT, UPDATE
from sqlext.write.task import write_rows

# One number for the file and the position of a row, which is joined, shuffled and sorted for a fraction of what a path
# takes: a checksum of the path, and a position of 36 bits. No file has as many rows.
_PLACE = "__sqlext_place"
_PATHS = 2**27
_FILE_OF = f"shiftright({_PLACE}, 36)"


class ColumnsLeftOut(Exception):
    """The cached change lacks columns of the table: it must be computed with all of them."""


def copied_by_query(
    environment: Environment, spark: SparkSession, copies: FileCopies, writer: Writer
) -> Sequence[ContentFile]:
    """The new data files. Raises ColumnsLeftOut before anything is written."""
    target, rows = copies.target, copies.cached.rows
    if copies.has_new_rows and not set(_columns(target)) - {LAST_UPDATED.name} <= set(rows.columns):
        raise ColumnsLeftOut
    positions = copies.cached.found.positions
    kept_from = [task.file.file_path for task in copies.partly_kept]
    broadcast = sum(len(positions[path]) for path in kept_from) <= environment.planning.thresholds.broadcast_positions
    kept = _kept(spark, target, rows, kept_from, broadcast=broadcast) if kept_from else None
    return _rewrite(copies, kept, writer)


def _rewrite(copies: FileCopies, kept: DataFrame | None, writer: Writer) -> Sequence[ContentFile]:
    """Writes the new rows, and those that stay of files that lose some, to new data files."""
    target, plan, gives_values = copies.target, copies.cached.operation.plan, copies.has_new_rows
    metadata = target.table.metadata

    def counted(rows: DataFrame, *, are_new: bool) -> DataFrame:
        return with_task_count(rows, plan, are_new=are_new) if gives_values else rows

    moved = [] if kept is None else [counted(kept, are_new=False)]
    inserted: list[DataFrame] = []
    if gives_values:
        moved.append(counted(_new(copies, UPDATE), are_new=True))
        inserted.append(counted(_new(copies, INSERT), are_new=True))
    if not (moved or inserted):
        return ()
    task = write_rows(plan.with_row_lineage() if has_row_ids(target) else plan, task_identity=task_identity)
    if keeps_order(metadata):
        rows = united([*moved, *inserted]).drop(_PLACE)
        return write_distributed(rows, metadata, task, writer).data_files
    # Rows of one file stay together and in their order, so that bounds remain narrow; and as tasks would split a large
    # file, each statement would leave more and smaller ones.
    by_file = [*map(F.expr, partition_expressions(metadata)), F.expr(_FILE_OF)]
    stable = [one.repartition(*by_file).sortWithinPartitions(_PLACE) for one in [united(moved)] if moved]
    spread = united([*stable, *(distribute(one, metadata) for one in inserted)])
    return write_by(writer, spread.drop(_PLACE), task, lambda rows: rows).data_files


def _kept(spark: SparkSession, target: Target, rows: DataFrame, paths: list[str], *, broadcast: bool) -> DataFrame:
    """The live rows of the data files `paths` that the change does not delete."""
    columns = ", ".join(map(quote_identifier, [*_columns(target), "_file", "_pos"]))
    of_files = F.col("_file").isin(paths)
    stored = lowered_query(spark, f"SELECT {columns} FROM {target.relation}").where(of_files)
    keys = [_PLACE] if _are_told_apart(paths) else [_PLACE, "_file"]
    changed = rows.where(F.col("__operation").isin(DELETE, UPDATE)).where(of_files)
    deleted = changed.select(_place(), "_file").select(*keys)
    if broadcast:
        deleted = F.broadcast(deleted)
    kept = stored.select(*map(quote_identifier, _columns(target)), "_file", _place()).join(deleted, keys, "left_anti")
    return kept.select(*map(quote_identifier, _columns(target)), _PLACE)


def _place() -> Column:
    return F.expr(f"shiftleft(pmod(crc32(CAST(_file AS BINARY)), {_PATHS}), 36) + _pos").alias(_PLACE)


def _are_told_apart(paths: Collection[str]) -> bool:
    """Whether the numbers of places tell these files apart."""
    return len({zlib.crc32(path.encode()) % _PATHS for path in paths}) == len(paths)


def _new(copies: FileCopies, operation: int) -> DataFrame:
    """The new rows of an operation, with the columns of `_kept`. `_last_updated_sequence_number` is null: it is
    inherited."""
    target, chosen = copies.target, copies.rows(operation)
    if has_row_ids(target):
        chosen = chosen.withColumn(LAST_UPDATED.name, F.lit(None).cast("bigint"))
    return chosen.select(*map(quote_identifier, _columns(target)), _place())


def _columns(target: Target) -> list[str]:
    lineage = (ROW_ID.name, LAST_UPDATED.name) if has_row_ids(target) else ()
    return [*(field.name for field in target.table.metadata.schema().fields), *lineage]
