from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import DataError, StorageError
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import DecimalType, LongType, NestedField, StringType, TimestampType, TimestamptzType, UuidType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write import data_writer
from sqlext.write.data_writer import DataWriter
from unit.write.write_tables import (
    ALL_TYPES,
    KEYED,
    OPERATION_ID,
    MeetingIO,
    all_types,
    batch,
    files_below,
    keyed,
    local,
    plan,
)

BY_NAME = PartitionSpec(2, (PartitionField(2, 1000, "name", parse_transform("identity")),))


def test_rows_come_back_from_one_file(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path), 7, 1)
    writer.write(keyed(range(5)))
    writer.write(keyed(range(5, 9)))
    (file,) = writer.close()
    assert file.file_path == f"file://{tmp_path}/data/00007-1-{OPERATION_ID}-00001.parquet"
    assert (file.content, file.file_format, file.spec_id, file.partition) == (Content.DATA, "PARQUET", 0, ())
    assert (file.record_count, file.sort_order_id) == (9, 0)
    assert file.file_size_in_bytes == Path(local(file.file_path)).stat().st_size
    rows = duckdb.sql(f"SELECT * FROM '{local(file.file_path)}' ORDER BY id").fetchall()
    assert rows == [(i, f"n{i}") for i in range(9)]


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path), 0, 0)
    writer.write(keyed([]))
    assert writer.close() == []
    assert files_below(tmp_path) == []


def test_files_have_the_physical_types_and_ids_that_iceberg_writes(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, ALL_TYPES), 0, 0)
    writer.write(all_types())
    (file,) = writer.close()
    footer = pq.read_metadata(local(file.file_path))
    types = {footer.schema.column(i).path: footer.schema.column(i).physical_type for i in range(footer.num_columns)}
    assert {types[name] for name in ("small",)} == {"INT32"}
    assert types["medium"] == "INT64"
    assert types["large"] == "FIXED_LEN_BYTE_ARRAY"
    assert types["ts"] == types["tz"] == "INT64"
    assert {"tags.list.element", "map.key_value.key", "map.key_value.value"} <= set(types)
    text = str(footer.schema)
    assert "field_id=23 value" in text
    assert "required binary field_id=22 key" in text
    assert "Timestamp(isAdjustedToUTC=true, timeUnit=microseconds" in text
    assert list(footer.metadata or {}) == [b"iceberg.schema"]
    assert all(footer.row_group(0).column(i).compression == "ZSTD" for i in range(footer.num_columns))


@pytest.mark.parametrize(
    ("codec", "name"), [("uncompressed", "UNCOMPRESSED"), ("snappy", "SNAPPY"), ("gzip", "GZIP"), ("lz4", "LZ4")]
)
def test_the_compression_is_the_tables(tmp_path: Path, codec: str, name: str) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, compression=codec, compression_level=1), 0, 0)
    writer.write(keyed(range(5)))
    (file,) = writer.close()
    assert pq.read_metadata(local(file.file_path)).row_group(0).column(0).compression == name


def test_files_roll_near_the_target_size(tmp_path: Path) -> None:
    generator = random.Random(1)
    writer = DataWriter(LocalFileIO(), plan(tmp_path, target_file_size=200_000), 0, 0)
    for start in range(0, 100_000, 1_000):
        names = [generator.randbytes(8).hex() for _ in range(1_000)]
        writer.write(batch(KEYED, list(range(start, start + 1_000)), names))
    files = writer.close()
    assert sum(file.record_count for file in files) == 100_000
    assert len(files) > 3
    assert all(150_000 < file.file_size_in_bytes < 300_000 for file in files[1:-1])
    assert [file.file_path[-13:-8] for file in files] == [f"{n:05d}" for n in range(1, len(files) + 1)]


def test_row_groups_keep_to_their_size(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, row_group_size=50_000), 0, 0)
    for start in range(0, 50_000, 1_000):
        writer.write(keyed(range(start, start + 1_000)))
    (file,) = writer.close()
    footer = pq.read_metadata(local(file.file_path))
    assert footer.num_row_groups == len(file.split_offsets or ()) > 1
    assert all(
        sum(footer.row_group(i).column(j).total_compressed_size for j in range(2)) < 60_000
        for i in range(footer.num_row_groups)
    )


def test_slices_of_a_large_batch_count_for_their_own_rows(tmp_path: Path) -> None:
    rows = keyed(range(50_000))
    groups = []
    for batches in ([rows], [rows.slice(start, 1_000) for start in range(0, 50_000, 1_000)]):
        writer = DataWriter(LocalFileIO(), plan(tmp_path / str(len(batches)), row_group_size=800_000), 0, 0)
        for one in batches:
            writer.write(one)
        (file,) = writer.close()
        groups.append(len(file.split_offsets or ()))
    assert groups[0] == 1
    assert groups[1] <= 2


