"""Small batches in which each row has a key of its own, as the driver can see: none of them counts before another."""

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


def rows_of_own_keys(target: Target, rows: DataFrame, most_bytes: int) -> pa.Table | None:
    """The rows, which are in the table's columns, in the order of the table.

    None where Spark has to look at them: many rows, kinds, an order among them, a key that two have or that is null,
    rules of the table. They may have been evaluated then, and are evaluated anew: nothing is used of the first time.
    """
    metadata = target.table.metadata
    schema = metadata.schema()
    looked_at = has_kinds(rows, schema) or UPSERT_SEQUENCE_FIELD.of(metadata.properties)
    if looked_at or row_rules(schema, metadata.properties) or not have_plain_keys(schema):
        return None
    # Of these Spark takes some for one another that Arrow tells apart.
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
