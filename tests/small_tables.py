"""Small tables for tests of commits: a warehouse, a schema, and Parquet files as a foreign writer would make them."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import StaticTable
from pyroaring import BitMap64

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.warehouse import WarehouseCatalog
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.table_creation import CreateTable
from sqlext.commit.group.host_committer import HostCommitter
from sqlext.commit.loop.transaction import CommitOutcome, commit
from sqlext.errors import StorageError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import data_location, join, to_local_path

ORDERS = TableIdentifier(("db",), "orders")
SCHEMA = Schema(
    (NestedField(1, "id", LongType(), required=True), NestedField(2, "region", StringType())),
    identifier_field_ids=(1,),
)
ARROW_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "1"}),
        pa.field("region", pa.string(), metadata={"PARQUET:field_id": "2"}),
    ]
)
DELETE_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": "2147483546"}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": "2147483545"}),
    ]
)
UNPARTITIONED = PartitionSpec(0, ())
BY_REGION = PartitionSpec(0, (PartitionField(2, 1000, "region", IdentityTransform()),))


def warehouse_catalog(folder: Path, io: LocalFileIO | None = None) -> WarehouseCatalog:
    return WarehouseCatalog("lake", str(folder), io or LocalFileIO())


def with_namespace(catalog: Catalog, namespace: Namespace = ("db",)) -> Catalog:
    """The catalog, once the namespace is there."""
    if not catalog.namespace_exists(namespace):
        catalog.create_namespace(namespace, {})
    return catalog


class Clock:
    """Milliseconds that go forward by one at each look, and by what `sleep` is told."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.now_ms = now_ms
        self.slept_s: list[float] = []

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_ms += int(seconds * 1000)


class Writer:
    """One process that commits to a warehouse, with its own clock and randomness."""

    def __init__(self, catalog: WarehouseCatalog, seed: int = 1) -> None:
        self.catalog = catalog
        self.clock = Clock()
        self.rng = random.Random(seed)

    def create(
        self, *, spec: PartitionSpec = UNPARTITIONED, initial: AppendFiles | None = None, **given: Any
    ) -> LoadedTable:
        action = CreateTable(
            schema=given.get("schema", SCHEMA),
            spec=spec,
            sort_order=UNSORTED,
            properties=given.get("properties", {}),
            format_version=given.get("format_version", 2),
            location=self.catalog.default_table_location(ORDERS),
            initial=initial,
        )
        return self.commit(action, base=None).table

    def commit(
        self,
        action: Action,
        *,
        base: LoadedTable | None,
        deadline_s: float | None = None,
        destination: Destination = MAIN,
    ) -> CommitOutcome:
        if base is None:
            with_namespace(self.catalog, ORDERS.namespace)
        return commit(
            self.catalog,
            ORDERS,
            action,
            base=base,
            destination=destination,
            clock=self.clock,
            rng=self.rng,
            sleep=self.clock.sleep,
            deadline_s=deadline_s,
        )

    def append(
        self, *ids: int, region: str = "eu", base: LoadedTable | None = None, destination: Destination = MAIN
    ) -> CommitOutcome:
        table = base or self.load()
        action = AppendFiles((data_file(table.metadata, ids, region),))
        return self.commit(action, base=table, destination=destination)

    def load(self) -> LoadedTable:
        return self.catalog.load_table(ORDERS)


def data_file(metadata: TableMetadata, ids: Iterable[int], region: str = "eu") -> ContentFile:
    """Writes rows (id, region) to a data file of the table's default spec, with bounds of `id`."""
    ids = list(ids)
    rows = pa.table({"id": ids, "region": [region] * len(ids)}, schema=ARROW_SCHEMA)
    return ContentFile(
        content=Content.DATA,
        partition=_partition(metadata, region),
        value_counts={1: len(ids), 2: len(ids)},
        null_value_counts={1: 0, 2: 0},
        lower_bounds={1: encode(LongType(), min(ids)), 2: region.encode()},
        upper_bounds={1: encode(LongType(), max(ids)), 2: region.encode()},
        **_written(metadata, rows),
    )


def position_deletes(metadata: TableMetadata, file: ContentFile, positions: Sequence[int]) -> ContentFile:
    """Writes a position delete file for one data file."""
    rows = pa.table({"file_path": [file.file_path] * len(positions), "pos": list(positions)}, schema=DELETE_SCHEMA)
    path = file.file_path.encode()
    return ContentFile(
        content=Content.POSITION_DELETES,
        partition=file.partition,
        lower_bounds={2147483546: path},
        upper_bounds={2147483546: path},
        **_written(metadata, rows),
    )


