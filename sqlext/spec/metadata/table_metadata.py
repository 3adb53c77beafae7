"""Table metadata as a value and as JSON (spec: Table Metadata; Appendix C, Table Metadata)."""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sqlext.errors import AnalysisError, CorruptionError, NotFoundError, UnsupportedError
from sqlext.spec.iso_date_time import format_timestamp
from sqlext.spec.metadata.metadata_checksum import GZIP_MAGIC, MEMBER, checksum_state, closing
from sqlext.spec.metadata.metadata_shape import require_metadata_shape
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.snapshot import MetadataLogEntry, Snapshot, SnapshotLogEntry
from sqlext.spec.metadata.unknown_fields import UnknownFields, restore_unknown_fields, unknown_fields
from sqlext.spec.partition_spec import FIRST_PARTITION_FIELD_ID, PartitionSpec, partition_fields_from_json
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortOrder
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.spec.stored_bytes.decompression import gunzip, gunzip_beginning
from sqlext.spec.transform import other_transforms

HIGHEST_FORMAT_VERSION = 3
_NO_SNAPSHOT = -1
DECODING_ERRORS = (
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    RecursionError,
    EOFError,
    zlib.error,
)
"""What a decoder of table metadata raises for bytes that are not table metadata."""
# "schema" and "partition-spec" of version 1 repeat the current ones. The checksum is of one text, not of its values.
_KNOWN = frozenset(
    [
        "format-version",
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schema",
        "schemas",
        "current-schema-id",
        "partition-spec",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "properties",
        "current-snapshot-id",
        "snapshots",
        "snapshot-log",
        "metadata-log",
        "sort-orders",
        "default-sort-order-id",
        "refs",
        "statistics",
        "partition-statistics",
        "next-row-id",
        "encryption-keys",
        MEMBER,
    ]
)


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The content of one metadata file of a table.

    Times are milliseconds since 1970-01-01T00:00:00Z. `statistics`, `partition_statistics` and `encryption_keys` are
    JSON objects. Fields unknown to sqlext survive a rewrite, in `extra` at the top level and in `unknown` below.
    """

    format_version: int
    table_uuid: str
    location: str
    last_sequence_number: int
    last_updated_ms: int
    last_column_id: int
    current_schema_id: int
    schemas: tuple[Schema, ...]
    default_spec_id: int
    partition_specs: tuple[PartitionSpec, ...]
    last_partition_id: int
    default_sort_order_id: int
    sort_orders: tuple[SortOrder, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    current_snapshot_id: int | None = None
    refs: Mapping[str, SnapshotReference] = field(default_factory=dict)
    snapshots: tuple[Snapshot, ...] = ()
    statistics: tuple[Mapping[str, Any], ...] = ()
    partition_statistics: tuple[Mapping[str, Any], ...] = ()
    snapshot_log: tuple[SnapshotLogEntry, ...] = ()
    metadata_log: tuple[MetadataLogEntry, ...] = ()
    next_row_id: int | None = None
    encryption_keys: tuple[Mapping[str, Any], ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    unknown: UnknownFields = field(default_factory=dict, compare=False)

    def schema(self) -> Schema:
        """The current schema."""
        return self.schemas_by_id()[self.current_schema_id]

    def spec(self) -> PartitionSpec:
        """The default partition spec."""
        return self.specs_by_id()[self.default_spec_id]

    def sort_order(self) -> SortOrder:
        """The default sort order."""
        return next(order for order in self.sort_orders if order.order_id == self.default_sort_order_id)

    def current_snapshot(self) -> Snapshot | None:
        """The head of the main branch; None if it has no snapshot."""
        return None if self.current_snapshot_id is None else self.snapshot(self.current_snapshot_id)

    def head(self, branch: str) -> Snapshot | None:
        """The snapshot of a branch or tag; the current one if there is none of that name, as a new branch begins
        there."""
        reference = self.refs.get(branch)
        return self.current_snapshot() if reference is None else self.snapshot(reference.snapshot_id)

    def snapshot(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id. Raises NotFoundError SNAPSHOT_NOT_FOUND."""
        found = self.snapshot_or_none(snapshot_id)
        if found is None:
            raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=snapshot_id, name=self.location)
        return found

    def snapshot_or_none(self, snapshot_id: int) -> Snapshot | None:
        # From the end, since most look-ups are for the newest snapshots.
        return next((one for one in reversed(self.snapshots) if one.snapshot_id == snapshot_id), None)

    def snapshots_not_in(self, other: TableMetadata | None) -> tuple[Snapshot, ...]:
        """The snapshots whose ids `other` lacks; all of them if it is None."""
        if other is None:
            return self.snapshots
        # The two mostly descend from each other and share the snapshots at the beginning, which are not looked at.
        shared = min(len(self.snapshots), len(other.snapshots))
        if all(map(is_, self.snapshots[:shared], other.snapshots)):
            return self.snapshots[shared:]
        known = {one.snapshot_id for one in other.snapshots}
        return tuple(one for one in self.snapshots if one.snapshot_id not in known)

    def statistics_files(self) -> list[str]:
        """The locations of the files of statistics and of partition statistics."""
        return [str(one["statistics-path"]) for one in (*self.statistics, *self.partition_statistics)]

    def schemas_by_id(self) -> Mapping[int, Schema]:
        return {schema.schema_id: schema for schema in self.schemas}

    def specs_by_id(self) -> Mapping[int, PartitionSpec]:
        return {spec.spec_id: spec for spec in self.partition_specs}

    def snapshot_as_of(self, timestamp_ms: int) -> Snapshot:
        """The snapshot that was current at that time, by the snapshot log.

        Raises NotFoundError SNAPSHOT_NOT_FOUND if the log begins later or the snapshot was expired.
        """
        log = sorted(self.snapshot_log, key=lambda entry: entry.timestamp_ms)
        position = bisect_right([entry.timestamp_ms for entry in log], timestamp_ms)
        if position == 0:
            moment = f"as of {format_timestamp(timestamp_ms, 1000)} UTC"
            raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=moment, name=self.location)
        return self.snapshot(log[position - 1].snapshot_id)


