"""What processes do: statements with a plan against the real transaction layer, and with a meaning of their own.

`apply` says what rows a statement leaves of those it finds; it is what the rows of a landed snapshot are held to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from pyroaring import BitMap64

from simulator.files import Row, data_file, deleted_ids, equality_deletes, position_deletes, stored_rows
from simulator.world import Process
from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.compaction import RewriteFiles
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.actions.manifest_rewrite import RewriteManifests
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.actions.table_creation import CreateTable, ReplaceTable
from sqlext.commit.loop.transaction import commit
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import SqlextError, StaleRead
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue, In
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_origins import OriginRuns, RowOrigins, row_origins
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import AddColumn
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import LongType, NestedField, StringType

Rows: TypeAlias = Counter[Row]
Metadata: TypeAlias = Mapping[str, Any]

STATEMENT = "simulated-statement"
"""Key of a snapshot's summary: the statement that made it."""
SCHEMA = Schema(
    (NestedField(1, "id", LongType(), required=True), NestedField(2, "text", StringType())),
    identifier_field_ids=(1,),
)
UNPARTITIONED = PartitionSpec(0, ())
_RERUNS = 4


@dataclass
class Statement:
    """One statement of one process. `landed` counts the versions of tables that hold it, `landed_in` is
    the last one's uuid. `was_unknown`: of one of its commits at least nobody knew the outcome, so that files may stay.
    """

    name: str
    table: TableIdentifier
    landed: int = 0
    landed_in: str | None = None
    outcome: str = "not begun"
    error: Exception | None = None
    was_unknown: bool = False

    def run(self, process: Process) -> None:
        """Errors as of the statement itself."""
        raise NotImplementedError

    def apply(self, rows: Rows) -> Rows:
        """The rows it leaves."""
        return rows

    def branch(self) -> str | None:
        """The branch whose head it moves."""
        return None

    def may_change(self) -> frozenset[str]:
        """Of a table's metadata: what is not the same afterwards, beside snapshots and the branch."""
        return frozenset()

    def _at_head(self, process: Process) -> tuple[LoadedTable, Snapshot] | None:
        """The table, and the head of main if it has one."""
        base = process.catalog.load_table(self.table)
        head = base.metadata.current_snapshot()
        return None if head is None else (base, head)

    def _commit(self, process: Process, action: Action, base: LoadedTable | None) -> None:
        branch = self.branch()
        tag = ((STATEMENT, self.name),)
        destination = MAIN if branch is None else Destination(branch, summary=tag)
        commit(
            process.catalog,
            self.table,
            action,
            base=base,
            destination=destination,
            clock=process.clock,
            rng=process.rng,
            sleep=process.sleep,
            manifests=process.manifests,
            queue=process.queue,
        )

    def __str__(self) -> str:
        return f"{self.name}: {type(self).__name__} {self.table.name}"


@dataclass
class Change(Statement):
    """A change of the rows of some ids; `kind` is append, delete, update, merge, upsert or copy."""

    kind: str = "append"
    ids: frozenset[int] = frozenset()
    on: str = "main"

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} {sorted(self.ids)} of {self.table.name} on {self.on}"

    def branch(self) -> str | None:
        return self.on

    def run(self, process: Process) -> None:
        """Again, from its start, when others have changed what it read."""
        for run in range(_RERUNS):
            base = process.catalog.load_table(self.table)
            files = Files(process, f"{self.name}-{run}")
            with files.removed_on_error():
                action = self.planned(process, base, files)
            try:
                self._commit(process, action, base)
                return
            except StaleRead:
                if run + 1 == _RERUNS:
                    raise

    def apply(self, rows: Rows) -> Rows:
        hit = Counter({row: count for row, count in rows.items() if row[0] in self.ids})
        added: Rows = Counter()
        if self.kind in ("update", "copy", "merge"):
            added = Counter({(id, text + self.name): count for (id, text), count in hit.items()})
        if self.kind == "merge":
            added += Counter({(id, self.name): 1 for id in self.ids - {id for id, _ in hit}})
        if self.kind in ("append", "upsert"):
            added = Counter({(id, self.name): 1 for id in sorted(self.ids)})
        return rows - (Counter() if self.kind == "append" else hit) + added

    def planned(self, process: Process, base: LoadedTable, files: Files) -> Action:
        """The change, of the table as it is at `base`."""
        metadata = base.metadata
        head = metadata.head(self.on)
        since = None if head is None else head.snapshot_id
        if self.kind == "append":
            return AppendFiles([files.data(base, self.apply(Counter()))])
        if self.kind == "upsert":
            rows = files.data(base, self.apply(Counter()))
            return RowDelta([rows], [files.equality(base, sorted(self.ids))], base_snapshot_id=since)
        live, stored = live_rows(process, base, self.on)
        hit = {path: _chosen(stored[path], at, self.ids) for path, at in live.items()}
        hit = {path: at for path, at in hit.items() if at}
        before = Counter(stored[path][1][at] for path, positions in hit.items() for at in positions)
        new = self.apply(before)
        read = In(1, self.ids)
        if self.kind == "copy":
            kept = Counter(stored[path][1][at] for path in hit for at in live[path] - hit[path])
            replaced = [stored[path][0] for path in hit]
            added = [files.data(base, new + kept)] if new + kept else []
            return OverwriteFiles(added, deleted_files=replaced, base_snapshot_id=since, read_filter=read)
        in_files = metadata.format_version == 2
        return RowDelta(
            [files.data(base, new)] if new else [],
            [files.positions(base, path, at) for path, at in hit.items()] if in_files else (),
            frozenset(hit),
            base_snapshot_id=since,
            read_filter=None if self.kind == "merge" else read,
            unique_key=(1,) if self.kind == "merge" else (),
            deleted_rows={path: DeletedRows(0, (), at) for path, at in hit.items()},
        )