def equality_deletes(metadata: TableMetadata, ids: Sequence[int], region: str = "eu") -> ContentFile:
    """Writes an equality delete file on `id`."""
    rows = pa.table({"id": list(ids)}, schema=pa.schema([ARROW_SCHEMA.field("id")]))
    return ContentFile(
        content=Content.EQUALITY_DELETES,
        partition=_partition(metadata, region),
        equality_ids=(1,),
        value_counts={1: len(ids)},
        null_value_counts={1: 0},
        lower_bounds={1: encode(LongType(), min(ids))},
        upper_bounds={1: encode(LongType(), max(ids))},
        **_written(metadata, rows),
    )


def ids_read_by_pyiceberg(table: LoadedTable) -> list[int]:
    """The ids of all rows, as PyIceberg reads them."""
    return sorted(StaticTable.from_metadata(table.metadata_location).scan().to_arrow()["id"].to_pylist())


def rows_of(table: LoadedTable) -> list[dict[str, Any]]:
    """All rows, by the files and deletes that our scan plans."""
    io, metadata = LocalFileIO(), table.metadata
    plan = plan_scan(io, metadata, metadata.current_snapshot(), AlwaysTrue(), manifests=ManifestCache())
    rows: list[dict[str, Any]] = []
    for task in plan.tasks:
        gone = BitMap64() if task.position_deletes is None else BitMap64.deserialize(task.position_deletes)
        found = [row for at, row in enumerate(stored_rows(task.file)) if at not in gone]
        for group in (plan.equality_groups[number] for number in task.equality_groups):
            names = [metadata.schema().column_name(id) for id in group.equality_ids]
            for delete in group.files:
                applies = group.is_global or delete.partition_ordinal == task.partition_ordinal
                if applies and delete.sequence_number > task.sequence_number:
                    keys = [[key[name] for name in names] for key in stored_rows(delete.file)]
                    found = [row for row in found if [row[name] for name in names] not in keys]
        rows += found
    return rows


def files_below(folder: Path) -> set[str]:
    """Every file, hidden ones too, relative to the folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def summary_of(table: LoadedTable) -> dict[str, str]:
    """The current snapshot's summary."""
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    return dict(snapshot.summary)


def no_space_for(part: str) -> InterruptedIO:
    """A store that is full once a file with `part` in its name is to be made."""

    def full(location: str, create: Callable[[], None]) -> None:
        if part in location:
            raise StorageError("STORAGE_FAILURE", operation="Writing", path=location, reason="No space left on device")
        create()

    return InterruptedIO(full)


class InterruptedIO(LocalFileIO):
    """Local files, where a test stands between a call and its effect.

    `around_create(location, create)` runs in place of every `create`; it may raise before or after `create()`.
    """

    def __init__(self, around_create: Callable[[str, Callable[[], None]], None] | None = None) -> None:
        self.around_create = around_create

    def create(
        self, location: str, data: bytes, *, make_folders: bool = True, confirm: Callable[[], None] | None = None
    ) -> None:
        def create() -> None:
            LocalFileIO.create(self, location, data, make_folders=make_folders, confirm=confirm)

        if self.around_create is None:
            create()
        else:
            self.around_create(location, create)


def stored_rows(file: ContentFile) -> list[dict[str, Any]]:
    """The rows of one file, deleted ones too."""
    rows: list[dict[str, Any]] = pq.read_table(to_local_path(file.file_path), partitioning=None).to_pylist()
    return rows


def _partition(metadata: TableMetadata, region: str) -> tuple[Any, ...]:
    return (region,) if metadata.spec().fields else ()


def _written(metadata: TableMetadata, rows: pa.Table) -> dict[str, Any]:
    location = join(data_location(metadata), f"{uuid.uuid4()}.parquet")
    path = Path(to_local_path(location))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    return {
        "file_path": location,
        "file_format": "PARQUET",
        "spec_id": metadata.default_spec_id,
        "record_count": rows.num_rows,
        "file_size_in_bytes": path.stat().st_size,
    }


def serves(committer: HostCommitter) -> bool:
    """Whether the committer's process is the one that commits for the others of its host."""
    return committer._service is not None
