"""Live rows projected to a table's columns, from Parquet files of several writers and older schemas."""

from __future__ import annotations

import io
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError, OnlyByQuery
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestampType,
    Type,
    UuidType,
)
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.arrow_schema import schema_to_arrow

ONE = uuid.UUID(int=1)


def with_id(name: str, type: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type, metadata={"PARQUET:field_id": str(field_id)})


def task(path: Path, columns: Sequence[tuple[pa.Field, list[Any]]], first_row_id: int | None = None) -> FileScanTask:
    """The task of a file with sequence number 7."""
    rows = pa.table([pa.array(values, field.type) for field, values in columns], pa.schema([f for f, _ in columns]))
    pq.write_table(rows, path)
    file = ContentFile(
        Content.DATA, str(path), "PARQUET", 0, (), rows.num_rows, path.stat().st_size, first_row_id=first_row_id
    )
    return FileScanTask(file, 7, 0)


def columns(*fields: NestedField) -> RowColumns:
    return RowColumns(fields, schema_to_arrow(Schema(fields)))


def read(given: FileScanTask, *fields: NestedField, lineage: bool = False) -> list[list[object]] | None:
    try:
        batches = list(live_rows(LocalFileIO(), given, columns(*fields), lineage=lineage))
    except OnlyByQuery:
        return None
    return [list(row.values()) for batch in batches for row in batch.to_pylist()]


def test_columns_are_found_by_their_ids_and_others_have_their_defaults(tmp_path: Path) -> None:
    there = task(tmp_path / "a", [(with_id("id", pa.int64(), 1), [3, None]), (with_id("gone", pa.int64(), 2), [8, 9])])
    found = read(
        there,
        NestedField(4, "t", StringType(), initial_default="new"),
        NestedField(1, "renamed", LongType()),
        NestedField(3, "gone", LongType()),
        NestedField(5, "u", UuidType(), initial_default=ONE),
        NestedField(6, "n", DecimalType(9, 2), initial_default=Decimal("1.50")),
    )
    assert found == [["new", value, None, ONE.bytes, Decimal("1.50")] for value in (3, None)]
    assert read(there, NestedField(3, "gone", LongType())) == [[None], [None]]


