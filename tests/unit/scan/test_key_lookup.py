"""Positions of rows by key, read from the key columns of Parquet files of several writers."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
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
from unit.scan.small_table import MeetingIO

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


def test_files_are_read_several_at_a_time(tmp_path: Path) -> None:
    tasks = [task(tmp_path / name, pa.table({"id": [7, 1]}, pa.schema([ID]))) for name in "ab"]
    matches = find_keys(MeetingIO(tmp_path), ScanPlan(tuple(tasks)), KEYS, (1,))
    assert matches.positions == {one.file.file_path: BitMap64([0]) for one in tasks}
    assert matches.key_rows.tolist() == [0, 0]


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
    assert row_ids(LocalFileIO(), ScanPlan(tuple(tasks)), matches.positions).to_pylist() == [101, 102, 200, 5, None]
    assert row_ids(LocalFileIO(), ScanPlan(), {}).to_pylist() == []


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


_KINDS = {
    "int": (pa.int32(), lambda number: number * 3 - 5_000),
    "long as int": (pa.int32(), lambda number: number * 3 - 5_000),
    "date": (pa.date32(), lambda number: date(1960, 1, 1) + timedelta(number)),
    "text": (pa.string(), lambda number: f"{number * 3:06}" if number % 2 else f"ü{number:06}"),
    "bytes": (pa.binary(), lambda number: (number * 7).to_bytes(3, "big")),
    "decimal": (pa.decimal128(9, 2), lambda number: Decimal(number).scaleb(-2)),
}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_keys_are_found_in_the_row_groups_that_are_read(tmp_path: Path, kind: str, seed: int) -> None:
    rng = random.Random(seed)
    type, make = _KINDS[kind]
    numbers = list(range(3_000))
    if seed == 2:
        rng.shuffle(numbers)
    stored = [None if rng.random() < 0.05 else make(number) for number in numbers]
    path = tmp_path / "f"
    columns = {"id": pa.array(stored, type), "name": ["b"] * len(stored)}
    pq.write_table(
        pa.table(columns, pa.schema([with_id("id", type, 1), NAME])), path, row_group_size=rng.choice([7, 500])
    )
    file = ContentFile(Content.DATA, str(path), "PARQUET", 0, (), len(stored), path.stat().st_size)
    wanted = sorted({rng.randrange(-50, 3_100) for _ in range(rng.choice([1, 3, 40]))})
    keys = pa.array([make(number) for number in wanted if number >= 0], pa.int64() if kind == "long as int" else type)
    for table, ids in (
        (pa.table({"id": keys}), (1,)),
        (pa.table({"name": pa.array(["b"] * len(keys), pa.string()), "id": keys}), (2, 1)),
    ):
        matches = found(FileScanTask(file, 1, 0, None, 0), keys=table, ids=ids)
        there = {value: number for number, value in enumerate(stored) if value is not None}
        expected = {there[value]: number for number, value in enumerate(keys.to_pylist()) if value in there}
        positions = [position for bits in matches.positions.values() for position in bits]
        assert dict(zip(positions, matches.key_rows.tolist(), strict=True)) == expected, f"seed {seed}"


def test_row_groups_without_a_key_are_not_read(tmp_path: Path) -> None:
    """By damage to what is not to be read."""
    path = tmp_path / "f"
    rows = pa.table({"id": pa.array(range(4_000), pa.int32())}, pa.schema([ID]))
    pq.write_table(rows, path, row_group_size=1_000, compression="zstd", use_dictionary=False)
    footer = pq.read_metadata(path)
    data = bytearray(path.read_bytes())
    for number in (0, 1, 3):
        chunk = footer.row_group(number).column(0)
        start = chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.write_bytes(data)
    file = ContentFile(Content.DATA, str(path), "PARQUET", 0, (), 4_000, path.stat().st_size)
    matches = found(FileScanTask(file, 1, 0, None, 0), keys=pa.table({"id": [-3, 2_001, 2_500, 5_000]}))
    assert [list(bits) for bits in matches.positions.values()] == [[2_001, 2_500]]
    assert matches.key_rows.tolist() == [1, 2]


def test_damaged_and_lost_files_are_named(tmp_path: Path) -> None:
    one = task(tmp_path / "damaged", pa.table({"id": [2]}, pa.schema([ID])))
    (tmp_path / "damaged").write_bytes(b"PAR1")
    with pytest.raises(CorruptionError, match="damaged"):
        found(one)
    (tmp_path / "damaged").unlink()
    with pytest.raises(NotFoundError, match="damaged"):
        found(one)
