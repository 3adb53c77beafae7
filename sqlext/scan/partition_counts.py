"""Rows, files and bytes of each partition of a snapshot, and how the snapshots after another one changed them (spec:
Partition Statistics File)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.transform import TruncateTransform, VoidTransform
from sqlext.spec.types import DecimalType, NestedField, UnknownType

PartitionKey: TypeAlias = tuple[int, str]
"""A spec's id, and the text of the values of all partition fields: NaN is equal to itself there, and 0.0 not to
-0.0."""


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """A row of a partition statistics file; the last update is None if its snapshot has expired."""

    spec_id: int
    partition: tuple[Any, ...]
    data_record_count: int = 0
    data_file_count: int = 0
    total_data_file_size_in_bytes: int = 0
    position_delete_record_count: int = 0
    position_delete_file_count: int = 0
    equality_delete_record_count: int = 0
    equality_delete_file_count: int = 0
    dv_count: int = 0
    last_updated_at: int | None = None
    last_updated_snapshot_id: int | None = None

    @property
    def key(self) -> PartitionKey:
        return self.spec_id, repr(self.partition)

    @property
    def counts(self) -> list[int]:
        """All numbers but those of the last update."""
        return [getattr(self, name) for name in _COUNTS]

    def plus(self, other: PartitionCounts) -> PartitionCounts:
        """The sum of both, with the later of the two updates."""
        later = other if (other.last_updated_at or 0) > (self.last_updated_at or 0) else self
        return replace(
            later,
            spec_id=self.spec_id,
            partition=self.partition,
            **{name: getattr(self, name) + getattr(other, name) for name in _COUNTS},
        )


_COUNTS = tuple(field.name for field in fields(PartitionCounts) if field.default == 0)


@dataclass(frozen=True, slots=True)
class PartitionFields:
    """The partition fields of all specs of a table, each once, by ascending id, with the type of their values.

    `are_told` is false if a field of some spec is not among them, or not all of its values are of its type, so that
    partitions cannot be told apart by what a file has.
    """

    fields: tuple[NestedField, ...]
    are_told: bool

    @classmethod
    def of(cls, metadata: TableMetadata) -> PartitionFields:
        """Names are those of the newest spec; of a dropped column the last type counts."""
        columns = metrics_columns((metadata.schema(), *reversed(metadata.schemas)))
        found: dict[int, NestedField] = {}
        told = True
        for spec in sorted(metadata.partition_specs, key=lambda spec: -spec.spec_id):
            for field in spec.fields:
                if isinstance(field.transform, VoidTransform):
                    continue
                source = columns.get(field.source_id)
                result = UnknownType() if source is None else field.transform.result_type(source.type)
                told &= not isinstance(result, UnknownType)
                told &= not (isinstance(result, DecimalType) and isinstance(field.transform, TruncateTransform))
                if not isinstance(result, UnknownType):
                    found.setdefault(field.field_id, NestedField(field.field_id, field.name, result))
        return cls(tuple(found[id] for id in sorted(found)), told)

    def values_of(self, metadata: TableMetadata) -> Callable[[ContentFile], tuple[Any, ...]]:
        """A function that gives a file's values of the fields; None for a field that its spec lacks."""
        ids = {spec.spec_id: [field.field_id for field in spec.fields] for spec in metadata.partition_specs}

        def values(file: ContentFile) -> tuple[Any, ...]:
            by_id = dict(zip(ids[file.spec_id], file.partition, strict=True))
            return tuple(by_id.get(field.id) for field in self.fields)

        return values


def live_counts(
    entries: Iterable[ManifestEntry], metadata: TableMetadata, partitions: PartitionFields
) -> dict[PartitionKey, PartitionCounts]:
    """The counts of all files of a snapshot, by all entries of its manifests. A deleted file, whose entry may still be
    there, is an update of its partition."""
    return _summed(((entry, 1 if entry.is_live else 0) for entry in entries), metadata, partitions)


def count_changes(
    entries: Iterable[ManifestEntry], metadata: TableMetadata, partitions: PartitionFields
) -> dict[PartitionKey, PartitionCounts]:
    """How some snapshots changed the counts, by the entries with which they added and deleted files."""
    signs = {EntryStatus.ADDED: 1, EntryStatus.DELETED: -1}
    return _summed(((entry, signs[entry.status]) for entry in entries if entry.status in signs), metadata, partitions)


def united(
    one: Mapping[PartitionKey, PartitionCounts], other: Mapping[PartitionKey, PartitionCounts]
) -> list[PartitionCounts]:
    """The sums by partition, in their order, without partitions in which no file is left."""
    sums = [found.plus(other[key]) if key in other else found for key, found in one.items()]
    sums += [found for key, found in other.items() if key not in one]
    return sorted((found for found in sums if any(found.counts)), key=_place)


def _summed(
    signed: Iterable[tuple[ManifestEntry, int]], metadata: TableMetadata, partitions: PartitionFields
) -> dict[PartitionKey, PartitionCounts]:
    snapshots = {one.snapshot_id: one for one in metadata.snapshots}
    values = partitions.values_of(metadata)
    sums: dict[PartitionKey, PartitionCounts] = {}
    for entry, sign in signed:
        snapshot = snapshots.get(entry.snapshot_id or 0)
        found = _of_file(entry.file, values(entry.file), sign, snapshot)
        known = sums.get(found.key)
        sums[found.key] = found if known is None else known.plus(found)
    return sums


def _of_file(file: ContentFile, partition: tuple[Any, ...], sign: int, snapshot: Snapshot | None) -> PartitionCounts:
    """The counts of one file, times `sign`."""
    counts: dict[str, int] = {}
    rows = sign * file.record_count
    if file.content == Content.DATA:
        size = sign * file.file_size_in_bytes
        counts = {"data_record_count": rows, "data_file_count": sign, "total_data_file_size_in_bytes": size}
    elif file.content == Content.EQUALITY_DELETES:
        counts = {"equality_delete_record_count": rows, "equality_delete_file_count": sign}
    else:
        files = "dv_count" if file.is_deletion_vector else "position_delete_file_count"
        counts = {"position_delete_record_count": rows, files: sign}
    moment = None if snapshot is None else snapshot.timestamp_ms
    id = None if snapshot is None else snapshot.snapshot_id
    return PartitionCounts(file.spec_id, partition, **counts, last_updated_at=moment, last_updated_snapshot_id=id)


def _place(found: PartitionCounts) -> tuple[list[tuple[bool, bool, Any]], int]:
    return [_rank(value) for value in found.partition], found.spec_id


def _rank(value: Any) -> tuple[bool, bool, Any]:
    """Nulls are first (spec: Partition Statistics File), NaN is last."""
    is_nan = value != value
    return value is not None, is_nan, 0 if value is None or is_nan else value
