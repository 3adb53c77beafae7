from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.spec.types import BooleanType, DoubleType, ListType, LongType, NestedField, StringType, StructType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.bloom_filters import BloomFilter, BloomFilters, writer_options
from sqlext.write.data_writer import DataWriter
from unit.write.write_tables import KEYED, keyed, local, plan

_ON = "write.parquet.bloom-filter-enabled.column."
_FPP = "write.parquet.bloom-filter-fpp.column."
_NDV = "write.parquet.bloom-filter-ndv.column."


def _filter_bytes(path: str) -> dict[str, int]:
    found = duckdb.sql(f"SELECT path_in_schema, bloom_filter_length FROM parquet_metadata('{path}')").fetchall()
    return {column: length for column, length in found if length}


def _excluded(path: str, column: str, value: object) -> bool:
    (row,) = duckdb.sql(f"SELECT * FROM parquet_bloom_probe('{path}', '{column}', {value!r})").fetchall()
    return bool(row[-1])


def test_a_file_has_the_filters_that_are_asked_for_and_they_tell_values_apart(tmp_path: Path) -> None:
    asked = BloomFilters.from_properties({f"{_ON}id": "true", f"{_ON}name": "false"})
    writer = DataWriter(LocalFileIO(), replace(plan(tmp_path, KEYED), bloom_filters=asked), 0, 0)
    writer.write(keyed(range(0, 20_000, 2)))
    (file,) = writer.close()
    path = local(file.file_path)
    assert list(_filter_bytes(path)) == ["id"]
    assert not any(_excluded(path, "id", value) for value in range(0, 2_000, 20))
    wrongly_kept = sum(not _excluded(path, "id", value) for value in range(1, 2_001, 20))
    assert wrongly_kept < 10


def test_a_table_without_such_properties_has_no_filters(tmp_path: Path) -> None:
    writer = DataWriter(LocalFileIO(), plan(tmp_path, KEYED), 0, 0)
    writer.write(keyed(range(10)))
    (file,) = writer.close()
    assert _filter_bytes(local(file.file_path)) == {}


@pytest.mark.parametrize("rows", [1, 100, 30_000])
@pytest.mark.parametrize("said", [{}, {f"{_FPP}id": "0.001"}, {f"{_NDV}id": "1000000"}])
@pytest.mark.parametrize("most", [64, 1000, 1024 * 1024])
def test_a_filter_is_as_large_as_its_rows_need_and_within_its_bytes(
    tmp_path: Path, rows: int, said: dict[str, str], most: int
) -> None:
    properties = {f"{_ON}id": "true", "write.parquet.bloom-filter-max-bytes": str(most), **said}
    asked = replace(plan(tmp_path, KEYED), bloom_filters=BloomFilters.from_properties(properties))
    writer = DataWriter(LocalFileIO(), asked, 0, 0)
    writer.write(keyed(range(rows)))
    (file,) = writer.close()
    length = _filter_bytes(local(file.file_path))["id"]
    # The header comes beside the bits.
    assert length <= most + 32
    if rows == 1 and f"{_NDV}id" not in said:
        assert length <= 64


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (f"{_ON}id", "yes"),
        (f"{_FPP}id", "0"),
        (f"{_FPP}id", "1"),
        (f"{_FPP}id", "low"),
        (f"{_NDV}id", "0"),
        (f"{_NDV}id", "-3"),
        ("write.parquet.bloom-filter-max-bytes", "0"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(AnalysisError) as refusal:
        BloomFilters.from_properties({name: value})
    assert refusal.value.condition == "INVALID_TABLE_PROPERTY"
    assert refusal.value.parameters["name"] == name


def test_columns_that_get_no_filter_are_named_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    point = StructType((NestedField(5, "x", LongType()), NestedField(6, "y", DoubleType())))
    schema = Schema(
        (
            NestedField(1, "id", LongType()),
            NestedField(2, "flag", BooleanType()),
            NestedField(3, "tags", ListType(7, StringType(), False)),
            NestedField(4, "point", point),
        )
    )
    names = ("id", "point.x", "tags.element", "flag", "point.y", "point", "gone")
    asked = BloomFilters(tuple(BloomFilter(name) for name in names))
    with caplog.at_level(logging.WARNING):
        asked.warn_of_those_not_written(schema)
    told = [one.getMessage().split()[4] for one in caplog.records]
    assert told == ["flag", "point.y", "point", "gone"]


def test_no_rows_ask_for_the_smallest_filter() -> None:
    assert writer_options({"id": BloomFilter("id")}, 1024, 0) == {"id": {"fpp": 0.01, "ndv": 1}}
