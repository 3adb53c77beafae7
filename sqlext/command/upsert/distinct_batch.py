"""Small batches in which no two rows have the same key, so that the order of the rows does not matter."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from sqlext.command.change.distribution import ordered
from sqlext.command.change.enforced_key import have_plain_keys
from sqlext.command.change.row_level import Target
from sqlext.command.upsert.change_batch import has_kinds, stored_columns
from sqlext.properties import UPSERT_SEQUENCE_FIELD
from sqlext.spark.query.driver_rows import collect_few, is_small
from sqlext.spec.types import DoubleType, FloatType
from sqlext.sql.row_rules import row_rules
from sqlext.write.distinct_keys import are_distinct


def rows_with_distinct_keys(target: Target, rows: DataFrame, most_bytes: int) -> pa.Table | None:
    """The rows, which are in the table's columns, in its sort order, if the driver can check that keys are distinct.

    None for many rows, row kinds, a sequence field, a duplicate or null key, or constraints. The rows may have been
    evaluated by then, and the caller must evaluate them again.
    """
    metadata = target.table.metadata
    schema = metadata.schema()
    looked_at = has_kinds(rows, schema) or UPSERT_SEQUENCE_FIELD.of(metadata.properties)
    if looked_at or row_rules(schema, metadata.properties) or not have_plain_keys(schema):
        return None
    # Spark considers some floating-point values equal that Arrow does not.
    if any(isinstance(field.type, DoubleType | FloatType) for field in schema.identifier_fields) or not (
        is_small(rows, most_bytes)
    ):
        return None
    found = collect_few(rows.selectExpr(*stored_columns(schema)), most_bytes=most_bytes)
    if found is None:
        return None
    keys = found.select([field.name for field in schema.identifier_fields])
    if any(column.null_count for column in keys.columns) or not are_distinct(keys):
        return None
    return ordered(found, metadata)
