"""Bucketed tables: `'bucket'='4'` adds a bucket partition field after the user's own and a write order by the key.

All rows of a key are in one bucket, so that buckets are merged independently. The property marks a table as bucketed;
the partition field gives the column, so that renaming it changes no property. `-1` lets the number of buckets grow with
the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlext.commit.rules.upsert_rules import partition_not_in_key
from sqlext.errors import AnalysisError
from sqlext.properties import BUCKET, BUCKET_KEY, DISTRIBUTION_MODE
from sqlext.spec.field_path import listed_paths
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import FIRST_PARTITION_FIELD_ID, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform

DYNAMIC = -1


@dataclass(frozen=True, slots=True)
class BucketLayout:
    """Partition spec, sort order and properties of a new table."""

    spec: PartitionSpec
    sort_order: SortOrder
    properties: Mapping[str, str]


def with_buckets(
    schema: Schema, spec: PartitionSpec, sort_order: SortOrder, properties: Mapping[str, str], format_version: int
) -> BucketLayout:
    """The layout of a new table: with a bucket field, unless `spec` has one (as in SHOW CREATE TABLE), and a sort
    order; unchanged without the property `bucket`.

    Raises AnalysisError INVALID_BUCKETS if the table cannot be bucketed.
    """
    count, key = BUCKET.of(properties), BUCKET_KEY.of(properties)
    if count is None:
        if key is not None:
            raise _refused(f"{BUCKET_KEY.name} is set and {BUCKET.name} is not", f"'{BUCKET.name}'='4' beside it")
        return BucketLayout(spec, sort_order, properties)
    if format_version == 1:
        raise _refused("format version 1 does not tell commits apart", "'format-version'='2'")
    if not schema.identifier_field_ids:
        raise _refused("the table has no primary key", "PRIMARY KEY")
    there = bucket_field(schema, spec)
    if there is None:
        source_id = _source_id(schema, spec, key)
        spec = replace(spec, fields=(*spec.fields, _field(schema, spec, source_id, max(count, 1))))
    else:
        _require_same(schema, there, count, key)
    if (outside := partition_not_in_key(schema, spec, "the new table")) is not None:
        raise _outside_key(outside, "the new table")
    kept = {name: value for name, value in properties.items() if name != BUCKET_KEY.name}
    # Range distribution would split a bucket between tasks, and evaluate the query twice.
    kept.setdefault(DISTRIBUTION_MODE.name, "hash")
    return BucketLayout(spec, key_order(schema) if sort_order.is_unsorted else sort_order, kept)


def key_order(schema: Schema) -> SortOrder:
    """The sort order by the key columns, with order id 1."""
    return SortOrder(1, tuple(SortField(id, IdentityTransform()) for id in schema.identifier_field_ids))


def bucket_field(schema: Schema, spec: PartitionSpec) -> PartitionField | None:
    """The last partition field with a bucket transform of a key column; None without one."""
    found = [
        field
        for field in spec.fields
        if isinstance(field.transform, BucketTransform) and field.source_id in schema.identifier_field_ids
    ]
    return found[-1] if found else None


def bucket_count(metadata: TableMetadata) -> int | None:
    """The number of buckets; None for a table that is not bucketed."""
    if BUCKET.name not in metadata.properties:
        return None
    field = bucket_field(metadata.schema(), metadata.spec())
    return field.transform.n if field is not None and isinstance(field.transform, BucketTransform) else None


def is_dynamic(metadata: TableMetadata) -> bool:
    """Whether the number of buckets grows with the rows."""
    return bucket_count(metadata) is not None and BUCKET.of(metadata.properties) == DYNAMIC


def require_buckets_kept(before: TableMetadata, after: TableMetadata, name: str) -> None:
    """Raises AnalysisError INVALID_BUCKETS if a change of properties, key or partitioning contradicts the property
    `bucket`, or could put rows of one key into two buckets."""
    if BUCKET.name not in after.properties:
        return
    told = [BUCKET.name, BUCKET_KEY.name]
    same = before.current_schema_id == after.current_schema_id and before.default_spec_id == after.default_spec_id
    if same and all(before.properties.get(one) == after.properties.get(one) for one in told):
        return
    if BUCKET_KEY.name in after.properties and BUCKET_KEY.name not in before.properties:
        raise _refused("the partition field tells the column", _rescale(name), name)
    count, there = BUCKET.of(after.properties), bucket_count(after)
    if there is None:
        if BUCKET.name not in before.properties:
            raise _refused("the rows that are there are in none", _rescale(name), name)
        if bucket_count(before) is not None:
            way_out = f"ALTER TABLE … UNSET TBLPROPERTIES ('{BUCKET.name}') first"
            raise _refused("key and partitioning would no more tell the bucket of a row", way_out, name)
        return
    if count not in (there, DYNAMIC):
        raise _refused(f"the table has {there}, and its rows would have to move", _rescale(name, count), name)
    outside = partition_not_in_key(after.schema(), after.spec(), name)
    if outside is not None and partition_not_in_key(before.schema(), before.spec(), name) is None:
        raise _outside_key(outside, name)


def _rescale(name: str, count: int | None = None) -> str:
    catalog, _, table = name.partition(".")
    return f"CALL {catalog}.system.rescale('{table}', {count or 4})"


def _source_id(schema: Schema, spec: PartitionSpec, key: str | None) -> int:
    if key is not None:
        return _key_column(schema, key)
    partitioning = {field.source_id for field in spec.fields}
    free = [id for id in schema.identifier_field_ids if id not in partitioning]
    if not free:
        raise _refused("each column of the key is one of the partitioning", f"'{BUCKET_KEY.name}' to name one of them")
    return free[0]


def _key_column(schema: Schema, text: str) -> int:
    paths = listed_paths(text) or ()
    named = schema.field_at(paths[0], case_sensitive=False) if len(paths) == 1 else None
    if named is None or named.id not in schema.identifier_field_ids:
        raise _refused(f"{BUCKET_KEY.name} names {text}, which is no column of the primary key", "one of the key")
    return named.id


def _field(schema: Schema, spec: PartitionSpec, source_id: int, count: int) -> PartitionField:
    column, transform = schema.column_name(source_id), BucketTransform(count)
    if not transform.can_transform(schema.field(source_id).type):
        raise _refused(f"{column} has type {schema.field(source_id).type}", "another column of the key")
    last = max((field.field_id for field in spec.fields), default=FIRST_PARTITION_FIELD_ID - 1)
    return PartitionField(source_id, last + 1, f"{column}_bucket", transform)


def _require_same(schema: Schema, there: PartitionField, count: int, key: str | None) -> None:
    """Raises AnalysisError if the bucket field of PARTITIONED BY contradicts the properties."""
    column = schema.column_name(there.source_id)
    if count not in (DYNAMIC, getattr(there.transform, "n", None)):
        raise _refused(f"PARTITIONED BY has {there.transform} of {column}", "one of the two")
    if key is not None and _key_column(schema, key) != there.source_id:
        raise _refused(f"PARTITIONED BY divides {column}", "one of the two")


def _outside_key(error: AnalysisError, name: str) -> AnalysisError:
    column = error.parameters["column"]
    reason = f"{column} is a column of the partitioning and not of the key, so a key could be in two buckets"
    return _refused(reason, f"a key with {column} in it, or no buckets", name)


def _refused(reason: str, way_out: str, name: str = "the new table") -> AnalysisError:
    return AnalysisError("INVALID_BUCKETS", name=name, reason=reason, way_out=way_out)
