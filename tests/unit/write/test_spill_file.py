"""Rows that wait on the local disk: the same rows, few files, and nothing left."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import DataError
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import BooleanType, NestedField
from sqlext.storage.file_io import LocalFileIO
from sqlext.write import data_writer
from sqlext.write.data_writer import DataWriter
from sqlext.write.delete_writer import EqualityDeleteWriter
from sqlext.write.distinct_keys import DistinctKeys
from sqlext.write.row_operation import DELETE, UPDATE
from sqlext.write.spill_file import SpillFile
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import KEYED, all_types, batch, files_below, local, plan

BY_NAME = PartitionSpec(2, (PartitionField(2, 1000, "name", parse_transform("identity")),))
PARTITIONS, ROUNDS, OPEN = 20, 30, 3


@pytest.fixture(autouse=True)
def spill_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only place for temporary files. It is empty at the end of every test."""
    folder = tmp_path / "spill"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = _spill_files(folder)
    yield folder
    assert list(folder.iterdir()) == []
    assert _spill_files(folder) == before == 0


def _spill_files(folder: Path) -> int:
    """Those that this process has open, whether they have a name or not."""
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            found += os.readlink(descriptor).startswith(str(folder))
        except FileNotFoundError:
            continue
    return found


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_writer, "MAX_OPEN_FILES", OPEN)
    monkeypatch.setattr(data_writer, "SPLIT_ROWS", 100)


def _fan_out(writer: DataWriter, folder: Path | None = None) -> int:
    """Rows of every partition in every batch; the most files that were open at once."""
    most = 0
    for number in range(ROUNDS):
        rows = [f"p{i % PARTITIONS}" for i in range(100)]
        writer.write(batch(KEYED, list(range(number * 100, number * 100 + 100)), rows))
        own = [rows for rows in writer._writer._partitions.values() if rows.file is not None]
        most = max(most, len(own) + (0 if folder is None else _spill_files(folder)))
    return most


