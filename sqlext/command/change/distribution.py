"""How rows are spread over write tasks and sorted in them, so that files are few, and ordered as the table says.

`write.distribution-mode`: `range` (the default of a table with a sort order) gives each task a range of partitions and
sort order, `hash` (the default of a partitioned table) brings rows of one partition to one task, `none` leaves rows
where they are. A sort order holds within each file, whatever the distribution.
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
from sqlext.spark.query.write_job import WriteTask, WrittenFiles
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

    With `tasks` those of a partition are in no more than so many, and in one where the table has no distribution.
    """
    partition = [F.expr(text) for text in partition_expressions(metadata)]
    if samples(metadata):
        columns = _range(metadata)
        return rows.repartitionByRange(*columns) if tasks is None else rows.repartitionByRange(tasks, *columns)
    if partition and (_mode(metadata) == "hash" or tasks is not None):
        return rows.repartition(*partition)
    return rows if tasks is None else rows.coalesce(tasks)


def samples(metadata: TableMetadata) -> bool:
    """Whether Spark evaluates rows for their distribution once before it evaluates them to write them."""
    return _mode(metadata) == "range" and bool(partition_expressions(metadata) or keeps_order(metadata))


def _range(metadata: TableMetadata) -> Sequence[Column]:
    partition = [F.expr(text) for text in partition_expressions(metadata)]
    return [*partition, *sort_columns(metadata.schema(), metadata.sort_order())]


def order(rows: DataFrame, metadata: TableMetadata, *, one_task: bool = False) -> DataFrame:
    """The rows of each task in the table's sort order, by partition first; rows of an unsorted table as they come.

    With `one_task` all rows are one task's, as those that the driver writes.
    """
    terms = sort_columns(metadata.schema(), metadata.sort_order())
    if not terms:
        return rows
    ordering = [*(F.expr(text) for text in partition_expressions(metadata)), *terms]
    # A sort of all rows would evaluate them twice, to find the ranges first.
    return (rows.repartition(1) if one_task else rows).sortWithinPartitions(*ordering)


def write_distributed(
    rows: DataFrame, metadata: TableMetadata, task: WriteTask, writer: Writer, tasks: int | None = None
) -> WrittenFiles:
    """Runs a write task over rows in the table's order and distribution; for `tasks` see `distribute`."""
    return write_by(
        writer,
        rows,
        task,
        lambda spread: order(distribute(spread, metadata, tasks), metadata),
        arrangement(metadata),
    )


def arrangement(metadata: TableMetadata) -> Callable[[DataFrame], DataFrame] | None:
    """`order` for rows that are one task's; None for a table that has none which writers here keep."""
    return partial(order, metadata=metadata, one_task=True) if keeps_order(metadata) else None


def ordered(rows: pa.Table, metadata: TableMetadata) -> pa.Table | None:
    """All rows in the table's sort order; None where only Spark can tell it."""
    schema, sort_order = metadata.schema(), metadata.sort_order()
    if sort_order.is_unsorted or not can_sort(schema, sort_order):
        return rows
    columns = []
    for field in sort_order.fields:
        column = next((one for one in schema.fields if one.id == field.source_id), None)
        alike = column is not None and column.required and not isinstance(column.type, DoubleType | FloatType)
        if column is None or not alike or field.transform != IdentityTransform() or field.direction != "asc":
            return None
        columns.append((column.name, "ascending"))
    return rows.sort_by(columns)


def keeps_order(metadata: TableMetadata) -> bool:
    """Whether the table has a sort order that writers here keep."""
    return bool(_sort_terms(metadata.schema(), metadata.sort_order()))


def partition_expressions(metadata: TableMetadata) -> Sequence[str]:
    """One Spark expression for each partition field, equal for rows of one partition."""
    schema = metadata.schema()
    fields = ((field.source_id, field.transform) for field in metadata.spec().fields)
    return [text for text in (_transformed(schema, *field) for field in fields) if text is not None]


def sort_columns(schema: Schema, order: SortOrder) -> Sequence[Column]:
    """The terms of a sort order; one that no writer here can keep has none."""
    return [_directed(F.expr(text), field) for text, field in _sort_terms(schema, order)]


def _sort_terms(schema: Schema, order: SortOrder) -> Sequence[tuple[str, SortField]]:
    """The Spark expression of each term that sorts; none of an order that no writer here can keep."""
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
    """The transform as a Spark expression that is equal, and in the same order, where the partition values are."""
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
    """The date of a value; of an instant in UTC, whatever the session's zone."""
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
