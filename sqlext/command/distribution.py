"""How rows are spread over write tasks, so that a partition's rows meet in few files.

`write.distribution-mode`: `hash` (the default of a partitioned table) brings rows of one partition to one task, `range`
gives each task a range of partitions and, within them, of the table's sort order, `none` leaves rows where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sqlext.properties import DISTRIBUTION_MODE
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.table_metadata import TableMetadata
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
from sqlext.spec.types import IntegerType, LongType, StringType
from sqlext.sql.quoting import quote_identifier


def distribute(rows: DataFrame, metadata: TableMetadata) -> DataFrame:
    """The rows in the table's distribution."""
    schema, mode = metadata.schema(), DISTRIBUTION_MODE.of(metadata.properties)
    partition = partition_expressions(schema, metadata.spec())
    if mode == "hash" and partition:
        return rows.repartition(*map(F.expr, partition))
    ordering = [*map(F.expr, partition), *sort_terms(schema, metadata.sort_order())]
    return rows.repartitionByRange(*ordering) if mode == "range" and ordering else rows


def order(rows: DataFrame, metadata: TableMetadata, *, one_task: bool = False) -> DataFrame:
    """The rows of each task in the table's sort order; with `one_task` those of all partitions together."""
    terms = sort_terms(metadata.schema(), metadata.sort_order())
    if not terms:
        return rows
    return rows.sort(*terms) if one_task else rows.sortWithinPartitions(*terms)


def partition_expressions(schema: Schema, spec: PartitionSpec) -> Sequence[str]:
    """One Spark expression for each partition field, equal for rows of one partition."""
    return [text for text in (_partition_expression(schema, field) for field in spec.fields) if text is not None]


def sort_terms(schema: Schema, order: SortOrder) -> Sequence[Column]:
    """The table's sort order; the column of a transform that keeps its order does so at least as finely."""
    return [_sort_term(_sorted_column(schema, field), field) for field in order.fields]


def _sorted_column(schema: Schema, field: SortField) -> Column:
    column = _column(schema, field.source_id)
    if isinstance(field.transform, BucketTransform):
        return F.expr(f"CASE WHEN {column} IS NOT NULL THEN sqlext_bucket({field.transform.n}, {column}) END")
    return F.expr(column)


def _sort_term(column: Column, field: SortField) -> Column:
    if field.direction == "asc":
        return column.asc_nulls_first() if field.null_order == "nulls-first" else column.asc_nulls_last()
    return column.desc_nulls_first() if field.null_order == "nulls-first" else column.desc_nulls_last()


def _column(schema: Schema, field_id: int) -> str:
    return ".".join(quote_identifier(part) for part in schema.column_name(field_id).split("."))


def _partition_expression(schema: Schema, field: PartitionField) -> str | None:
    column = _column(schema, field.source_id)
    transform: Transform = field.transform
    if isinstance(transform, IdentityTransform):
        return column
    if isinstance(transform, BucketTransform):
        return f"sqlext_bucket({transform.n}, {column})"
    if isinstance(transform, YearTransform):
        return f"year({column})"
    if isinstance(transform, MonthTransform):
        return f"date_trunc('MONTH', {column})"
    if isinstance(transform, DayTransform):
        return f"CAST({column} AS DATE)"
    if isinstance(transform, HourTransform):
        return f"date_trunc('HOUR', {column})"
    if isinstance(transform, TruncateTransform):
        return _truncated(schema, field, column, transform.width)
    return None


def _truncated(schema: Schema, field: PartitionField, column: str, width: int) -> str:
    source = schema.field(field.source_id).type
    if isinstance(source, StringType):
        return f"substring({column}, 1, {width})"
    if isinstance(source, IntegerType | LongType):
        return f"{column} - pmod({column}, {width})"
    return column
