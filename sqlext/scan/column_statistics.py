"""Column statistics of Puffin files, as far as table metadata repeats them (spec: "Table Statistics")."""

from __future__ import annotations

from contextlib import suppress

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_DISTINCT = "apache-datasketches-theta-v1"


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
        if blob.get("type") == _DISTINCT and len(fields) == 1:
            with suppress(KeyError, ValueError):  # the property is optional
                counts[fields[0]] = int(properties["ndv"])
    return counts
