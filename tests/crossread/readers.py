"""What each engine reads in a table, as canonical rows; where one cannot, why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_avro
import duckdb_extension_iceberg
import polars as pl
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import StaticTable
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from crossread.history import History
from crossread.metadata_invariants import fields_of
from judges.pyiceberg_judge import arrow_rows, live_files

Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A reader that does not go so far."""

    reason: str


def by_pyiceberg(metadata_location: str, snapshot_id: int | None = None) -> Rows | Skipped:
    """The rows of a snapshot with its own columns, without one those of the current snapshot."""
    table = _opened(metadata_location, ("PARQUET", "ORC", "PUFFIN"), snapshot_id)
    if isinstance(table, Skipped):
        return table
    if any(_holds_structs(field.field_type) for one in table.schemas().values() for field in one.fields):
        return Skipped("a null list or map of structs, which it takes for an empty one (iceberg-python#3833)")
    return _attempted(lambda: arrow_rows(table.scan(snapshot_id=snapshot_id).to_arrow()), _PYICEBERG_LIMITS)


def by_polars(metadata_location: str) -> Rows | Skipped:
    table = _opened(metadata_location, ("PARQUET", "PUFFIN"))
    if isinstance(table, Skipped):
        return table
    if any(isinstance(field.field_type, MapType) for field in table.schema().fields):
        return Skipped("maps")
    if _has_type("uuid", metadata_location):
        return Skipped("uuids, which it has as bytes")
    return _attempted(lambda: arrow_rows(pl.scan_iceberg(table).collect().to_arrow()), _POLARS_LIMITS)


def by_duckdb(metadata_location: str) -> Rows | Skipped:
    table = _opened(metadata_location, ("PARQUET", "PUFFIN"))
    if isinstance(table, Skipped):
        return table
    # Iceberg's runtime leaves letters in Avro's names, which DuckDB ends the whole process for.
    if not all(field.name.isascii() for spec in table.specs().values() for field in spec.fields):
        return Skipped("a partition field whose name is not ASCII")
    connection = _duckdb()
    query = f"SELECT * FROM iceberg_scan('{metadata_location}')"
    return _attempted(lambda: arrow_rows(connection.sql(query).arrow().read_all()), _DUCKDB_LIMITS)


OTHERS: Mapping[str, Callable[[str], Rows | Skipped]] = {
    "PyIceberg": by_pyiceberg,
    "Polars": by_polars,
    "DuckDB": by_duckdb,
}
"""Readers beside sqlext and Iceberg's runtime, by name; each takes the location of a metadata file."""


def _opened(location: str, formats: tuple[str, ...], snapshot_id: int | None = None) -> StaticTable | Skipped:
    """A table, where a reader of these formats that knows no equality deletes can read the snapshot."""
    if _has_type("variant", location):
        return Skipped("variants")
    table = StaticTable.from_metadata(location)
    files = live_files(table, snapshot_id)
    if any(content == DataFileContent.EQUALITY_DELETES for content, _ in files):
        return Skipped("equality deletes")
    others = sorted({format_ for _, format_ in files} - set(formats))
    return Skipped(f"files in {' and '.join(others)}") if others else table


def _has_type(name: str, location: str) -> bool:
    """Whether any of a table's schemas has fields of a type, at any depth."""
    return any(field["type"] == name for one in History.of(location).schemas.values() for field in fields_of(one))


def _holds_structs(type_: IcebergType) -> bool:
    """Whether a list or map of structs is in a type."""
    if isinstance(type_, ListType | MapType):
        inner = type_.element_type if isinstance(type_, ListType) else type_.value_type
        return isinstance(inner, StructType) or _holds_structs(inner)
    return isinstance(type_, StructType) and any(_holds_structs(field.field_type) for field in type_.fields)


# What their errors say of what they do not read, with what that is.
_PYICEBERG_LIMITS: Mapping[str, str] = {
    r"Cannot promote (an )?(fixed\[4\] to binary|binary to fixed\[4\])": (
        "a column of a replaced table with the id of another type"
    ),
    r"Unsupported schema projection from timestamp\[ns\] to timestamp\[us\]": "timestamps in ORC",
    "Cannot promote an binary to uuid": "uuids in ORC",
    "ArrowNotImplementedError: extension": "tables without rows that have uuids in structs",
}
_POLARS_LIMITS: Mapping[str, str] = _PYICEBERG_LIMITS
_DUCKDB_LIMITS: Mapping[str, str] = {
    'Unsupported compression codec "LZ4"': "Hadoop's LZ4 in Parquet, which Iceberg's runtime writes",
    "Unrecognized primitive type: unknown": "columns of nulls",
    "required field 'sequence_number' is NULL": "snapshots of version 1 in a table of version 2",
}


def _attempted(read: Callable[[], Rows], limits: Mapping[str, str]) -> Rows | Skipped:
    try:
        return read()
    except BaseException as error:
        for pattern, reason in limits.items():
            if re.search(pattern, f"{type(error).__name__}: {error}"):
                return Skipped(reason)
        raise


def _duckdb() -> duckdb.DuckDBPyConnection:
    """A new connection, as a failure inside of the extension ends the one it happens in."""
    connection = duckdb.connect()
    for package in (duckdb_extension_avro, duckdb_extension_iceberg):
        (extension,) = Path(package.__file__).parent.glob("extensions/*/*.duckdb_extension")
        connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection
