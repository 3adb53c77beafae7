"""Metadata tables: a table's snapshots, references, manifests and files as rows, in Iceberg's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa

from sqlext.scan.manifest_cache import ManifestCache
from sqlext.scan.pruning import column_types
from sqlext.scan.value_range import decode_bound
from sqlext.spec.content_file import Content, ContentFile
from sqlext.spec.manifest import FieldSummary, ManifestContent, ManifestFile
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import nested_fields
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata
from sqlext.spec.transform import VoidTransform
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    is_primitive,
)
from sqlext.storage.file_io import FileIO

_INSTANT = pa.timestamp("us", "UTC")

_ARROW_TYPES: Mapping[type, pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: _INSTANT,
    TimestampNanoType: pa.timestamp("ns"),
    TimestamptzNanoType: pa.timestamp("ns", "UTC"),
    StringType: pa.string(),
    UuidType: pa.string(),
    BinaryType: pa.binary(),
    FixedType: pa.binary(),
    UnknownType: pa.null(),
}


class Rows(Protocol):
    """The rows of a metadata table at `snapshot`; tables about the whole history ignore it."""

    def __call__(
        self, io: FileIO, metadata: TableMetadata, snapshot: Snapshot | None, *, manifests: ManifestCache
    ) -> pa.Table: ...


@dataclass(frozen=True, slots=True)
class MetadataTable:
    """`schema` needs no file of the table; the table of `rows` has exactly that schema."""

    schema: Callable[[TableMetadata], pa.Schema]
    rows: Rows


_SNAPSHOTS = pa.schema(
    [
        pa.field("committed_at", _INSTANT, nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("parent_id", pa.int64()),
        pa.field("operation", pa.string()),
        pa.field("manifest_list", pa.string()),
        pa.field("summary", pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))),
    ]
)

_HISTORY = pa.schema(
    [
        pa.field("made_current_at", _INSTANT, nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("parent_id", pa.int64()),
        pa.field("is_current_ancestor", pa.bool_(), nullable=False),
    ]
)

_REFS = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("max_reference_age_in_ms", pa.int64()),
        pa.field("min_snapshots_to_keep", pa.int32()),
        pa.field("max_snapshot_age_in_ms", pa.int64()),
    ]
)

_SUMMARY = pa.struct(
    [
        pa.field("contains_null", pa.bool_(), nullable=False),
        pa.field("contains_nan", pa.bool_()),
        pa.field("lower_bound", pa.string()),
        pa.field("upper_bound", pa.string()),
    ]
)

_MANIFESTS = pa.schema(
    [
        pa.field("content", pa.int32(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("partition_spec_id", pa.int32(), nullable=False),
        pa.field("added_snapshot_id", pa.int64(), nullable=False),
        *(
            pa.field(f"{what}_{of}_files_count", pa.int32(), nullable=False)
            for of in ("data", "delete")
            for what in ("added", "existing", "deleted")
        ),
        pa.field("partition_summaries", pa.list_(pa.field("element", _SUMMARY, nullable=False)), nullable=False),
    ]
)


def _fixed(schema: pa.Schema) -> Callable[[TableMetadata], pa.Schema]:
    return lambda metadata: schema


def _snapshots(io: FileIO, metadata: TableMetadata, snapshot: Snapshot | None, *, manifests: ManifestCache) -> pa.Table:
    rows = [
        {
            "committed_at": one.timestamp_ms * 1000,
            "snapshot_id": one.snapshot_id,
            "parent_id": one.parent_snapshot_id,
            "operation": one.operation,
            "manifest_list": one.manifest_list or None,
            "summary": [(key, value) for key, value in one.summary.items() if key != "operation"],
        }
        for one in metadata.snapshots
    ]
    return pa.Table.from_pylist(rows, _SNAPSHOTS)


def _history(io: FileIO, metadata: TableMetadata, snapshot: Snapshot | None, *, manifests: ManifestCache) -> pa.Table:
    ancestors = _ancestor_ids(metadata)
    rows = []
    for entry in metadata.snapshot_log:
        logged = metadata.snapshot_or_none(entry.snapshot_id)
        rows.append(
            {
                "made_current_at": entry.timestamp_ms * 1000,
                "snapshot_id": entry.snapshot_id,
                "parent_id": logged.parent_snapshot_id if logged else None,
                "is_current_ancestor": entry.snapshot_id in ancestors,
            }
        )
    return pa.Table.from_pylist(rows, _HISTORY)


def _ancestor_ids(metadata: TableMetadata) -> set[int]:
    """The current snapshot and those before it, as far as they have not expired."""
    by_id = {one.snapshot_id: one for one in metadata.snapshots}
    ids: set[int] = set()
    current = metadata.current_snapshot_id
    while current is not None and current in by_id:
        ids.add(current)
        current = by_id[current].parent_snapshot_id
    return ids


def _refs(io: FileIO, metadata: TableMetadata, snapshot: Snapshot | None, *, manifests: ManifestCache) -> pa.Table:
    rows = [
        {
            "name": name,
            "type": ref.type.upper(),
            "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.max_ref_age_ms,
            "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
        }
        for name, ref in metadata.refs.items()
    ]
    return pa.Table.from_pylist(rows, _REFS)


def _manifests(io: FileIO, metadata: TableMetadata, snapshot: Snapshot | None, *, manifests: ManifestCache) -> pa.Table:
    listed = manifests.manifests(io, snapshot) if snapshot else ()
    specs = metadata.specs_by_id()
    return pa.Table.from_pylist([_manifest_row(one, specs, metadata) for one in listed], _MANIFESTS)


def _manifest_row(
    manifest: ManifestFile, specs: Mapping[int, PartitionSpec], metadata: TableMetadata
) -> dict[str, Any]:
    counts = {
        "added": manifest.added_files_count or 0,
        "existing": manifest.existing_files_count or 0,
        "deleted": manifest.deleted_files_count or 0,
    }
    of = "data" if manifest.content == ManifestContent.DATA else "delete"
    spec = specs[manifest.spec_id]
    types = _result_types(spec, metadata)
    return {
        "content": int(manifest.content),
        "path": manifest.path,
        "length": manifest.length,
        "partition_spec_id": manifest.spec_id,
        "added_snapshot_id": manifest.added_snapshot_id,
        **{
            f"{what}_{kind}_files_count": count if kind == of else 0
            for what, count in counts.items()
            for kind in ("data", "delete")
        },
        "partition_summaries": [
            _summary_row(summary, spec, position, types[position])
            for position, summary in enumerate(manifest.partitions)
        ],
    }


def _summary_row(summary: FieldSummary, spec: PartitionSpec, position: int, value_type: Type) -> dict[str, Any]:
    transform = spec.fields[position].transform

    def human(bound: bytes | None) -> str | None:
        value = decode_bound(value_type, bound)
        # `human` takes the type of the transform's result where that is not fixed by the transform
        return None if value is None else transform.human(value_type, value)

    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": human(summary.lower_bound),
        "upper_bound": human(summary.upper_bound),
    }


def _files_schema(metadata: TableMetadata) -> pa.Schema:
    counts = pa.map_(pa.int32(), pa.field("value", pa.int64(), nullable=False))
    bounds = pa.map_(pa.int32(), pa.field("value", pa.binary(), nullable=False))
    partition = [pa.field(field.name, _arrow_type(field.type)) for field in partition_fields(metadata)]
    return pa.schema(
        [
            pa.field("content", pa.int32()),
            pa.field("file_path", pa.string(), nullable=False),
            pa.field("file_format", pa.string(), nullable=False),
            pa.field("spec_id", pa.int32()),
            *([pa.field("partition", pa.struct(partition), nullable=False)] if partition else []),
            pa.field("record_count", pa.int64(), nullable=False),
            pa.field("file_size_in_bytes", pa.int64(), nullable=False),
            pa.field("column_sizes", counts),
            pa.field("value_counts", counts),
            pa.field("null_value_counts", counts),
            pa.field("nan_value_counts", counts),
            pa.field("lower_bounds", bounds),
            pa.field("upper_bounds", bounds),
            pa.field("key_metadata", pa.binary()),
            pa.field("split_offsets", pa.list_(pa.field("element", pa.int64(), nullable=False))),
            pa.field("equality_ids", pa.list_(pa.field("element", pa.int32(), nullable=False))),
            pa.field("sort_order_id", pa.int32()),
            pa.field("first_row_id", pa.int64()),
            pa.field("referenced_data_file", pa.string()),
            pa.field("content_offset", pa.int64()),
            pa.field("content_size_in_bytes", pa.int64()),
            pa.field("readable_metrics", pa.struct(_readable_metrics_fields(metadata))),
        ]
    )


def partition_fields(metadata: TableMetadata) -> tuple[NestedField, ...]:
    """The partition fields of all specs, the newest spec first, each once (spec: "Partition Evolution").

    Void fields stand for dropped ones, and are left out unless an earlier spec gave them values.
    """
    fields: dict[int, NestedField] = {}
    for spec in sorted(metadata.partition_specs, key=lambda spec: -spec.spec_id):
        for field, result_type in zip(spec.fields, _result_types(spec, metadata), strict=True):
            if not isinstance(field.transform, VoidTransform):
                fields.setdefault(field.field_id, NestedField(field.field_id, field.name, result_type))
    return tuple(fields.values())


def _result_types(spec: PartitionSpec, metadata: TableMetadata) -> list[Type]:
    """Types of a spec's partition values; a source column that was dropped has the type it had last."""
    types = column_types((metadata.schema(), *reversed(metadata.schemas)))
    return [field.transform.result_type(types.get(field.source_id, UnknownType())) for field in spec.fields]


