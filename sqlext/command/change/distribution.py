"""The distribution of rows over write tasks, by `write.distribution-mode`, and their order in each, by the sort order.

As in Iceberg, `range` (the default of a table with a sort order) gives each task a range of partitions and sort order,
`hash` (the default of a partitioned table) gives all rows of a partition to one task, and `none` leaves rows where they
are. Each file is sorted in any mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sqlext.command.plan.change_plan import Writer
from sqlext.command.writing import write_by
from sqlext.properties import DISTRIBUTION_MODE
from sqlext.spark.query.write_job import SourceFiles, WriteTask, WrittenFiles
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from sqlext.spec.types import DecimalType, DoubleType, FloatType, IntegerType, LongType, TimestamptzType, UuidType
from sqlext.sql.tokens.quoting import quote_name
from sqlext.write.write_plan import can_sort

_MICROS_PER_HOUR = 3_600_000_000


def distribute(rows: DataFrame, metadata: TableMetadata, tasks: int | None = None) -> DataFrame:
    """The rows in the table's distribution.

    With `tasks` they are in at most so many tasks, if the job limits its shuffles too (`collect_written`), and rows of
    one partition are in one task even in the mode `none`.
    """
    partition = [F.expr(text) for text in partition_expressions(metadata)]
    if samples(metadata):
        columns = _range(metadata)
        return rows.repartitionByRange(*columns) if tasks is None else rows.repartitionByRange(tasks, *columns)
    if partition and (_mode(metadata) == "hash" or tasks is not None):
        return rows.repartition(*partition)
    return rows if tasks is None else rows.coalesce(tasks)


def samples(metadata: TableMetadata) -> bool:
    """Whether the distribution is by range, for which Spark first evaluates all rows to sample them."""
    return _mode(metadata) == "range" and bool(partition_expressions(metadata) or keeps_order(metadata))


def _range(metadata: TableMetadata) -> Sequence[Column]:
    partition = [F.expr(text) for text in partition_expressions(metadata)]
    return [*partition, *sort_columns(metadata.schema(), metadata.sort_order())]


def order(rows: DataFrame, metadata: TableMetadata, *, one_task: bool = False) -> DataFrame:
    """The rows sorted in each task by partition and sort order; unchanged for an unsorted table.

    With `one_task` all rows are in one task, as the driver writes them.
    """
    terms = sort_columns(metadata.schema(), metadata.sort_order())
    if not terms:
        return rows
    ordering = [*(F.expr(text) for text in partition_expressions(metadata)), *terms]
    # `orderBy` would evaluate the rows twice, first to sample ranges.
    return (rows.repartition(1) if one_task else rows).sortWithinPartitions(*ordering)


def write_distributed(
    rows: DataFrame,
    metadata: TableMetadata,
    task: WriteTask,
    writer: Writer,
    tasks: int | None = None,
    source: SourceFiles | None = None,
) -> WrittenFiles:
    """Runs a write task over rows in the table's distribution and order; see `distribute` for `tasks`, and `run_write`
    for `source`. Raises as `write_by`."""
    return write_by(
        writer,
        rows,
        task,
        partial(in_distribution, metadata=metadata, tasks=tasks),
        arrangement(metadata),
        source=source,
    )


def in_distribution(rows: DataFrame, metadata: TableMetadata, tasks: int | None = None) -> DataFrame:
    """The rows as tasks get them: distributed and ordered."""
    return order(distribute(rows, metadata, tasks), metadata)


def arrangement(metadata: TableMetadata) -> Callable[[DataFrame], DataFrame] | None:
    """`order` with `one_task`; None for a table without a sort order that Spark can sort by."""
    return partial(order, metadata=metadata, one_task=True) if keeps_order(metadata) else None


def ordered(rows: pa.Table, metadata: TableMetadata) -> pa.Table | None:
    """The rows in the table's sort order; None if Arrow cannot sort by it."""
    if not keeps_order(metadata):
        return rows
    columns = arrow_order(metadata)
    return None if columns is None else rows.sort_by([(name, "ascending") for name in columns])


