"""Commands without a session: the environment of one process, over a folder that Spark knows as the catalog `lake`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap64

from small_tables import Clock, rows_of, with_namespace
from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.command.care_tasks import CareTasks
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.row_level import Target, commit_change, load_target, row_delta
from sqlext.command.ddl.table_definition import define_table
from sqlext.command.dml.literal_insert import append_literals
from sqlext.command.environment import Environment
from sqlext.command.upsert.equality import upsert_given
from sqlext.command.write_operation import begin_write
from sqlext.commit.action import MAIN, Action, CommitContext, Destination, StagedChange
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.transaction import commit
from sqlext.errors import SqlextError
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.query.write_job import WrittenFiles
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.metadata_update import RemoveSnapshots
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import TableName
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.merged_file import merge_data_files

NAMESPACE = ("db",)


def read(text: str) -> Any:
    """The statement, in a session whose current namespace is `lake.db`."""
    return parse(text, catalogs=("lake",), current=("lake", *NAMESPACE))


class Lake:
    """The catalog `lake` with the namespace `db`, and what every command of a process works with."""

    def __init__(
        self,
        folder: Path,
        io: LocalFileIO | None = None,
        options: Mapping[str, str] | None = None,
        undrop_retention_ms: int = 0,
        seed: int = 1,
        catalog: Catalog | None = None,
    ) -> None:
        """`seed` tells environments of one folder apart, as ids of their operations come of it. `catalog` takes the
        place of one of `folder`."""
        self.catalog = catalog or WarehouseCatalog(
            "lake", str(folder), io or LocalFileIO(), undrop_retention_ms=undrop_retention_ms
        )
        with_namespace(self.catalog, NAMESPACE)
        opened = OpenCatalogs(lambda name, given: self.catalog)
        opened.initialize("lake", options or {})
        catalogs = Catalogs(opened, RememberedMetadata(), self.catalog.io)
        self.clock = Clock()
        rng = random.Random(seed)
        self.queue = AttemptQueue()
        self.environment = Environment(
            catalogs,
            ScanBridge(catalogs, ManifestCache(), PositionDeleteCache()),
            clock=self.clock,
            rng=rng,
            sleep=self.clock.sleep,
            transactions=OpenTransactions(catalogs, rng),
            queue=self.queue,
            groups=GroupCommitters(
                clock=self.clock, rng=rng, sleep=self.clock.sleep, queue=self.queue, merge=merge_data_files
            ),
            care=CareTasks(self.clock),
        )

    def create(self, text: str) -> LoadedTable:
        """Makes the empty table that a CREATE TABLE without DEFAULT and CHECK says."""
        statement = read(text)
        definition = define_table(statement, None, "TIMESTAMP_LTZ", _no_default)
        identifier = TableIdentifier(statement.name.parts[1:-1], statement.name.table)
        action = CreateTable(
            schema=definition.schema,
            spec=definition.spec,
            sort_order=definition.sort_order,
            properties=definition.properties,
            format_version=definition.format_version,
            location=self.catalog.default_table_location(identifier),
        )
        return commit(self.catalog, identifier, action, base=None, clock=self.clock, rng=self.environment.rng).table

    def load(self, table: str = "t") -> LoadedTable:
        return self.environment.catalogs.load(("lake", *NAMESPACE, table))

    def target(self, table: str = "t", *place: str) -> Target:
        """The table, or with `place` a branch of it, as a statement changes it."""
        return load_target(self.environment, None, name(table, *place))

    def commit(self, action: Action, table: str = "t", destination: Destination = MAIN) -> LoadedTable:
        return self.environment.commit("lake", self.load(table), action, destination).table

    def expire(self, *snapshot_ids: int, table: str = "t") -> LoadedTable:
        """Removes snapshots, as another engine does it; their files stay."""
        return self.commit(_Expiry(snapshot_ids), table)

    def append(self, table: str = "t", *place: str, **columns: Sequence[Any]) -> LoadedTable:
        """Adds rows, in one commit and a file for each partition."""
        target = self.target(table, *place)
        append_literals(self.environment, None, target, rows_for(target, **columns))
        return self.load(table)

    def upsert(self, table: str = "t", **columns: Sequence[Any]) -> LoadedTable:
        """Replaces rows by equality deletes of their keys."""
        target = self.target(table)
        upsert_given(self.environment, target, rows_for(target, **columns))
        return self.load(table)

    def delete(self, positions: Mapping[str, Sequence[int]], table: str = "t") -> LoadedTable:
        """Deletes rows at positions of data files."""
        target = self.target(table)
        operation = begin_write(target.written_as, target.version.io, table, self.environment.rng)
        written = WrittenFiles(positions={path: BitMap64(rows) for path, rows in positions.items()})
        delta = row_delta(self.environment, target, operation, written, read_set=ReadSet(), isolation="serializable")
        assert delta is not None
        commit_change(self.environment, target, delta)
        return self.load(table)

    def tasks(self, table: str = "t") -> Sequence[FileScanTask]:
        """All data files with live rows, oldest first."""
        version = self.target(table).version
        return sorted(self.environment.scans.plan(version, AlwaysTrue()).tasks, key=_age)

    def files(self, table: str = "t") -> list[ContentFile]:
        """All data files with live rows, oldest first."""
        return [task.file for task in self.tasks(table)]

    def rows(self, table: str = "t") -> list[tuple[Any, ...]]:
        """All live rows in the table's columns, as far as their files have these; sorted by what they look like."""
        loaded = self.load(table)
        names = [field.name for field in loaded.metadata.schema().fields]
        return sorted((tuple(row[name] for name in names if name in row) for row in rows_of(loaded)), key=repr)


@dataclass(frozen=True, slots=True)
class _Expiry:
    ids: tuple[int, ...]

    def begin(self, context: CommitContext) -> _Expiry:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        assert base is not None
        return StagedChange(base, (RemoveSnapshots(self.ids),), (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


@contextmanager
def refused(condition: str, *said: str) -> Iterator[pytest.ExceptionInfo[SqlextError]]:
    """The block ends in an error of this condition, whose message has these parts."""
    with pytest.raises(SqlextError) as caught:
        yield caught
    assert caught.value.condition == condition, caught.value
    assert all(part in str(caught.value) for part in said), caught.value


def name(table: str = "t", *place: str) -> TableName:
    return TableName(("lake", *NAMESPACE, table, *place))


def rows_for(target: Target, **columns: Sequence[Any]) -> pa.Table:
    """Rows in the target's columns; one that is not given is null."""
    arrow = schema_to_arrow(target.table.metadata.schema())
    count = len(next(iter(columns.values())))
    arrays = [pa.array(columns.get(field.name, [None] * count), field.type) for field in arrow]
    return pa.table(arrays, schema=arrow)


def _age(task: FileScanTask) -> tuple[int, int]:
    """Format version 1 has no sequence numbers."""
    return task.sequence_number, Path(to_local_path(task.file.file_path)).stat().st_mtime_ns


def _no_default(field: Any, text: str) -> Any:
    raise NotImplementedError("Spark computes a DEFAULT")
