"""Copy-on-write: data files with a changed row are replaced by new files, which also have the unchanged rows."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pyroaring import BitMap64
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.checked_rows import with_task_count
from sqlext.command.change.distribution import distribute, keeps_order, partition_expressions, write_distributed
from sqlext.command.change.enforced_key import Removed, require_unique_keys
from sqlext.command.change.materialized_change import MaterializedChange, materialize_change
from sqlext.command.change.row_change import RowChange, changed_counts, has_new_rows
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, touched_files
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.command.writing import write_by
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.scan.scan_plan import FileScanTask, deletes_all_rows
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


def copy_on_write(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Replaces data files, in any format version; see `CarryOut`.

    The SELECT is evaluated once and cached, since both the deleted positions and the new rows are read from it. A file
    that loses all rows is not read again. Equality-delete files stay, for other files that they apply to.
    """
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        materialized = materialize_change(spark, target, operation, change, writer)
        touched = touched_files(environment, target, materialized.found.positions)
        action = replace_files(environment, spark, target, change, writer, materialized, touched)
    if action.added or touched:
        commit_change(environment, target, action)
    return changed_counts(materialized.found)


def replace_files(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    change: RowChange,
    writer: Writer,
    materialized: MaterializedChange,
    touched: Sequence[FileScanTask],
) -> OverwriteFiles:
    """Writes the new files; returns the action that replaces `touched`, the files that lose a row.

    Raises DataError DUPLICATE_KEY or KEY_ALREADY_EXISTS for an ENFORCED key.
    """
    positions = materialized.found.positions
    kept_from = _partly_kept(touched, positions)
    broadcast = sum(len(positions[path]) for path in kept_from) <= environment.planning.thresholds.broadcast_positions
    kept = _kept(spark, target, materialized.rows, kept_from, broadcast=broadcast) if kept_from else None
    # The number of rows that stay is not known, so only a result that is estimated to be small goes to the driver.
    added = _rewrite(target, materialized.operation, materialized.rows, kept, replace(writer, tried_rows=0))
    if not (change.distinct_keys or change.keeps_keys):
        removed = Removed(paths=frozenset(task.file.file_path for task in touched))
        require_unique_keys(environment, spark, target, added, removed)
    snapshot = target.version.snapshot
    return OverwriteFiles(
        added,
        deleted_files=[task.file for task in touched],
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        read_filter=materialized.read_set.added,
        needed_filter=materialized.read_set.removed,
        isolation=change.isolation,
        unique_key=target.table.metadata.schema().identifier_field_ids if materialized.read_set.keys_unique else (),
    )


def _partly_kept(touched: Sequence[FileScanTask], positions: Mapping[str, BitMap64]) -> list[str]:
    """Paths of files that keep some rows, as far as row counts tell."""
    return [task.file.file_path for task in touched if not deletes_all_rows(task, positions)]


def _rewrite(
    target: Target, operation: WriteOperation, rows: DataFrame, kept: DataFrame | None, writer: Writer
) -> Sequence[ContentFile]:
    """Writes the new rows, and those that stay of files that lose some, to new data files."""
    metadata = target.table.metadata
    plan, gives_values = operation.plan, has_new_rows(rows)

    def counted(rows: DataFrame, *, are_new: bool) -> DataFrame:
        return with_task_count(rows, plan, are_new=are_new) if gives_values else rows

    moved = [] if kept is None else [counted(kept, are_new=False)]
    inserted: list[DataFrame] = []
    if gives_values:
        moved.append(counted(_new(target, rows, UPDATE), are_new=True))
        inserted.append(counted(_new(target, rows, INSERT), are_new=True))
    if not (moved or inserted):
        return ()
    task = write_rows(plan.with_row_lineage() if has_row_ids(target) else plan, task_identity=task_identity)
    if keeps_order(metadata):
        united = _united([*moved, *inserted]).drop(_PLACE)
        return write_distributed(united, metadata, task, writer).data_files
    # Rows of one file stay together and in their order, so that bounds remain narrow; and as tasks would split a large
    # file, each statement would leave more and smaller ones.
    by_file = [*map(F.expr, partition_expressions(metadata)), F.expr(_FILE_OF)]
    stable = [one.repartition(*by_file).sortWithinPartitions(_PLACE) for one in [_united(moved)] if moved]
    spread = _united([*stable, *(distribute(one, metadata) for one in inserted)])
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


def _new(target: Target, rows: DataFrame, operation: int) -> DataFrame:
    """The new rows of an operation, with the columns of `_kept`. `_last_updated_sequence_number` is null: it is
    inherited."""
    chosen = rows.where(F.col("__operation") == operation)
    if has_row_ids(target):
        chosen = chosen.withColumn(LAST_UPDATED.name, F.lit(None).cast("bigint"))
    return chosen.select(*map(quote_identifier, _columns(target)), _place())


def _columns(target: Target) -> list[str]:
    lineage = (ROW_ID.name, LAST_UPDATED.name) if has_row_ids(target) else ()
    return [*(field.name for field in target.table.metadata.schema().fields), *lineage]


def _united(frames: Sequence[DataFrame]) -> DataFrame:
    first, *others = frames
    for one in others:
        first = first.union(one)
    return first
