"""Files of statistics that table metadata names, each of one snapshot (spec: Table Statistics; Partition Statistics).

Those of other writers stay JSON objects in the metadata, so that none of their fields is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.spec.manifests.puffin import BlobMetadata

THETA_SKETCH = "apache-datasketches-theta-v1"
"""The blob type of a sketch of a column's distinct values (Puffin spec)."""
DISTINCT_VALUES = "ndv"
"""The property of such a blob: the number of distinct values that the sketch estimates."""


@dataclass(frozen=True, slots=True)
class StatisticsFile:
    """A Puffin file; sizes are in bytes. The metadata repeats of each blob what it is, but not where."""

    snapshot_id: int
    location: str
    size: int
    footer_size: int
    blobs: Sequence[BlobMetadata] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "snapshot-id": self.snapshot_id,
            "statistics-path": self.location,
            "file-size-in-bytes": self.size,
            "file-footer-size-in-bytes": self.footer_size,
            "blob-metadata": [_blob_to_json(blob) for blob in self.blobs],
        }


@dataclass(frozen=True, slots=True)
class PartitionStatisticsFile:
    """A data file with a row for each partition; `size` is in bytes."""

    snapshot_id: int
    location: str
    size: int

    def to_json(self) -> dict[str, Any]:
        return {
            "snapshot-id": self.snapshot_id,
            "statistics-path": self.location,
            "file-size-in-bytes": self.size,
        }


def _blob_to_json(blob: BlobMetadata) -> dict[str, Any]:
    return {
        "type": blob.type,
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "fields": list(blob.fields),
        "properties": dict(blob.properties),
    }
