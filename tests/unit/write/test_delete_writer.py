from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.errors import StorageError, UnsupportedError
from sqlext.scan.deletes.position_delete import read_position_deletes
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import DoubleType, LongType, NestedField, StringType, StructType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.delete_writer import EqualityDeleteWriter, write_position_deletes
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import KEYED, OPERATION_ID, files_below, local, plan

BY_NAME = PartitionSpec(2, (PartitionField(2, 1000, "name", parse_transform("identity")),))
BY_BUCKET = PartitionSpec(1, (PartitionField(1, 1000, "id_bucket", parse_transform("bucket[4]")),))


def test_positions_are_sorted_by_path_and_position_in_one_file_for_each_partition(tmp_path: Path) -> None:
    positions = {"z": BitMap64([9, 1]), "a": BitMap64([2**33, 4]), "m": BitMap64([0]), "none": BitMap64()}
    partitions = {"z": (0, ()), "a": (0, ()), "m": (2, ("x",))}
    both = plan(tmp_path, specs=(UNPARTITIONED, BY_NAME))
    files = write_position_deletes(LocalFileIO(), both, positions, partitions)
    assert [(f.spec_id, f.partition, f.record_count, f.referenced_data_file) for f in files] == [
        (0, (), 4, None),
        (2, ("x",), 1, "m"),
    ]
    assert files_below(tmp_path) == [
        f"data/{OPERATION_ID}-00001-deletes.parquet",
        f"data/name=x/{OPERATION_ID}-00002-deletes.parquet",
    ]
    rows = pq.read_table(local(files[0].file_path))
    assert rows.to_pydict() == {"file_path": ["a", "a", "z", "z"], "pos": [4, 2**33, 1, 9]}


def test_many_positions_of_a_file_are_encoded_piece_by_piece(tmp_path: Path) -> None:
    positions = {"a": BitMap64(range(0, 5_000_000, 2)), "b": BitMap64([7])}
    (file,) = write_position_deletes(LocalFileIO(), plan(tmp_path), positions, dict.fromkeys(positions, (0, ())))
    metadata = pq.read_metadata(local(file.file_path))
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [
        1_000_000,
        1_000_000,
        500_001,
    ]
    stored = pq.read_table(local(file.file_path))
    assert stored["pos"].to_pylist() == [*range(0, 5_000_000, 2), 7]
    assert stored["file_path"].to_pylist() == ["a"] * 2_500_000 + ["b"]


def test_one_file_for_each_data_file_where_that_is_wanted(tmp_path: Path) -> None:
    positions = {"z": BitMap64([9, 1]), "a": BitMap64([4])}
    single = plan(tmp_path, delete_granularity="file")
    files = write_position_deletes(LocalFileIO(), single, positions, dict.fromkeys(positions, (0, ())))
    assert [(f.record_count, f.referenced_data_file) for f in files] == [(1, "a"), (2, "z")]


def test_position_deletes_have_the_reserved_ids_and_whole_bounds(tmp_path: Path) -> None:
    path = "file:///a/rather/long/path/to/a/data/file.parquet"
    (file,) = write_position_deletes(LocalFileIO(), plan(tmp_path), {path: BitMap64([3, 8])}, {path: (0, ())})
    schema = pq.read_schema(local(file.file_path))
    assert [field.metadata[b"PARQUET:field_id"] for field in schema] == [b"2147483546", b"2147483545"]
    assert [field.nullable for field in schema] == [False, False]
    assert (file.content, file.sort_order_id) == (Content.POSITION_DELETES, None)
    assert file.lower_bounds == {2147483546: path.encode(), 2147483545: (3).to_bytes(8, "little")}
    assert file.upper_bounds == {2147483546: path.encode(), 2147483545: (8).to_bytes(8, "little")}


def test_the_scan_reads_back_what_was_written(tmp_path: Path) -> None:
    positions = {f"f{n:03d}": BitMap64(range(n, 70_000, n + 1)) for n in range(40)}
    (file,) = write_position_deletes(LocalFileIO(), plan(tmp_path), positions, dict.fromkeys(positions, (0, ())))
    assert read_position_deletes(LocalFileIO(), file.file_path, "PARQUET") == positions


def test_nothing_deleted_makes_no_file(tmp_path: Path) -> None:
    assert write_position_deletes(LocalFileIO(), plan(tmp_path), {"a": BitMap64()}, {"a": (0, ())}) == []


class _OneFileIO(LocalFileIO):
    """A store with room for one file."""

    def __init__(self) -> None:
        self.opened = 0

    def open_output(self, location: str):  # type: ignore[no-untyped-def]
        self.opened += 1
        if self.opened > 1:
            raise StorageError("STORAGE_FAILURE", operation="Writing", path=location, reason="full")
        return super().open_output(location)


def test_a_failure_leaves_no_position_deletes(tmp_path: Path) -> None:
    partitions = {"a": (2, ("x",)), "b": (2, ("y",))}
    positions = {"a": BitMap64([1]), "b": BitMap64([1])}
    with pytest.raises(StorageError):
        write_position_deletes(_OneFileIO(), plan(tmp_path, specs=(BY_NAME,)), positions, partitions)
    assert files_below(tmp_path) == []


def _equality_deletes(plan: WritePlan, keys: pa.Table, equality_ids: Sequence[int]) -> list[ContentFile]:
    writer = EqualityDeleteWriter(LocalFileIO(), plan, equality_ids, 0, 0)
    for batch in keys.to_batches():
        writer.write(batch)
    return writer.close()


def test_equality_deletes_lie_in_the_partition_of_the_rows(tmp_path: Path) -> None:
    keys = pa.table({"id": pa.array(range(100), pa.int64())})
    files = _equality_deletes(plan(tmp_path, spec=BY_BUCKET), keys, (1,))
    assert sorted(file.partition for file in files) == [(0,), (1,), (2,), (3,)]
    for file in files:
        ids = pq.read_table(local(file.file_path), partitioning=None).column("id").to_pylist()
        bucket = parse_transform("bucket[4]")
        assert {bucket.apply(LongType(), id) for id in ids} == {file.partition[0]}
        assert (file.content, file.equality_ids, file.spec_id) == (Content.EQUALITY_DELETES, (1,), 1)


def test_keys_inside_structs_are_refused(tmp_path: Path) -> None:
    nested = StructType((NestedField(2, "k", LongType(), required=True),))
    schema = Schema((NestedField(1, "s", nested, required=True), NestedField(3, "v", DoubleType())))
    with pytest.raises(UnsupportedError, match=r"s\.k"):
        _equality_deletes(plan(tmp_path, schema), pa.table({}), (2,))


def test_several_key_columns_follow_the_table(tmp_path: Path) -> None:
    schema = Schema((*KEYED.fields, NestedField(7, "region", StringType(), required=True)))
    keys = pa.table({"id": pa.array([1], pa.int64()), "region": ["eu"]})
    (file,) = _equality_deletes(plan(tmp_path, schema), keys, (7, 1))
    assert file.equality_ids == (1, 7)
    assert pq.read_schema(local(file.file_path)).names == ["id", "region"]
