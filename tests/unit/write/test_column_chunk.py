"""Pages, dictionaries and statistics of written files are what the properties say, and page indexes are true."""

from __future__ import annotations

import logging
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, LongType, MapType, NestedField, StringType, StructType
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.column_chunk import ColumnChunks
from sqlext.write.data_writer import DataWriter
from sqlext.write.write_plan import WritePlan
from stretched_columns import MAKERS, stretched, text
from unit.write.page_index import ChunkIndex, page_indexes
from unit.write.write_tables import KEYED, batch, keyed, local, plan
from unit.write.write_tables import metadata_with as metadata

_NAME = "write.parquet."


def written(folder: Path, *batches: pa.RecordBatch, **said: Any) -> ContentFile:
    """The one file of the batches in a plan with these properties, without their prefix."""
    properties = {f"{_NAME}{name.replace('_', '-')}": str(value) for name, value in said.items()}
    told = WritePlan.from_metadata(metadata(properties), "op", "lake.db.t")
    writer = DataWriter(LocalFileIO(), replace(told, data_location=f"file://{folder}/data"), 0, 0)
    for rows in batches:
        writer.write(rows)
    (file,) = writer.close()
    return file


def rows_of_pages(file: ContentFile, column: str) -> list[list[int]]:
    """By row group, the number of rows of each page of a column."""
    groups = page_indexes(local(file.file_path))
    return [
        [page.end_row - page.first_row for page in one.pages] for group in groups for one in group if one.path == column
    ]


def test_a_page_has_as_many_rows_and_a_row_group_as_many_as_are_said(tmp_path: Path) -> None:
    file = written(tmp_path, keyed(range(50_000)))
    assert rows_of_pages(file, "id") == [[20_000, 20_000, 10_000]]
    file = written(tmp_path / "few", keyed(range(50_000)), page_row_limit=7_000, row_group_limit=22_000)
    assert rows_of_pages(file, "id") == [[7_000, 7_000, 7_000, 1_000]] * 2 + [[6_000]]
    assert rows_of_pages(file, "name") == rows_of_pages(file, "id")


def test_row_groups_have_more_rows_of_narrow_ones(tmp_path: Path) -> None:
    def groups(folder: Path, count: int, name: str, **said: Any) -> list[int]:
        batches = [
            batch(KEYED, list(range(start, start + 65_536)), [name] * 65_536) for start in range(0, count, 65_536)
        ]
        footer = pq.read_metadata(local(written(folder, *batches, **said).file_path))
        return [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]

    assert groups(tmp_path / "wide", 524_288, "n" * 60) == [262_144, 262_144]
    assert groups(tmp_path / "narrow", 1_572_864, "n") == [1_048_576, 524_288]
    assert groups(tmp_path / "said", 524_288, "n" * 60, row_group_size_bytes=2**27) == [524_288]


def test_row_groups_are_full_whatever_batches_come(tmp_path: Path) -> None:
    rng = random.Random(5)
    cuts = sorted(rng.sample(range(1, 9_999), 30))
    batches = [keyed(range(start, end)) for start, end in zip([0, *cuts], [*cuts, 10_000], strict=True)]
    file = written(tmp_path, *batches, row_group_limit=3_000)
    footer = pq.read_metadata(local(file.file_path))
    assert [footer.row_group(number).num_rows for number in range(4)] == [3_000, 3_000, 3_000, 1_000]
    assert pq.read_table(local(file.file_path)).column("id").to_pylist() == list(range(10_000))
    assert len(file.split_offsets) == 4


def test_a_page_has_as_many_bytes_as_are_said(tmp_path: Path) -> None:
    texts = batch(KEYED, list(range(8_000)), [f"{number:>250}" for number in range(8_000)])
    (whole,) = rows_of_pages(written(tmp_path, texts), "name")
    (small,) = rows_of_pages(written(tmp_path / "small", texts, page_size_bytes=100_000), "name")
    assert len(whole) == 2
    assert len(small) > 6
    assert sum(whole) == sum(small) == 8_000


