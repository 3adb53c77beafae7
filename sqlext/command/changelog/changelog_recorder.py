"""Recorders of changelogs, for tables with `changelog-producer`.

A commit's changes are computed from its staged snapshot and the parent, so they are correct whatever was committed
before. A snapshot that only adds files has no changelog: its files are its changes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.changelog.few_changes import few_changes
from sqlext.command.changelog.full_compaction import last_told
from sqlext.command.environment import Environment
from sqlext.command.write_operation import begin_write
from sqlext.command.writing import write_by
from sqlext.commit.action import StagedChange
from sqlext.commit.snapshot.changelog_storage import remove_changelog, write_changelog_manifests
from sqlext.properties import CHANGELOG_PRODUCER
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.query.write_job import WriteTask, WrittenFiles, task_identity, write_on_driver
from sqlext.spec.metadata.metadata_update import apply_updates
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import (
    CHANGELOG_ID,
    FULL_COMPACTION,
    LOOKUP,
    StoredChangelog,
    can_store_changes,
    changelog_table,
)
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.lowering.changes import lower_changes, lower_kinds
from sqlext.storage.file_io import FileIO
from sqlext.write.task import write_rows

_CHANGING = ("overwrite", "delete")


@dataclass(frozen=True, slots=True)
class LookupRecorder:
    """A `Recorder` of each commit's changes, with the rows before them (`changelog-producer` = `lookup`)."""

    environment: Environment
    spark: SparkSession
    catalog: str
    table: LoadedTable

    def record(self, change: StagedChange, snapshot: Snapshot) -> Mapping[str, str]:
        if snapshot.operation not in _CHANGING:
            return {}
        remembered = self.environment.catalogs.remembered
        metadata = apply_updates(change.start, change.updates, now_ms=self.environment.clock())
        # The snapshot is in no metadata file yet, so scans find it by a unique name.
        name = str(uuid.UUID(int=self.environment.rng.getrandbits(128), version=4))
        location = f"{self.table.metadata_location.rpartition('/')[0]}/{name}.metadata.json"
        remembered.keep_pending(location, metadata)
        try:
            staged = LoadedTable(self.table.identifier, metadata, location)
            parent = snapshot.parent_snapshot_id
            before = None if parent is None else metadata.snapshot_or_none(parent)
            id = _store_difference(self.environment, self.spark, self.catalog, staged, before, snapshot)
        finally:
            remembered.release_pending(name)
        return StoredChangelog(id, LOOKUP).summary()

    def discard(self, entries: Mapping[str, str]) -> None:
        _discard(self.environment, self.catalog, self.table, entries)


class CompactionRecorder:
    """A `Recorder` of the net changes after the last full compaction up to the snapshot `until`, which is compacted.

    They are computed once, for all attempts of the commit.
    """

    def __init__(
        self, environment: Environment, spark: SparkSession, catalog: str, table: LoadedTable, until: Snapshot
    ) -> None:
        self._environment = environment
        self._spark = spark
        self._catalog = catalog
        self._table = table
        self._until = until
        self._entries: Mapping[str, str] | None = None

    def record(self, change: StagedChange, snapshot: Snapshot) -> Mapping[str, str]:
        if self._entries is None:
            metadata, until = self._table.metadata, self._until
            start = last_told(metadata, until)
            before = metadata.snapshot_or_none(start)
            id = _store_difference(self._environment, self._spark, self._catalog, self._table, before, until)
            self._entries = StoredChangelog(id, FULL_COMPACTION, (start, until.snapshot_id)).summary()
        return self._entries

    def discard(self, entries: Mapping[str, str]) -> None:
        _discard(self._environment, self._catalog, self._table, entries)


def _store_difference(
    environment: Environment,
    spark: SparkSession,
    catalog: str,
    table: LoadedTable,
    before: Snapshot | None,
    after: Snapshot,
) -> str:
    """Stores the changes between two snapshots; returns the changelog's id."""
    schema, name, handle = table.metadata.schema(), str(table.identifier), handle_of(catalog, table)
    io = environment.catalogs.catalog(catalog).io
    likely = _likely_rows(after) if before is not None and before.snapshot_id == after.parent_snapshot_id else None
    most = environment.planning.thresholds.changelog_rows
    many = likely is not None and likely > most
    found = None if many else few_changes(environment, handle, before, after, most)
    if found is not None:
        return store_changelog(environment, io, table.metadata, name, partial(write_on_driver, found))
    step = ChangeFeed(environment).step(handle, before, after, 0)
    rows = lowered_query(spark, lower_kinds(lower_changes([step], schema), schema))
    return write_changelog(environment, io, table.metadata, name, rows, likely)


def _discard(environment: Environment, catalog: str, table: LoadedTable, entries: Mapping[str, str]) -> None:
    remove_changelog(environment.catalogs.catalog(catalog).io, table.metadata, entries[CHANGELOG_ID])


def recorder_of(
    environment: Environment, spark: SparkSession, catalog: str, table: LoadedTable
) -> LookupRecorder | None:
    """The recorder of the table's commits; None unless `changelog-producer` is `lookup`."""
    metadata = table.metadata
    if CHANGELOG_PRODUCER.of(metadata.properties) != LOOKUP or not can_store_changes(metadata):
        return None
    return LookupRecorder(environment, spark, catalog, table)


def write_changelog(
    environment: Environment, io: FileIO, metadata: TableMetadata, name: str, rows: DataFrame, likely: int | None = None
) -> str:
    """Stores rows with the table's columns followed by `ROW_KIND`; returns the changelog's id.

    `name` is the table's, `likely` the expected number of rows, if known. All files are removed if it fails.
    """

    most = environment.planning.thresholds.changelog_rows
    writer = environment.planning.writer(most if likely is not None and likely <= most else 0)

    def write(task: WriteTask) -> WrittenFiles:
        return write_by(writer, rows, task, lambda spread: spread)

    return store_changelog(environment, io, metadata, name, write)


def store_changelog(
    environment: Environment,
    io: FileIO,
    metadata: TableMetadata,
    name: str,
    write: Callable[[WriteTask], WrittenFiles],
) -> str:
    """Stores what `write` writes with the task: rows with the table's columns followed by `ROW_KIND`; returns the
    changelog's id. All files are removed if it fails."""
    operation = begin_write(changelog_table(metadata), io, name, environment.rng)
    with operation.cleaned_on_failure():
        written = write(write_rows(operation.plan, task_identity=task_identity))
        write_changelog_manifests(operation.io, metadata, operation.plan.operation_id, written.data_files)
    return operation.plan.operation_id


def _likely_rows(snapshot: Snapshot) -> int | None:
    """The number of changes by the snapshot's summary; None with equality deletes, whose rows are not counted."""
    summary = snapshot.summary
    if summary.get("added-equality-deletes", "0") != "0":
        return None
    told = (summary.get(name, "0") for name in ("added-records", "deleted-records", "added-position-deletes"))
    return sum(int(text) if text.isdecimal() else 0 for text in told)
