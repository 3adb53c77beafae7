"""What each engine reads in a table, as canonical rows; where one cannot, why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import polars as pl
from pyiceberg.table import StaticTable
from pyiceberg.types import ListType, MapType, StructType

from judges.pyiceberg_judge import arrow_rows, can_read

Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A reader that does not go so far."""

    reason: str


def by_pyiceberg(metadata_location: str) -> Rows | Skipped:
    table = StaticTable.from_metadata(metadata_location)
    if not can_read(table):
        return Skipped("equality deletes")
    if _has_list_of_structs(table):
        return Skipped("a null list of structs, which it takes for an empty one (iceberg-python#3833)")
    return _attempted(lambda: arrow_rows(table.scan().to_arrow()), _PYICEBERG_LIMITS)


def by_polars(metadata_location: str) -> Rows | Skipped:
    table = StaticTable.from_metadata(metadata_location)
    if not can_read(table):
        return Skipped("equality deletes")
    if any(isinstance(field.field_type, MapType) for field in table.schema().fields):
        return Skipped("maps")
    return _attempted(lambda: arrow_rows(pl.scan_iceberg(table).collect().to_arrow()), _POLARS_LIMITS)


def by_duckdb(metadata_location: str) -> Rows | Skipped:
    connection = _duckdb()
    if isinstance(connection, Skipped):
        return connection
    if not can_read(StaticTable.from_metadata(metadata_location)):
        return Skipped("equality deletes")
    query = f"SELECT * FROM iceberg_scan('{metadata_location}')"
    return _attempted(lambda: arrow_rows(connection.sql(query).arrow().read_all()), _DUCKDB_LIMITS)


OTHERS: Mapping[str, Callable[[str], Rows | Skipped]] = {
    "PyIceberg": by_pyiceberg,
    "Polars": by_polars,
    "DuckDB": by_duckdb,
}
"""Readers beside sqlext and Iceberg's runtime, by name; each takes the location of a metadata file."""


def _has_list_of_structs(table: StaticTable) -> bool:
    types = [field.field_type for field in table.schema().fields]
    return any(isinstance(one, ListType) and isinstance(one.element_type, StructType) for one in types)


# What their errors say of what they do not read, with what that is.
_PYICEBERG_LIMITS: Mapping[str, str] = {}
_POLARS_LIMITS: Mapping[str, str] = {}
_DUCKDB_LIMITS: Mapping[str, str] = {}


def _attempted(read: Callable[[], Rows], limits: Mapping[str, str]) -> Rows | Skipped:
    try:
        return read()
    except BaseException as error:
        for pattern, reason in limits.items():
            if re.search(pattern, f"{type(error).__name__}: {error}"):
                return Skipped(reason)
        raise


@cache
def _duckdb() -> duckdb.DuckDBPyConnection | Skipped:
    """A connection with the Iceberg extension, which DuckDB fetches from its own server."""
    connection = duckdb.connect()
    try:
        connection.execute("INSTALL iceberg; LOAD iceberg; SET TimeZone = 'UTC'")
    except duckdb.Error as error:
        return Skipped(f"its Iceberg extension: {str(error).splitlines()[0][:60]}")
    return connection
