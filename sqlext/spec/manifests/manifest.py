"""Manifests and manifest lists, as values and as Avro bytes (spec: Manifests; Manifest Lists)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, TypeVar
from uuid import UUID

from sqlext.errors import CorruptionError
from sqlext.spec import single_value
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest_codec import (
    METRICS,
    Conversion,
    entry_writer,
    json_text,
    manifest_file_writer,
    metric_pairs,
    read_records,
)
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import are_bounds_in_any_order
from sqlext.spec.types import Type

UNASSIGNED_SEQUENCE_NUMBER = -1
"""Of a ManifestFile before its commit; `encode_manifest_list` replaces it by the snapshot's sequence number."""

_V1_BLOCK_SIZE = 64 * 1024 * 1024
_CODECS = {
    "deflate": "deflate",
    "gzip": "deflate",
    "null": "null",
    "uncompressed": "null",
    "snappy": "snappy",
    "zstd": "zstandard",
    "zstandard": "zstandard",
}

_T = TypeVar("_T")


class EntryStatus(IntEnum):
    """What the snapshot `snapshot_id` of an entry did with the file."""

    EXISTING = 0
    ADDED = 1
    DELETED = 2


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A content file in a manifest.

    Before the commit None in `snapshot_id` or a sequence number means "inherited from the manifest". After decoding
    only `file_sequence_number` may be None, in an existing entry of an old writer.
    """

    status: EntryStatus
    snapshot_id: int | None
    sequence_number: int | None
    file_sequence_number: int | None
    file: ContentFile

    @property
    def is_live(self) -> bool:
        return self.status != EntryStatus.DELETED


class ManifestContent(IntEnum):
    """The kind of content files that a manifest lists."""

    DATA = 0
    DELETES = 1


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """The values of a partition field in all files of a manifest (spec: `field_summary`).

    Bounds are binary single values, never of null or NaN. None means not recorded.
    """

    contains_null: bool
    contains_nan: bool | None = None
    lower_bound: bytes | None = None
    upper_bound: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest in a manifest list.

    `partitions` has a summary of each field of spec `spec_id`, or is None if not recorded. A count is None, that is
    unknown, only if a list of format version 1 lacks it.
    """

    path: str
    length: int
    spec_id: int
    content: ManifestContent
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int
    added_files_count: int | None
    existing_files_count: int | None
    deleted_files_count: int | None
    added_rows_count: int | None
    existing_rows_count: int | None
    deleted_rows_count: int | None
    partitions: tuple[FieldSummary, ...] | None = ()
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def has_live_files(self) -> bool:
        """False only if the counts show that all entries have the status DELETED.

        True if counts are missing or contradictory, as in a manifest without entries, which no writer makes.
        """
        if self.added_files_count != 0 or self.existing_files_count != 0:
            return True
        return not self.deleted_files_count or bool(self.added_rows_count or self.existing_rows_count)


def summarise_partitions(
    partitions: Iterable[tuple[Any, ...]], spec: PartitionSpec, schema: Schema, others: Sequence[Schema] = ()
) -> tuple[FieldSummary, ...] | None:
    """A summary of each partition field of files in `partitions`; None if Iceberg's Java library would misread bounds
    of uuids.

    Source columns that `schema` lacks are looked up in `others`.
    """
    partitions = tuple(partitions)
    summaries = []
    for position, field in enumerate(spec.partition_type(schema, others).fields):
        values = [partition[position] for partition in partitions]
        uuids = [value for value in values if isinstance(value, UUID)]
        if uuids and not are_bounds_in_any_order(min(uuids), max(uuids)):
            return None
        summaries.append(_summary(field.type, values))
    return tuple(summaries)


def _summary(type: Type, values: Sequence[Any]) -> FieldSummary:
    present = [value for value in values if value is not None]
    comparable = [value for value in present if value == value]  # NaN is unequal to itself, and is never a bound
    bounds: tuple[bytes | None, bytes | None] = (None, None)
    if comparable:
        bounds = (
            single_value.encode(type, min(comparable, key=_sort_key)),
            single_value.encode(type, max(comparable, key=_sort_key)),
        )
    return FieldSummary(len(present) < len(values), len(comparable) < len(present), *bounds)