def test_pages_of_long_values_have_few_rows(tmp_path: Path) -> None:
    random_text = random.Random(1).randbytes(5_000).hex()
    texts = batch(KEYED, list(range(1_500)), [f"{number}{random_text}" for number in range(1_500)])
    (pages,) = rows_of_pages(written(tmp_path, texts), "name")
    assert max(pages) < 220
    assert len(pages) < 20


def test_a_file_whose_columns_have_one_page_has_no_page_index(tmp_path: Path) -> None:
    assert page_indexes(local(written(tmp_path, keyed(range(15_000))).file_path)) == [[]]
    assert len(page_indexes(local(written(tmp_path / "b", keyed(range(20_001))).file_path))[0]) == 2


def test_a_row_group_takes_as_many_bytes_before_compression_as_are_said(tmp_path: Path) -> None:
    alike = [batch(KEYED, list(range(start, start + 1_000)), ["n" * 100] * 1_000) for start in range(0, 50_000, 1_000)]
    for tracked, groups in (("false", 2), ("true", 17)):
        file = written(
            tmp_path / tracked, *alike, row_group_size_bytes=300_000, row_group_size_track_uncompressed=tracked
        )
        assert abs(pq.read_metadata(local(file.file_path)).num_row_groups - groups) <= 1, tracked


def test_a_dictionary_is_as_large_as_is_said(tmp_path: Path) -> None:
    values = [f"value {number % 3_000:06}" for number in range(30_000)]
    rows = batch(KEYED, list(range(30_000)), values)
    for name, said, has_one in (
        ("default", {}, True),
        ("small", {"dict-size-bytes": 10_000}, False),
        ("off", {"dict-encoding-enabled.column.name": "false"}, False),
        ("on", {"dict-encoding-enabled.column.name": "true"}, True),
        ("of another", {"dict-encoding-enabled.column.id": "true"}, True),
    ):
        file = written(tmp_path / name, rows, **said)
        chunk = pq.read_metadata(local(file.file_path)).row_group(0).column(1)
        assert chunk.has_dictionary_page == has_one, name


def test_pages_are_of_the_version_that_is_said(tmp_path: Path) -> None:
    for version, encoding in (("v1", "RLE"), ("v2", None)):
        file = written(tmp_path / version, keyed(range(100)), page_version=version)
        assert pq.read_table(local(file.file_path)).num_rows == 100
        # Levels are a part of the values of pages of version 1, and have an encoding of their own.
        assert encoding is None or encoding in pq.read_metadata(local(file.file_path)).row_group(0).column(1).encodings


def test_a_column_without_statistics_has_neither_bounds_nor_counts_of_nulls(tmp_path: Path) -> None:
    rows = keyed(range(50_000))
    file = written(tmp_path, rows, **{"stats-enabled.column.name": "false"})
    assert set(file.lower_bounds or {}) == set(file.null_value_counts or {}) == {1}
    assert file.value_counts == {1: 50_000, 2: 50_000}
    group = pq.read_metadata(local(file.file_path)).row_group(0)
    assert [group.column(number).is_stats_set for number in (0, 1)] == [True, False]
    assert [group.column(number).has_column_index for number in (0, 1)] == [True, False]
    assert [group.column(number).has_offset_index for number in (0, 1)] == [True, True]
    none = written(tmp_path / "none", rows, **{f"stats-enabled.column.{name}": "false" for name in ("id", "name")})
    assert not none.lower_bounds
    assert not none.null_value_counts
    assert pq.read_table(local(none.file_path)).num_rows == 50_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("page-size-bytes", "0"),
        ("page-row-limit", "many"),
        ("page-version", "v3"),
        ("dict-size-bytes", "-1"),
        ("row-group-limit", "0"),
        ("row-group-size-track-uncompressed", "perhaps"),
        ("dict-encoding-enabled.column.id", "yes"),
        ("stats-enabled.column.id", "1"),
    ],
)
def test_a_value_that_does_not_parse_is_refused(name: str, value: str) -> None:
    with pytest.raises(AnalysisError, match=name) as refused:
        WritePlan.from_metadata(metadata({f"{_NAME}{name}": value}), "op", "lake.db.t")
    assert refused.value.condition == "INVALID_TABLE_PROPERTY"


