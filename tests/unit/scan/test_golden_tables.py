"""Plans of tables that other engines wrote, executed in pyarrow, give the rows that these engines read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from golden_tables.canonical import canonical_value, sorted_rows
from golden_tables.relocation import unpack
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue, Comparison, In, IsNull, Predicate, StartsWith
from sqlext.spec.manifests.manifest import decode_manifest
from sqlext.spec.manifests.manifest_columns import decode_manifest_columns
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path

GOLDEN = Path(__file__).parents[2] / "golden_tables"
SETS = ("golden_dev", "golden_flink_dev")
# Tables with evolved structs, defaults, a name mapping or ORC, which this test's reader does not support.
WITHOUT_ROWS = {"d06_schema_evolution", "d07_v3_defaults", "d11_name_mapping", "d12_orc"}
TABLES = (
    *(f"d{number:02}" for number in range(1, 14)),
    *(f"f{number:02}" for number in range(1, 9)),
)


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of every golden table, by the number in its name."""
    root = tmp_path_factory.mktemp("golden")
    sets = [unpack(GOLDEN / f"{name}.zip", root / name) for name in SETS]
    return {folder.name[:3]: folder for one in sets for folder in one.iterdir() if folder.is_dir()}


def load(folder: Path) -> tuple[TableMetadata, Mapping[str, Any]]:
    expected = json.loads((folder / "expected.json").read_text())
    return decode_table_metadata(Path(expected["metadata"]).read_bytes(), expected["metadata"]), expected


@pytest.mark.parametrize("number", TABLES)
def test_rows_of_every_snapshot(golden: dict[str, Path], number: str) -> None:
    folder = golden[number]
    metadata, expected = load(folder)
    for one in expected["snapshots"]:
        planned = plan(metadata, metadata.snapshot(one["snapshot_id"]))
        if folder.name not in WITHOUT_ROWS:
            schema_id = metadata.snapshot(one["snapshot_id"]).schema_id
            assert rows_of(planned, metadata, schema_id) == sorted_rows(one["rows"])
    current = plan(metadata, metadata.current_snapshot())
    if folder.name not in WITHOUT_ROWS:
        assert rows_of(current, metadata, metadata.current_schema_id) == sorted_rows(expected["rows"])


@pytest.mark.parametrize("number", TABLES)
def test_manifests_as_columns_hold_what_their_entries_do(golden: dict[str, Path], number: str) -> None:
    metadata, _ = load(golden[number])
    for snapshot in metadata.snapshots:
        for manifest in ManifestCache().manifests(LocalFileIO(), snapshot):
            data = LocalFileIO().read(manifest.path)
            known = {"schema": metadata.schema(), "specs": metadata.specs_by_id()}
            parts = decode_manifest_columns(data, manifest, **known)
            assert [entry for part in parts for entry in part.entries()] == decode_manifest(data, manifest, **known)


@pytest.mark.parametrize("number", TABLES)
def test_files_table(golden: dict[str, Path], number: str) -> None:
    metadata, expected = load(golden[number])
    state = TableState(LocalFileIO(), metadata, "", metadata.current_snapshot(), ManifestCache())
    rows = METADATA_TABLES["files"].rows(state)
    found = [
        [row["content"], row["file_format"], row["spec_id"], row["record_count"], row["equality_ids"]]
        for row in rows.to_pylist()
    ]
    assert sorted(found, key=repr) == sorted(expected["files"], key=repr)
    assert rows.schema == METADATA_TABLES["files"].schema(metadata)


@pytest.mark.parametrize("number", TABLES)
def test_history_table(golden: dict[str, Path], number: str) -> None:
    metadata, expected = load(golden[number])
    rows = METADATA_TABLES["history"].rows(TableState(LocalFileIO(), metadata, "", None, ManifestCache())).to_pylist()
    assert [[row["snapshot_id"], row["parent_id"], row["is_current_ancestor"]] for row in rows] == expected["history"]


