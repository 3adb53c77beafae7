"""Pieces of Parquet files: each row is in one of the pieces that make up its file, and what Arrow reads in another way
than Spark is left to a query."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64

from sqlext.errors import OnlyByQuery
from sqlext.scan.file_piece import FilePiece, PieceFilter
from sqlext.spec.expression import And, Comparison, Or, Predicate
from sqlext.spec.schema import Schema
from sqlext.spec.types import LongType, NestedField, StringType
from sqlext.storage.file_io import LocalFileIO

IO = LocalFileIO()
NUMBERS = pa.schema([("n", pa.int64())])


def whole(path: Path, *columns: str | int, table: str | None = None) -> FilePiece:
    size = path.stat().st_size
    return FilePiece(str(path), size, 0, size, columns, table)


def written(path: Path, metadata: dict[str, str] | None = None, **columns: pa.Array) -> Path:
    rows = pa.table(columns)
    pq.write_table(rows.replace_schema_metadata(metadata), path, row_group_size=10)
    return path


def values(piece: FilePiece, types: pa.Schema = NUMBERS) -> list[Any]:
    return [value for batch in piece.rows(IO, types) for value in batch.column(0).to_pylist()]


def pieces(piece: FilePiece, rng: random.Random) -> Sequence[FilePiece]:
    """The piece in a few parts, some of them empty."""
    ends = sorted(rng.choices(range(piece.size + 1), k=rng.randrange(6)))
    starts = [0, *ends]
    return [
        replace(piece, start=start, length=end - start) for start, end in zip(starts, [*ends, piece.size], strict=True)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_each_row_is_in_one_piece(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice([0, 1, 10, 95, 300])
    field = pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "7"})
    path = tmp_path / "f"
    rows = pa.table([list(range(count)), ["x" * 50] * count], pa.schema([field, ("s", pa.string())]))
    pq.write_table(rows, path, row_group_size=10, use_dictionary=rng.random() < 0.5)
    deleted = BitMap64(rng.sample(range(count), count // 3))
    for piece, gone in ((whole(path, "n"), BitMap64()), (whole(path, 7, table="t"), deleted)):
        own = replace(piece, deletes=gone.serialize() if gone else None)
        found = [value for part in pieces(own, rng) for value in values(part)]
        assert found == [number for number in range(count) if number not in gone]


def test_columns_that_a_table_added_later_are_null(tmp_path: Path) -> None:
    field = pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "7"})
    pq.write_table(pa.table([[1, 2]], pa.schema([field])), tmp_path / "f")
    assert values(whole(tmp_path / "f", 8, table="t")) == [None, None]
    assert whole(tmp_path / "f", 8, table="t").why_by_query(IO, NUMBERS) is None


TWO = pa.schema([("c0", pa.string()), ("c1", pa.int64())])
READ = Schema([NestedField(1, "c0", StringType()), NestedField(2, "c1", LongType())])


def selecting(piece: FilePiece, predicate: Predicate) -> FilePiece:
    """The piece of the columns s and n, with a condition on them, which gives s alone."""
    return replace(piece, filter=PieceFilter(predicate, READ, TWO))


@pytest.mark.parametrize("seed", range(30))
def test_each_selected_row_is_in_one_piece(tmp_path: Path, seed: int) -> None:
    """Also if row groups without a match lie between others, and rows are deleted by position."""
    rng = random.Random(seed)
    count = rng.choice([1, 95, 300])
    numbers = [rng.choice([None, number // 10, number]) for number in range(count)]
    texts = [f"{number % 20}" for number in range(count)]
    fields = [
        pa.field(name, type, metadata={"PARQUET:field_id": id})
        for name, type, id in (("s", pa.string(), "8"), ("n", pa.int64(), "7"))
    ]
    path = tmp_path / "f"
    pq.write_table(pa.table([texts, numbers], pa.schema(fields)), path, row_group_size=10)
    gone = BitMap64(rng.sample(range(count), count // 3))
    low, high, text = rng.randrange(count), rng.randrange(count), f"{rng.randrange(20)}"
    predicate = Or(And(Comparison(">", 2, low), Comparison("!=", 1, text)), Comparison("=", 2, high))
    for piece, deleted in ((whole(path, "s", "n"), BitMap64()), (whole(path, 8, 7, table="t"), gone)):
        own = replace(selecting(piece, predicate), deletes=deleted.serialize() if deleted else None)
        found = [value for part in pieces(own, rng) for value in values(part, pa.schema([("s", pa.string())]))]
        assert found == [
            of_row
            for place, (of_row, number) in enumerate(zip(texts, numbers, strict=True))
            if place not in deleted and number is not None and ((number > low and of_row != text) or number == high)
        ]


@pytest.mark.parametrize(("least", "few"), [(0, False), (940, False), (960, True), (2000, True)])
def test_few_rows_are_left_to_spark(tmp_path: Path, least: int, few: bool) -> None:
    path = written(tmp_path / "f", s=pa.array(["x"] * 1000), n=pa.array(range(1000)))
    piece = selecting(whole(path, "s", "n"), Comparison(">=", 2, least))
    why = f"of {path} few rows are expected, whose pages Spark finds"
    assert piece.why_by_query(IO, pa.schema([("s", pa.string())])) == (why if few else None)


def test_row_groups_without_a_match_are_not_read(tmp_path: Path) -> None:
    """A damaged row group is met only if it may have a row."""
    path = tmp_path / "f"
    rows = pa.table({"s": ["x"] * 100, "n": range(100)})
    pq.write_table(rows, path, row_group_size=10, compression="none", use_dictionary=False)
    place = pq.read_metadata(path).row_group(9).column(1).data_page_offset
    data = path.read_bytes()
    path.write_bytes(data[:place] + bytes(20) + data[place + 20 :])
    texts = pa.schema([("s", pa.string())])
    assert values(selecting(whole(path, "s", "n"), Comparison("<", 2, 85)), texts) == ["x"] * 85
    with pytest.raises(OnlyByQuery):
        values(selecting(whole(path, "s", "n"), Comparison(">", 2, 85)), texts)


def test_a_value_that_a_file_cannot_hold_is_left_to_spark(tmp_path: Path) -> None:
    path = written(tmp_path / "f", s=pa.array(["x"]), n=pa.array([1]))
    with pytest.raises(OnlyByQuery):
        values(selecting(whole(path, "s", "n"), Comparison("!=", 2, 2**70)), pa.schema([("s", pa.string())]))


@pytest.mark.parametrize(
    ("columns", "metadata", "types", "why"),
    [
        ({"n": pa.array([1], pa.int32())}, {}, NUMBERS, "the column n as int32"),
        ({"N": pa.array([1])}, {}, NUMBERS, "not exactly one column with the name n"),
        ({"n": pa.array([1]), "N": pa.array([1])}, {}, NUMBERS, "not exactly one column with the name n"),
        ({"m": pa.array([1])}, {}, NUMBERS, "not exactly one column with the name n"),
        *(
            (
                {"n": pa.array([datetime(1500, 1, 1)], pa.timestamp("us"))},
                metadata,
                pa.schema([("n", pa.timestamp("us"))]),
                "times that may be in the Julian calendar",
            )
            for metadata in (
                {"org.apache.spark.version": "2.4.8"},
                {"org.apache.spark.version": "3.0.1"},
                {"org.apache.spark.version": "4.1.4", "org.apache.spark.legacyDateTime": ""},
                {"org.apache.spark.version": "4.1.4", "org.apache.spark.legacyINT96": ""},
            )
        ),
    ],
)
def test_what_only_spark_reads(
    tmp_path: Path, columns: dict[str, pa.Array], metadata: dict[str, str], types: pa.Schema, why: str
) -> None:
    piece = whole(written(tmp_path / "f", metadata, **columns), "n")
    assert piece.why_by_query(IO, types) == f"{tmp_path}/f has {why}"
    with pytest.raises(OnlyByQuery):
        values(piece, types)


def test_instants_of_twelve_bytes(tmp_path: Path) -> None:
    """They are instants, never local times, and may be centuries away."""
    far = [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(9999, 12, 31), None]
    pq.write_table(
        pa.table({"n": pa.array(far, pa.timestamp("us"))}), tmp_path / "f", use_deprecated_int96_timestamps=True
    )
    piece = whole(tmp_path / "f", "n")
    (batch,) = piece.rows(IO, pa.schema([("n", pa.timestamp("us", "UTC"))]))
    assert batch.column(0).cast(pa.timestamp("us")).to_pylist() == far
    assert (
        piece.why_by_query(IO, pa.schema([("n", pa.timestamp("us"))]))
        == f"{tmp_path}/f has the column n as timestamp[us]"
    )


def test_damaged_and_absent_files(tmp_path: Path) -> None:
    path = written(tmp_path / "f", n=pa.array(range(95)))
    absent = replace(whole(path, "n"), path=str(tmp_path / "absent"))
    data = path.read_bytes()
    for damaged in (data[:40] + bytes(60) + data[100:], data[:-20], b""):
        path.write_bytes(damaged)
        with pytest.raises(OnlyByQuery):
            values(whole(path, "n"))
    assert absent.why_by_query(IO, NUMBERS) == f"{tmp_path}/absent cannot be read by pyarrow"
    with pytest.raises(OnlyByQuery):
        values(absent)
