"""Sorts of rows in memory beside Python's, and z-values beside a loop over bits."""

from __future__ import annotations

import math
import random
from functools import cmp_to_key
from typing import Any

import pyarrow as pa
import pytest

from sqlext.command.compaction.row_sort import RowSort, ZOrder
from sqlext.command.compaction.z_order import z_values
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField, SortOrder
from sqlext.spec.transform import BucketTransform, IdentityTransform, TruncateTransform
from sqlext.spec.types import (
    BooleanType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
)
from sqlext.write.arrow_schema import schema_to_arrow

SCHEMA = Schema(
    (
        NestedField(1, "a", IntegerType()),
        NestedField(2, "b", StringType()),
        NestedField(3, "c", DoubleType()),
        NestedField(4, "s", StructType((NestedField(5, "x", LongType()),))),
    )
)


def _rows(rng: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {
            "a": rng.choice((None, -5, 0, 3, 2**31 - 1)),
            "b": rng.choice((None, "", "a", "ä", "b" * 12)),
            "c": rng.choice((None, math.nan, -math.inf, -1.5, 0.0, 2.5)),
            "s": rng.choice((None, {"x": None}, {"x": 1}, {"x": -1})),
            "at": at,
        }
        for at in range(count)
    ]


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    plain = pa.schema([(field.name, field.type) for field in schema_to_arrow(SCHEMA)])
    return pa.Table.from_pylist(rows, plain.append(pa.field("at", pa.int64())))


def _compared(field: SortField, one: Any, other: Any) -> int:
    if one is None or other is None:
        first = (one is None) - (other is None)
        return -first if field.null_order == "nulls-first" else first
    # NaN is larger than any number.
    left, right = ((value != value, 0 if value != value else value) for value in (one, other))
    larger = (left > right) - (left < right)
    return -larger if field.direction == "desc" else larger


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_in_the_order_that_spark_has(seed: int) -> None:
    rng = random.Random(seed)
    values = {
        1: lambda row: row["a"],
        2: lambda row: None if row["b"] is None else row["b"].encode(),
        3: lambda row: row["c"],
        5: lambda row: None if row["s"] is None else row["s"]["x"],
    }
    fields = [
        SortField(id, IdentityTransform(), rng.choice(("asc", "desc")), rng.choice(("nulls-first", "nulls-last")))
        for id in rng.sample(sorted(values), rng.randint(1, 3))
    ]

    def compared(one: dict[str, Any], other: dict[str, Any]) -> int:
        found = (_compared(field, values[field.source_id](one), values[field.source_id](other)) for field in fields)
        return next((number for number in found if number), 0)

    rows = _rows(rng, 60)
    ordered = RowSort(SCHEMA, SortOrder(1, tuple(fields))).sorted(_table(rows))
    assert ordered.column("at").to_pylist() == [row["at"] for row in sorted(rows, key=cmp_to_key(compared))]


def test_transforms_and_few_rows() -> None:
    rows = _table(
        [{"a": 7, "b": "abc", "c": None, "s": None, "at": 0}, {"a": 5, "b": "abd", "c": 1.0, "s": None, "at": 1}]
    )
    by = SortOrder(1, (SortField(2, TruncateTransform(2)), SortField(1, IdentityTransform())))
    assert RowSort(SCHEMA, by).sorted(rows).column("at").to_pylist() == [1, 0]
    by = SortOrder(1, (SortField(1, BucketTransform(4)),))
    assert RowSort(SCHEMA, by).sorted(rows.slice(0, 1)).num_rows == 1
    assert RowSort(SCHEMA, by).sorted(rows.slice(0, 0)).num_rows == 0


def _interleaved(pieces: list[bytes], size: int) -> bytes:
    """As Iceberg's `ZOrderByteUtils.interleaveBits`."""
    bits = [
        piece[at // 8] >> (7 - at % 8) & 1
        for at in range(8 * max(map(len, pieces)))
        for piece in pieces
        if at < 8 * len(piece)
    ][: 8 * size]
    number = int("".join(map(str, bits)), 2)
    return number.to_bytes(size, "big")


def _whole(value: int | None) -> bytes:
    return bytes(8) if value is None else (value + 2**63).to_bytes(8, "big")


@pytest.mark.parametrize("seed", range(10))
def test_z_values_are_interleaved_bits(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.choice((3, 8, 11))
    numbers = [rng.choice((None, 0, -1, rng.randint(-(2**31), 2**31 - 1))) for _ in range(30)]
    texts = [rng.choice((None, "", "äöü", "a long text", str(rng.random()))) for _ in range(30)]
    truths = [rng.choice((None, True, False)) for _ in range(30)]
    columns = [
        (pa.array(numbers, pa.int32()), IntegerType()),
        (pa.array(texts, pa.string()), StringType()),
        (pa.array(truths, pa.bool_()), BooleanType()),
        (pa.array(numbers, pa.int32()).cast(pa.date32()), DateType()),
    ]
    most = rng.choice((5, 100))
    found = z_values(columns, size, most)
    whole = 8 + size + 8 + 8
    for number, text, truth, value in zip(numbers, texts, truths, found.to_pylist(), strict=True):
        of_text = (text or "").encode()[:size].ljust(size, b"\0")
        pieces = [_whole(number), of_text, bytes([0x81 if truth else 0]) + bytes(7), _whole(number)]
        assert value == _interleaved(pieces, min(most, whole))


def test_a_sort_by_z_values_keeps_near_rows_together() -> None:
    rows = [{"a": a, "b": None, "c": float(c), "s": None, "at": 0} for a in range(4) for c in range(4)]
    ordered = RowSort(SCHEMA, ZOrder((1, 3), 8, 2**31)).sorted(_table(rows))
    assert {(row["a"] // 2, row["c"] // 2) for row in ordered.slice(0, 2).to_pylist()} == {(0, 0)}
