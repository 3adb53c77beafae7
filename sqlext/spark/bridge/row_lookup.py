"""Rows by their key, read by the driver's Python process: no query is planned, and the JVM does nothing.

What is not read here exactly as Spark would is left to a query: None stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyspark
from pyroaring import BitMap64
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import TimestampType

from sqlext.errors import SqlextError
from sqlext.scan.files.file_columns import all_by_field_id
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.key_lookup import find_keys, lookup_bytes
from sqlext.scan.live_rows import OnlyByQuery, RowColumns, live_rows
from sqlext.scan.placed_rows import rows_at
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.catalog.session_catalogs import Catalogs, TableVersion, handle_of
from sqlext.spark.catalog.time_travel import travel
from sqlext.spark.scan.driver_read import MOST_FILES
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spark.session.session_settings import is_case_sensitive_by, transaction_mark_in
from sqlext.spark.shim.java_objects import settings_of
from sqlext.spec.expression import And, In, Predicate
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    Type,
    UuidType,
)
from sqlext.spec.types import TimestampType as TimestampWithoutZone
from sqlext.sql.statements.table_resolution import SPARK_CATALOG
from sqlext.sql.syntax.type_text import ddl_type_text
from sqlext.storage.location import is_object
from sqlext.thresholds import Thresholds
from sqlext.write.arrow_schema import schema_to_arrow, type_to_arrow
from sqlext.write.positioned_values import has_positioned_values, values_at

# Files up to this size are decoded whole; of larger ones only the pages that have the rows.
_WHOLE_BYTES = 1024 * 1024
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)
_EXTENSIONS = "spark.sql.extensions"
_OWN_EXTENSIONS = "io.sqlext.Extensions"
_WAP_BRANCH = "spark.wap.branch"
_BINARY_AS_BYTES = "spark.sql.execution.pyspark.binaryAsBytes"
# Python's values of these are Arrow's.
_PLAIN = (
    BooleanType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    DateType,
    StringType,
    TimestampWithoutZone,
)

_Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class KeyedVersion:
    """A table's version as a session sees it. `key` has its columns: the path of each, and its type as CREATE TABLE
    spells it. `of_binary` makes PySpark's value of a BINARY, see `_converter`."""

    version: TableVersion
    key: tuple[tuple[tuple[str, ...], str], ...]
    thresholds: Thresholds
    case_sensitive: bool
    of_binary: _Converter | None

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
        return KeyedVersion(version, key, Thresholds.of(settings), is_case_sensitive_by(settings), _of_binary(settings))

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
        if fields is None or len(keys) > thresholds.driver_rows or not thresholds.looked_up_rows:
            return None
        if any(len(path) > 1 for path, _ in keyed.key) or any(one.initial_default is not None for one in key):
            return None
        sought = _table(key, keys)
        plan = self._scans.with_positions(version, self._scans.plan(version, _predicate(key, sought)))
        others = tuple(field for field in dict.fromkeys(fields) if field not in key)
        if plan is None or not _is_read_here(version, plan, others):
            return None
        if lookup_bytes(plan, [field.id for field in key]) > thresholds.looked_up_key_bytes:
            return None
        require_allowed(version.io, [task.file for task in plan.tasks])
        names = [field.name for field in fields] if columns is None else list(columns)
        converters = [_converter(field.type, keyed.of_binary) for field in fields]
        rows: list[Row] = []
        for columns_of in _read(version, plan, key, sought, others):
            values = [_converted(columns_of[field.id], one) for field, one in zip(fields, converters, strict=True)]
            rows.extend(_named(names, one) for one in zip(*values, strict=True))
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
    known = [field for field in found if field is not None and _is_converted(field.type)]
    return tuple(known) if found and len(known) == len(found) else None


def _is_read_here(version: TableVersion, plan: ScanPlan, fields: Sequence[NestedField]) -> bool:
    """Whether the columns `fields` of the plan's files are read here as by Spark, and in less time than by a query."""
    files = [task.file for task in plan.tasks]
    if len(files) > MOST_FILES:
        return False
    if not all_by_field_id(files, NameMapping.of_table(version.metadata.properties)):
        return False
    positioned = all(map(has_positioned_values, fields))
    return all(
        file.file_size_in_bytes <= _WHOLE_BYTES or (positioned and not is_object(file.file_path)) for file in files
    )