@dataclass
class Convert(Statement):
    """Equality deletes become deletes by position; no row changes."""

    def branch(self) -> str | None:
        return "main"

    def run(self, process: Process) -> None:
        found = self._at_head(process)
        if found is None:
            return
        base, head = found
        plan = plan_scan(process.io, base.metadata, head, AlwaysTrue(), manifests=process.manifests)
        equality = {one.file.file_path: one.file for group in plan.equality_groups for one in group.files}
        if not equality:
            return
        files = Files(process, self.name)
        with files.removed_on_error():
            by_position, _ = live_rows(process, base, "main", equality=False)
            live, _ = live_rows(process, base, "main")
            hit = {path: at - live[path] for path, at in by_position.items() if at - live[path]}
            in_files = base.metadata.format_version == 2
            action = RewriteDeleteFiles(
                list(equality.values()),
                head.snapshot_id,
                [files.positions(base, path, at) for path, at in hit.items()] if in_files else (),
                {} if in_files else {path: DeletedRows(0, (), at) for path, at in hit.items()},
                frozenset(hit),
            )
        self._commit(process, action, base)


@dataclass
class Compact(Statement):
    """Some data files become one or two; no row changes."""

    def branch(self) -> str | None:
        return "main"

    def run(self, process: Process) -> None:
        found = self._at_head(process)
        if found is None:
            return
        base, head = found
        live, stored = live_rows(process, base, "main")
        if not live:
            return
        chosen = process.rng.sample(sorted(live), process.rng.randint(1, len(live)))
        cut = process.rng.randint(0, len(chosen))
        files = Files(process, self.name)
        added: list[ContentFile] = []
        origins: dict[str, RowOrigins] = {}

        def write_deletes(rows: Mapping[str, DeletedRows]) -> Sequence[ContentFile]:
            return [files.positions(base, path, one.positions) for path, one in rows.items()]

        with files.removed_on_error():
            for part in (chosen[:cut], chosen[cut:]):
                # As `files.data` sorts the rows.
                rows = sorted(
                    (stored[path][1][at], number, at) for number, path in enumerate(part) for at in live[path]
                )
                if rows:
                    runs = OriginRuns()
                    runs.add(np.array([number for _, number, _ in rows]), np.array([at for _, _, at in rows]))
                    added.append(files.data(base, Counter(row for row, _, _ in rows)))
                    origins[added[-1].file_path] = row_origins(runs.packed(), dict(enumerate(part)))
            replaced = [stored[path][0] for path in chosen]
            action = RewriteFiles(replaced, added, head.sequence_number, head.snapshot_id, origins, write_deletes)
        self._commit(process, action, base)


@dataclass
class RewriteOfManifests(Statement):
    """The files of the table come into other manifests; no row changes."""

    def branch(self) -> str | None:
        return "main"

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        self._commit(process, RewriteManifests(base.metadata.default_spec_id), base)


@dataclass
class SetProperty(Statement):
    """Sets a property; the last writer wins."""

    key: str = ""
    value: str = ""

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        self._commit(process, ChangeProperties({self.key: self.value}), base)

    def may_change(self) -> frozenset[str]:
        return frozenset((f"property {self.key}",))


@dataclass
class AddOneColumn(Statement):
    """Adds a column of its own name."""

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        column = AddColumn((f"c_{self.name.replace('.', '_')}",), StringType())
        self._commit(process, ChangeSchema((column,)), base)

    def may_change(self) -> frozenset[str]:
        return frozenset(("schemas", "current-schema-id", "last-column-id"))


@dataclass
class MakeBranch(Statement):
    """Makes a branch or a tag at the head of main."""

    ref: str = ""
    type: str = "branch"

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        self._commit(process, CreateReference(self.ref, self.type), base)  # type: ignore[arg-type]

    def may_change(self) -> frozenset[str]:
        return frozenset((f"reference {self.ref}",))


