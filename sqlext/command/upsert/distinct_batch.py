"""Small batches in which no two rows have the same key, so that the order of the rows does not matter."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from sqlext.command.change.distribution import ordered
from sqlext.command.change.enforced_key import have_plain_keys
from sqlext.command.change.row_level import Target
from sqlext.command.upsert.change_batch import has_kinds, stored_columns
from sqlext.properties import UPSERT_SEQUENCE_FIELD
from sqlext.spark.query.driver_rows import collect_few, estimate, is_small
from sqlext.spec.schema import Schema
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
    if row_rules(schema, metadata.properties) or not _can_be_checked(target, rows) or not is_small(rows, most_bytes):
        return None
    found = collect_few(rows.selectExpr(*stored_columns(schema)), most_bytes=most_bytes)
    return ordered(found, metadata) if found is not None and _has_distinct_keys(found, schema) else None


def have_distinct_keys(target: Target, rows: DataFrame, most_bytes: int) -> bool:
    """Whether the driver has found that no two rows have the same key, and none a null key. The rows, which are in the
    table's columns, are evaluated for it if they can be evaluated again."""
    schema = target.table.metadata.schema()
    if not estimate(rows, most_bytes).is_broadcast or not _can_be_checked(target, rows):
        return False
    keys = Schema(schema.identifier_fields, identifier_field_ids=schema.identifier_field_ids)
    found = collect_few(rows.selectExpr(*stored_columns(keys)), most_bytes=most_bytes)
    return found is not None and _has_distinct_keys(found, schema)


def _can_be_checked(target: Target, rows: DataFrame) -> bool:
    """Whether each row replaces that of its key, whatever the others are, and Arrow considers keys equal as Spark
    does."""
    metadata = target.table.metadata
    schema = metadata.schema()
    if has_kinds(rows, schema) or UPSERT_SEQUENCE_FIELD.of(metadata.properties) or not have_plain_keys(schema):
        return False
    return not any(isinstance(field.type, DoubleType | FloatType) for field in schema.identifier_fields)


def _has_distinct_keys(rows: pa.Table, schema: Schema) -> bool:
    keys = rows.select([field.name for field in schema.identifier_fields])
    return not any(column.null_count for column in keys.columns) and are_distinct(keys)
