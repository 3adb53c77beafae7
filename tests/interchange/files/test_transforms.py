"""Partition transforms of random values, as Iceberg's own functions give them; SQLEXT_SEED runs a seed again."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from judges.canonical import canonical_scalar
from judges.iceberg import IcebergJudge
from sqlext.spec.iso_date_time import format_date, format_timestamp
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
)
from sqlext.write.partitioner import Partitioner

VALUES = 60
EDGES = [0, 1, -1]


@dataclass(frozen=True, slots=True)
class Case:
    """A column type: how a random stored value is made, and written as a Spark literal."""

    type: Type
    arrow: pa.DataType
    make: Callable[[random.Random], Any]
    literal: Callable[[Any], str]
    transforms: tuple[str, ...]


def decimals(precision: int, scale: int) -> Callable[[random.Random], Decimal]:
    limit = 10**precision - 1
    return lambda rng: Decimal(rng.choice([rng.randint(-limit, limit), rng.randint(-300, 300)])).scaleb(-scale)


def integers(bits: int) -> Callable[[random.Random], int]:
    limit = 2 ** (bits - 1)
    # Near the smallest values a truncation wraps around, and engines differ.
    return lambda rng: rng.choice([rng.randint(-limit + 1000, limit - 1), rng.randint(-50, 50)])


def text(rng: random.Random) -> str:
    alphabet = "ab\u00e9\u4e2d\U0001f600 -_"
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(9)))


def timestamp_literal(kind: str) -> Callable[[int], str]:
    zone = "Z" if kind == "TIMESTAMP" else ""
    return lambda micros: f"{kind}'{format_timestamp(micros, 1_000_000)}{zone}'"


MOMENT = integers(52)
COUNTED = ("bucket[1]", "bucket[7]", "bucket[1000]")
CASES = [
    Case(
        IntegerType(), pa.int32(), integers(32), "CAST('{}' AS INT)".format, (*COUNTED, "truncate[3]", "truncate[100]")
    ),
    Case(
        LongType(), pa.int64(), integers(64), "CAST('{}' AS BIGINT)".format, (*COUNTED, "truncate[3]", "truncate[100]")
    ),
    Case(
        DecimalType(9, 2),
        pa.decimal128(9, 2),
        decimals(8, 2),
        "CAST('{:f}' AS DECIMAL(9,2))".format,
        (*COUNTED, "truncate[10]", "truncate[50]"),
    ),
    Case(
        DecimalType(38, 10),
        pa.decimal128(38, 10),
        decimals(37, 10),
        "CAST('{:f}' AS DECIMAL(38,10))".format,
        (*COUNTED, "truncate[10]"),
    ),
    Case(StringType(), pa.string(), text, "'{}'".format, (*COUNTED, "truncate[1]", "truncate[3]")),
    Case(
        BinaryType(),
        pa.binary(),
        lambda rng: rng.randbytes(rng.randrange(6)),
        lambda value: f"X'{value.hex()}'",
        (*COUNTED, "truncate[2]"),
    ),
    Case(
        DateType(),
        pa.date32(),
        lambda rng: rng.randint(-200_000, 200_000),
        lambda days: f"DATE'{format_date(days)}'",
        (*COUNTED, "year", "month", "day"),
    ),
    Case(
        TimestampType(),
        pa.timestamp("us"),
        MOMENT,
        timestamp_literal("TIMESTAMP_NTZ"),
        (*COUNTED, "year", "month", "day", "hour"),
    ),
    Case(
        TimestamptzType(),
        pa.timestamp("us", "UTC"),
        MOMENT,
        timestamp_literal("TIMESTAMP"),
        (*COUNTED, "year", "month", "day", "hour"),
    ),
]


def function_call(transform: str) -> str:
    name, _, parameter = transform.rstrip("]").partition("[")
    return f"lake.system.{name}({parameter}, v)" if parameter else f"lake.system.{name}s(v)"


def as_iceberg_shows(transform: str, value: Any) -> Any:
    return format_date(value) if transform == "day" and value is not None else canonical_scalar(value, zoned=False)


def by_partitioner(case: Case, transform: str, stored: list[Any]) -> list[Any]:
    """The partition values that writers give the rows."""
    schema = Schema((NestedField(1, "v", case.type), NestedField(2, "n", IntegerType())))
    spec = PartitionSpec(0, (PartitionField(1, 1000, "p", parse_transform(transform)),))
    batch = pa.record_batch([pa.array(stored, case.arrow), pa.array(range(len(stored)), pa.int32())], ["v", "n"])
    values: list[Any] = [None] * len(stored)
    for partition, rows in Partitioner(schema, spec).split(batch):
        for number in rows.column(1).to_pylist():
            values[number] = partition[0]
    return values


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.type))
def test_values_are_transformed_as_iceberg_does(iceberg: IcebergJudge, case: Case) -> None:
    seed = int(os.environ.get("SQLEXT_SEED") or random.randrange(1 << 32))
    rng = random.Random(f"{seed}/{case.type}")
    stored = [case.make(rng) for _ in range(VALUES)]
    rows = ", ".join(f"({number}, {case.literal(value)})" for number, value in enumerate(stored))
    calls = ", ".join(map(function_call, case.transforms))
    answer = {row[0]: row[1:] for row in iceberg.sql(f"SELECT n, {calls} FROM VALUES {rows} AS t(n, v)")}
    for place, transform in enumerate(case.transforms):
        by_iceberg = [answer[number][place] for number in range(VALUES)]
        applied = [parse_transform(transform).apply(case.type, value) for value in stored]
        assert [as_iceberg_shows(transform, value) for value in applied] == by_iceberg, f"{transform}, seed {seed}"
        assert by_partitioner(case, transform, stored) == applied, f"{transform} of a writer, seed {seed}"
