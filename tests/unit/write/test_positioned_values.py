"""Values by position, beside what Arrow reads of the same files."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.types import DecimalType, LongType, NestedField, StringType, UuidType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.data_writer import DataWriter
from sqlext.write.positioned_values import has_positioned_values, values_at
from unit.write.write_tables import ALL_TYPES, all_types, local, plan

FIELDS = [field for field in ALL_TYPES.fields if has_positioned_values(field)]


def positions(*values: int) -> np.ndarray:
    return np.array(values, np.uint64)


def written(path: Path, table: pa.Table, **options: object) -> str:
    ids = [field.with_metadata({FIELD_ID_KEY: str(n).encode()}) for n, field in enumerate(table.schema, start=1)]
    pq.write_table(table.cast(pa.schema(ids)), path, **options)
    return f"file://{path}"


def test_every_type_is_as_arrow_reads_it(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, ALL_TYPES), 0, 0)
    writer.write(all_types())
    (file,) = writer.close()
    expected = pq.read_table(local(file.file_path), columns=[field.name for field in FIELDS])
    types = {field.name: field.type for field in schema_to_arrow(ALL_TYPES)}
    for field, values in zip(FIELDS, values_at(file.file_path, positions(2, 0, 1), FIELDS), strict=True):
        wanted = expected.column(field.name).combine_chunks().take(pa.array([2, 0, 1]))
        assert str(values.cast(types[field.name]).to_pylist()) == str(wanted.to_pylist()), field.name
    assert {field.name for field in ALL_TYPES.fields} - {field.name for field in FIELDS} == {
        "fixed",
        "time",
        "point",
        "tags",
        "map",
    }


@pytest.mark.parametrize(
    "encoding",
    [
        {"use_dictionary": True},
        {"use_dictionary": False},
        {"use_dictionary": False, "column_encoding": {"n": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}},
        {"use_dictionary": False, "column_encoding": {"n": "BYTE_STREAM_SPLIT", "s": "DELTA_LENGTH_BYTE_ARRAY"}},
        {"data_page_version": "2.0"},
        {"write_page_index": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "none"])
@pytest.mark.parametrize("count", [1, 3, 500, 19_000])
def test_pages_of_any_encoding_and_codec(tmp_path: Path, encoding: dict[str, object], codec: str, count: int) -> None:
    rng = np.random.default_rng(7)
    rows = 20_000
    numbers = pa.array(rng.integers(-(2**40), 2**40, rows), mask=rng.random(rows) < 0.1)
    texts = pa.array([None if n % 11 == 0 else f"text {n % 700}" for n in range(rows)])
    table = pa.table({"n": numbers, "s": texts})
    location = written(
        tmp_path / "f.parquet", table, compression=codec, row_group_size=3_000, data_page_size=2_048, **encoding
    )
    fields = [NestedField(1, "n", LongType()), NestedField(2, "s", StringType())]
    for _ in range(25 if count == 1 else 1):
        at = np.sort(rng.choice(rows, count, replace=False)).astype(np.uint64)
        n, s = values_at(location, at, fields)
        assert n.to_pylist() == numbers.take(pa.array(at)).to_pylist()
        assert s.to_pylist() == texts.take(pa.array(at)).to_pylist()


@pytest.mark.parametrize("precision", [9, 12, 18])
def test_decimals_as_deltas(tmp_path: Path, precision: int) -> None:
    type, rows = pa.decimal128(precision, 2), 20_000
    prices = pa.array([None if n % 7 == 0 else Decimal(n * n % 90_001 - 45_000) / 100 for n in range(rows)], type)
    location = written(
        tmp_path / "f.parquet",
        pa.table({"n": prices}),
        use_dictionary=False,
        column_encoding={"n": "DELTA_BINARY_PACKED"},
        store_decimal_as_integer=True,
    )
    at = positions(*range(0, rows, 13))
    (found,) = values_at(location, at, [NestedField(1, "n", DecimalType(precision, 2))])
    assert found.cast(type).to_pylist() == prices.take(pa.array(at)).to_pylist()


def test_pages_without_the_rows_are_not_unpacked(tmp_path: Path) -> None:
    path, rows = tmp_path / "f.parquet", 20_000
    texts = [f"text {n * n}" for n in range(rows)]
    table = pa.table({"n": [n % 3 for n in range(rows)], "s": texts})
    location = written(path, table, compression="zstd", use_dictionary=["n"], data_page_size=2_048)
    chunk = pq.read_metadata(path).row_group(0).column(1)
    end = chunk.data_page_offset + chunk.total_compressed_size
    content = path.read_bytes()
    path.write_bytes(content[: end - 100] + b"\xff" * 100 + content[end:])
    field = NestedField(2, "s", StringType())
    assert values_at(location, positions(3), [field])[0].to_pylist() == [texts[3]]
    with pytest.raises(CorruptionError):
        values_at(location, positions(rows - 1), [field])


def test_positions_may_be_repeated_and_in_any_order(tmp_path: Path) -> None:
    location = written(tmp_path / "f.parquet", pa.table({"n": range(100)}))
    assert values_at(location, positions(7, 99, 7, 0), [NestedField(1, "n", LongType())])[0].to_pylist() == [
        7,
        99,
        7,
        0,
    ]


def test_columns_are_found_by_field_id(tmp_path: Path) -> None:
    location = written(tmp_path / "f.parquet", pa.table({"old": [1, 2], "^new$": ["a", "b"]}))
    fields = [
        NestedField(2, "renamed", StringType()),
        NestedField(9, "old", LongType()),
        NestedField(1, "x", LongType()),
    ]
    assert [values.to_pylist() for values in values_at(location, positions(1), fields)] == [["b"], [None], [2]]


def test_a_path_is_no_pattern_and_its_folders_are_no_columns(tmp_path: Path) -> None:
    folder = tmp_path / "n=5" / "[a]*"
    folder.mkdir(parents=True)
    location = written(folder / "f.parquet", pa.table({"n": [1, 2]}))
    assert values_at(location, positions(0), [NestedField(1, "n", LongType())])[0].to_pylist() == [1]


def test_a_file_that_is_gone_or_damaged_is_named(tmp_path: Path) -> None:
    field = NestedField(1, "n", LongType())
    with pytest.raises(NotFoundError) as gone:
        values_at(f"file://{tmp_path}/none.parquet", positions(0), [field])
    assert gone.value.condition == "FILE_NOT_FOUND"
    location = written(tmp_path / "f.parquet", pa.table({"n": range(10_000)}))
    path = tmp_path / "f.parquet"
    path.write_bytes(path.read_bytes()[:4] + b"\xff" * 2_000 + path.read_bytes()[2_004:])
    with pytest.raises(CorruptionError) as damaged:
        values_at(location, positions(3), [field])
    assert damaged.value.condition == "CORRUPT_FILE"


def test_a_column_with_a_default_for_older_files_is_left_to_spark() -> None:
    field = NestedField(1, "n", LongType())
    assert has_positioned_values(field)
    assert not has_positioned_values(replace(field, initial_default=5))
    assert not has_positioned_values(replace(field, type=UuidType()))
