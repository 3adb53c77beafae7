"""A table as one process reads and changes it, without Spark."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import quoted
from sqlext.command.batch_statement import unless_ran_before
from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.dml.row_write import commit_written
from sqlext.command.dml.write_mode import WriteMode, is_upsert
from sqlext.command.environment import Environment, StatementBatch
from sqlext.command.outcome import Counts
from sqlext.command.upsert.change_batch import row_kind_column
from sqlext.command.upsert.equality_columns import told_apart_by
from sqlext.command.upsert.input_changelog import stores_input
from sqlext.command.upsert.merge_rows import engine_of
from sqlext.command.upsert.upsert import require_upsertable
from sqlext.command.write_operation import WriteOperation
from sqlext.errors import AnalysisError, NotFoundError, UnsupportedError
from sqlext.local.constraint_check import with_violations
from sqlext.local.given_rows import GivenRows, arrow_rows, names_of, rows_for
from sqlext.local.keyed_write import replace_by_key
from sqlext.local.local_care import care_without_session
from sqlext.local.local_changes import changes_between
from sqlext.local.local_scan import columns_of, selected_rows, stored_fields
from sqlext.local.merged_write import merge_by_key
from sqlext.local.position_change import in_order
from sqlext.local.row_condition import every_row, row_condition
from sqlext.local.row_removal import delete_keys, delete_where
from sqlext.local.sessionless import NO_SESSION
from sqlext.local.stored_input import storing_input
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.spark.catalog.frame_options import WriteOptions
from sqlext.spark.catalog.session_catalogs import TableVersion, handle_of
from sqlext.spark.catalog.time_travel import travel
from sqlext.spark.query.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.spec.metadata.idempotent_batch import Batch, BatchRun, application_id, batch_version
from sqlext.spec.schema import Schema
from sqlext.sql.binding import resolve_column
from sqlext.sql.statements.statement import TableName
from sqlext.write.arrow_schema import as_filed, schema_to_arrow
from sqlext.write.task import write_rows

T = TypeVar("T")
Snapshot: TypeAlias = "int | str"
"""A snapshot's id, or the name of a branch or tag."""
Rows: TypeAlias = Any
"""Rows of PyArrow (a table, batch or reader), Polars or pandas, or a list of dictionaries."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, repr=False)
class LocalTable:
    """A table of a catalog, or of a folder. Each call works on its newest version; nothing is kept open.

    >>> import sqlext.local
    >>> lake = sqlext.local.open(folder)
    >>> orders = lake.create_table("CREATE TABLE db.orders (id BIGINT, buyer STRING, PRIMARY KEY (id))")
    >>> orders.append([{"id": 1, "buyer": "Ada"}, {"id": 2, "buyer": "Bo"}])
    2
    >>> orders.to_arrow(columns=["buyer"], where="id > 1").to_pylist()
    [{'buyer': 'Bo'}]
    """

    _environment: Environment
    _parts: tuple[str, ...]
    _by_path: LoadedTable | None = None

    def __repr__(self) -> str:
        return f"LocalTable({quoted(*self._parts)!r})"

    @property
    def name(self) -> str:
        """The name in the catalog, as `table` takes it, with its branch if it has one."""
        return quoted(*self._parts[1:])

    @property
    def schema(self) -> pa.Schema:
        """The columns of the newest version, as they are read."""
        return _shown(schema_to_arrow(self._version({}).schema))

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the primary key, those in structs with dots; empty without one."""
        schema = self._version({}).schema
        return tuple(schema.column_name(id) for id in schema.identifier_field_ids)

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        return dict(self._version({}).metadata.properties)

    def branch(self, name: str) -> LocalTable:
        """The table at a branch, which is read and written there."""
        if self._by_path is not None:
            raise UnsupportedError("PATH_TABLE_READ_ONLY", name=self.name)
        return replace(self, _parts=(*self._parts, f"branch_{name}"))

    # Reading

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        snapshot: Snapshot | None = None,
        as_of: datetime | None = None,
    ) -> pa.Table:
        """The rows, as one table in memory. See `to_batches`."""
        return self.to_batches(columns, where, snapshot=snapshot, as_of=as_of).read_all()

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        snapshot: Snapshot | None = None,
        as_of: datetime | None = None,
    ) -> pa.RecordBatchReader:
        """The rows, file by file as they are taken.

        `where` is a condition of SQL, which selects what it selects in Spark; what is not evaluated here is refused.
        `snapshot` or `as_of`, a time with a zone, select an earlier version.

        Raises AnalysisError UNRESOLVED_COLUMN.WITH_SUGGESTION, NotFoundError for a table or version that does not
        exist, ParseError, and UnsupportedError LOCAL_NEEDS_SPARK.
        """
        version = self._version(_place(snapshot, as_of, self.name))
        fields = stored_fields(version.schema)
        if columns is not None:
            fields = tuple(resolve_column(version.schema, name) for name in names_of(columns))
            missing = [one.name for one in fields if one not in stored_fields(version.schema)]
            if missing:
                reason = f"{', '.join(missing)} is of type unknown, and holds nulls alone"
                raise UnsupportedError("LOCAL_NEEDS_SPARK", what=f"Reading {self.name}", reason=reason)
        condition = every_row() if where is None else row_condition(where, version.schema)
        stored = columns_of(fields).shape(lineage=False, origins=False)
        shown = _shown(schema_to_arrow(Schema(fields)), stored)
        # Rows without any column are counted by one that is read.
        found = selected_rows(self._environment, version, condition, fields or stored_fields(version.schema)[:1])
        return pa.RecordBatchReader.from_batches(shown, (_as_shown(batch, shown) for batch in found))

    def to_polars(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        snapshot: Snapshot | None = None,
        as_of: datetime | None = None,
    ) -> Any:
        """The rows as a `polars.DataFrame`. See `to_batches`."""
        # Only this needs it, and it takes 100 ms to import.
        import polars as pl

        return pl.from_arrow(self.to_arrow(columns, where, snapshot=snapshot, as_of=as_of))

    def changes(
        self, start: Snapshot | datetime | None = None, end: Snapshot | datetime | None = None, *, net: bool = False
    ) -> pa.Table:
        """The changes after `start` up to `end`, each a snapshot's id, a branch or tag, or a time with a zone; by
        default from the beginning to the newest version.

        After the table's columns come `_change_type`, `_change_ordinal` and `_commit_snapshot_id`, as of SQL's
        `table_changes`. With `net` the difference of the two versions, instead of the changes of each snapshot.

        Raises NotFoundError, AnalysisError CHANGES_NOT_BEHIND or CHANGES_EXPIRED, and UnsupportedError
        LOCAL_NEEDS_SPARK.
        """
        places = [_at(one, self.name) for one in (start, end)]
        if self._by_path is None:
            handle, metadata = ChangeFeed(self._environment).table(self._parts)
        else:
            handle, metadata = handle_of(None, self._by_path), self._by_path.metadata
        return changes_between(self._environment, handle, metadata, places[0], places[1], net=net)

    def metadata(self, name: str) -> pa.Table:
        """A metadata table, such as `snapshots`, `files`, `history` or `partitions`, of the newest version.

        Raises NotFoundError TABLE_OR_VIEW_NOT_FOUND for another name.
        """
        table = METADATA_TABLES.get(name.lower())
        if table is None:
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=f"{self.name}.{name}")
        version = self._version({})
        location = version.handle.metadata_location
        state = TableState(version.io, version.metadata, location, version.snapshot, self._environment.scans.manifests)
        return table.rows(state)

    # Writing

    def append(self, rows: Rows, *, batch: tuple[str, int] | None = None) -> int:
        """Adds the rows in one commit, as INSERT does: into a table whose writes are upserts they are upserted.

        Columns are found by name; one that is not given has its default, or null. `batch`, an application's id and the
        number of its batch, makes the call idempotent. Returns the number of rows.

        Raises AnalysisError LOCAL_ROWS_REFUSED for columns that do not fit and INVALID_WRITE_OPTION for what is no
        batch, DataError for rows that break a rule of the table, and UnsupportedError LOCAL_NEEDS_SPARK.
        """

        def write(environment: Environment, target: Target) -> int:
            if is_upsert(target, WriteOptions(), overwrites=False):
                return _upsert(environment, target, self._rows(target, rows, by_key=True)).row()[0] or 0
            given = self._rows(target, rows, by_key=False).rows
            return _append(environment, target, given)

        return self._write(write, 0, batch)

    def upsert(
        self, rows: Rows, *, equality_field_columns: Sequence[str] = (), batch: tuple[str, int] | None = None
    ) -> Counts:
        """Replaces the stored row of each key by the given one, or merges them by the table's merge engine; in one
        commit. See `append`.

        `equality_field_columns` are the columns by which rows are told apart in a table without a primary key.
        Rows may have a further column `_row_kind` of `+I`, `-U`, `+U` or `-D`. Numbers of rows that are not known, as
        after equality deletes, are None.

        Raises as `append`, AnalysisError UPSERT_WITHOUT_KEY and INVALID_EQUALITY_COLUMNS, and DataError DUPLICATE_KEY
        for two rows of one key.
        """

        def write(environment: Environment, target: Target) -> Counts:
            target = told_apart_by(target, [(name,) for name in names_of(equality_field_columns)])
            require_upsertable(target)
            return _upsert(environment, target, self._rows(target, rows, by_key=True))

        return self._write(write, Counts(), batch)

    def delete(
        self, keys: Rows | None = None, *, where: str | None = None, batch: tuple[str, int] | None = None
    ) -> int:
        """Deletes the rows that match `where`, or those with one of `keys`, which are rows with the key's columns.
        Returns their number.

        `where` is as in `to_batches`; `where="true"` deletes all rows. Raises AnalysisError LOCAL_DELETE_REFUSED unless
        exactly one of both is given, and as `append`.
        """
        if isinstance(keys, str):
            raise AnalysisError("LOCAL_DELETE_REFUSED", table=self.name, found=f"a text in the place of keys, {keys!r}")
        if (keys is None) == (where is None):
            found = "neither keys nor a condition" if keys is None else "both keys and a condition"
            raise AnalysisError("LOCAL_DELETE_REFUSED", table=self.name, found=found)

        def remove(environment: Environment, target: Target) -> int:
            schema = target.table.metadata.schema()
            if where is not None:
                everything = where.strip().lower() == "true"
                condition = None if everything else row_condition(where, schema)
                return delete_where(environment, target, condition).deleted or 0
            require_upsertable(target, "name the rows by a condition")
            by_key = Schema(tuple(schema.field(id) for id in schema.identifier_field_ids))
            given = rows_for(keys, by_key, self.name)
            return delete_keys(environment, target, given.rows).deleted or 0

        return self._write(remove, 0, batch)

    # What the calls share

    def _write(self, change: Callable[[Environment, Target], T], skipped: T, batch: tuple[str, int] | None) -> T:
        """The result of `change`, which runs again after a conflict with what it has read; `skipped` if the table has
        the batch."""
        self._require_catalog()
        environment = _as_batch(self._environment, batch)

        def run(environment: Environment) -> T:
            target = load_target(environment, NO_SESSION, TableName(self._parts))
            done = change(environment, target)
            care_without_session(environment, target)
            return done

        def rerun(environment: Environment) -> T:
            return run_with_reruns(environment, self._parts, run)

        return unless_ran_before(environment, self._parts, rerun, skipped)

    def _rows(self, target: Target, rows: Rows, *, by_key: bool) -> GivenRows:
        """The rows in the table's columns. Raises as `rows_for`, and as `row_kind_column` if `by_key`."""
        schema = target.table.metadata.schema()
        given = arrow_rows(rows, schema, self.name)
        kinds = by_key and row_kind_column(target, given.column_names) is not None
        return rows_for(given, schema, self.name, with_kinds=kinds)

    def _require_catalog(self) -> None:
        if self._by_path is not None:
            raise UnsupportedError("PATH_TABLE_READ_ONLY", name=self.name)

    def _version(self, at: Mapping[str, Any]) -> TableVersion:
        catalogs = self._environment.catalogs
        if self._by_path is not None:
            handle = travel(handle_of(None, self._by_path), self._by_path.metadata, at)
            return catalogs.version(handle)
        place, table = catalogs.locate(self._parts)
        if place.metadata_table is not None:
            raise AnalysisError("PLACE_READ_ONLY", name=self.name)
        handle = place.seen_by(handle_of(self._parts[0], table))
        return catalogs.version(travel(handle, table.metadata, {**place.at, **at}))