def arrow_order(metadata: TableMetadata) -> Sequence[str] | None:
    """The columns of the table's sort order; None if Arrow cannot sort by it: they are ascending as they are, and have
    neither nulls nor NaN."""
    columns = []
    for field in metadata.sort_order().fields:
        column = next((one for one in metadata.schema().fields if one.id == field.source_id), None)
        alike = column is not None and column.required and not isinstance(column.type, DoubleType | FloatType)
        if column is None or not alike or field.transform != IdentityTransform() or field.direction != "asc":
            return None
        columns.append(column.name)
    return columns


def keeps_order(metadata: TableMetadata) -> bool:
    """Whether the table has a sort order that Spark can sort by, see `can_sort`."""
    return bool(_sort_terms(metadata.schema(), metadata.sort_order()))


def partition_expressions(metadata: TableMetadata) -> Sequence[str]:
    """A Spark expression for each partition field, with equal values for rows of one partition."""
    schema = metadata.schema()
    fields = ((field.source_id, field.transform) for field in metadata.spec().fields)
    return [text for text in (_transformed(schema, *field) for field in fields) if text is not None]


def sort_columns(schema: Schema, order: SortOrder) -> Sequence[Column]:
    """The terms of a sort order; none if Spark cannot sort by it, see `can_sort`."""
    return [_directed(F.expr(text), field) for text, field in _sort_terms(schema, order)]


def _sort_terms(schema: Schema, order: SortOrder) -> Sequence[tuple[str, SortField]]:
    """The Spark expression of each term; as `sort_columns`."""
    if not can_sort(schema, order):
        return []
    terms = ((_transformed(schema, field.source_id, field.transform), field) for field in order.fields)
    return [(text, field) for text, field in terms if text is not None]


def _directed(column: Column, field: SortField) -> Column:
    if field.direction == "asc":
        return column.asc_nulls_first() if field.null_order == "nulls-first" else column.asc_nulls_last()
    return column.desc_nulls_first() if field.null_order == "nulls-first" else column.desc_nulls_last()


def _mode(metadata: TableMetadata) -> str:
    if DISTRIBUTION_MODE.name in metadata.properties:
        return DISTRIBUTION_MODE.of(metadata.properties)
    return "hash" if metadata.sort_order().is_unsorted else "range"


def _transformed(schema: Schema, source_id: int, transform: Transform) -> str | None:
    """A Spark expression whose values are equal and ordered as those of the transform; None if there is none."""
    column = quote_name(schema.column_path(source_id))
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform(n=n):
            # A UUID is text to Spark.
            is_uuid = isinstance(schema.field(source_id).type, UuidType)
            hashed = f"unhex(replace({column}, '-', ''))" if is_uuid else column
            return f"CASE WHEN {column} IS NOT NULL THEN sqlext_bucket({n}, {hashed}) END"
        case YearTransform():
            return f"year({_day(schema, source_id, column)})"
        case MonthTransform():
            return f"trunc({_day(schema, source_id, column)}, 'MONTH')"
        case DayTransform():
            return _day(schema, source_id, column)
        case HourTransform():
            if isinstance(schema.field(source_id).type, TimestamptzType):
                return f"(unix_micros({column}) - pmod(unix_micros({column}), {_MICROS_PER_HOUR}))"
            return f"date_trunc('HOUR', {column})"
        case TruncateTransform(width=width):
            return _truncated(schema, source_id, column, width)
    return None


def _day(schema: Schema, source_id: int, column: str) -> str:
    """The date of a value, in UTC for a timestamptz."""
    if not isinstance(schema.field(source_id).type, TimestamptzType):
        return f"CAST({column} AS DATE)"
    midnight = f"(unix_micros({column}) - pmod(unix_micros({column}), {24 * _MICROS_PER_HOUR}))"
    return f"date_from_unix_date(CAST({midnight} / {24 * _MICROS_PER_HOUR} AS INT))"


def _truncated(schema: Schema, source_id: int, column: str, width: int) -> str:
    match schema.field(source_id).type:
        case IntegerType() | LongType():
            # Wider than the column, in which the smallest values would overflow.
            wide = f"CAST({column} AS DECIMAL(20,0))"
            return f"({wide} - pmod({wide}, {width}))"
        case DecimalType(scale=scale):
            step = f"CAST('{Decimal(width).scaleb(-scale):f}' AS DECIMAL(38,{scale}))"
            return f"({column} - pmod({column}, {step}))"
    return f"substring({column}, 1, {width})"
