"""The line of a snapshot: it and its ancestors."""

from __future__ import annotations

from collections.abc import Iterator

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


def ancestors(metadata: TableMetadata, snapshot: Snapshot | None) -> Iterator[Snapshot]:
    """A snapshot and its ancestors, newest first, up to the first expired one; none for None."""
    known = {one.snapshot_id: one for one in metadata.snapshots}
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else known.get(parent)
