"""partitions: rows, files and bytes of each partition of a snapshot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sqlext.scan.metadata_tables.arrow_type import INSTANT
from sqlext.scan.metadata_tables.files import entries_of, listed_manifests
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState
from sqlext.scan.metadata_tables.partition_struct import partition_fields, partition_type, partition_values
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_COUNTS = {
    Content.DATA: ("record_count", "file_count"),
    Content.POSITION_DELETES: ("position_delete_record_count", "position_delete_file_count"),
    Content.EQUALITY_DELETES: ("equality_delete_record_count", "equality_delete_file_count"),
}


def _schema(metadata: TableMetadata) -> pa.Schema:
    partition = partition_fields(metadata)
    of_partition = [
        pa.field("partition", partition_type(partition), nullable=False),
        pa.field("spec_id", pa.int32(), nullable=False),
    ]
    return pa.schema(
        [
            *(of_partition if partition else []),
            pa.field("record_count", pa.int64(), nullable=False),
            pa.field("file_count", pa.int32(), nullable=False),
            pa.field("total_data_file_size_in_bytes", pa.int64(), nullable=False),
            pa.field("position_delete_record_count", pa.int64()),
            pa.field("position_delete_file_count", pa.int32()),
            pa.field("equality_delete_record_count", pa.int64()),
            pa.field("equality_delete_file_count", pa.int32()),
            pa.field("last_updated_at", INSTANT),
            pa.field("last_updated_snapshot_id", pa.int64()),
        ]
    )


def _rows(state: TableState) -> pa.Table:
    """A row for each partition of each spec, even if two specs have equal values in the struct of all specs."""
    snapshots = {one.snapshot_id: one for one in state.metadata.snapshots}
    values = partition_values(state.metadata)
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries_of(state, listed_manifests, ManifestContent):
        if not entry.is_live:
            continue
        partition = values(entry.file)
        key = (entry.file.spec_id, *map(repr, partition.values()))
        row = rows.setdefault(key, _empty(partition, entry.file))
        _count(row, entry.file)
        _update(row, entry.file, snapshots.get(entry.snapshot_id or 0))
    return pa.Table.from_pylist(list(rows.values()), _schema(state.metadata))


def _empty(partition: dict[str, Any], file: ContentFile) -> dict[str, Any]:
    counts = {name: 0 for names in _COUNTS.values() for name in names}
    return {"partition": partition, "spec_id": file.spec_id, "total_data_file_size_in_bytes": 0, **counts}


def _count(row: dict[str, Any], file: ContentFile) -> None:
    records, files = _COUNTS[file.content]
    row[records] += file.record_count
    row[files] += 1
    if file.content == Content.DATA:
        row["total_data_file_size_in_bytes"] += file.file_size_in_bytes


def _update(row: dict[str, Any], file: ContentFile, snapshot: Snapshot | None) -> None:
    """Sets the last update of a partition to `snapshot`, which added a file to it, if it is newer; None if expired."""
    if snapshot is not None and snapshot.timestamp_ms * 1000 > row.get("last_updated_at", -1):
        row["last_updated_at"] = snapshot.timestamp_ms * 1000
        row["last_updated_snapshot_id"] = snapshot.snapshot_id


PARTITIONS = MetadataTable(_schema, _rows)
