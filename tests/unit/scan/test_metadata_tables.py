"""Metadata tables compared with PyIceberg's, of tables that Iceberg wrote."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from golden_tables.relocation import unpack
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.metadata_tables.metadata_table import TableState
from sqlext.scan.metadata_tables.registry import METADATA_TABLES
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import LocalFileIO

GOLDEN = Path(__file__).parents[2] / "golden_tables"


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(GOLDEN / "golden_dev.zip", tmp_path_factory.mktemp("metadata") / "dev")


def newest(folder: Path) -> Path:
    return max((folder / "metadata").glob("*.metadata.json"), key=lambda path: path.name)


def rows(name: str, metadata: TableMetadata, location: str = "") -> pa.Table:
    state = TableState(LocalFileIO(), metadata, location, metadata.current_snapshot(), ManifestCache())
    return METADATA_TABLES[name].rows(state)


def by_key(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(row[key]) for key in keys])


@pytest.mark.parametrize(
    "table", ["d01_v1_types", "d02_v2_transforms_posdel", "d04_v2_eq_basic", "d13_hadoop_layout_v1"]
)
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("snapshots", "snapshot_id"),
        ("history", "made_current_at"),
        ("refs", "name"),
        ("manifests", "path"),
        ("files", "file_path"),
        ("data_files", "file_path"),
        ("delete_files", "file_path"),
        ("metadata_log_entries", "file"),
        ("all_files", "file_path"),
        ("all_data_files", "file_path"),
        ("all_delete_files", "file_path"),
    ],
)
def test_rows_equal_those_of_pyiceberg(golden: Path, table: str, name: str, key: str) -> None:
    location = newest(golden / table)
    metadata = decode_table_metadata(location.read_bytes(), str(location))
    ours = rows(name, metadata, str(location))
    theirs = getattr(StaticTable.from_metadata(str(location)).inspect, name)()
    assert ours.schema.equals(METADATA_TABLES[name].schema(metadata))
    if "partition" not in ours.column_names and "partition" in theirs.column_names:
        theirs = theirs.drop_columns("partition")  # which PyIceberg shows as an empty struct
    assert set(theirs.column_names) <= set(ours.column_names)
    left, right = (by_key(comparable(one, theirs.column_names), key) for one in (ours, theirs))
    assert left == right


def comparable(rows: pa.Table, columns: list[str]) -> list[dict[str, Any]]:
    """Values in PyIceberg's form: maps as sets, instants without a zone."""

    def plain(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], tuple):
            return dict(value)
        return value.replace(tzinfo=None) if isinstance(value, datetime) else value

    return [{name: plain(value) for name, value in row.items()} for row in rows.select(columns).to_pylist()]


def test_partition_fields_of_dropped_columns_are_left_out(golden: Path) -> None:
    location = newest(golden / "d08_partition_evolution")
    metadata = decode_table_metadata(location.read_bytes(), str(location))
    assert "cat" in rows("files", metadata).to_pylist()[0]["partition"]
    current = metadata.schema()
    without = replace(current, fields=tuple(one for one in current.fields if one.name != "cat"), schema_id=99)
    dropped = replace(metadata, schemas=(*metadata.schemas, without), current_schema_id=99)
    assert all("cat" not in row["partition"] for row in rows("files", dropped).to_pylist())


def test_tables_without_snapshot_are_empty(golden: Path) -> None:
    location = newest(golden / "d02_v2_transforms_posdel")
    metadata = decode_table_metadata(location.read_bytes(), str(location))
    for name in ("files", "manifests", "entries", "partitions", "position_deletes"):
        table = METADATA_TABLES[name].rows(TableState(LocalFileIO(), metadata, "", None, ManifestCache()))
        assert table.num_rows == 0