class _Requests(io.RawIOBase):
    """A file of which each read is a request to an object store."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)
        self.count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._data.seek(offset, whence)

    def tell(self) -> int:
        return self._data.tell()

    def readinto(self, buffer: Any) -> int:
        self.count += 1
        return self._data.readinto(buffer)


class _RemoteIO(LocalFileIO):
    def __init__(self) -> None:
        self.opened: list[_Requests] = []

    def open_input(self, location: str) -> BinaryIO:
        self.opened.append(_Requests(self.read(location)))
        return io.BufferedReader(self.opened[-1], 64 * 1024)


def test_a_row_group_is_a_few_requests_however_many_columns_it_has(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    given = {field_id: rng.integers(0, 2**62, 100_000) for field_id in range(1, 31)}
    fields = [with_id(f"c{field_id}", pa.int64(), field_id) for field_id in given]
    pq.write_table(pa.table(list(given.values()), pa.schema(fields)), tmp_path / "f", row_group_size=25_000)
    size = (tmp_path / "f").stat().st_size
    assert size > 20_000_000
    remote = _RemoteIO()
    file = ContentFile(Content.DATA, str(tmp_path / "f"), "PARQUET", 0, (), 100_000, size)
    shown = columns(*(NestedField(field_id, f"c{field_id}", LongType()) for field_id in given))
    batches = list(live_rows(remote, FileScanTask(file, 7, 0), shown, lineage=False))
    assert sum(batch.num_rows for batch in batches) == 100_000
    assert [batch.column(2)[0].as_py() for batch in batches[:1]] == [given[3][0]]
    assert remote.opened[0].count <= 4 * 3 + 5


@pytest.mark.parametrize(
    ("stored", "type", "value"),
    [
        (pa.int32(), LongType(), -4),
        (pa.float32(), DoubleType(), 0.5),
        (pa.decimal128(5, 2), DecimalType(20, 2), Decimal("1.25")),
        (pa.large_string(), StringType(), "ä"),
        (pa.uuid(), UuidType(), ONE.bytes),
        (pa.binary(16), UuidType(), ONE.bytes),
    ],
)
def test_values_of_the_forms_that_a_type_may_have(
    tmp_path: Path, stored: pa.DataType, type: Type, value: object
) -> None:
    there = task(tmp_path / "a", [(with_id("v", stored, 1), [value, None])])
    assert read(there, NestedField(1, "v", type)) == [[value], [None]]


@pytest.mark.parametrize(
    ("stored", "type"),
    [
        (pa.int16(), IntegerType()),
        (pa.decimal128(9, 3), DecimalType(9, 2)),
        (pa.timestamp("ns"), TimestampType()),
        (pa.timestamp("us", "UTC"), TimestampType()),
        (pa.date32(), TimestampType()),
        (pa.list_(with_id("element", pa.int32(), 3)), ListType(2, IntegerType(), False)),
        (pa.list_(with_id("element", pa.int32(), 2)), ListType(2, LongType(), False)),
    ],
)
def test_a_column_of_another_form_is_not_taken(tmp_path: Path, stored: pa.DataType, type: Type) -> None:
    assert read(task(tmp_path / "a", [(with_id("v", stored, 1), [])]), NestedField(1, "v", type)) is None


def test_nested_columns_as_they_are_written(tmp_path: Path) -> None:
    field = NestedField(1, "l", ListType(2, IntegerType(), False))
    (arrow,) = schema_to_arrow(Schema((field,)))
    assert read(task(tmp_path / "a", [(arrow, [[1, None], None, []])]), field) == [[[1, None]], [None], [[]]]


@pytest.mark.parametrize("required", [False, True])
def test_maps_and_values_that_a_file_requires(tmp_path: Path, required: bool) -> None:
    """Readers name a map's entries after its column; Iceberg writes values without nulls as required ones."""
    pairs = pa.map_(
        with_id("key", pa.string(), 2).with_nullable(False), with_id("value", pa.int32(), 3).with_nullable(not required)
    )
    given = task(tmp_path / "f.parquet", [(with_id("m", pairs, 1), [[("a", 1)], None])])
    told = NestedField(1, "m", MapType(2, StringType(), 3, IntegerType(), value_required=False))
    assert read(given, told) == [[[("a", 1)]], [None]]
    strict = NestedField(1, "m", MapType(2, StringType(), 3, IntegerType(), value_required=True))
    assert (read(given, strict) is None) == (not required)


def test_deleted_rows_are_left_out_and_lineage_is_of_the_place_of_a_row(tmp_path: Path) -> None:
    """A deleted position after the last row is ignored."""
    id = with_id("id", pa.int64(), 1)
    moved = [(with_id("_row_id", pa.int64(), 2147483540), [4, None, None])]
    deleted = BitMap64([1, 9]).serialize()
    field = NestedField(1, "id", LongType())

    def lineage(first_row_id: int | None, *more: tuple[pa.Field, list[Any]]) -> list[list[object]] | None:
        there = task(tmp_path / "a", [(id, [10, 11, 12]), *more], first_row_id)
        there = FileScanTask(there.file, there.sequence_number, 0, deleted, 2)
        return read(there, field, lineage=True)

    assert lineage(100) == [[10, 100, 7], [12, 102, 7]]
    assert lineage(100, *moved) == [[10, 4, 7], [12, 102, 7]]
    assert lineage(None, *moved) == [[10, None, None], [12, None, None]]
    changed = (with_id("_last_updated_sequence_number", pa.int64(), 2147483539), [2, 2, None])
    assert lineage(100, *moved, changed) == [[10, 4, 2], [12, 102, 7]]
    assert read(task(tmp_path / "a", [(id, [10])], 100), field) == [[10]]


def test_errors_name_the_file(tmp_path: Path) -> None:
    there = task(tmp_path / "a", [(with_id("id", pa.int64(), 1), [1])])
    (tmp_path / "a").write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(CorruptionError, match="/a"):
        read(there, NestedField(1, "id", LongType()))
    (tmp_path / "a").unlink()
    with pytest.raises(NotFoundError, match="/a"):
        read(there, NestedField(1, "id", LongType()))