def _sort_key(value: Any) -> Any:
    # Sorts -0.0 before 0.0, which Python compares as equal: a lower bound of 0.0 would exclude -0.0.
    return (value, math.copysign(1.0, value)) if isinstance(value, float) else value


def encode_manifest(
    entries: Sequence[ManifestEntry],
    *,
    schema: Schema,
    spec: PartitionSpec,
    content: ManifestContent,
    format_version: int,
    others: Sequence[Schema] = (),
    codec: str = "deflate",
) -> bytes:
    """The bytes of a manifest. An entry with None as snapshot id or sequence number inherits it at the commit.

    Source columns that `schema` lacks are looked up in `others`. Raises ValueError for deletes in format version 1, or
    a partition value that is not of its field's type.
    """
    if format_version == 1 and content != ManifestContent.DATA:
        raise ValueError("format version 1 has no delete manifests")
    writer = entry_writer(format_version, spec.partition_type(schema, others))
    return avro_file.encode(
        [_entry_record(entry, writer.partition) for entry in entries],
        schema_text=writer.schema_text,
        record_schema=writer.record_schema,
        metadata=manifest_header(schema, spec, content, format_version),
        codec=_CODECS[codec],
    )


def manifest_header(
    schema: Schema, spec: PartitionSpec, content: ManifestContent, format_version: int
) -> dict[str, str]:
    """The metadata of a manifest's file."""
    header = {
        "schema": json_text(schema.to_json()),
        "schema-id": str(schema.schema_id),
        "partition-spec": json_text(spec.to_json()["fields"]),
        "partition-spec-id": str(spec.spec_id),
        "format-version": str(format_version),
    }
    if format_version > 1:
        header["content"] = "data" if content == ManifestContent.DATA else "deletes"
    return header


def decode_manifest(
    data: bytes, manifest: ManifestFile, *, schema: Schema, specs: Mapping[int, PartitionSpec]
) -> list[ManifestEntry]:
    """The entries of a manifest, with the values that they inherit from `manifest`, its entry in the manifest list.

    Partition values are stored values in the order of the fields of the manifest's spec. Raises CorruptionError
    CORRUPT_FILE for bytes that are not such a manifest.
    """
    spec = specs.get(manifest.spec_id)
    if spec is None:
        raise _corrupt(manifest.path, "manifest", f"partition spec {manifest.spec_id} is not in the table's metadata")

    def read() -> list[ManifestEntry]:
        reader, records = read_records(data)
        partition = reader.partition_conversions(spec.partition_type(schema))
        return list(_inherited([_entry(record, partition, manifest) for record in records], manifest))

    return _decoding(read, manifest.path, "manifest")


def encode_manifest_list(
    manifests: Iterable[ManifestFile],
    *,
    snapshot_id: int,
    parent_snapshot_id: int | None,
    sequence_number: int,
    format_version: int,
    first_row_id: int | None = None,
) -> bytes:
    """The bytes of a snapshot's manifest list; `sequence_number` replaces UNASSIGNED_SEQUENCE_NUMBER.

    `first_row_id` of the snapshot is written from format version 3 on. Raises ValueError for delete manifests in
    version 1 and for unknown counts in later versions.
    """
    records = [_manifest_record(one, sequence_number, format_version) for one in manifests]
    writer = manifest_file_writer(format_version)
    metadata = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_snapshot_id is None else str(parent_snapshot_id),
        "format-version": str(format_version),
    }
    if format_version > 1:
        metadata["sequence-number"] = str(sequence_number)
    if format_version > 2:
        metadata["first-row-id"] = str(first_row_id)
    return avro_file.encode(
        records,
        schema_text=writer.schema_text,
        record_schema=writer.record_schema,
        metadata=metadata,
        codec="deflate",
    )


def as_listed(manifest: ManifestFile, sequence_number: int) -> ManifestFile:
    """The manifest as `decode_manifest_list` gives it from a list that `encode_manifest_list` wrote with this sequence
    number, in a format version after 1."""
    if UNASSIGNED_SEQUENCE_NUMBER not in (manifest.sequence_number, manifest.min_sequence_number):
        return manifest
    return replace(
        manifest,
        sequence_number=_assigned(manifest.sequence_number, sequence_number),
        min_sequence_number=_assigned(manifest.min_sequence_number, sequence_number),
    )