def _table(key: Sequence[NestedField], keys: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = []
    for at, field in enumerate(key):
        values = [one[at].bytes if isinstance(one[at], UUID) else one[at] for one in keys]
        columns.append(pa.array(values, type_to_arrow(field.type)))
    return pa.table(columns, names=[field.name for field in key])


def _predicate(key: Sequence[NestedField], sought: pa.Table) -> Predicate:
    found: Predicate | None = None
    for field, column in zip(key, sought.columns, strict=True):
        one = In(field.id, frozenset(_stored(field.type, column.combine_chunks())))
        found = one if found is None else And(found, one)
    assert found is not None, "a key has columns"
    return found


def _stored(type: Type, values: pa.Array) -> list[Any]:
    """The values as metadata has them (spec: single values)."""
    match type:
        case DateType():
            values = values.cast(pa.int32())
        case TimestampWithoutZone() | TimestamptzType():
            values = values.cast(pa.int64())
        case UuidType():
            return [UUID(bytes=one) for one in values.to_pylist()]
    listed: list[Any] = values.to_pylist()
    return listed


def _read(
    version: TableVersion,
    plan: ScanPlan,
    key: Sequence[NestedField],
    sought: pa.Table,
    others: Sequence[NestedField],
) -> Iterator[Mapping[int, pa.Array | pa.ChunkedArray]]:
    """By file, the columns of the rows with one of the keys, by field id: those of the key and `others`."""
    matches = find_keys(version.io, plan, sought, [field.id for field in key])
    tasks = plan.by_path()
    columns = RowColumns(others, schema_to_arrow(Schema(tuple(others))))
    ids = [field.id for field in others]
    start = 0
    for path, positions in matches.positions.items():
        found = sought.take(matches.key_rows[start : start + len(positions)])
        start += len(positions)
        keys = dict(zip((field.id for field in key), found.columns, strict=True))
        values = _columns(version, tasks[path], positions, columns) if others else ()
        yield {**keys, **dict(zip(ids, values, strict=True))}


def _columns(
    version: TableVersion, task: FileScanTask, positions: BitMap64, columns: RowColumns
) -> Sequence[pa.Array | pa.ChunkedArray]:
    """The columns in the rows at these positions."""
    path = task.file.file_path
    if task.file.file_size_in_bytes > _WHOLE_BYTES:
        numbers = np.frombuffer(positions.to_array(), np.uint64)
        found = values_at(path, numbers, columns.fields)
        return [one.cast(field.type) for one, field in zip(found, columns.arrow, strict=True)]
    shape = columns.shape(lineage=False, origins=True)

    def read(task: FileScanTask, source: int) -> Iterator[pa.RecordBatch]:
        return live_rows(version.io, task, columns, lineage=False, source=source)

    found_rows: Sequence[pa.ChunkedArray] = rows_at({path: task}, {path: positions}, shape, read).rows.columns
    return found_rows


def _converted(column: pa.Array | pa.ChunkedArray, converter: _Converter | None) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values if converter is None else [None if one is None else converter(one) for one in values]


def _is_converted(type: Type) -> bool:
    match type:
        case StructType(fields=fields):
            return all(_is_converted(field.type) for field in fields)
        case ListType(element=element):
            return _is_converted(element)
        case MapType(key=key, value=value):
            return _is_converted(key) and _is_converted(value)
    return isinstance(type, (*_PLAIN, TimestamptzType, UuidType, BinaryType, FixedType))


def _of_binary(settings: Mapping[str, str]) -> _Converter | None:
    """PySpark has a bytearray for a BINARY before 4.1, and bytes since, unless the session asks for the former."""
    newer = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1)
    return None if newer and settings.get(_BINARY_AS_BYTES, "true").lower() == "true" else bytearray


def _converter(type: Type, of_binary: _Converter | None) -> _Converter | None:
    """Makes PySpark's value of a type, as in `collect`, of that by Arrow's `to_pylist`; None if they are equal."""
    match type:
        case TimestamptzType():
            return _local_time
        case UuidType():
            return lambda value: str(UUID(bytes=value))
        case BinaryType() | FixedType():
            return of_binary
        case StructType(fields=fields):
            names = [field.name for field in fields]
            return partial(_row, names, [_converter(field.type, of_binary) or _same for field in fields])
        case ListType(element=element):
            of_element = _converter(element, of_binary)
            return None if of_element is None else partial(_list, of_element)
        case MapType(key=key, value=value):
            return partial(_map, _converter(key, of_binary) or _same, _converter(value, of_binary) or _same)
    return None


def _same(value: Any) -> Any:
    return value


def _local_time(value: datetime) -> datetime:
    """The moment in the zone of the process, without naming it."""
    found: datetime = TimestampType().fromInternal((value - _EPOCH) // _MICROSECOND)
    return found


def _row(names: list[str], converters: Sequence[_Converter], value: Mapping[str, Any]) -> Row:
    parts = zip(names, converters, strict=True)
    return _named(names, [None if value[name] is None else converter(value[name]) for name, converter in parts])


def _named(names: list[str], values: Iterable[Any]) -> Row:
    """A row as `collect` makes it, with its names beside the values."""
    row = Row(*values)
    row.__fields__ = names
    return row


def _list(converter: _Converter, value: Sequence[Any]) -> list[Any]:
    return [None if one is None else converter(one) for one in value]


def _map(of_key: _Converter, of_value: _Converter, value: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    return {of_key(one): None if other is None else of_value(other) for one, other in value}