def _append(environment: Environment, target: Target, rows: pa.Table) -> int:
    def write(operation: WriteOperation) -> WrittenFiles:
        checked = with_violations(in_order(rows, target.table.metadata), operation.plan)
        return write_on_driver(checked, write_rows(operation.plan, task_identity=task_identity))

    return commit_written(environment, NO_SESSION, target, WriteMode("append"), write)


def _upsert(environment: Environment, target: Target, given: GivenRows) -> Counts:
    def write(target: Target) -> Counts:
        engine = engine_of(target)
        if engine is not None:
            return merge_by_key(environment, target, engine, given)
        return replace_by_key(environment, target, given)

    return storing_input(environment, target, given, write) if stores_input(target) else write(target)


def _as_batch(environment: Environment, batch: tuple[str, int] | None) -> Environment:
    """The environment of a statement that is a batch. Raises AnalysisError INVALID_WRITE_OPTION."""
    if batch is None:
        return environment
    if not isinstance(batch, tuple) or len(batch) != 2:
        reason = "it must be an application's id and the number of its batch, as (id, number)"
        raise AnalysisError("INVALID_WRITE_OPTION", option="batch", value=batch, reason=reason)
    try:
        known = Batch(application_id(batch[0]), batch_version(str(batch[1])))
    except ValueError as allowed:
        reason = f"it must have {allowed}"
        raise AnalysisError("INVALID_WRITE_OPTION", option="batch", value=batch, reason=reason) from None
    run = str(uuid.UUID(int=environment.rng.getrandbits(128), version=4))
    return replace(environment, batch=StatementBatch(BatchRun(known, run, environment.clock())))