def _readable_metrics_fields(metadata: TableMetadata) -> list[pa.Field]:
    fields = []
    for name, field_id, value_type in _metrics_columns(metadata):
        bound = _arrow_type(value_type)
        counts = [pa.field(count, pa.int64()) for count in ("column_size", *_COUNTS)]
        bounds = [pa.field("lower_bound", bound), pa.field("upper_bound", bound)]
        fields.append(pa.field(name, pa.struct([*counts, *bounds]), metadata={"field-id": str(field_id)}))
    return fields


_COUNTS = ("value_count", "null_value_count", "nan_value_count")


def _metrics_columns(metadata: TableMetadata) -> list[tuple[str, int, Type]]:
    """Dotted name, id and type of all primitive fields, in the order of their names."""
    schema = metadata.schema()
    return sorted((schema.column_name(field.id), field.id, field.type) for field in _primitive_fields(schema.fields))


def _primitive_fields(fields: Iterable[NestedField]) -> Iterator[NestedField]:
    for field in fields:
        if is_primitive(field.type):
            yield field
        else:
            yield from _primitive_fields(nested_fields(field.type))


def _arrow_type(value_type: Type) -> pa.DataType:
    if isinstance(value_type, DecimalType):
        return pa.decimal128(value_type.precision, value_type.scale)
    return _ARROW_TYPES.get(type(value_type), pa.binary())


