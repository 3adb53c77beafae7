"""Rows by their key, read by the driver's Python process: no query is planned, and the JVM does nothing.

What is not read here exactly as Spark would is left to a query: None stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyspark.sql import Row, SparkSession

from sqlext.errors import OnlyByQuery, SqlextError
from sqlext.scan.files.readable_files import require_allowed
from sqlext.spark.bridge.pyspark_values import (
    Converter,
    binary_converter,
    converted,
    converter_of,
    is_converted,
    named_row,
)
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.session_catalogs import Catalogs, TableVersion, handle_of
from sqlext.spark.catalog.time_travel import travel
from sqlext.spark.scan.rows_of_keys import having_keys, is_looked_up, rows_of_keys
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spark.session.session_settings import is_case_sensitive_by, transaction_mark_in
from sqlext.spark.shim.java_objects import settings_of
from sqlext.spec.types import NestedField
from sqlext.sql.statements.table_resolution import SPARK_CATALOG
from sqlext.sql.syntax.type_text import ddl_type_text
from sqlext.thresholds import Thresholds
from sqlext.write.arrow_schema import type_to_arrow

_EXTENSIONS = "spark.sql.extensions"
_OWN_EXTENSIONS = "io.sqlext.Extensions"
_WAP_BRANCH = "spark.wap.branch"


@dataclass(frozen=True, slots=True)
class KeyedVersion:
    """A table's version as a session sees it. `key` has its columns: the path of each, and its type as CREATE TABLE
    spells it. `of_binary` makes PySpark's value of a BINARY, see `converter_of`."""

    version: TableVersion
    key: tuple[tuple[tuple[str, ...], str], ...]
    thresholds: Thresholds
    case_sensitive: bool
    of_binary: Converter | None

    @property
    def key_fields(self) -> tuple[NestedField, ...]:
        return self.version.schema.identifier_fields


class RowLookup:
    """Looks keys up in the tables of a session, in the state that a query of it would read."""

    def __init__(self, catalogs: Catalogs, transactions: OpenTransactions, scans: ScanBridge) -> None:
        self._catalogs = catalogs
        self._transactions = transactions
        self._scans = scans

    def version(self, spark: SparkSession, parts: tuple[str, ...]) -> KeyedVersion | None:
        """The version of the table that the full name `parts` means to the session; None if only a query tells it."""
        settings = settings_of(spark)
        # Rules of other extensions may hide rows or columns; the names of Spark's own catalog are also Spark's.
        if settings.get(_EXTENSIONS, _OWN_EXTENSIONS) != _OWN_EXTENSIONS or parts[0] == SPARK_CATALOG:
            return None
        if _WAP_BRANCH in settings:
            return None
        try:
            return self._version(settings, parts)
        except SqlextError:
            return None  # the query tells what is wrong

    def _version(self, settings: Mapping[str, str], parts: tuple[str, ...]) -> KeyedVersion | None:
        mark = transaction_mark_in(settings)
        catalogs = self._catalogs if mark is None else self._transactions.catalogs_of(mark)
        place, table = catalogs.locate(parts)
        if place.metadata_table is not None:
            return None
        handle = travel(place.seen_by(handle_of(parts[0], table)), table.metadata, place.at)
        version = self._catalogs.version(handle)
        schema = version.schema
        key = tuple(
            (tuple(schema.column_path(field.id)), ddl_type_text(field.type)) for field in schema.identifier_fields
        )
        return KeyedVersion(
            version, key, Thresholds.of(settings), is_case_sensitive_by(settings), binary_converter(settings)
        )

    def rows(
        self, keyed: KeyedVersion, keys: Sequence[tuple[Any, ...]], columns: Sequence[str] | None
    ) -> list[Row] | None:
        """The rows with one of `keys`, which are distinct, of the types of the key and at least one; None if a query
        reads them."""
        try:
            return self._rows(keyed, keys, columns)
        except (SqlextError, OnlyByQuery, pa.ArrowException, OverflowError, ValueError):
            # A file that is gone or damaged, a type of it that is not projected, or a value that Python cannot hold:
            # the query reads it, or tells what is wrong.
            return None

    def _rows(
        self, keyed: KeyedVersion, keys: Sequence[tuple[Any, ...]], columns: Sequence[str] | None
    ) -> list[Row] | None:
        version, key = keyed.version, keyed.key_fields
        fields = _fields(keyed, columns)
        thresholds = keyed.thresholds
        if fields is None or len(keys) > thresholds.driver_rows:
            return None
        if any(len(path) > 1 for path, _ in keyed.key) or any(one.initial_default is not None for one in key):
            return None
        sought = _table(key, keys)
        plan = self._scans.with_positions(version, self._scans.plan(version, having_keys(key, sought)))
        others = tuple(field for field in dict.fromkeys(fields) if field not in key)
        if plan is None or not is_looked_up(version, plan, key, others, thresholds):
            return None
        require_allowed(version.io, [task.file for task in plan.tasks])
        names = [field.name for field in fields] if columns is None else list(columns)
        converters = [converter_of(field.type, keyed.of_binary) for field in fields]
        rows: list[Row] = []
        for found in rows_of_keys(version, plan, key, sought, others):
            values = [converted(found.columns[field.id], one) for field, one in zip(fields, converters, strict=True)]
            rows.extend(named_row(names, one) for one in zip(*values, strict=True))
        return rows


def _fields(keyed: KeyedVersion, columns: Sequence[str] | None) -> tuple[NestedField, ...] | None:
    """The columns to read; None if one is not a column of the table by its whole name, or of a type that is not
    converted here."""
    schema = keyed.version.schema
    names = {field.name.lower() for field in schema.fields}
    if len(names) < len(schema.fields):
        return None
    if columns is None:
        found: list[NestedField | None] = [*schema.fields]
    else:
        found = [schema.column(name, keyed.case_sensitive) for name in columns]
    known = [field for field in found if field is not None and is_converted(field.type)]
    return tuple(known) if found and len(known) == len(found) else None


def _table(key: Sequence[NestedField], keys: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = []
    for at, field in enumerate(key):
        values = [one[at].bytes if isinstance(one[at], UUID) else one[at] for one in keys]
        columns.append(pa.array(values, type_to_arrow(field.type)))
    return pa.table(columns, names=[field.name for field in key])