def new_table_metadata(
    schema: Schema,
    spec: PartitionSpec,
    sort_order: SortOrder,
    location: str,
    properties: Mapping[str, str],
    format_version: int,
    uuid: str,
    now_ms: int,
) -> TableMetadata:
    """The metadata of a new table, with the field ids of `schema`.

    Raises AnalysisError for an invalid identifier field or partition transform, UnsupportedError for an unknown format
    version.
    """
    require_supported(format_version, location)
    schema.validate_identifier_fields()
    validate_spec(spec, schema)
    return TableMetadata(
        format_version=format_version,
        table_uuid=uuid,
        location=location.rstrip("/") if len(location) > 1 else location,
        last_sequence_number=0,
        last_updated_ms=now_ms,
        last_column_id=schema.highest_field_id,
        current_schema_id=schema.schema_id,
        schemas=(schema,),
        default_spec_id=spec.spec_id,
        partition_specs=(spec,),
        last_partition_id=spec.last_assigned_field_id,
        default_sort_order_id=sort_order.order_id,
        sort_orders=(sort_order,),
        properties=dict(properties),
        next_row_id=0 if format_version >= 3 else None,
    )


def validate_spec(spec: PartitionSpec, schema: Schema) -> None:
    """Raises AnalysisError INVALID_PARTITION_TRANSFORM for a partition field without source column, with a transform
    that does not take the column's type, or with values of type `fixed`, which not every engine reads."""
    for partition_field in spec.fields:
        source = schema.field_or_none(partition_field.source_id)
        transform = partition_field.transform
        if str(transform) == "void" or (source is not None and transform.can_transform(source.type)):
            continue
        if source is None:
            reason = "its column does not exist. Name one of the table's"
        else:
            column = f"column {source.name} of type {source.type}"
            reason = f"{transform} is not defined for {column}. {other_transforms(source.type)}"
        raise AnalysisError("INVALID_PARTITION_TRANSFORM", transform=partition_field.name, reason=reason)
    if (fixed_field := spec.fixed_type_field(schema)) is not None:
        raise AnalysisError(
            "INVALID_PARTITION_TRANSFORM",
            transform=fixed_field.name,
            reason="Iceberg's Java library cannot read values of type fixed from manifests. Use bucket",
        )


def require_supported(format_version: int, location: str) -> None:
    """Raises UnsupportedError for an unknown format version of the table at `location`."""
    if not 1 <= format_version <= HIGHEST_FORMAT_VERSION:
        raise UnsupportedError(
            "UNSUPPORTED_FORMAT_VERSION", version=format_version, name=location, highest=HIGHEST_FORMAT_VERSION
        )


