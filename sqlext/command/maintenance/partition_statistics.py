"""Statistics of a table's partitions in one file (spec: Partition Statistics), from manifests alone.

If an ancestor of the snapshot has such a file, only what the snapshots since then added and removed is read.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyarrow import ArrowException

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.environment import Environment
from sqlext.command.maintenance.statistics_commit import commit_statistics, new_location
from sqlext.errors import NotFoundError, SqlextError, UnsupportedError
from sqlext.scan.partition_counts import (
    PartitionCounts,
    PartitionFields,
    PartitionKey,
    count_changes,
    live_counts,
    united,
)
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spec.manifests.manifest import ManifestEntry, ManifestFile
from sqlext.spec.metadata.metadata_update import SetPartitionStatistics
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.statistics_file import PartitionStatisticsFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.types import StructType
from sqlext.storage.file_io import FileIO
from sqlext.write.partition_statistics_file import decode_partition_statistics, encode_partition_statistics

_LOG = logging.getLogger("sqlext.maintenance")
_SUFFIX = ".parquet"


def compute_partition_statistics(
    environment: Environment, catalog: str, table: LoadedTable, snapshot_id: int | None
) -> str | None:
    """The location of the partition statistics file of a snapshot, of main's head if `snapshot_id` is None: the one
    that there is, or a new one. None without a snapshot, and for one without files.

    Raises UnsupportedError PARTITION_STATISTICS_OF_NO_PARTITION, NotFoundError SNAPSHOT_NOT_FOUND, NotFoundError,
    CorruptionError or UnsupportedError for manifests, and as `commit_statistics`.
    """
    metadata = table.metadata
    name = handle_of(catalog, table).full_name
    partitions = PartitionFields.of(metadata)
    if not partitions.fields:
        raise UnsupportedError("PARTITION_STATISTICS_OF_NO_PARTITION", name=name)
    snapshot = metadata.current_snapshot() if snapshot_id is None else metadata.snapshot_or_none(snapshot_id)
    if snapshot is None and snapshot_id is not None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=snapshot_id, name=name)
    if snapshot is None:
        return None
    files = {one["snapshot-id"]: str(one["statistics-path"]) for one in metadata.partition_statistics}
    if snapshot.snapshot_id in files:
        return files[snapshot.snapshot_id]
    source = _Source(environment, environment.catalogs.catalog(catalog).io, metadata, partitions)
    rows = source.since_earlier(snapshot, files) or source.of(snapshot)
    if not rows:
        return None
    data = encode_partition_statistics(rows, StructType(partitions.fields), metadata.format_version)
    location = new_location(environment, metadata, f"partition-stats-{snapshot.snapshot_id}", _SUFFIX)
    statistics = PartitionStatisticsFile(snapshot.snapshot_id, location, len(data))
    commit_statistics(environment, catalog, table, data, SetPartitionStatistics(statistics))
    return location


class _Source:
    """The counts of snapshots of one version of a table."""

    def __init__(
        self, environment: Environment, io: FileIO, metadata: TableMetadata, partitions: PartitionFields
    ) -> None:
        self._manifests = environment.scans.manifests
        self._io = io
        self._metadata = metadata
        self._partitions = partitions

    def of(self, snapshot: Snapshot) -> list[PartitionCounts]:
        """By all manifests of the snapshot."""
        manifests = self._manifests.manifests(self._io, snapshot)
        return united(live_counts(self._entries(manifests), self._metadata, self._partitions), {})

    def since_earlier(self, snapshot: Snapshot, files: Mapping[int, str]) -> list[PartitionCounts] | None:
        """By the file of the nearest ancestor that has one in `files`; None if there is none, or it cannot be used."""
        line = list(ancestors(self._metadata, snapshot))
        place = next((place for place, one in enumerate(line) if one.snapshot_id in files), None)
        if place is None or not self._partitions.are_told or any(one.embedded_manifests for one in line[:place]):
            return None
        earlier = self._read(files[line[place].snapshot_id])
        if earlier is None:
            return None
        changes = count_changes(self._own_entries(line[:place]), self._metadata, self._partitions)
        rows = united(earlier, changes)
        return None if any(count < 0 for row in rows for count in row.counts) else rows

    def _read(self, location: str) -> dict[PartitionKey, PartitionCounts] | None:
        """The rows of a file; None if it cannot be read."""
        if not location.endswith(_SUFFIX):
            return None
        try:
            rows = decode_partition_statistics(self._io.read(location), StructType(self._partitions.fields))
        except (SqlextError, OSError, ValueError, ArrowException) as failure:
            _LOG.warning("The partition statistics %s are not used: %s", location, failure)
            return None
        found: dict[PartitionKey, PartitionCounts] = {}
        for one in map(_counts, rows):
            # Iceberg 1.12 writes a partition twice if its spec lacks fields of others.
            found[one.key] = found[one.key].plus(one) if one.key in found else one
        return found

    def _own_entries(self, snapshots: Sequence[Snapshot]) -> Iterator[ManifestEntry]:
        """The entries with which the snapshots themselves added and deleted files."""
        for snapshot in snapshots:
            listed = self._manifests.manifests(self._io, snapshot)
            own = [one for one in listed if one.added_snapshot_id == snapshot.snapshot_id]
            yield from (entry for entry in self._entries(own) if entry.snapshot_id == snapshot.snapshot_id)

    def _entries(self, manifests: Iterable[ManifestFile]) -> Iterator[ManifestEntry]:
        return self._manifests.entries_of(self._io, manifests, self._metadata)


def _counts(row: Mapping[str, Any]) -> PartitionCounts:
    """A row of a file; counts that an older writer has left out are 0."""
    known = {name: value for name, value in row.items() if value is not None}
    return PartitionCounts(**known)