def _rows(files: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for file in files:
        table = pq.read_table(local(file.file_path), partitioning=None)
        for id, name in zip(*(table.column(n).to_pylist() for n in ("id", "name")), strict=True):
            found.setdefault(name, []).append(id)
    return found


def test_what_comes_back_is_what_was_put(spill_folder: Path) -> None:
    spill, rows = SpillFile(), all_types()
    places = [spill.put([rows.slice(start, 1), rows], 7) for start in range(2)]
    assert _spill_files(spill_folder) == 1
    for start in (1, 0):
        taken = spill.take(places[start])
        assert [one.schema for one in taken] == [rows.schema] * 2
        # As text, as NaN is not equal to itself.
        assert [str(one.to_pylist()) for one in taken] == [str(rows.slice(start, 1).to_pylist()), str(rows.to_pylist())]
    spill.close()
    spill.close()


@pytest.mark.usefixtures("few_files")
def test_many_partitions_make_one_file_each_however_little_is_kept(tmp_path: Path, spill_folder: Path) -> None:
    small = replace(plan(tmp_path, spec=BY_NAME), buffer_size=2_000)
    writer = DataWriter(LocalFileIO(), small, 0, 0)
    assert _fan_out(writer, spill_folder) <= OPEN + 1
    assert _spill_files(spill_folder) == 1
    files = writer.close()
    assert len(files) == PARTITIONS
    # Every row once, and those of a partition in the order in which they came.
    expected = {f"p{n}": [id for id in range(ROUNDS * 100) if id % 100 % PARTITIONS == n] for n in range(PARTITIONS)}
    assert _rows(files) == expected

    patient = DataWriter(LocalFileIO(), replace(small, spills=False), 0, 1)
    assert _fan_out(patient) == OPEN
    many = patient.close()
    assert len(many) > 5 * PARTITIONS
    assert {name: sorted(ids) for name, ids in _rows(many).items()} == expected


@pytest.mark.usefixtures("few_files")
def test_rows_that_fill_a_row_group_do_not_wait(tmp_path: Path, spill_folder: Path) -> None:
    small = replace(plan(tmp_path, spec=BY_NAME, target_file_size=4_000, row_group_size=2_000), buffer_size=2_000)
    writer = DataWriter(LocalFileIO(), small, 0, 0)
    _fan_out(writer)
    waiting = [rows.waiting_bytes for rows in writer._writer._partitions.values()]
    assert max(waiting) < 2 * 2_000 / data_writer._LEAST_DENSITY
    files = writer.close()
    assert sum(file.record_count for file in files) == ROUNDS * 100
    assert Counter(id for ids in _rows(files).values() for id in ids) == Counter(range(ROUNDS * 100))


@pytest.mark.usefixtures("few_files")
def test_an_abort_gives_everything_back(tmp_path: Path, spill_folder: Path) -> None:
    writer = DataWriter(LocalFileIO(), replace(plan(tmp_path, spec=BY_NAME), buffer_size=2_000), 0, 0)
    _fan_out(writer)
    assert _spill_files(spill_folder) == 1
    writer.abort()
    assert [path for path in files_below(tmp_path) if "spill" not in path] == []


@pytest.mark.usefixtures("few_files")
def test_equality_deletes_wait_likewise(tmp_path: Path) -> None:
    keyed = replace(KEYED, identifier_field_ids=(1, 2))
    small = replace(plan(tmp_path, keyed, BY_NAME), buffer_size=2_000)
    writer = EqualityDeleteWriter(LocalFileIO(), small, (1, 2), 0, 0)
    for number in range(ROUNDS):
        ids, names = list(range(number * 100, number * 100 + 100)), [f"p{i % PARTITIONS}" for i in range(100)]
        writer.write(batch(KEYED, ids, names))
    files = writer.close()
    assert len(files) == PARTITIONS
    assert sum(file.record_count for file in files) == ROUNDS * 100


def _keys(small: WritePlan, ids: list[int], places: list[tuple[int, str, int]] | None = None) -> DistinctKeys:
    keys = DistinctKeys(small)
    for start in range(0, len(ids), 50):
        part = ids[start : start + 50]
        columns = [pa.array(part, pa.int64()), pa.array(["x"] * len(part))]
        if places is None:
            keys.add(columns)
            continue
        codes, files, positions = zip(*places[start : start + 50], strict=True)
        keys.add(columns, [pa.array(codes, pa.int8()), pa.array(files, pa.string()), pa.array(positions, pa.int64())])
    return keys


@pytest.mark.parametrize("buffer_size", [1_000, 2**30])
def test_repeated_keys_are_found_however_few_are_kept(tmp_path: Path, spill_folder: Path, buffer_size: int) -> None:
    small = replace(plan(tmp_path), buffer_size=buffer_size)
    keys = _keys(small, list(range(2_000)))
    assert _spill_files(spill_folder) == (buffer_size == 1_000)
    assert keys.require() == 0
    with pytest.raises(DataError, match=r'DUPLICATE_KEY.*"id": 7\b'):
        _keys(small, [*range(2_000), 7]).require()


@pytest.mark.parametrize("buffer_size", [1_000, 2**30])
def test_copies_of_a_key_are_counted_however_few_are_kept(tmp_path: Path, buffer_size: int) -> None:
    """The table has keys 0 to 9 twice: a source row comes for each of the two."""
    small = replace(plan(tmp_path), buffer_size=buffer_size)
    ids = [*range(1_000), *range(10)]
    places = [(UPDATE, "a", id) for id in range(1_000)] + [(UPDATE if id else DELETE, "b", id) for id in range(10)]
    assert _keys(small, ids, places).require() == 9
    with pytest.raises(DataError, match="DUPLICATE_KEY"):
        _keys(small, ids, [(UPDATE, "a", id % 1_000) for id in [*range(1_000), *range(10)]]).require()


def test_keys_that_cannot_be_divided_are_looked_at_together(tmp_path: Path) -> None:
    flags = Schema((NestedField(1, "flag", BooleanType(), required=True),), identifier_field_ids=(1,))
    keys = DistinctKeys(replace(plan(tmp_path, flags), buffer_size=1))
    keys.add([pa.array([True])])
    keys.add([pa.array([False])])
    assert keys.require() == 0


def test_keys_without_room_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(SpillFile):
        def put(self, *_: Any) -> Any:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("sqlext.write.distinct_keys.SpillFile", Full)
    keys = DistinctKeys(replace(plan(tmp_path), buffer_size=1))
    with pytest.raises(OSError, match="No space left"):
        keys.add([pa.array([1]), pa.array(["x"])])
    keys.close()