def decode_table_metadata(data: bytes, location: str) -> TableMetadata:
    """The metadata in the bytes of the file at `location`, plain or gzipped.

    Raises CorruptionError for bytes that are not table metadata or not as they were written, UnsupportedError for a
    later format version.
    """
    try:
        obj = json.loads(ungzipped(data))
        metadata = table_metadata_from_json(obj, location)
        require_consistent(metadata)
        return metadata
    except UnsupportedError as error:
        # A flipped bit of the number makes it another version.
        if checksum_state(data) == ChecksumState.WRONG:
            raise _corrupt(location, str(error)) from error
        raise
    except KeyError as error:
        raise _corrupt(location, f"the field {error} is missing") from error
    except DECODING_ERRORS as error:
        raise _corrupt(location, str(error)) from error


def ungzipped(data: bytes) -> bytes:
    """The bytes of a metadata file without compression. Raises as `gunzip`."""
    return gunzip(data) if data.startswith(GZIP_MAGIC) else data


def metadata_beginning(data: bytes, size: int) -> bytes:
    """The first `size` bytes of a metadata file without compression; fewer, if it is damaged."""
    return gunzip_beginning(data, size) if data.startswith(GZIP_MAGIC) else data[:size]


def table_metadata_from_json(obj: Mapping[str, Any], location: str) -> TableMetadata:
    """The metadata in the object of the file at `location`, not yet checked by `require_consistent`.

    Raises UnsupportedError for a later format version, one of DECODING_ERRORS for an object that is not table metadata.
    """
    require_supported(int(obj["format-version"]), location)
    require_metadata_shape(obj)
    return _from_json(obj)


