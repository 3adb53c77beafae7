"""Rewriting of data files by a query of Spark, where rows are to be moved to partitions, are too many to be sorted in
memory, or can be found by Spark's readers and joins only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructType

from sqlext.command.change.distribution import write_distributed
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.compaction.rewritten_parts import Rewritten
from sqlext.command.compaction.row_sort import RowSort
from sqlext.command.environment import Environment
from sqlext.command.write_operation import WriteOperation
from sqlext.errors import SqlextError
from sqlext.spark.executor_task import for_executors
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spark.query.write_job import run_write, task_identity
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.manifests.row_origins import ORIGIN_COLUMNS
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.task import write_rows

_Z_VALUE = "__sqlext_z_value"


def rewrite_by_query(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    paths: Sequence[str],
    metadata: TableMetadata,
    tasks: int | None,
    z_order: RowSort | None = None,
) -> Rewritten:
    """Writes the live rows of the files at `paths`, spread and sorted as for a table of `metadata`, or by z-values.

    With `tasks` not None at most so many tasks write. Raises errors of reading and writing.
    """
    lineage = (ROW_ID.name, LAST_UPDATED.name) if has_row_ids(target) else ()
    columns = [*(field.name for field in metadata.schema().fields), *lineage]
    told = ", ".join([*map(quote_identifier, columns), "xxhash64(_file)", "_pos"])
    lowered = f"SELECT {told}\nFROM {target.relation}"
    log_lowered(lowered)
    origins = [field.name for field in ORIGIN_COLUMNS]
    rows = lowered_query(spark, lowered).where(F.col("_file").isin(list(paths))).toDF(*columns, *origins)
    plan = (operation.plan.with_row_lineage() if lineage else operation.plan).with_origins()
    task = write_rows(plan, task_identity=task_identity)
    if z_order is not None:
        written = run_write(_by_z_values(rows, z_order, tasks or 1), task, tasks)
    else:
        written = write_distributed(rows, metadata, task, environment.planning.writer(), tasks)
    return Rewritten(written.data_files, written.origins(_hashed(spark, paths)))


def _by_z_values(rows: DataFrame, sort: RowSort, tasks: int) -> DataFrame:
    """The rows in ranges of z-values, each sorted."""
    names = rows.columns
    numbered = rows.toDF(*map(str, range(len(names))))
    schema = StructType([*numbered.schema.fields]).add(_Z_VALUE, BinaryType())
    sent = for_executors(rows.sparkSession.sparkContext, partial(with_z_values, sort, names))
    valued = numbered.mapInArrow(sent, schema)
    ranged = valued.repartitionByRange(tasks, _Z_VALUE).sortWithinPartitions(_Z_VALUE)
    return ranged.drop(_Z_VALUE).toDF(*names)


def with_z_values(sort: RowSort, names: Sequence[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows with their z-values behind."""
    for batch in batches:
        table = pa.Table.from_batches([batch.rename_columns(list(names))])
        values = sort.z_values(table).cast(pa.binary())
        yield pa.RecordBatch.from_arrays([*batch.columns, values], [*batch.schema.names, _Z_VALUE])


def _hashed(spark: SparkSession, paths: Sequence[str]) -> Mapping[int, str]:
    """The paths by Spark's hash of each. Raises SqlextError INTERNAL_ERROR if two have the same."""
    rows = spark.createDataFrame([(path,) for path in paths], "path string").select(F.xxhash64("path"), "path")
    hashed: dict[int, str] = dict(rows.collect())
    if len(hashed) < len(paths):
        raise SqlextError("INTERNAL_ERROR", asked="compaction", reason="two paths have the same hash")
    return hashed
