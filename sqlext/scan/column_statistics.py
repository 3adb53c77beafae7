"""Column statistics of Puffin files, as far as table metadata repeats them (spec: "Table Statistics")."""

from __future__ import annotations

from contextlib import suppress

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.statistics_file import DISTINCT_VALUES, THETA_SKETCH
from sqlext.spec.metadata.table_metadata import TableMetadata


def distinct_counts(metadata: TableMetadata, snapshot: Snapshot | None) -> dict[int, int]:
    """Approximate numbers of distinct values by field id, of the snapshot or its nearest ancestor with statistics."""
    by_snapshot = {one.get("snapshot-id"): one for one in metadata.statistics}
    while snapshot is not None and snapshot.snapshot_id not in by_snapshot:
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else metadata.snapshot_or_none(parent)
    counts: dict[int, int] = {}
    if snapshot is None:
        return counts
    for blob in by_snapshot[snapshot.snapshot_id].get("blob-metadata", ()):
        fields, properties = blob.get("fields", ()), blob.get("properties") or {}
        if blob.get("type") == THETA_SKETCH and len(fields) == 1:
            with suppress(KeyError, ValueError):  # the property is optional
                counts[fields[0]] = int(properties[DISTINCT_VALUES])
    return counts
