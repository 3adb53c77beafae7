"""Scan planning for the shim, as JSON: files, deletes, and estimates for the optimiser."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType as SparkStruct

from sqlext.errors import OnlyByQuery
from sqlext.scan.deletes.delete_file_index import sequence_number
from sqlext.scan.deletes.live_deletes import EqualityDeletes, LiveDeletes, live_deletes
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.equality_delete_effects import ApplicableEqualityDeletes, applicable_equality_deletes
from sqlext.scan.files.byte_cache import ByteCache
from sqlext.scan.files.file_columns import FileColumnsCache, Reading, all_by_field_id
from sqlext.scan.files.manifest_cache import ManifestCache, data_file_count
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.first_rows import FirstRows, tasks_of_first_rows
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.scan.resolved_keys import ResolvedKeys, can_resolve, has_few_files
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, plan_scan
from sqlext.spark.catalog.arrow_types import to_arrow_schema
from sqlext.spark.catalog.evolved_structs import evolved_structs
from sqlext.spark.catalog.hidden_columns import stored_partition
from sqlext.spark.catalog.partition_grouping import grouping_keys
from sqlext.spark.catalog.session_catalogs import Catalogs, TableVersion
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.packed_rows import piece_io
from sqlext.spark.scan.absent_columns import absent_columns, identity_ids
from sqlext.spark.scan.described_piece import described_piece
from sqlext.spark.scan.driver_read import are_scattered, driver_rows
from sqlext.spark.scan.expected_rows import expected_rows
from sqlext.spark.scan.named_files import named_files
from sqlext.spark.scan.pushdown import predicate_of
from sqlext.spark.scan.rows_of_keys import is_looked_up, keys_sought
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType, ListType, MapType, StructType, UuidType
from sqlext.thresholds import Thresholds

_NOT_PUSHED_TO_PARQUET = (FloatType, DoubleType, StructType, ListType, MapType, UuidType)
_DELETES_CAPACITY = 32 * 1024 * 1024
_ENTRY_BYTES = 1_000
# Bytes of a metadata table's rows in one task, which contains them. Spark refuses tasks above 128 MB.
_STREAM_BYTES = 8 * 1024 * 1024


class ScanBridge:
    """Plans scans of table versions; caches decoded manifests, which are immutable."""

    def __init__(self, catalogs: Catalogs, manifests: ManifestCache, position_deletes: PositionDeleteCache) -> None:
        self._catalogs = catalogs
        self.manifests = manifests
        self._position_deletes = position_deletes
        self._file_columns = FileColumnsCache()
        self._deletes: ByteCache[TableHandle, LiveDeletes] = ByteCache(_DELETES_CAPACITY)
        self._reached: ByteCache[TableHandle, _ReachedFiles] = ByteCache(_DELETES_CAPACITY)
        self._resolved = ResolvedKeys()

    def plan(
        self,
        version: TableVersion,
        predicate: Predicate,
        *,
        keep_deleted: bool = False,
        with_metrics: bool = True,
        all_deletes: bool = False,
        paths: AbstractSet[str] | None = None,
    ) -> ScanPlan:
        """The scan plan of a table version; see `plan_scan`. A read-optimized one has the data files to which no
        delete applies."""
        optimized = version.handle.read_optimized
        plan = plan_scan(
            version.io,
            version.metadata,
            version.snapshot,
            predicate,
            manifests=self.manifests,
            position_deletes=self._position_deletes,
            keep_deleted=keep_deleted,
            with_metrics=with_metrics,
            # Which files are part of the view does not depend on the predicate.
            all_deletes=all_deletes or optimized,
            paths=paths,
        )
        if not optimized:
            return plan
        return ScanPlan(tuple(one for one in plan.tasks if not one.deleted_rows and not one.has_equality_deletes))

    def all_tasks(self, version: TableVersion) -> Mapping[str, FileScanTask]:
        """Scan tasks of all data files by path, with those of files without a live row."""
        return self.plan(version, AlwaysTrue(), keep_deleted=True).by_path()

    def plan_files_at(self, version: TableVersion, paths: AbstractSet[str]) -> Sequence[FileScanTask]:
        """The data files at `paths` that have a live row, with their deletes. In a large table this takes the memory
        of these files and not of all."""
        return self.plan(version, AlwaysTrue(), paths=paths).tasks if paths else ()

    def data_file_count(self, version: TableVersion) -> int:
        """The number of data files of a table version; see `data_file_count`."""
        if version.snapshot is None:
            return 0
        return data_file_count(self.manifests.manifests(version.io, version.snapshot))

    def deletes(self, version: TableVersion) -> LiveDeletes:
        """The deletes of a table version, without a look at data files. The shim refers to groups by their index in
        `equality`."""
        snapshot = version.snapshot
        if snapshot is None or version.handle.read_optimized:
            return LiveDeletes()

        def load() -> tuple[LiveDeletes, int]:
            found = live_deletes(version.io, version.metadata, snapshot, manifests=self.manifests)
            return found, _ENTRY_BYTES * (1 + sum(len(group.entries) for group in found.equality))

        return self._deletes.load_once(version.handle, load)

    def resolves_keys(self, version: TableVersion) -> bool:
        """Whether scans convert equality deletes to deleted positions, so that no join is needed."""
        return self._reached_files(version).are_looked_up

    def with_positions(self, version: TableVersion, plan: ScanPlan) -> ScanPlan | None:
        """The plan with equality deletes converted to deleted positions; None if only a join can apply them.

        The plan may have a part of the version's tasks.
        """
        if not any(task.has_equality_deletes for task in plan.tasks):
            return plan
        if not can_resolve(plan, version.schema, NameMapping.of_table(version.metadata.properties)):
            return None
        return self._resolved.resolve(version.io, plan, version.schema)

    def equality_deletes_touch(self, version: TableVersion) -> str:
        """Whether equality deletes apply to "all" data files, "none" or "some". With too many files to check it is
        "some"."""
        return self._reached_files(version).touched

    def _reached_files(self, version: TableVersion) -> _ReachedFiles:
        snapshot = version.snapshot
        if snapshot is None or not self.deletes(version).equality:
            return _ReachedFiles("none", are_looked_up=False)

        def load() -> tuple[_ReachedFiles, int]:
            if not has_few_files(self.manifests.manifests(version.io, snapshot)):
                return _ReachedFiles("some", are_looked_up=False), _ENTRY_BYTES
            whole = self.plan(version, AlwaysTrue())
            touched = {task.has_equality_deletes for task in whole.tasks}
            mapping = NameMapping.of_table(version.metadata.properties)
            looked_up = can_resolve(whole, version.schema, mapping)
            found = "some" if len(touched) == 2 else "all" if True in touched else "none"
            return _ReachedFiles(found, looked_up), _ENTRY_BYTES

        return self._reached.load_once(version.handle, load)

    def applicable_equality_deletes(
        self, version: TableVersion, whole: ScanPlan, condition: Predicate
    ) -> ApplicableEqualityDeletes:
        """The equality-delete files that may delete a row matching `condition`; `whole` is the plan without
        predicate."""
        if version.snapshot is None:
            return ApplicableEqualityDeletes()
        return applicable_equality_deletes(
            version.io, version.metadata, version.snapshot, whole, condition, manifests=self.manifests
        )

    def data_spec_ids(self, version: TableVersion) -> frozenset[int]:
        """Ids of the partition specs that live data files may have, by the manifest list."""
        if version.snapshot is None:
            return frozenset()
        manifests = self.manifests.manifests(version.io, version.snapshot)
        return frozenset(one.spec_id for one in manifests if one.content == ManifestContent.DATA)

    def live_entries(self, version: TableVersion) -> list[ManifestEntry]:
        """Entries of all live data and delete files of a table version."""
        if version.snapshot is None:
            return []
        io, metadata = version.io, version.metadata
        listed = self.manifests.manifests(io, version.snapshot)
        return list(self.manifests.live_entries_of(io, listed, metadata))

    def plan_files(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "plan scan": the files as by `_file`, with the values of `_partition` if requested."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        if arguments["group"] >= 0:
            return self._equality_delete_files(version, self.deletes(version).equality[arguments["group"]])
        predicate = predicate_of(arguments["filters"], version.schema)
        first = _first_rows(arguments["first_rows"], version.schema)
        touched = arguments["touched_by_key"]
        plan = self.plan(
            version,
            predicate,
            keep_deleted=arguments["deleted_files"],
            with_metrics=first is not None,
            # Two scans with different filters divide the files between them.
            all_deletes=touched is not None,
        )
        if touched is not None:
            plan = replace(plan, tasks=tuple(task for task in plan.tasks if task.has_equality_deletes == touched))
        named = named_files(arguments["filters"], version.schema)
        if named is not None:
            plan = replace(plan, tasks=tuple(task for task in plan.tasks if task.file.file_path in named))
        if arguments["resolve_keys"]:
            plan = self._resolved.resolve(version.io, plan, version.schema)
        tasks = plan.tasks if first is None else tasks_of_first_rows(plan.tasks, first)
        partition = stored_partition(version.metadata) if arguments["partitions"] else None
        data_files = [task.file for task in tasks]
        require_allowed(version.io, data_files)
        readings = self._readings(version, data_files)
        groups = grouping_keys(version, tasks, arguments["grouping"])
        key, thresholds = version.schema.identifier_fields, Thresholds.of(arguments["plan_settings"])
        by_key = (
            touched is None
            and not arguments["deleted_files"]
            and keys_sought(predicate, key) is not None
            and is_looked_up(version, plan, key, (), thresholds)
        )
        # Spark's readers would decode most pages, and take longer than Python, which decodes the key of all.
        scattered = by_key and are_scattered(predicate, data_files, version.schema)
        files: list[list[Any]] = []
        keys: dict[int, str] = {}
        rows = 0
        for number, task in enumerate(tasks):
            if arguments["limit"] is not None and rows >= arguments["limit"]:
                break
            vector = task.position_deletes if arguments["deletion_vectors"] else None
            if task.partition_ordinal not in keys:
                keys[task.partition_ordinal] = _partition_key(task.file)
            file = _file(task.file, task.sequence_number, keys[task.partition_ordinal], vector)
            shown = None if partition is None else partition(task.file)
            files.append([*file, shown, None if groups is None else groups[number]])
            rows += task.file.record_count - task.deleted_rows
        return {
            "files": files,
            "rows": rows,
            "expected_rows": expected_rows(predicate, version.metadata.schema().identifier_field_ids, rows, data_files),
            "driver_rows": 0 if scattered else driver_rows(predicate, data_files, version.schema, thresholds),
            "by_key": by_key,
            "grouped": groups is not None,
            "pushable_columns": _pushable_columns(version.metadata, version.schema),
            "absent_columns": absent_columns(version.metadata, version.schema, data_files, readings.of_files()),
            **readings.described(),
        }

    def reads_by_field_id(self, version: TableVersion, plan: ScanPlan) -> bool:
        """Whether the columns of all data files of the plan are found by field id."""
        return all_by_field_id((task.file for task in plan.tasks), NameMapping.of_table(version.metadata.properties))

    def _equality_delete_files(self, version: TableVersion, group: EqualityDeletes) -> Mapping[str, Any]:
        deletes = [entry.file for entry in group.entries]
        require_allowed(version.io, deletes)
        readings = self._readings(version, deletes)
        files = [
            _file(entry.file, sequence_number(entry), None if group.is_global else _partition_key(entry.file), None)
            for entry in group.entries
        ]
        rows = sum(file.record_count for file in deletes)
        return {
            "files": files,
            "rows": rows,
            "expected_rows": rows,
            "driver_rows": 0,
            "by_key": False,
            "grouped": False,
            "pushable_columns": [],
            "absent_columns": [],
            **readings.described(),
        }

    def _readings(self, version: TableVersion, files: Sequence[ContentFile]) -> _Readings:
        mapping = NameMapping.of_table(version.metadata.properties)
        partitioned = {spec.spec_id: identity_ids(spec) for spec in version.metadata.partition_specs}
        return _Readings.of(self._file_columns.readings(version.io, files, mapping, partitioned))

    def evolved_structs(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "evolved structs", which Spark 4.0 asks: names of columns by `grown` and `renewed`."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        grown, renewed = evolved_structs(version.metadata, version.schema)
        return {"grown": grown, "renewed": renewed}

    def read_by_tasks(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "read by tasks": why Spark has to read a file, in words, or null."""
        try:
            piece = described_piece(arguments)
        except OnlyByQuery as reason:
            return {"why": f"the query has {reason}"}
        table = piece.table
        stores = {} if table is None else {table: self._catalogs.store(TableHandle.decode(table))}
        types = to_arrow_schema(SparkStruct.fromJson(arguments["read"]))
        return {"why": piece.why_by_query(piece_io(piece, stores), types)}

    def metadata_rows(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answers "metadata rows": the rows of a metadata table, in order, as Arrow streams in Base64."""
        version = self._catalogs.version(TableHandle.decode(arguments["table"]))
        assert version.handle.metadata_table is not None
        state = TableState(
            version.io, version.metadata, version.handle.metadata_location, version.snapshot, self.manifests
        )
        table = METADATA_TABLES[version.handle.metadata_table].rows(state)
        rows = max(1, table.num_rows * _STREAM_BYTES // max(1, table.nbytes))
        parts = [table.slice(start, rows) for start in range(0, max(1, table.num_rows), rows)]
        return {"streams": [base64.b64encode(_stream(part)).decode() for part in parts]}


def _stream(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


@dataclass(frozen=True, slots=True)
class _ReachedFiles:
    """Effects of equality deletes on a scan: `touched` is "all", "some" or "none" of the data files."""

    touched: str
    are_looked_up: bool


@dataclass(frozen=True, slots=True)
class _Readings:
    """The distinct readings of files whose columns are not found by field id, and for each file an index, None for
    field ids."""

    distinct: tuple[Reading, ...]
    numbers: tuple[int | None, ...]

    @classmethod
    def of(cls, readings: Iterable[Reading | None]) -> _Readings:
        known: dict[Reading, int] = {}
        numbers = tuple(None if one is None else known.setdefault(one, len(known)) for one in readings)
        return cls(tuple(known), numbers)

    def of_files(self) -> list[Reading | None]:
        """The reading of each file."""
        return [None if number is None else self.distinct[number] for number in self.numbers]

    def described(self) -> Mapping[str, Any]:
        """Readings as JSON. `file_readings` has an index or null for each file, and may be longer than the list of
        files."""
        ways = [
            {"format": one.file_format, "names": [list(pair) for pair in one.names], "pairs": list(one.pairs)}
            for one in self.distinct
        ]
        return {"readings": ways, "file_readings": list(self.numbers) if ways else []}


def _first_rows(asked: Mapping[str, Any] | None, schema: Schema) -> FirstRows | None:
    field = None if asked is None else next((one for one in schema.fields if one.name == asked["column"]), None)
    if asked is None or field is None:
        return None
    return FirstRows(field, asked["descending"], asked["nulls_first"], asked["count"])


def _file(file: ContentFile, sequence_number: int, partition_key: str | None, vector: bytes | None) -> list[Any]:
    """Path, size, sequence number, partition key, deletion vector, first row id and spec id."""
    encoded = None if vector is None else base64.b64encode(vector).decode()
    size, first_row_id = file.file_size_in_bytes, file.first_row_id
    return [file.file_path, size, sequence_number, partition_key, encoded, first_row_id, file.spec_id]


def _partition_key(file: ContentFile) -> str:
    """A text that is equal for two files exactly if spec and partition are."""
    return json.dumps([file.spec_id, [repr(value) for value in file.partition]])


def _pushable_columns(metadata: TableMetadata, schema: Schema) -> Sequence[str]:
    """Columns whose filters Spark's Parquet reader may test against row groups.

    It finds columns by name, so a name that another field had in an earlier schema is excluded. It finds dictionaries
    by dotted path, so the name `a.b` is excluded, which may be the field `b` of a struct `a` in a file. Floats are
    excluded, since Parquet statistics ignore NaN, which is the greatest number in Spark.
    """
    ids_by_name: dict[str, set[int]] = {}
    for known in metadata.schemas:
        for field in known.fields:
            ids_by_name.setdefault(field.name.lower(), set()).add(field.id)
    names_by_id: dict[int, set[str]] = {}
    for known in metadata.schemas:
        for field in known.fields:
            names_by_id.setdefault(field.id, set()).add(field.name)
    return [
        field.name
        for field in schema.fields
        if not isinstance(field.type, _NOT_PUSHED_TO_PARQUET)
        and "." not in field.name
        and ids_by_name[field.name.lower()] == {field.id}
        and names_by_id[field.id] == {field.name}
    ]
