"""Descriptions of table versions for the shim: columns, partition spec, properties, kinds of deletes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlext.errors import CorruptionError
from sqlext.scan.deletes.live_deletes import EqualityDeletes
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.arrow_types import from_arrow_schema
from sqlext.spark.catalog.data_type import schema_to_spark, struct_as_stored, struct_to_spark
from sqlext.spark.catalog.hidden_columns import partition_column
from sqlext.spark.catalog.partition_grouping import shown_fields
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spec.identity_column import identity_columns
from sqlext.spec.metadata.stream_state import settings_of
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionField
from sqlext.spec.reserved_columns import WORKING_PREFIX
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, TruncateTransform
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type

# No field has this id.
_ROOT = 0


def describe(version: TableVersion, scans: ScanBridge) -> Mapping[str, Any]:
    """The JSON for `SqlextTable`."""
    handle = version.handle
    described: dict[str, Any] = {
        "name": handle.full_name,
        "handle": handle.encode(),
        "metadata_table": handle.metadata_table is not None,
        "properties": {},
        "partitioning": [],
        "position_deletes": False,
        "equality_deletes": [],
        "equality_deletes_touch": "none",
        "resolves_keys": False,
        "lost_keys": struct_to_spark(StructType(())),
        "reused_ids": [],
        "row_lineage": False,
        "clustered_columns": [],
    }
    if handle.metadata_table is not None:
        shown = _metadata_schema(version)
        return {**described, "schema": shown, "stored_schema": shown}
    schema = version.schema
    deletes = scans.deletes(version)
    keys = {id: _key(version.metadata, schema, id) for group in deletes.equality for id in group.equality_ids}
    lost = tuple(key.in_deletes for key in keys.values() if key.is_lost)
    return {
        **described,
        "schema": schema_to_spark(_with_values_left_out(version.metadata, schema)),
        "stored_schema": struct_as_stored(StructType((*schema.fields, *lost))),
        "reused_ids": _reused_ids(version.metadata, schema),
        "row_lineage": version.metadata.format_version > 2,
        "partition": partition_column(version.metadata),
        "clustered_columns": _clustered_columns(version),
        "properties": _properties(version),
        "partitioning": [_partition_field(schema, field) for field in shown_fields(version)],
        "position_deletes": deletes.has_positions,
        "equality_deletes": [_equality_deletes(group, keys) for group in deletes.equality],
        "equality_deletes_touch": scans.equality_deletes_touch(version),
        "resolves_keys": scans.resolves_keys(version),
        "lost_keys": struct_to_spark(StructType(lost)),
    }


def _with_values_left_out(metadata: TableMetadata, schema: Schema) -> Schema:
    """The schema as Spark writes it: rows need no values in identity columns."""
    ids = identity_columns(metadata.properties).keys()
    fields = (replace(field, required=False) if field.id in ids else field for field in schema.fields)
    return replace(schema, fields=tuple(fields), identifier_field_ids=()) if ids else schema


def _metadata_schema(version: TableVersion) -> Mapping[str, Any]:
    assert version.handle.metadata_table is not None
    arrow = METADATA_TABLES[version.handle.metadata_table].schema(version.metadata)
    struct: dict[str, Any] = from_arrow_schema(arrow).jsonValue()
    return struct


def _clustered_columns(version: TableVersion) -> list[str]:
    """Top-level columns of partition specs, sort order and key, by whose values a join may prune files."""
    metadata = version.metadata
    ids = {field.source_id for spec in metadata.partition_specs for field in spec.fields}
    ids |= {field.source_id for field in metadata.sort_order().fields}
    ids |= set(version.schema.identifier_field_ids)
    return [field.name for field in version.schema.fields if field.id in ids]


@dataclass(frozen=True, slots=True)
class _KeyColumn:
    """A key column of equality deletes: its path in the table, and its field in delete files.

    A column that the table has dropped is read from data files, too, under a reserved name.
    """

    in_table: tuple[str, ...]
    in_deletes: NestedField
    is_lost: bool

    @property
    def path_in_deletes(self) -> tuple[str, ...]:
        return (self.in_deletes.name, *self.in_table[1:])


def _key(metadata: TableMetadata, schema: Schema, id: int) -> _KeyColumn:
    known = (schema, *reversed(metadata.schemas))
    holder = next((one for one in known if one.field_or_none(id) is not None), None)
    if holder is None:
        # Iceberg's expire_snapshots(clean_expired_metadata => true) removes the schema, though deletes may need it.
        reason = f"no schema has the column {id}, by which rows are deleted"
        raise CorruptionError("CORRUPT_FILE", path=metadata.location, kind="table metadata", reason=reason)
    path, is_lost = holder.column_path(id), schema.field_or_none(id) is None
    column = replace(holder.select((id,)).fields[0], name=f"{WORKING_PREFIX}key_{id}")
    if is_lost:
        column = replace(column, required=False)  # newer data files lack it
    return _KeyColumn((column.name, *path[1:]) if is_lost else path, column, is_lost)


def _equality_deletes(group: EqualityDeletes, keys: Mapping[int, _KeyColumn]) -> Mapping[str, Any]:
    """Equality deletes as JSON: `keys` are paths of each column in table and delete files, `schema` is that of the
    latter."""
    columns = [keys[id] for id in group.equality_ids]
    held = StructType(tuple(column.in_deletes for column in columns))
    return {
        "schema": struct_to_spark(held),
        "stored_schema": struct_as_stored(held),
        "keys": [[column.in_table, column.path_in_deletes] for column in columns],
        "partitioned": not group.is_global,
    }


def _partition_field(schema: Schema, field: PartitionField) -> Mapping[str, Any]:
    transform = field.transform
    described: dict[str, Any] = {
        "transform": str(transform).split("[")[0],
        "column": schema.column_path(field.source_id),
    }
    if isinstance(transform, BucketTransform):
        described["number"] = transform.n
    elif isinstance(transform, TruncateTransform):
        described["number"] = transform.width
    return described


def _properties(version: TableVersion) -> Mapping[str, str]:
    metadata = version.metadata
    snapshot = version.snapshot
    own = {
        "provider": "iceberg",
        "location": metadata.location,
        "format-version": str(metadata.format_version),
        "current-snapshot-id": "none" if snapshot is None else str(snapshot.snapshot_id),
    }
    keys = [field.name for field in metadata.schema().identifier_fields]
    if keys:
        own["identifier-fields"] = f"[{','.join(keys)}]"
    return {**settings_of(metadata.properties), **own}


def _reused_ids(metadata: TableMetadata, schema: Schema) -> list[int]:
    """Ids of fields, at any level, whose name another field with the same parent had in a version of the schema."""
    ids: dict[tuple[int, str], set[int]] = {}
    for known in metadata.schemas:
        for place, field_id in _named_fields(known.fields, _ROOT):
            ids.setdefault(place, set()).add(field_id)
    return [field_id for place, field_id in _named_fields(schema.fields, _ROOT) if ids[place] != {field_id}]


def _named_fields(fields: Iterable[NestedField], parent: int) -> Iterator[tuple[tuple[int, str], int]]:
    """For each field its parent's id, its name in lower case, and its id."""
    for field in fields:
        yield (parent, field.name.lower()), field.id
        yield from _inside(field.type, field.id)


def _inside(data_type: Type, holder: int) -> Iterator[tuple[tuple[int, str], int]]:
    if isinstance(data_type, StructType):
        yield from _named_fields(data_type.fields, holder)
    elif isinstance(data_type, ListType):
        yield from _inside(data_type.element, data_type.element_id)
    elif isinstance(data_type, MapType):
        yield from _inside(data_type.key, data_type.key_id)
        yield from _inside(data_type.value, data_type.value_id)
