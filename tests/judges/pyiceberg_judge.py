"""PyIceberg as a judge: reads a table by its metadata file, without Spark.

PyIceberg 0.12 applies position deletes and deletion vectors and refuses equality deletes, so tables that hold them are
for the Iceberg runtime alone: `can_read` says which.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import StaticTable

from judges.canonical import canonical_scalar, sort_rows


def latest_metadata(table_folder: str | Path) -> str:
    """Newest `v<N>.metadata.json` of a table in a Hadoop-catalog warehouse."""
    files = Path(table_folder, "metadata").glob("v*.metadata.json")
    return str(max(files, key=lambda file: int(file.name.split(".")[0][1:])))


def can_read(table: StaticTable, snapshot_id: int | None = None) -> bool:
    """False where a snapshot, without one the current, holds equality deletes."""
    return all(content != DataFileContent.EQUALITY_DELETES for content, _ in live_files(table, snapshot_id))


def live_files(table: StaticTable, snapshot_id: int | None = None) -> set[tuple[DataFileContent, str]]:
    """Contents and formats of the files of a snapshot, without one of the current."""
    snapshot = table.current_snapshot() if snapshot_id is None else table.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return set()
    return {
        (entry.data_file.content, entry.data_file.file_format.value)
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }


def read_rows(metadata_location: str) -> list[list[Any]] | None:
    """Sorted canonical rows of the current snapshot, or None where PyIceberg cannot read the table."""
    table = StaticTable.from_metadata(metadata_location)
    if not can_read(table):
        return None
    return arrow_rows(table.scan().to_arrow())


def arrow_rows(table: pa.Table) -> list[list[Any]]:
    """Sorted canonical rows of an Arrow table."""
    columns = [
        [_value(item, field.type) for item in column.to_pylist()]
        for column, field in zip(table.columns, table.schema, strict=True)
    ]
    return sort_rows([list(row) for row in zip(*columns, strict=True)])


def _value(value: Any, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {field.name: _value(value[field.name], field.type) for field in type_}
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [_value(item, type_.value_type) for item in value]
    if pa.types.is_map(type_):
        pairs = [[_value(k, type_.key_type), _value(v, type_.item_type)] for k, v in value]
        return {"__map__": sorted(pairs, key=repr)}
    return canonical_scalar(value, zoned=pa.types.is_timestamp(type_) and type_.tz is not None)
