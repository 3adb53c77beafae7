"""Files that something else has written: what is found in them, and what is refused."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.name_mapping import MappedField, NameMapping
from sqlext.spec.partition_spec import UNPARTITIONED, PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import decode
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import (
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.existing.existing_file import ExistingFile, TableShape, content_file
from sqlext.write.existing.existing_schema import SchemaMismatch
from sqlext.write.metrics import MetricsConfig

POINT = StructType((NestedField(4, "x", IntegerType()), NestedField(5, "y", DoubleType())))
SCHEMA = Schema(
    (
        NestedField(1, "id", LongType()),
        NestedField(2, "name", StringType()),
        NestedField(3, "point", POINT),
        NestedField(6, "tags", ListType(7, StringType(), False)),
    )
)


def shape(
    schema: Schema = SCHEMA, spec: PartitionSpec = UNPARTITIONED, mapping: NameMapping | None = None
) -> TableShape:
    return TableShape(schema, spec, mapping or NameMapping.of_schema(schema), MetricsConfig(None))


def by(source_id: int, transform: str, name: str = "p") -> PartitionSpec:
    return PartitionSpec(3, (PartitionField(source_id, 1000, name, parse_transform(transform)),))


def added(
    folder: Path, table: pa.Table, given: TableShape, told: Mapping[str, str | None] | None = None, **options: Any
) -> ContentFile:
    path = folder / "f.parquet"
    pq.write_table(table, path, **options)
    file = ExistingFile(str(path), path.stat().st_size, "PARQUET", told or {})
    return content_file(LocalFileIO(), file, given)


def one_column(name: str, values: Any, **field: Any) -> pa.Table:
    return pa.table([values], schema=pa.schema([pa.field(name, values.type, **field)]))


def test_columns_in_any_order_with_others_among_them(tmp_path: Path) -> None:
    table = pa.table(
        {
            "tags": pa.array([["b"], []], pa.list_(pa.string())),
            "other": pa.array([{"a": 1, "b": [1]}, None]),
            "point": pa.array([{"y": 0.0, "z": 1, "x": 5}, None]),
            "id": pa.array([7, 9], pa.int32()),
        }
    ).cast(
        pa.schema(
            [
                ("tags", pa.list_(pa.string())),
                ("other", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))])),
                ("point", pa.struct([("y", pa.float32()), ("z", pa.int64()), ("x", pa.int32())])),
                ("id", pa.int32()),
            ]
        )
    )
    file = added(tmp_path, table, shape())
    assert file.record_count == 2
    assert file.value_counts == {1: 2, 4: 2, 5: 2}
    assert file.null_value_counts == {1: 0, 4: 1, 5: 1}
    assert file.column_sizes is not None
    assert file.column_sizes.keys() == {1, 4, 5, 7}
    assert file.lower_bounds is not None
    assert file.upper_bounds is not None
    assert {id: decode(SCHEMA.field(id).type, bound) for id, bound in file.upper_bounds.items()} == {1: 9, 4: 5, 5: 0.0}
    assert str(decode(DoubleType(), file.lower_bounds[5])) == "-0.0"
    assert file.split_offsets == (4,)


def test_files_without_statistics(tmp_path: Path) -> None:
    file = added(tmp_path, pa.table({"id": [1]}), shape(), write_statistics=False)
    assert (file.value_counts, file.null_value_counts, file.lower_bounds) == ({1: 1}, {}, {})


def test_a_codec_that_spark_has_no_decoder_of(tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatch, match="compressed as BROTLI"):
        added(tmp_path, pa.table({"id": [1]}), shape(), compression="brotli")


def test_timestamps_of_the_old_form_are_instants(tmp_path: Path) -> None:
    table, old = one_column("at", pa.array([0], pa.timestamp("us"))), {"use_deprecated_int96_timestamps": True}
    instant = Schema((NestedField(1, "at", TimestamptzType()),))
    assert added(tmp_path, table, shape(instant), **old).lower_bounds == {}
    with pytest.raises(SchemaMismatch, match=r"not read as timestamp$"):
        added(tmp_path, table, shape(Schema((NestedField(1, "at", TimestampType()),))), **old)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        pytest.param(pa.table({"x": [1]}), "it has none of the table's columns", id="no column"),
        pytest.param(pa.table({"ID": [1]}), "its column ID is not read as id: .* case-sensitive", id="case"),
        pytest.param(pa.table({"id": ["1"]}), "its column id is of type string, .* read as long", id="type"),
        pytest.param(pa.table({"id": [1.5]}), "its column id is of type double", id="narrower"),
        pytest.param(pa.table({"tags": [[1]]}), r"its column tags\.element is of type int64", id="nested type"),
        pytest.param(pa.table({"point": ["x"]}), "its column point is of type string", id="no struct"),
    ],
)
def test_columns_that_do_not_fit(tmp_path: Path, table: pa.Table, message: str) -> None:
    with pytest.raises(SchemaMismatch, match=message):
        added(tmp_path, table, shape())


def test_columns_that_are_not_null(tmp_path: Path) -> None:
    required = shape(Schema((NestedField(1, "id", LongType(), required=True), *SCHEMA.fields[1:])))
    assert added(tmp_path, pa.table({"id": [1]}), required).record_count == 1
    with pytest.raises(SchemaMismatch, match="lacks the column id, which is NOT NULL"):
        added(tmp_path, pa.table({"name": ["a"]}), required)
    with pytest.raises(SchemaMismatch, match="it has 1 nulls in id"):
        added(tmp_path, pa.table({"id": [1, None]}), required)
    with pytest.raises(SchemaMismatch, match="it does not count the nulls of id"):
        added(tmp_path, pa.table({"id": [1]}), required, write_statistics=False)
    declared = one_column("id", pa.array([1]), nullable=False)
    assert added(tmp_path, declared, required, write_statistics=False).record_count == 1


def test_names_that_mean_another_field_to_readers(tmp_path: Path) -> None:
    mapping = NameMapping((MappedField(1, ("id", "name")), MappedField(2, ())))
    with pytest.raises(SchemaMismatch, match="no longer maps its column name to name"):
        added(tmp_path, pa.table({"name": ["a"]}), shape(mapping=mapping))


@pytest.mark.parametrize(
    ("name", "field_id", "message"),
    [("name", 1, "1 is its name, not id"), ("id", 9, "its id is 9, not 1"), ("id", None, "its id is None, not 1")],
)
def test_field_ids_of_another_table(tmp_path: Path, name: str, field_id: int | None, message: str) -> None:
    metadata = {} if field_id is None else {"PARQUET:field_id": str(field_id)}
    fields = [
        pa.field(name, pa.int64(), metadata=metadata),
        pa.field("more", pa.int64(), metadata={"PARQUET:field_id": "50"}),
    ]
    with pytest.raises(SchemaMismatch, match=f"its field ids are of another table: {message}"):
        added(tmp_path, pa.table([[1], [1]], schema=pa.schema(fields)), shape())


def test_field_ids_of_this_table(tmp_path: Path) -> None:
    """A column that was renamed since is known by its id."""
    mapping = NameMapping((MappedField(1, ("key", "id")),))
    file = added(tmp_path, one_column("key", pa.array([5]), metadata={"PARQUET:field_id": "1"}), shape(mapping=mapping))
    assert file.value_counts == {1: 1}


@pytest.mark.parametrize(
    ("spec", "told", "values", "partition"),
    [
        pytest.param(by(1, "identity", "id"), {"id": "7"}, None, 7, id="folder"),
        pytest.param(by(1, "identity", "id"), {"id": None}, None, None, id="folder of null"),
        pytest.param(by(1, "identity", "id"), {"id": "7"}, [7, 7], 7, id="folder, and the column too"),
        pytest.param(by(1, "identity"), {}, [7, 7], 7, id="bounds"),
        pytest.param(by(1, "identity"), {}, [None, None], None, id="only null"),
        pytest.param(by(1, "truncate[10]"), {}, [11, 19], 10, id="bounds of one truncated value"),
        pytest.param(by(1, "void"), {}, [1, 2], None, id="void"),
        pytest.param(by(1, "identity"), {}, None, None, id="older than the column"),
    ],
)
def test_partitions(
    tmp_path: Path, spec: PartitionSpec, told: Mapping[str, str | None], values: list[int | None] | None, partition: Any
) -> None:
    columns: dict[str, Any] = {"name": ["a", "b"]} if values is None else {"id": pa.array(values, pa.int64())}
    file = added(tmp_path, pa.table(columns), shape(spec=spec), told)
    assert (file.spec_id, file.partition) == (3, (partition,))


@pytest.mark.parametrize(
    ("spec", "told", "values", "message"),
    [
        pytest.param(by(1, "identity", "id"), {"id": "x"}, [1], "id=x has no value of type long", id="no value"),
        pytest.param(
            by(1, "identity", "id"), {"id": "7"}, [7, 8], "other values than 7, that of its folder", id="contradiction"
        ),
        pytest.param(by(1, "identity", "id"), {"id": None}, [7], "other values than None", id="contradicted null"),
        pytest.param(by(1, "identity"), {}, [1, 2], "give no single p", id="two values"),
        pytest.param(by(1, "identity"), {}, [1, None], "give no single p", id="value and null"),
        pytest.param(by(1, "bucket[4]"), {}, [1, 2], "give no single p", id="buckets follow no order"),
    ],
)
def test_no_partition_of_all_rows(
    tmp_path: Path, spec: PartitionSpec, told: Mapping[str, str | None], values: list[int | None], message: str
) -> None:
    with pytest.raises(SchemaMismatch, match=message):
        added(tmp_path, pa.table({"id": pa.array(values, pa.int64())}), shape(spec=spec), told)


@pytest.mark.parametrize("file_format", ["ORC", "AVRO"])
def test_rows_of_other_formats_are_counted(tmp_path: Path, file_format: str) -> None:
    path = tmp_path / "f"
    if file_format == "ORC":
        orc.write_table(pa.table({"id": [1, 2], "name": ["a", None]}), path)
    else:
        fields = [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}]
        data = io.BytesIO()
        rows = [{"id": 1, "name": None}] * 2
        fastavro.writer(data, {"type": "record", "name": "r", "fields": fields}, rows, sync_interval=1)
        path.write_bytes(data.getvalue())
    file = content_file(LocalFileIO(), ExistingFile(str(path), 9, file_format, {}), shape())
    assert (file.file_format, file.record_count, file.value_counts) == (file_format, 2, None)


@pytest.mark.parametrize("file_format", ["PARQUET", "ORC", "AVRO"])
def test_files_that_are_lost_or_damaged_are_named(tmp_path: Path, file_format: str) -> None:
    file = ExistingFile(str(tmp_path / "damaged"), 9, file_format, {})
    with pytest.raises(NotFoundError, match="damaged"):
        content_file(LocalFileIO(), file, shape())
    (tmp_path / "damaged").write_bytes(b"Obj\x01 and then nothing that makes sense")
    with pytest.raises(CorruptionError, match="damaged"):
        content_file(LocalFileIO(), file, shape())
