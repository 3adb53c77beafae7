"""Positions of rows by key, read from the key columns of Parquet files of several writers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.key_lookup import KeyMatches, find_keys, row_ids
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.storage.file_io import LocalFileIO

KEYS = pa.table({"id": [7, 2, 9]})


def with_id(name: str, type: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type, metadata={"PARQUET:field_id": str(field_id)})


ID = with_id("id", pa.int32(), 1)
NAME = with_id("name", pa.string(), 2)


def task(path: Path, rows: pa.Table, deleted: BitMap64 | None = None) -> FileScanTask:
    pq.write_table(rows, path)
    file = ContentFile(Content.DATA, str(path), "PARQUET", 0, (), rows.num_rows, path.stat().st_size)
    return FileScanTask(file, 1, 0, None if deleted is None else deleted.serialize(), len(deleted or ()))


def found(*tasks: FileScanTask, keys: pa.Table = KEYS, ids: tuple[int, ...] = (1,)) -> KeyMatches:
    return find_keys(LocalFileIO(), ScanPlan(tasks), keys, ids)


def test_live_rows_are_found_with_the_row_of_their_key(tmp_path: Path) -> None:
    first = task(tmp_path / "a", pa.table({"id": [1, 2, 2, 7]}, pa.schema([ID])), BitMap64([2]))
    renamed = pa.table({"name": ["", ""], "old": [3, 9]}, pa.schema([NAME, ID.with_name("old")]))
    second = task(tmp_path / "b", renamed)
    third = task(tmp_path / "c", pa.table({"id": [4]}, pa.schema([ID])))
    matches = found(first, second, third)
    assert {Path(path).name: list(bits) for path, bits in matches.positions.items()} == {"a": [1, 3], "b": [1]}
    assert matches.key_rows.tolist() == [1, 0, 2]


def test_row_ids_of_the_rows_found(tmp_path: Path) -> None:
    """By position, stored with a moved row, and null in a file without row ids."""
    stored = pa.table({"id": [7, 2], "_row_id": [None, 5]}, pa.schema([ID, with_id("_row_id", pa.int64(), 2147483540)]))
    tasks = [
        task(tmp_path / "a", pa.table({"id": [1, 2, 2]}, pa.schema([ID]))),
        task(tmp_path / "b", stored),
        task(tmp_path / "c", pa.table({"id": [9]}, pa.schema([ID]))),
    ]
    firsts = (100, 200, None)
    tasks = [replace(t, file=replace(t.file, first_row_id=first)) for t, first in zip(tasks, firsts, strict=True)]
    matches = found(*tasks)
    assert row_ids(LocalFileIO(), ScanPlan(tuple(tasks)), matches).to_pylist() == [101, 102, 200, 5, None]
    assert row_ids(LocalFileIO(), ScanPlan(), found()).to_pylist() == []


def test_a_key_of_two_columns(tmp_path: Path) -> None:
    rows = pa.table({"name": ["a", "b", None, "b"], "id": [2, 2, 2, 7]}, pa.schema([NAME, ID]))
    matches = found(task(tmp_path / "a", rows), keys=pa.table({"id": [7, 2], "name": ["b", "b"]}), ids=(1, 2))
    assert [list(bits) for bits in matches.positions.values()] == [[1, 3]]
    assert matches.key_rows.tolist() == [1, 0]


def test_a_file_older_than_a_key_column_has_no_key(tmp_path: Path) -> None:
    assert found(task(tmp_path / "a", pa.table({"name": ["a"]}, pa.schema([NAME])))).positions == {}


def test_a_file_without_field_ids_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"data files without field ids .*foreign") as raised:
        found(task(tmp_path / "foreign", pa.table({"id": [2]})))
    assert raised.value.condition == "UNSUPPORTED_TABLE_FEATURE"


def test_damaged_and_lost_files_are_named(tmp_path: Path) -> None:
    one = task(tmp_path / "damaged", pa.table({"id": [2]}, pa.schema([ID])))
    (tmp_path / "damaged").write_bytes(b"PAR1")
    with pytest.raises(CorruptionError, match="damaged"):
        found(one)
    (tmp_path / "damaged").unlink()
    with pytest.raises(NotFoundError, match="damaged"):
        found(one)