@dataclass
class Create(Statement):
    """Makes the table, with a first row or without."""

    with_row: bool = False
    format_version: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)

    def branch(self) -> str | None:
        return "main"

    def run(self, process: Process) -> None:
        location = process.catalog.default_table_location(self.table)
        files = Files(process, self.name)
        initial = None
        if self.with_row:
            with files.removed_on_error():
                initial = AppendFiles([files.data_in(location, self.apply(Counter()))])
        action = CreateTable(SCHEMA, UNPARTITIONED, UNSORTED, self.properties, self.format_version, location, initial)
        self._commit(process, action, None)

    def apply(self, rows: Rows) -> Rows:
        return Counter({(0, self.name): 1}) if self.with_row else Counter()


@dataclass
class Replace(Statement):
    """Gives the table new content: one row, or none."""

    with_row: bool = False

    def branch(self) -> str | None:
        return "main"

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        files = Files(process, self.name)
        initial = None
        if self.with_row:
            with files.removed_on_error():
                initial = AppendFiles([files.data(base, self.apply(Counter()))])
        properties = dict(base.metadata.properties)
        schema = base.metadata.schema()
        action = ReplaceTable(schema, UNPARTITIONED, UNSORTED, properties, base.metadata.format_version, "", initial)
        self._commit(process, action, base)

    def apply(self, rows: Rows) -> Rows:
        return Counter({(0, self.name): 1}) if self.with_row else Counter()

    def may_change(self) -> frozenset[str]:
        return frozenset(("schemas", "current-schema-id", "last-column-id", "properties"))


@dataclass
class Drop(Statement):
    """Drops the table. Without an answer nobody knows whether it has."""

    def run(self, process: Process) -> None:
        process.catalog.drop_table(self.table, purge=False)


@dataclass
class Read(Statement):
    """Reads the head of main, which must be what it is in the history, and stay so."""

    found: Rows | None = None
    snapshot_id: int | None = None

    def run(self, process: Process) -> None:
        base = process.catalog.load_table(self.table)
        live, stored = live_rows(process, base, "main")
        self.snapshot_id = base.metadata.current_snapshot_id
        self.found = Counter(stored[path][1][at] for path, positions in live.items() for at in positions)


class Files:
    """Content files that one run of a statement writes, gone if it ends before its commit."""

    def __init__(self, process: Process, prefix: str) -> None:
        self._process = process
        self._prefix = prefix
        self._paths: list[str] = []

    def removed_on_error(self) -> _Removal:
        return _Removal(self._process, self._paths)

    def data(self, table: LoadedTable, rows: Rows) -> ContentFile:
        return self.data_in(table.metadata.location, rows)

    def data_in(self, table_location: str, rows: Rows) -> ContentFile:
        return data_file(self._process.io, self._next(table_location), sorted(rows.elements()))

    def equality(self, table: LoadedTable, ids: list[int]) -> ContentFile:
        return equality_deletes(self._process.io, self._next(table.metadata.location), ids)

    def positions(self, table: LoadedTable, path: str, positions: BitMap64) -> ContentFile:
        return position_deletes(self._process.io, self._next(table.metadata.location), path, list(positions))

    def _next(self, table_location: str) -> str:
        self._paths.append(f"{table_location}/data/{self._prefix}-{len(self._paths)}.parquet")
        return self._paths[-1]


class _Removal:
    def __init__(self, process: Process, paths: list[str]) -> None:
        self._process = process
        self._paths = paths

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None:
            return
        for path in self._paths:
            try:
                self._process.io.delete(path)
            except SqlextError:
                continue


Live: TypeAlias = dict[str, BitMap64]
Stored: TypeAlias = dict[str, tuple[ContentFile, list[Row]]]


def live_rows(process: Process, table: LoadedTable, ref: str, *, equality: bool = True) -> tuple[Live, Stored]:
    """Positions of live rows by data file, as sqlext's own scan plans them; `equality` deletes may be left out."""
    return live_rows_at(process, table.metadata, table.metadata.head(ref), equality=equality)


def live_rows_at(
    process: Process, metadata: TableMetadata, snapshot: Snapshot | None, *, equality: bool = True
) -> tuple[Live, Stored]:
    """The same of a snapshot."""
    plan = plan_scan(process.io, metadata, snapshot, AlwaysTrue(), manifests=process.manifests)
    live, stored = {}, {}
    for task in plan.tasks:
        rows = stored_rows(process.io, task.file.file_path)
        gone = BitMap64() if task.position_deletes is None else BitMap64.deserialize(task.position_deletes)
        keys = {
            id
            for number in task.equality_groups
            for one in plan.equality_groups[number].files
            if equality and one.sequence_number > task.sequence_number
            for id in deleted_ids(process.io, one.file.file_path)
        }
        live[task.file.file_path] = BitMap64(at for at, (id, _) in enumerate(rows) if at not in gone and id not in keys)
        stored[task.file.file_path] = task.file, rows
    return live, stored


def _chosen(stored: tuple[ContentFile, list[Row]], live: BitMap64, ids: frozenset[int]) -> BitMap64:
    return BitMap64(at for at in live if stored[1][at][0] in ids)
