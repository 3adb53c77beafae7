"""PARTITION (column = value, …) of an INSERT: the columns' values, and the partition that an overwrite replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.dml.replaced_rows import ReplacedRows
from sqlext.command.stored_values import stored_values
from sqlext.errors import AnalysisError, DataError
from sqlext.scan.filter.value_range import is_nan
from sqlext.spark.query.driver_rows import collect_row
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.shim.java_objects import java_rows
from sqlext.spec.expression import Comparison, IsNaN, IsNull, Predicate, conjunction
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_case import name_key
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import NestedField
from sqlext.sql.binding import resolve_column
from sqlext.sql.statements.statement import Insert, Truncate
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_identifier


@dataclass(frozen=True, slots=True)
class StaticValue:
    """A column of PARTITION; `given` is the user's text of its value."""

    field: NestedField
    given: str

    @property
    def text(self) -> str:
        """SQL of the value in the column's type: by a cast instead of store assignment, as Spark does for PARTITION."""
        return f"CAST({self.given} AS {spark_type_text(self.field.type)})"


def static_partition(
    statement: Insert | Truncate, metadata: TableMetadata, *, case_sensitive: bool = False
) -> Sequence[StaticValue]:
    """The values of the clause. Raises AnalysisError for a column that is no identity partition field.

    Values of other partition fields are computed from columns, and cannot be given.
    """
    identity = {field.source_id for field in metadata.spec().fields if isinstance(field.transform, IdentityTransform)}
    fields = (field for field in metadata.schema().fields if field.id in identity)
    columns = {name_key(field.name, case_sensitive): field for field in fields}
    values = []
    for name, value in statement.static_partition:
        field = columns.get(name_key(name, case_sensitive))
        if field is None:
            other = resolve_column(metadata.schema(), name, case_sensitive=case_sensitive)
            named = ", ".join(column.name for column in columns.values()) or "none"
            raise AnalysisError("NOT_A_PARTITION_COLUMN", column=other.name, name=statement.table, columns=named)
        if value is not None:
            values.append(StaticValue(field, value.text))
    return values


def require_constants(spark: SparkSession, values: Sequence[StaticValue]) -> None:
    """Raises AnalysisError for a value that is not constant, as one value is for all rows."""
    if not values:
        return
    query = lowered_query(spark, f"SELECT {', '.join(f'({value.text}) AS v{n}' for n, value in enumerate(values))}")
    shown = java_rows(query).queryExecution().analyzed().expressions()
    for number, value in enumerate(values):
        if shown.length() != len(values) or not shown.apply(number).child().foldable():
            raise AnalysisError("PARTITION_VALUE_NOT_CONSTANT", column=value.field.name, value=value.given)


def replaced_partition(spark: SparkSession, values: Sequence[StaticValue], target: Target) -> ReplacedRows:
    """The rows with the values of identity partition columns.

    Raises DataError INVALID_COLUMN_VALUE for a value that cannot be cast to the column's type.
    """
    given = [f"{value.text}, ({value.given}) IS NULL" for value in values]
    row = collect_row(lowered_query(spark, f"SELECT {', '.join(given)}")).combine_chunks().to_batches()[0]
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