def _assigned(number: int, sequence_number: int) -> int:
    return sequence_number if number == UNASSIGNED_SEQUENCE_NUMBER else number


def decode_manifest_list(data: bytes, path: str = "manifest list") -> list[ManifestFile]:
    """The manifests in the bytes of a manifest list. Raises CorruptionError CORRUPT_FILE naming `path`."""

    def read() -> list[ManifestFile]:
        _, records = read_records(data)
        return [_manifest_file(record) for record in records]

    return _decoding(read, path, "manifest list")


# Records


def _entry_record(entry: ManifestEntry, partition: Sequence[tuple[str, Conversion]]) -> dict[str, Any]:
    return {
        "status": int(entry.status),
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": file_record(entry.file, partition),
    }


def file_record(file: ContentFile, partition: Sequence[tuple[str, Conversion]]) -> dict[str, Any]:
    """The record `data_file` of a file; `partition` is that of the `RecordWriter`."""
    record: dict[str, Any] = {
        "content": int(file.content),
        "file_path": file.file_path,
        "file_format": file.file_format,
        "partition": {
            key: None if value is None else convert(value)
            for (key, convert), value in zip(partition, file.partition, strict=True)
        },
        "record_count": file.record_count,
        "file_size_in_bytes": file.file_size_in_bytes,
        "block_size_in_bytes": _V1_BLOCK_SIZE,
        "key_metadata": file.key_metadata,
        "split_offsets": _list(file.split_offsets),
        "equality_ids": _list(file.equality_ids),
        "sort_order_id": file.sort_order_id,
        "first_row_id": file.first_row_id,
        "referenced_data_file": file.referenced_data_file,
        "content_offset": file.content_offset,
        "content_size_in_bytes": file.content_size_in_bytes,
    }
    for name in METRICS:
        record[name] = metric_pairs(name, getattr(file, name))
    return record


def _entry(
    record: Mapping[str, Any], partition: Sequence[tuple[str, Conversion | None]], manifest: ManifestFile
) -> ManifestEntry:
    data_file = record["data_file"]
    values = data_file["partition"]
    file = ContentFile(
        content=Content(data_file.get("content", 0)),
        file_path=_location(data_file["file_path"]),
        file_format=data_file["file_format"].upper(),
        spec_id=manifest.spec_id,
        partition=tuple(_converted(values.get(key), convert) for key, convert in partition),
        record_count=data_file["record_count"],
        file_size_in_bytes=data_file["file_size_in_bytes"],
        column_sizes=_by_column(data_file.get("column_sizes")),
        value_counts=_by_column(data_file.get("value_counts")),
        null_value_counts=_by_column(data_file.get("null_value_counts")),
        nan_value_counts=_by_column(data_file.get("nan_value_counts")),
        lower_bounds=_by_column(data_file.get("lower_bounds")),
        upper_bounds=_by_column(data_file.get("upper_bounds")),
        key_metadata=data_file.get("key_metadata"),
        split_offsets=_tuple(data_file.get("split_offsets")),
        equality_ids=_tuple(data_file.get("equality_ids")),
        sort_order_id=data_file.get("sort_order_id"),
        first_row_id=data_file.get("first_row_id"),
        referenced_data_file=data_file.get("referenced_data_file"),
        content_offset=data_file.get("content_offset"),
        content_size_in_bytes=data_file.get("content_size_in_bytes"),
    )
    return ManifestEntry(
        EntryStatus(record["status"]),
        record.get("snapshot_id"),
        record.get("sequence_number"),
        record.get("file_sequence_number"),
        file,
    )


def _location(path: str) -> str:
    if not path:
        raise ValueError("a file in it has no location")
    return path


def _by_column(pairs: Sequence[Mapping[str, Any]] | None) -> dict[int, Any] | None:
    return None if pairs is None else {pair["key"]: pair["value"] for pair in pairs}


def _list(items: Sequence[int] | None) -> list[int] | None:
    # fastavro reads a tuple as the name of a union branch and its value.
    return None if items is None else list(items)


