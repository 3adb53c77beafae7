"""PARTITION (column = value, …) of an INSERT: the columns' values, and the partition that an overwrite replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.replaced_rows import ReplacedRows
from sqlext.command.row_level import Target
from sqlext.command.stored_values import stored_values
from sqlext.errors import AnalysisError, DataError
from sqlext.scan.value_range import is_nan
from sqlext.spark.driver_rows import collect_rows
from sqlext.spark.lowered_sql import lowered_query
from sqlext.spec.expression import Comparison, IsNaN, IsNull, Predicate, conjunction
from sqlext.spec.table_metadata import TableMetadata
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import NestedField
from sqlext.sql.binding import resolve_column
from sqlext.sql.quoting import quote_identifier
from sqlext.sql.statement import Insert, Truncate
from sqlext.sql.type_name import spark_type_text


@dataclass(frozen=True, slots=True)
class StaticValue:
    """A column and the SQL of its value, which is of the column's type; `given` is the text of the user."""

    field: NestedField
    given: str

    @property
    def text(self) -> str:
        """A cast and not a store assignment: Spark reads the values of PARTITION from their text."""
        return f"CAST({self.given} AS {spark_type_text(self.field.type)})"


def static_partition(
    statement: Insert | Truncate, metadata: TableMetadata, *, case_sensitive: bool = False
) -> Sequence[StaticValue]:
    """The values; AnalysisError for what is no column, or no identity partition where partitions are replaced."""
    schema = metadata.schema()
    identity = {field.source_id for field in metadata.spec().fields if isinstance(field.transform, IdentityTransform)}
    values = []
    for name, value in statement.static_partition:
        if value is None:
            continue
        field = resolve_column(schema, name, case_sensitive=case_sensitive)
        if (isinstance(statement, Truncate) or statement.overwrite) and field.id not in identity:
            raise AnalysisError("NOT_A_PARTITION_COLUMN", column=field.name, name=statement.table)
        values.append(StaticValue(field, value.text))
    return values


def replaced_partition(spark: SparkSession, values: Sequence[StaticValue], target: Target) -> ReplacedRows:
    """The rows with the values of identity partition columns.

    DataError INVALID_COLUMN_VALUE for a value that does not become one of the column's type.
    """
    given = [f"{value.text}, ({value.given}) IS NULL" for value in values]
    row = collect_rows(lowered_query(spark, f"SELECT {', '.join(given)}")).combine_chunks().to_batches()[0]
    columns, nulls = row.columns[::2], row.columns[1::2]
    for value, column, null in zip(values, columns, nulls, strict=True):
        if column.null_count and not null[0].as_py():
            reason = f"{value.given} is none"
            raise DataError(
                "INVALID_COLUMN_VALUE",
                column=value.field.name,
                table=target.name,
                type=value.field.type,
                reason=reason,
            )
    stored = stored_values(columns, [value.field for value in values], str(target.name))
    return ReplacedRows(
        " AND ".join(f"{quote_identifier(value.field.name)} <=> {value.text}" for value in values),
        conjunction(_equals(value.field.id, one) for value, one in zip(values, stored, strict=True)),
    )


def _equals(field_id: int, value: Any) -> Predicate:
    if value is None:
        return IsNull(field_id)
    return IsNaN(field_id) if is_nan(value) else Comparison("=", field_id, value)