@pytest.mark.parametrize(
    ("number", "where", "predicate", "at_most"),
    [
        ("d02", "id = 5", Comparison("=", 1, 5), 3),
        ("d02", "id IN (3, 7, 41)", In(1, frozenset({3, 7, 41})), 6),
        ("d02", "ts IS NULL", IsNull(3), 4),
        ("d02", "name LIKE 'ax%'", StartsWith(2, "ax"), 5),
        ("d05", "p = 'c'", Comparison("=", 2, "c"), 2),
        ("d05", "p IS NULL", IsNull(2), 2),
        ("d08", "cat = 'x'", Comparison("=", 2, "x"), 2),
        ("d08", "ts < TIMESTAMP_NTZ'1970-01-01 00:00:00'", Comparison("<", 3, 0), 1),
        ("d13", "l < 0", Comparison("<", 3, 0), 1),
        ("d13", "s = 'a b'", Comparison("=", 5, "a b"), 2),
        ("d13", "dec < 0", Comparison("<", 6, Decimal(0)), 1),
        ("f04", "p = 'a'", Comparison("=", 2, "a"), 2),
    ],
)
def test_queries_find_their_rows_in_few_files(
    golden: dict[str, Path], number: str, where: str, predicate: Predicate, at_most: int
) -> None:
    """`at_most` is the number of files that PyIceberg plans, if it can read the table."""
    metadata, expected = load(golden[number])
    (query,) = (one for one in expected["queries"] if one["where"] == where)
    planned = plan(metadata, metadata.current_snapshot(), predicate)
    found = rows_of(planned, metadata, metadata.current_schema_id)
    assert [row for row in sorted_rows(query["rows"]) if row not in found] == []
    assert [row for row in found if row not in expected["rows"]] == []
    assert len(planned.tasks) <= at_most


def plan(metadata: TableMetadata, snapshot: Snapshot | None, predicate: Predicate | None = None) -> ScanPlan:
    return plan_scan(LocalFileIO(), metadata, snapshot, predicate or AlwaysTrue(), manifests=ManifestCache())


def rows_of(planned: ScanPlan, metadata: TableMetadata, schema_id: int | None) -> list[list[Any]]:
    """The rows of a plan, read with pyarrow by field id, with deletes applied by the rules of `scan_plan`."""
    schema = metadata.schemas_by_id()[metadata.current_schema_id if schema_id is None else schema_id]
    rows = []
    for task in planned.tasks:
        for row in live_rows(planned, task):
            rows.append([canonical(field.type, row.get(field.id)) for field in schema.fields])
    return sorted_rows(rows)


def live_rows(planned: ScanPlan, task: FileScanTask) -> Iterator[dict[int, Any]]:
    deleted = BitMap64.deserialize(task.position_deletes) if task.position_deletes else BitMap64()
    assert len(deleted) == task.deleted_rows
    columns = columns_by_id(task.file.file_path)
    for position in range(task.file.record_count):
        row = {field_id: column[position] for field_id, column in columns.items()}
        if position not in deleted and not is_equality_deleted(planned, task, row):
            yield row


def is_equality_deleted(planned: ScanPlan, task: FileScanTask, row: Mapping[int, Any]) -> bool:
    for group in (planned.equality_groups[number] for number in task.equality_groups):
        key = tuple(row.get(field_id) for field_id in group.equality_ids)
        for delete in group.files:
            in_scope = delete.partition_ordinal in (None, task.partition_ordinal)
            if in_scope and task.sequence_number < delete.sequence_number:
                columns = columns_by_id(delete.file.file_path)
                keys = zip(*(columns[field_id] for field_id in group.equality_ids), strict=True)
                if key in set(keys):
                    return True
    return False


@cache
def columns_by_id(location: str) -> dict[int, list[Any]]:
    with pq.ParquetFile(to_local_path(location)) as source:
        table = source.read()
    return {field_id(field): table.column(position).to_pylist() for position, field in enumerate(table.schema)}


def field_id(field: pa.Field) -> int:
    return int((field.metadata or {})[b"PARQUET:field_id"])


def canonical(of: Any, value: Any) -> Any:
    """`canonical_value`, promoted to the current type."""
    if value is not None and str(of).startswith("decimal"):
        return format(value, f".{of.scale}f")
    if isinstance(value, float) and str(of) == "double":
        return repr(value)
    return canonical_value(value)
