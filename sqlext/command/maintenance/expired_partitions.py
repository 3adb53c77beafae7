"""Removal of partitions whose time is long ago, by the properties `partition.expiration-*` (Paimon's names)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import SparkSession

from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_level import Target, commit_change, load_target
from sqlext.command.environment import Environment
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.loop.conflict import SNAPSHOT
from sqlext.commit.rules.retention_rules import PartitionRetention, partition_retention
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.statements.statement import TableName

_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ExpiredPartition:
    """A partition as in its path, such as `day=2026-01-01/region=eu`, its time in UTC as in `PartitionTime.until`, and
    its data files."""

    path: str
    time: datetime
    entries: Sequence[ManifestEntry]


def expire_partitions(
    environment: Environment, spark: SparkSession, name: TableName, asked: PartitionRetention | None = None
) -> Sequence[str]:
    """Removes the partitions that are expired by `asked`, or by the table's properties; returns their paths, the oldest
    first. Nothing is removed if neither says anything.

    If another commit changes one of them meanwhile, they are looked for again. Raises AnalysisError INVALID_RETENTION.
    """
    return run_with_reruns(environment, name.parts, lambda again: _expire(again, spark, name, asked))


def _expire(
    environment: Environment, spark: SparkSession, name: TableName, asked: PartitionRetention | None
) -> Sequence[str]:
    target = load_target(environment, spark, name)
    metadata, snapshot = target.table.metadata, target.version.snapshot
    retention = asked or partition_retention(metadata.spec(), metadata.properties, str(name))
    if retention is None or snapshot is None:
        return ()
    expired = expired_partitions(environment, target, retention)[: retention.most]
    if expired:
        files = [entry.file for partition in expired for entry in partition.entries]
        action = OverwriteFiles(deleted_files=files, base_snapshot_id=snapshot.snapshot_id, isolation=SNAPSHOT)
        commit_change(environment, target, action)
    return [partition.path for partition in expired]


def expired_partitions(
    environment: Environment, target: Target, retention: PartitionRetention
) -> Sequence[ExpiredPartition]:
    """The expired partitions, the oldest first; those that tell no time are none."""
    metadata = target.table.metadata
    partitions: dict[PartitionKey, list[ManifestEntry]] = defaultdict(list)
    for entry in environment.scans.live_entries(target.version):
        if entry.file.content == Content.DATA:
            partitions[partition_key(entry.file)].append(entry)
    try:
        before = _EPOCH + timedelta(milliseconds=environment.clock() - retention.age_ms)
    except OverflowError:
        return []
    updated = _snapshot_times(metadata) if retention.time is None else {}
    schemas, specs = (metadata.schema(), *reversed(metadata.schemas)), metadata.specs_by_id()
    expired = []
    for entries in partitions.values():
        spec, values = specs[entries[0].file.spec_id], entries[0].file.partition
        told = spec.told_values(schemas, values)
        transforms = {field.name: field.transform for field in spec.fields}
        time = None if retention.time is None else retention.time.until(told, transforms)
        if retention.time is None:
            time = _EPOCH + timedelta(milliseconds=_last_update_ms(metadata, updated, entries))
        if time is not None and time < before:
            path = "/".join(f"{field}={'null' if text is None else text}" for field, text in told.items())
            expired.append(ExpiredPartition(path, time, entries))
    return sorted(expired, key=lambda partition: (partition.time, partition.path))


def _snapshot_times(metadata: TableMetadata) -> Mapping[int, int]:
    return {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in metadata.snapshots}


def _last_update_ms(metadata: TableMetadata, times: Mapping[int, int], entries: Sequence[ManifestEntry]) -> int:
    """When a file was last added. A snapshot that is not known any more is older than the oldest one that is."""
    oldest_ms = min(times.values(), default=metadata.last_updated_ms)
    return max(times.get(entry.snapshot_id or 0, oldest_ms) for entry in entries)