def encode_table_metadata(metadata: TableMetadata) -> bytes:
    """The bytes of a metadata file, uncompressed, with their checksum."""
    text = json.dumps(table_metadata_to_json(metadata), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return text[:-1] + closing([text[:-1]])


def _corrupt(location: str, reason: str) -> CorruptionError:
    return CorruptionError("CORRUPT_FILE", path=location, kind="table metadata", reason=reason)


def require_consistent(metadata: TableMetadata) -> None:
    """Raises ValueError if an id of the metadata names nothing."""
    for name, id, ids in (
        ("current-schema-id", metadata.current_schema_id, metadata.schemas_by_id()),
        ("default-spec-id", metadata.default_spec_id, metadata.specs_by_id()),
        ("default-sort-order-id", metadata.default_sort_order_id, {one.order_id for one in metadata.sort_orders}),
    ):
        if id not in ids:
            raise ValueError(f"{name} {id} names nothing")
    for partition_field in metadata.spec().fields:
        known = metadata.schema().field_or_none(partition_field.source_id) is not None
        if not known and str(partition_field.transform) != "void":
            raise ValueError(f"the partition field {partition_field.name} has no source column")
    current = metadata.current_snapshot_id
    if current is not None and metadata.snapshot_or_none(current) is None:
        raise ValueError(f"current-snapshot-id {current} names no snapshot")


def _from_json(obj: Mapping[str, Any]) -> TableMetadata:
    version = int(obj["format-version"])
    schemas = _schemas(obj, version)
    specs = _specs(obj, version)
    orders = tuple(SortOrder.from_json(order) for order in obj.get("sort-orders", ())) or (UNSORTED,)
    current = obj.get("current-snapshot-id")
    current = None if current == _NO_SNAPSHOT else current
    highest_partition_id = max(spec.last_assigned_field_id for spec in specs)
    return TableMetadata(
        format_version=version,
        # Optional in version 1; derived from the location so that all readers of the file get an equal one.
        table_uuid=obj.get("table-uuid") or str(uuid5(NAMESPACE_URL, obj["location"])),
        location=obj["location"],
        last_sequence_number=obj["last-sequence-number"] if version > 1 else 0,
        last_updated_ms=obj["last-updated-ms"],
        last_column_id=obj["last-column-id"],
        current_schema_id=_id(obj, "current-schema-id", version, schemas[-1].schema_id),
        schemas=schemas,
        default_spec_id=_id(obj, "default-spec-id", version, specs[-1].spec_id),
        partition_specs=specs,
        last_partition_id=obj.get("last-partition-id", max(highest_partition_id, FIRST_PARTITION_FIELD_ID - 1)),
        default_sort_order_id=obj.get("default-sort-order-id", orders[0].order_id),
        sort_orders=orders,
        properties=dict(obj.get("properties") or {}),
        current_snapshot_id=current,
        refs=_refs(obj, current),
        snapshots=tuple(Snapshot.from_json(one) for one in obj.get("snapshots") or ()),
        statistics=tuple(obj.get("statistics") or ()),
        partition_statistics=tuple(obj.get("partition-statistics") or ()),
        snapshot_log=tuple(SnapshotLogEntry.from_json(entry) for entry in obj.get("snapshot-log") or ()),
        metadata_log=tuple(MetadataLogEntry.from_json(entry) for entry in obj.get("metadata-log") or ()),
        next_row_id=obj["next-row-id"] if version > 2 else None,
        encryption_keys=tuple(obj.get("encryption-keys") or ()),
        extra={name: value for name, value in obj.items() if name not in _KNOWN},
        unknown=unknown_fields(obj),
    )


def _id(obj: Mapping[str, Any], name: str, version: int, default: int) -> int:
    # Optional in version 1.
    id: int = obj[name] if version > 1 else obj.get(name, default)
    return id


def _schemas(obj: Mapping[str, Any], version: int) -> tuple[Schema, ...]:
    if version > 1 or obj.get("schemas"):
        return tuple(Schema.from_json(schema) for schema in obj["schemas"])
    return (Schema.from_json(obj["schema"]),)


def _specs(obj: Mapping[str, Any], version: int) -> tuple[PartitionSpec, ...]:
    if version > 1 or obj.get("partition-specs"):
        return tuple(PartitionSpec.from_json(spec) for spec in obj["partition-specs"])
    return (PartitionSpec(0, partition_fields_from_json(obj["partition-spec"])),)


def _refs(obj: Mapping[str, Any], current: int | None) -> Mapping[str, SnapshotReference]:
    refs = {name: SnapshotReference.from_json(ref) for name, ref in (obj.get("refs") or {}).items()}
    if current is not None:
        refs.setdefault(MAIN_BRANCH, SnapshotReference(current))
    return refs


def table_metadata_to_json(metadata: TableMetadata) -> dict[str, Any]:
    """The metadata as the JSON object of a metadata file."""
    obj: dict[str, Any] = {
        "format-version": metadata.format_version,
        "table-uuid": metadata.table_uuid,
        "location": metadata.location,
    }
    if metadata.format_version > 1:
        obj["last-sequence-number"] = metadata.last_sequence_number
    obj["last-updated-ms"] = metadata.last_updated_ms
    obj["last-column-id"] = metadata.last_column_id
    if metadata.format_version == 1:
        obj["schema"] = metadata.schema().to_json()
        obj["partition-spec"] = metadata.spec().to_json()["fields"]
    obj["current-schema-id"] = metadata.current_schema_id
    obj["schemas"] = [schema.to_json() for schema in metadata.schemas]
    obj["default-spec-id"] = metadata.default_spec_id
    obj["partition-specs"] = [spec.to_json() for spec in metadata.partition_specs]
    obj["last-partition-id"] = metadata.last_partition_id
    obj["default-sort-order-id"] = metadata.default_sort_order_id
    obj["sort-orders"] = [order.to_json() for order in metadata.sort_orders]
    obj["properties"] = dict(metadata.properties)
    obj.update(_snapshot_fields(metadata))
    obj.update(metadata.extra)
    restore_unknown_fields(obj, metadata.unknown)
    return obj


def _snapshot_fields(metadata: TableMetadata) -> dict[str, Any]:
    version = metadata.format_version
    obj: dict[str, Any] = {}
    if metadata.current_snapshot_id is not None:
        obj["current-snapshot-id"] = metadata.current_snapshot_id
    else:
        # Readers of versions 1 and 2 expect a number.
        obj["current-snapshot-id"] = None if version > 2 else _NO_SNAPSHOT
    if metadata.next_row_id is not None:
        obj["next-row-id"] = metadata.next_row_id
    if metadata.encryption_keys:
        obj["encryption-keys"] = [dict(key) for key in metadata.encryption_keys]
    obj["refs"] = {name: ref.to_json() for name, ref in metadata.refs.items()}
    obj["snapshots"] = [snapshot.to_json(version) for snapshot in metadata.snapshots]
    obj["statistics"] = [dict(one) for one in metadata.statistics]
    obj["partition-statistics"] = [dict(one) for one in metadata.partition_statistics]
    obj["snapshot-log"] = [entry.to_json() for entry in metadata.snapshot_log]
    obj["metadata-log"] = [entry.to_json() for entry in metadata.metadata_log]
    return obj