def _place(snapshot: Snapshot | None, as_of: datetime | None, name: str) -> Mapping[str, Any]:
    if snapshot is not None and as_of is not None:
        raise AnalysisError("TIME_TRAVEL_TWICE", name=name)
    return _at(snapshot if as_of is None else as_of, name)


def _at(place: Snapshot | datetime | None, name: str) -> Mapping[str, Any]:
    """The place as `travel` takes it. Raises AnalysisError LOCAL_TIME_WITHOUT_ZONE."""
    if place is None:
        return {}
    if isinstance(place, datetime):
        if place.tzinfo is None:
            raise AnalysisError("LOCAL_TIME_WITHOUT_ZONE", name=name, time=place)
        return {"at_timestamp": str((place - _EPOCH) // (_EPOCH.resolution * 1000))}
    return {"version": str(place)}


def _shown(filed: pa.Schema, stored: pa.Schema | None = None) -> pa.Schema:
    """The columns as callers see them: uuids as such, and no field ids."""
    shown = as_filed(filed)
    return pa.schema([pa.field(one.name, one.type, one.nullable) for one in shown])


def _as_shown(batch: pa.RecordBatch, shown: pa.Schema) -> pa.RecordBatch:
    if not len(shown):
        return batch.select([])
    columns = [
        column.cast(field.type) if column.type != field.type else column
        for column, field in zip(batch.columns, shown, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=shown)