def _tuple(items: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if items is None else tuple(items)


def _converted(value: Any, convert: Conversion | None) -> Any:
    return value if value is None or convert is None else convert(value)


def _inherited(entries: Iterable[ManifestEntry], manifest: ManifestFile) -> Iterator[ManifestEntry]:
    """Entries with inherited snapshot id, sequence numbers and first row id in place of None.

    (spec: Sequence Number Inheritance; First Row ID Inheritance). Files of version 1 inherit the sequence number 0.
    """
    next_row_id = manifest.first_row_id
    for entry in entries:
        own = manifest.sequence_number == 0 or entry.status == EntryStatus.ADDED
        changes: dict[str, Any] = {}
        if entry.snapshot_id is None:
            changes["snapshot_id"] = manifest.added_snapshot_id
        if own and entry.sequence_number is None:
            changes["sequence_number"] = manifest.sequence_number
        if own and entry.file_sequence_number is None:
            changes["file_sequence_number"] = manifest.sequence_number
        if not own and entry.sequence_number is None:
            raise ValueError(f"the entry of {entry.file.file_path} has no sequence number")
        if next_row_id is not None and entry.is_live and entry.file.first_row_id is None:
            changes["file"] = replace(entry.file, first_row_id=next_row_id)
            next_row_id += entry.file.record_count
        yield replace(entry, **changes) if changes else entry


def _manifest_record(manifest: ManifestFile, sequence_number: int, format_version: int) -> dict[str, Any]:
    if format_version == 1 and manifest.content != ManifestContent.DATA:
        raise ValueError(f"format version 1 has no delete manifests, such as {manifest.path}")
    record = {
        "manifest_path": manifest.path,
        "manifest_length": manifest.length,
        "partition_spec_id": manifest.spec_id,
        "content": int(manifest.content),
        "sequence_number": _assigned(manifest.sequence_number, sequence_number),
        "min_sequence_number": _assigned(manifest.min_sequence_number, sequence_number),
        "added_snapshot_id": manifest.added_snapshot_id,
        "partitions": None
        if manifest.partitions is None
        else [
            {
                "contains_null": summary.contains_null,
                "contains_nan": summary.contains_nan,
                "lower_bound": summary.lower_bound,
                "upper_bound": summary.upper_bound,
            }
            for summary in manifest.partitions
        ],
        "key_metadata": manifest.key_metadata,
        "first_row_id": manifest.first_row_id,
    }
    for name in _COUNT_NAMES:
        record[name] = getattr(manifest, name)
        if record[name] is None and format_version > 1:
            raise ValueError(f"{name} of manifest {manifest.path} is not known")
    return record


_COUNT_NAMES = tuple(f"{what}_{of}_count" for of in ("files", "rows") for what in ("added", "existing", "deleted"))


def _manifest_file(record: Mapping[str, Any]) -> ManifestFile:
    return ManifestFile(
        path=_location(record["manifest_path"]),
        length=record["manifest_length"],
        spec_id=record["partition_spec_id"],
        content=ManifestContent(record.get("content", 0)),
        sequence_number=record.get("sequence_number", 0),
        min_sequence_number=record.get("min_sequence_number", 0),
        added_snapshot_id=record["added_snapshot_id"],
        **{name: record.get(name) for name in _COUNT_NAMES},
        partitions=_summaries(record.get("partitions")),
        key_metadata=record.get("key_metadata"),
        first_row_id=record.get("first_row_id"),
    )


def _summaries(records: Sequence[Mapping[str, Any]] | None) -> tuple[FieldSummary, ...] | None:
    if records is None:
        return None
    return tuple(
        FieldSummary(one["contains_null"], one.get("contains_nan"), one.get("lower_bound"), one.get("upper_bound"))
        for one in records
    )


def _decoding(read: Callable[[], _T], path: str, kind: str) -> _T:
    # On a damaged file fastavro, zlib and pyarrow may raise nearly any exception.
    try:
        return read()
    except MemoryError:
        raise
    except KeyError as error:
        raise _corrupt(path, kind, f"the field {error} is missing") from error
    except Exception as error:
        raise _corrupt(path, kind, str(error) or type(error).__name__) from error


def _corrupt(path: str, kind: str, reason: str) -> CorruptionError:
    return CorruptionError("CORRUPT_FILE", path=path, kind=kind, reason=reason)