def _files_of(contents: frozenset[Content]) -> Rows:
    def rows(io: FileIO, metadata: TableMetadata, snapshot: Snapshot | None, *, manifests: ManifestCache) -> pa.Table:
        listed = manifests.manifests(io, snapshot) if snapshot else ()
        wanted = (one for one in listed if contents & _CONTENTS_OF[one.content])
        files = (entry.file for one in wanted for entry in manifests.live_entries(io, one, metadata))
        return _files_table((file for file in files if file.content in contents), metadata)

    return rows


_CONTENTS_OF: Mapping[ManifestContent, frozenset[Content]] = {
    ManifestContent.DATA: frozenset({Content.DATA}),
    ManifestContent.DELETES: frozenset({Content.POSITION_DELETES, Content.EQUALITY_DELETES}),
}


def _files_table(files: Iterable[ContentFile], metadata: TableMetadata) -> pa.Table:
    schema = _files_schema(metadata)
    fields, specs, columns = partition_fields(metadata), metadata.specs_by_id(), _metrics_columns(metadata)
    rows = []
    for file in files:
        row = {name: _plain(getattr(file, name)) for name in schema.names if hasattr(file, name)}
        by_id = dict(zip((field.field_id for field in specs[file.spec_id].fields), file.partition, strict=True))
        row["partition"] = {field.name: _readable(field.type, by_id.get(field.id)) for field in fields}
        row["readable_metrics"] = {name: _readable_metrics(file, field_id, of) for name, field_id, of in columns}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema)


def _plain(value: Any) -> Any:
    if isinstance(value, Content):
        return int(value)
    return list(value.items()) if isinstance(value, Mapping) else value


def _readable_metrics(file: ContentFile, field_id: int, value_type: Type) -> dict[str, Any]:
    metrics: dict[str, Any] = {
        name: (metric or {}).get(field_id)
        for name, metric in (
            ("column_size", file.column_sizes),
            ("value_count", file.value_counts),
            ("null_value_count", file.null_value_counts),
            ("nan_value_count", file.nan_value_counts),
        )
    }
    for name, bounds in (("lower_bound", file.lower_bounds), ("upper_bound", file.upper_bounds)):
        metrics[name] = _readable(value_type, decode_bound(value_type, (bounds or {}).get(field_id)))
    return metrics


def _readable(value_type: Type, value: Any) -> Any:
    return str(value) if isinstance(value_type, UuidType) and value is not None else value


METADATA_TABLES: Mapping[str, MetadataTable] = MappingProxyType(
    {
        "snapshots": MetadataTable(_fixed(_SNAPSHOTS), _snapshots),
        "history": MetadataTable(_fixed(_HISTORY), _history),
        "refs": MetadataTable(_fixed(_REFS), _refs),
        "manifests": MetadataTable(_fixed(_MANIFESTS), _manifests),
        "files": MetadataTable(_files_schema, _files_of(frozenset(Content))),
        "data_files": MetadataTable(_files_schema, _files_of(_CONTENTS_OF[ManifestContent.DATA])),
        "delete_files": MetadataTable(_files_schema, _files_of(_CONTENTS_OF[ManifestContent.DELETES])),
    }
)
