"""Column defaults: constant expressions, evaluated when the column is defined (spec: "Default values")."""

from __future__ import annotations

import math
from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.stored_values import stored_values
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spark.query.driver_rows import collect_row
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.shim.java_objects import java_rows
from sqlext.spec.types import (
    GeospatialType,
    NestedField,
    TimestampNanoType,
    TimestamptzNanoType,
    UnknownType,
    VariantType,
    is_primitive,
)
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_string
from sqlext.sql.tokens.token_cursor import tokenize

_NO_DEFAULT = (UnknownType, VariantType, GeospatialType, TimestampNanoType, TimestamptzNanoType)
# Spark folds these functions, but their values change; a stored default is one value for all engines.
_OF_THE_MOMENT = frozenset(
    {
        "CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "CURRENT_TIMEZONE", "CURRENT_USER", "CURRENT_CATALOG",
        "CURRENT_DATABASE", "CURRENT_SCHEMA", "LOCALTIMESTAMP", "NOW", "SESSION_USER", "UNIX_TIMESTAMP", "USER",
        "CURDATE",
    }
)  # fmt: skip


def default_value(spark: SparkSession, column: NestedField, text: str) -> Any:
    """The stored value of a DEFAULT for the column; None for null, which is the same as no default.

    Raises AnalysisError INVALID_DEFAULT_VALUE for a text that is not constant, UnsupportedError UNSUPPORTED_TYPE for a
    column that cannot have a default, and Spark's errors for an expression that it cannot analyse or assign.
    """
    if text.upper() == "NULL":
        return None
    if not is_primitive(column.type) or isinstance(column.type, _NO_DEFAULT):
        raise UnsupportedError("UNSUPPORTED_TYPE", type=column.type, reason="such a column has no default but null")
    moment = next((token.text for token in tokenize(text) if token.word in _OF_THE_MOMENT), None)
    if moment is not None:
        raise _invalid(column, text, f"{moment} differs from one moment to the next")
    about = ", ".join(map(quote_string, (column.name, spark_type_text(column.type), "the table")))
    given = lowered_query(spark, f"SELECT {text} AS given")
    if not java_rows(given).queryExecution().analyzed().expressions().head().child().foldable():
        raise _invalid(column, text, "it is no constant")
    row = collect_row(lowered_query(spark, f"SELECT sqlext_assign({text}, {about}) AS value"))
    (value,) = stored_values(row.to_batches()[0].columns, [column], "the new default")
    if isinstance(value, float) and not math.isfinite(value):
        raise _invalid(column, text, "a default stands in JSON, which has no NaN and no infinity")
    return value


def _invalid(column: NestedField, text: str, reason: str) -> AnalysisError:
    return AnalysisError("INVALID_DEFAULT_VALUE", value=text, column=column.name, reason=reason)