def test_partitions_have_files_of_their_own(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, spec=BY_NAME), 0, 0)
    writer.write(batch(KEYED, [1, 2, 3, 4], ["a/b", None, "a/b", ""]))
    writer.write(batch(KEYED, [5], ["a/b"]))
    files = {file.partition: file for file in writer.close()}
    assert {partition: file.record_count for partition, file in files.items()} == {("a/b",): 3, (None,): 1, ("",): 1}
    assert f"{tmp_path}/data/name=a%2Fb/0000" in files[("a/b",)].file_path
    assert f"{tmp_path}/data/name=null/0000" in files[(None,)].file_path
    assert {file.spec_id for file in files.values()} == {2}
    for file in files.values():
        names = pq.read_table(local(file.file_path), partitioning=None).column("name").unique()
        assert tuple(names.to_pylist()) == file.partition


def test_a_table_of_void_fields_is_one_partition(tmp_path: Path) -> None:
    spec = PartitionSpec(1, (PartitionField(2, 1000, "name", parse_transform("void")),))
    writer = DataWriter(LocalFileIO(), plan(tmp_path, spec=spec), 0, 0)
    writer.write(keyed([1, 2]))
    (file,) = writer.close()
    assert file.partition == (None,)


def test_few_files_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_writer, "MAX_OPEN_FILES", 3)
    monkeypatch.setattr(data_writer, "SPLIT_ROWS", 100)
    held = replace(plan(tmp_path, spec=BY_NAME), buffer_size=1_000, spills=False)
    writer = DataWriter(LocalFileIO(), held, 0, 0)
    opened = 0
    for start in range(0, 2_000, 100):
        writer.write(batch(KEYED, list(range(start, start + 100)), [f"p{i % 20}" for i in range(100)]))
        held = [rows for rows in writer._writer._partitions.values() if rows.file is not None]
        opened = max(opened, len(held))
    files = writer.close()
    assert opened == 3
    tables = [pq.read_table(local(file.file_path), partitioning=None) for file in files]
    assert sorted(pa.concat_tables(tables).column("id").to_pylist()) == list(range(2_000))
    assert len({file.file_path for file in files}) == len(files)


def test_files_wait_for_the_disk_together(tmp_path: Path) -> None:
    writer = DataWriter(MeetingIO(3), plan(tmp_path, spec=BY_NAME), 0, 0)
    writer.write(batch(KEYED, [1, 2, 3], ["a", "b", "c"]))
    assert [file.partition for file in writer.close()] == [("a",), ("b",), ("c",)]


def test_none_of_them_is_left_where_the_disk_refuses_one(tmp_path: Path) -> None:
    writer = DataWriter(MeetingIO(3, "name=b"), plan(tmp_path, spec=BY_NAME), 0, 0)
    writer.write(batch(KEYED, [1, 2, 3], ["a", "b", "c"]))
    with pytest.raises(StorageError, match="no space left"):
        writer.close()
    writer.abort()
    assert files_below(tmp_path) == []


def test_abort_removes_finished_and_open_files(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, target_file_size=2_000, row_group_size=1_000), 0, 0)
    for start in range(0, 20_000, 1_000):
        writer.write(keyed(range(start, start + 1_000)))
    assert len(files_below(tmp_path)) > 1
    writer.abort()
    assert files_below(tmp_path) == []


def test_null_in_a_required_column_is_refused(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path), 0, 0)
    with pytest.raises(DataError) as refused:
        writer.write(pa.record_batch({"id": pa.array([1, None]), "name": pa.array(["a", "b"])}))
    assert refused.value.condition == "NULL_IN_REQUIRED_COLUMN"
    assert refused.value.parameters == {"column": "id", "table": "lake.db.t"}


def test_columns_go_by_position_and_other_arrow_forms_are_taken(tmp_path: Path) -> None:
    schema = Schema(
        (
            NestedField(1, "id", LongType()),
            NestedField(2, "s", StringType()),
            NestedField(3, "tz", TimestamptzType()),
            NestedField(4, "ts", TimestampType()),
            NestedField(5, "d", DecimalType(10, 2)),
            NestedField(6, "u", UuidType()),
        )
    )
    writer = DataWriter(LocalFileIO(), plan(tmp_path, schema), 0, 0)
    writer.write(
        pa.record_batch(
            [
                pa.array([1], pa.int32()),
                pa.array(["x"], pa.large_string()),
                pa.array([5], pa.timestamp("us", "Europe/Berlin")),
                pa.array([7_000], pa.timestamp("ns")),
                pa.array([1], pa.decimal128(8, 0)),
                pa.array(["0b5f6c1e-1111-4222-8333-444455556666"]),
            ],
            names=list("qwerty"),
        )
    )
    (file,) = writer.close()
    (row,) = duckdb.sql(
        f"SELECT id, s, epoch_us(tz), epoch_us(ts), d::VARCHAR, u::VARCHAR FROM '{local(file.file_path)}'"
    ).fetchall()
    assert row == (1, "x", 5, 7, "1.00", "0b5f6c1e-1111-4222-8333-444455556666")
