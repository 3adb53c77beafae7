"""snapshots, history, refs and metadata_log_entries, from the metadata file alone."""

from __future__ import annotations

import pyarrow as pa

from sqlext.scan.metadata_tables.arrow_type import INSTANT
from sqlext.scan.metadata_tables.metadata_table import MetadataTable, TableState, fixed
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_SNAPSHOTS = pa.schema(
    [
        pa.field("committed_at", INSTANT, nullable=False),
        pa.field("snapshot_id", pa.int64(), nullable=False),
        pa.field("parent_id", pa.int64()),
        pa.field("operation", pa.string()),
        pa.field("manifest_list", pa.string()),
        pa.field("summary", pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))),
    ]
)

_HISTORY = pa.schema(
    [
        pa.field("made_current_at", INSTANT, nullable=False),
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

_METADATA_LOG_ENTRIES = pa.schema(
    [
        pa.field("timestamp", INSTANT, nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("latest_snapshot_id", pa.int64()),
        pa.field("latest_schema_id", pa.int32()),
        pa.field("latest_sequence_number", pa.int64()),
    ]
)


def _snapshots(state: TableState) -> pa.Table:
    rows = [
        {
            "committed_at": one.timestamp_ms * 1000,
            "snapshot_id": one.snapshot_id,
            "parent_id": one.parent_snapshot_id,
            "operation": one.operation,
            "manifest_list": one.manifest_list or None,
            "summary": [(key, value) for key, value in one.summary.items() if key != "operation"],
        }
        for one in state.metadata.snapshots
    ]
    return pa.Table.from_pylist(rows, _SNAPSHOTS)


def _history(state: TableState) -> pa.Table:
    metadata = state.metadata
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
    """Ids of the current snapshot and its ancestors up to the first expired one."""
    by_id = {one.snapshot_id: one for one in metadata.snapshots}
    ids: set[int] = set()
    current = metadata.current_snapshot_id
    while current is not None and current in by_id:
        ids.add(current)
        current = by_id[current].parent_snapshot_id
    return ids


def _refs(state: TableState) -> pa.Table:
    rows = [
        {
            "name": name,
            "type": ref.type.upper(),
            "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.max_ref_age_ms,
            "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
        }
        for name, ref in state.metadata.refs.items()
    ]
    return pa.Table.from_pylist(rows, _REFS)


def _metadata_log_entries(state: TableState) -> pa.Table:
    """Each metadata file, the current one last, with the snapshot that was current when it was written."""
    metadata = state.metadata
    files = [(entry.timestamp_ms, entry.metadata_file) for entry in metadata.metadata_log]
    rows = []
    for timestamp_ms, file in [*files, (metadata.last_updated_ms, state.location)]:
        latest = _snapshot_at(metadata, timestamp_ms)
        rows.append(
            {
                "timestamp": timestamp_ms * 1000,
                "file": file,
                "latest_snapshot_id": latest.snapshot_id if latest else None,
                "latest_schema_id": latest.schema_id if latest else None,
                "latest_sequence_number": latest.sequence_number if latest else None,
            }
        )
    return pa.Table.from_pylist(rows, _METADATA_LOG_ENTRIES)


def _snapshot_at(metadata: TableMetadata, timestamp_ms: int) -> Snapshot | None:
    """The current snapshot at a time by the snapshot log; None before the log begins, or if it has expired."""
    logged = [entry for entry in metadata.snapshot_log if entry.timestamp_ms <= timestamp_ms]
    return metadata.snapshot_or_none(logged[-1].snapshot_id) if logged else None


SNAPSHOTS = MetadataTable(fixed(_SNAPSHOTS), _snapshots)
HISTORY = MetadataTable(fixed(_HISTORY), _history)
REFS = MetadataTable(fixed(_REFS), _refs)
METADATA_LOG_ENTRIES = MetadataTable(fixed(_METADATA_LOG_ENTRIES), _metadata_log_entries)