def test_an_identity_column_has_statistics(tmp_path: Path) -> None:
    said = {"sqlext.identity.1": "ALWAYS START WITH 1 INCREMENT BY 1", f"{_NAME}stats-enabled.column.name": "false"}
    WritePlan.from_metadata(metadata(said), "op", "lake.db.t")
    with pytest.raises(AnalysisError, match=r"stats-enabled.column.id.*identity column") as refused:
        WritePlan.from_metadata(metadata({**said, f"{_NAME}stats-enabled.column.id": "false"}), "op", "lake.db.t")
    assert refused.value.condition == "INVALID_TABLE_PROPERTY"


def test_a_column_that_is_not_there_is_told(caplog: pytest.LogCaptureFixture) -> None:
    said = {f"{_NAME}dict-encoding-enabled.column.id": "true", f"{_NAME}stats-enabled.column.nmae": "false"}
    with caplog.at_level(logging.WARNING, "sqlext.write.column_chunk"):
        ColumnChunks.from_properties(said).warn_of_those_not_written(KEYED)
    (warning,) = [one.getMessage() for one in caplog.records]
    assert "stats-enabled.column.nmae" in warning


_EPOCH = datetime(1970, 1, 1)


def _schema() -> Schema:
    fields = [NestedField(number, name, type) for number, (name, (type, _)) in enumerate(MAKERS.items(), 1)]
    point = StructType((NestedField(31, "x", LongType()), NestedField(32, "label", StringType())))
    return Schema(
        (
            *fields,
            NestedField(30, "point", point),
            NestedField(33, "tags", ListType(34, StringType(), False)),
            NestedField(35, "map", MapType(36, StringType(), 37, LongType(), False)),
        )
    )


def _nested(rng: random.Random) -> dict[str, Callable[[random.Random], Any]]:
    def maybe(one: Any) -> Any:
        return None if rng.random() < 0.2 else one

    return {
        "point": lambda r: {"x": maybe(r.randrange(100)), "label": maybe(text(r))},
        "tags": lambda r: [maybe(text(r)) for _ in range(r.choice([0, 0, 1, 5]))],
        "map": lambda r: [(f"k{number}", maybe(r.randrange(9))) for number in range(r.choice([0, 1, 4]))],
    }


@pytest.mark.parametrize("seed", range(6))
def test_page_indexes_tell_the_truth(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice([1_500, 3_001])
    makers = {**{name: make for name, (_, make) in MAKERS.items()}, **_nested(rng)}
    rows = batch(_schema(), *[stretched(rng, count, make) for make in makers.values()])
    limits = {"page-row-limit": rng.choice([37, 100, 333]), "row-group-limit": rng.choice([700, 10_000])}
    chosen = plan(tmp_path, _schema(), chunks=ColumnChunks(page_rows=limits["page-row-limit"]))
    writer = DataWriter(LocalFileIO(), replace(chosen, row_group_rows=limits["row-group-limit"]), 0, 0)
    writer.write(rows)
    (file,) = writer.close()
    stored = pq.read_table(local(file.file_path))
    assert stored.num_rows == count
    start = 0
    groups = page_indexes(local(file.file_path))
    footer = pq.read_metadata(local(file.file_path))
    for number, group in enumerate(groups):
        assert len(group) == footer.num_columns
        length = footer.row_group(number).num_rows
        for chunk in group:
            assert all(page.end_row - page.first_row <= limits["page-row-limit"] for page in chunk.pages), chunk.path
            if "list" not in chunk.path and "key_value" not in chunk.path:
                _check_chunk(chunk, _leaf(stored.slice(start, length), chunk.path), f"seed {seed} {chunk.path}")
        start += length


def _leaf(rows: pa.Table, path: str) -> list[Any]:
    name, *inside = path.split(".")
    column = rows.column(name)
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks])
    values = column.to_pylist()
    return [None if one is None else one[inside[0]] for one in values] if inside else values


