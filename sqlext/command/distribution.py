"""How rows are spread over write tasks, so that a partition's rows meet in few files.

`write.distribution-mode`: `hash` (the default of a partitioned table) brings rows of one partition to one task, `none`
leaves rows where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.properties import DISTRIBUTION_MODE
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortOrder
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
    if _mode(metadata) != "hash":
        return rows
    return rows.repartition(*(F.expr(text) for text in partition_expressions(metadata.schema(), metadata.spec())))


def order(rows: DataFrame, metadata: TableMetadata) -> DataFrame:
    """The rows of each task in the table's sort order."""
    terms = sort_expressions(metadata.schema(), metadata.sort_order())
    return rows.sortWithinPartitions(*(F.expr(text) for text in terms)) if terms else rows


def partition_expressions(schema: Schema, spec: PartitionSpec) -> Sequence[str]:
    """One Spark expression for each partition field, equal for rows of one partition."""
    return [text for text in (_partition_expression(schema, field) for field in spec.fields) if text is not None]


def sort_expressions(schema: Schema, order: SortOrder) -> Sequence[str]:
    """The table's sort order as Spark ORDER BY terms; a transform's own column orders at least as finely."""
    return [
        f"{_column(schema, field.source_id)} {field.direction.upper()} NULLS {field.null_order.split('-')[1].upper()}"
        for field in order.fields
    ]


def _mode(metadata: TableMetadata) -> str:
    if not partition_expressions(metadata.schema(), metadata.spec()):
        return "none"
    return DISTRIBUTION_MODE.of(metadata.properties)


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
