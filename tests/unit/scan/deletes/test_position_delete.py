"""Position-delete files as bitmaps."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.deletes.position_delete import PositionDeleteCache, read_position_deletes
from unit.scan.small_table import RecordingIO, SmallTable, position_delete_file


@pytest.mark.parametrize("is_sorted", [True, False])
def test_positions_by_path(tmp_path: Path, is_sorted: bool) -> None:
    random = Random(7)
    rows = [(f"f{random.randint(0, 4)}", random.choice((5, 2**33)) + random.randint(0, 999)) for _ in range(5000)]
    if is_sorted:
        rows.sort()
    table = pa.table({"file_path": [row[0] for row in rows], "pos": pa.array([row[1] for row in rows], pa.int64())})
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=700)
    expected: dict[str, set[int]] = {}
    for path, position in rows:
        expected.setdefault(path, set()).add(position)
    found = read_position_deletes(RecordingIO(), str(tmp_path / "d.parquet"), "PARQUET")
    assert {path: set(bitmap) for path, bitmap in found.items()} == expected


def test_empty_file_and_plain_encoding(tmp_path: Path) -> None:
    assert read_position_deletes(RecordingIO(), SmallTable(tmp_path).position_deletes("d.parquet", {}), "PARQUET") == {}
    table = pa.table({"file_path": ["f", "g"], "pos": pa.array([1, 2], pa.int64()), "row": [1, 2]})
    pq.write_table(table, tmp_path / "e.parquet", use_dictionary=False)
    found = read_position_deletes(RecordingIO(), str(tmp_path / "e.parquet"), "PARQUET")
    assert found == {"f": BitMap64([1]), "g": BitMap64([2])}


def test_a_file_is_read_once_while_it_fits(tmp_path: Path) -> None:
    file = position_delete_file(SmallTable(tmp_path).position_deletes("d.parquet", {"f": [1]}))
    for capacity, reads in ((10_000, 1), (0, 2)):
        io, cache = RecordingIO(), PositionDeleteCache(capacity)
        assert cache.positions(io, file) == cache.positions(io, file) == {"f": BitMap64([1])}
        assert io.opened == ["d.parquet"] * reads


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"file_path": ["f"], "position": pa.array([1], pa.int64())}),
        pa.table({"file_path": ["f"], "pos": pa.array([None], pa.int64())}),
        pa.table({"file_path": ["f"], "pos": pa.array([-1], pa.int64())}),
        pa.table({"file_path": ["f"], "pos": pa.array(["1"])}),
        pa.table({"file_path": pa.array([], pa.string()), "position": pa.array([], pa.int64())}),
        pa.table({"file_path": pa.array([], pa.string()), "pos": pa.array([], pa.string())}),
        pa.table({"file_path": pa.array([b"f\xa8"]).view(pa.string()), "pos": pa.array([1], pa.int64())}),
    ],
)
def test_what_is_no_position_delete_file_is_corrupt(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(CorruptionError) as error:
        read_position_deletes(RecordingIO(), str(tmp_path / "d.parquet"), "PARQUET")
    assert error.value.parameters["path"] == str(tmp_path / "d.parquet")


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as missing:
        read_position_deletes(RecordingIO(), str(tmp_path / "d.parquet"), "PARQUET")
    assert missing.value.condition == "FILE_NOT_FOUND"
    (tmp_path / "d.parquet").write_bytes(b"PAR1 no parquet at all PAR1")
    with pytest.raises(CorruptionError) as damaged:
        read_position_deletes(RecordingIO(), str(tmp_path / "d.parquet"), "PARQUET")
    assert damaged.value.condition == "CORRUPT_FILE"