def _check_chunk(chunk: ChunkIndex, values: Sequence[Any], told: str) -> None:
    bounds = []
    for page in chunk.pages:
        there = [one for one in values[page.first_row : page.end_row] if one is not None]
        numbers = [one for one in there if one == one]
        if chunk.order is None:
            continue
        assert page.null_count == page.end_row - page.first_row - len(there), told
        assert page.only_nulls == (not there), told
        if there:
            assert numbers, f"{told}: a page of NaN alone has no bounds, so the chunk has no index"
            assert page.least is not None
            assert page.most is not None
            encoded = sorted(map(_encoded, numbers))
            assert _decoded(page.least, numbers[0]) <= encoded[0], told
            assert _decoded(page.most, numbers[0]) >= encoded[-1], told
            bounds.append((_decoded(page.least, numbers[0]), _decoded(page.most, numbers[0])))
    if chunk.order is None:
        only_nan = [page for page in chunk.pages if _has_nan_alone(values[page.first_row : page.end_row])]
        assert only_nan, f"{told}: an index is left out for such a page only"
    for rising in ((1, False), (2, True)):
        if chunk.order == rising[0]:
            for side in (0, 1):
                column = [one[side] for one in bounds]
                assert column == sorted(column, reverse=rising[1]), told


def _has_nan_alone(values: Sequence[Any]) -> bool:
    there = [one for one in values if one is not None]
    return bool(there) and all(one != one for one in there)


def _encoded(value: Any) -> Any:
    """The value as it is compared: texts by their bytes."""
    return value.encode() if isinstance(value, str) else value


def _decoded(raw: bytes, alike: Any) -> Any:
    """A bound of a column that has values such as `alike`."""
    match alike:
        case bool():
            return raw != b"\0"
        case int():
            return int.from_bytes(raw, "little", signed=True)
        case float():
            return struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
        case Decimal():
            unscaled = int.from_bytes(raw, "little" if len(raw) in (4, 8) else "big", signed=True)
            return Decimal(unscaled).scaleb(int(alike.as_tuple().exponent))
        case datetime():
            moment = _EPOCH + timedelta(microseconds=int.from_bytes(raw, "little", signed=True))
            return moment.replace(tzinfo=alike.tzinfo)
        case date():
            return date(1970, 1, 1) + timedelta(int.from_bytes(raw, "little", signed=True))
    return raw


def test_every_value_is_found_by_duckdb(tmp_path: Path) -> None:
    """One by one, with what DuckDB prunes by: the statistics of row groups."""
    rng = random.Random(3)
    makers = {name: make for name, (_, make) in MAKERS.items() if name in ("l", "s", "small", "day", "middle")}
    schema = Schema(tuple(field for field in _schema().fields if field.name in makers))
    columns = [stretched(rng, 900, make) for make in makers.values()]
    chosen = plan(tmp_path, schema, chunks=ColumnChunks(page_rows=50))
    writer = DataWriter(LocalFileIO(), replace(chosen, row_group_rows=200), 0, 0)
    writer.write(batch(schema, *columns))
    (file,) = writer.close()
    with duckdb.connect() as connection:
        for name, values in zip(makers, columns, strict=True):
            for value in rng.sample([one for one in values if one is not None], 20):
                query = f"SELECT count(*) FROM '{local(file.file_path)}' WHERE {name} = ?"
                assert connection.execute(query, [value]).fetchone() == (values.count(value),), (name, value)
