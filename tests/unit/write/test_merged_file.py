"""Several data files as one: the same rows, as DuckDB reads them, in the order that the table has."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import CorruptionError, StorageError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata, new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import (
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
    UuidType,
    VariantType,
)
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.data_writer import DataWriter
from sqlext.write.merged_file import merge_data_files
from sqlext.write.write_plan import WritePlan
from unit.write.write_tables import ALL_TYPES, KEYED, OPERATION_ID, all_types, batch, files_below, keyed, local

BY_NAME = PartitionSpec(0, (PartitionField(2, 1000, "name", parse_transform("identity")),))


def _table(folder: Path, schema: Schema = KEYED, **given: Any) -> TableMetadata:
    values: dict[str, Any] = {"spec": UNPARTITIONED, "sort_order": UNSORTED, "properties": {}, "format_version": 2}
    return new_table_metadata(schema=schema, location=f"file://{folder}", uuid="0", now_ms=1, **(values | given))


def _written(metadata: TableMetadata, *batches: pa.RecordBatch, operation_id: str = "op") -> list[ContentFile]:
    files = []
    for number, rows in enumerate(batches):
        writer = DataWriter(LocalFileIO(), WritePlan.from_metadata(metadata, operation_id, "t"), number, 0)
        writer.write(rows)
        files += writer.close()
    return files


def _merged(metadata: TableMetadata, files: list[ContentFile], io: LocalFileIO | None = None) -> list[ContentFile]:
    added, replaced = merge_data_files(io or LocalFileIO(), metadata, "t", "merging", files)
    assert list(replaced) == (files if added else [])
    return list(added)


def test_the_rows_come_one_file_after_the_other(tmp_path: Path) -> None:
    metadata = _table(tmp_path)
    files = _written(metadata, keyed([5, 1]), keyed([3]), keyed([2, 9]))
    (one,) = _merged(metadata, files)
    assert one.file_path == f"file://{tmp_path}/data/00000-0-merging-00001.parquet"
    rows = duckdb.sql(f"SELECT id FROM '{local(one.file_path)}'").fetchall()
    assert rows == [(5,), (1,), (3,), (2,), (9,)]
    assert (one.record_count, one.spec_id, one.partition, one.sort_order_id) == (5, 0, (), 0)
    # The files themselves are whoever's who has asked.
    assert len(files_below(tmp_path)) == 4


def test_metrics_are_those_of_one_file_of_all_rows(tmp_path: Path) -> None:
    metadata = _table(tmp_path, ALL_TYPES)
    (one,) = _merged(metadata, _written(metadata, all_types(), all_types().slice(1, 1), all_types().slice(2)))
    whole = pa.Table.from_batches([all_types(), all_types().slice(1, 1), all_types().slice(2)]).combine_chunks()
    (expected,) = _written(metadata, whole.to_batches()[0], operation_id=OPERATION_ID)
    names = ("record_count", "value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds")
    assert {name: getattr(one, name) for name in names} == {name: getattr(expected, name) for name in names}
    first, second = (pq.ParquetFile(local(file.file_path)) for file in (one, expected))
    assert first.schema.equals(second.schema)
    # NaN is not equal to itself.
    assert str(first.read().to_pylist()) == str(second.read().to_pylist())


def test_a_partition_stays_one(tmp_path: Path) -> None:
    metadata = _table(tmp_path, spec=BY_NAME)
    rows = [batch(KEYED, [number], ["a"]) for number in range(3)]
    (one,) = _merged(metadata, _written(metadata, *rows))
    assert (one.partition, one.record_count) == (("a",), 3)
    assert "/name=a/" in one.file_path


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("nulls", ["nulls-first", "nulls-last"])
def test_rows_in_a_sort_order_are_sorted(tmp_path: Path, direction: Any, nulls: Any) -> None:
    identity = parse_transform("identity")
    order = SortOrder(1, (SortField(2, identity, direction, nulls), SortField(1, identity)))
    metadata = _table(tmp_path, sort_order=order)
    rng = random.Random(1)
    rows = [(rng.randrange(9), rng.choice(["a", "b", "é", "😀", "\uffff", "", None])) for _ in range(60)]
    files = _written(metadata, *(batch(KEYED, [id], [name]) for id, name in rows))
    (one,) = _merged(metadata, files)
    assert one.sort_order_id == order.order_id
    ordering = f"name {direction} {nulls.replace('-', ' ')}, id ASC"
    found = duckdb.sql(f"SELECT id, name FROM '{local(one.file_path)}'").fetchall()
    given = pa.table({"id": [id for id, _ in rows], "name": [name for _, name in rows]})
    assert found == duckdb.sql(f"SELECT id, name FROM given ORDER BY {ordering}").fetchall()
    assert given.num_rows == len(found)


@pytest.mark.parametrize(
    "field", [SortField(1, parse_transform("bucket[4]")), SortField(2, parse_transform("identity"))]
)
def test_an_order_that_is_not_kept(tmp_path: Path, field: SortField) -> None:
    schema = Schema((NestedField(1, "id", LongType()), NestedField(2, "x", DoubleType())))
    metadata = _table(tmp_path, schema, sort_order=SortOrder(1, (field,)))
    files = _written(metadata, batch(schema, [1], [1.0]), batch(schema, [2], [2.0]))
    assert not _merged(metadata, files)
    assert len(files_below(tmp_path)) == 2


def test_files_that_do_not_go_with_the_others_stay(tmp_path: Path) -> None:
    metadata = _table(tmp_path)
    files = _written(metadata, keyed([1]), keyed([2]))
    writer = DataWriter(LocalFileIO(), WritePlan.from_metadata(metadata, "other", "t").with_row_ids(), 0, 0)
    writer.write(pa.RecordBatch.from_arrays([*keyed([3]).columns, pa.array([77], pa.int64())], names=["a", "b", "c"]))
    foreign = f"{tmp_path}/data/foreign.parquet"
    pq.write_table(pa.Table.from_batches([keyed([4])]), foreign)
    others = [*writer.close(), replace(files[0], file_path=f"file://{foreign}"), replace(files[1], spec_id=7)]

    (one,), replaced = merge_data_files(LocalFileIO(), metadata, "t", "merging", [others[0], *files, *others[1:]])
    assert list(replaced) == files
    assert one.record_count == 2
    assert not _merged(metadata, [files[0], *others])


def test_files_of_another_schema_stay(tmp_path: Path) -> None:
    metadata = _table(tmp_path)
    files = _written(metadata, keyed([1]), keyed([2]))
    wider = replace(KEYED, schema_id=1, fields=(*KEYED.fields, NestedField(3, "more", StringType())))
    assert not _merged(replace(metadata, schemas=(KEYED, wider), current_schema_id=1), files)
    assert not _merged(metadata, [replace(file, sort_order_id=9) for file in files])


def test_uuids_and_fields_that_no_file_holds(tmp_path: Path) -> None:
    within = StructType((NestedField(4, "u", UuidType()), NestedField(5, "none", UnknownType())))
    fields = (NestedField(1, "id", UuidType()), NestedField(2, "none", UnknownType()), NestedField(3, "s", within))
    metadata = _table(tmp_path, Schema(fields), format_version=3)
    texts = ["00000000-0000-0000-0000-00000000000a", "ffffffff-0000-0000-0000-00000000000b"]
    nothing = pa.nulls(1)
    rows = [
        pa.record_batch(
            [pa.array([text]), nothing, pa.StructArray.from_arrays([[text], nothing], ["u", "none"])], list("abc")
        )
        for text in texts
    ]
    (one,) = _merged(metadata, _written(metadata, *rows))
    found = duckdb.sql(f"SELECT a::VARCHAR, c.u::VARCHAR FROM '{local(one.file_path)}' t(a, c)").fetchall()
    assert found == [(text, text) for text in texts]


def test_variants_are_left_as_they_are(tmp_path: Path) -> None:
    schema = Schema((NestedField(1, "id", LongType()), NestedField(2, "v", VariantType())))
    metadata = _table(tmp_path, schema, format_version=3)
    parts = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}
    files = _written(metadata, batch(schema, [1], [parts]), batch(schema, [2], [parts]))
    assert not _merged(metadata, files)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    metadata = _table(tmp_path)
    files = _written(metadata, keyed([1]), keyed([2]))
    Path(local(files[1].file_path)).write_bytes(b"PAR1 nothing")
    with pytest.raises(CorruptionError):
        _merged(metadata, files)
    Path(local(files[1].file_path)).unlink()
    with pytest.raises(FileNotFoundError):
        _merged(metadata, files)
    assert len(files_below(tmp_path)) == 1


class _FullDisk(LocalFileIO):
    """Opens a file, and takes nothing."""

    def open_output(self, location: str) -> Any:
        output = super().open_output(location)

        def refuse(data: Any) -> int:
            raise StorageError("STORAGE_FAILURE", operation="Writing", path=location, reason="no space left")

        output.write = refuse  # type: ignore[method-assign]
        return output


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    metadata = _table(tmp_path)
    files = _written(metadata, keyed([1]), keyed([2]))
    before = files_below(tmp_path)
    with pytest.raises(StorageError):
        _merged(metadata, files, _FullDisk())
    assert files_below(tmp_path) == before
