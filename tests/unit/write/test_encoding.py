from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sqlext.spec.schema import Schema
from sqlext.spec.types import BooleanType, DateType, DecimalType, LongType, NestedField, StringType, StructType, Type
from sqlext.write.arrow_schema import type_to_arrow
from sqlext.write.column_chunk import ColumnChunks
from sqlext.write.encoding import Encodings, choose_encodings
from sqlext.write.parquet_column import parquet_columns

ROWS = 100_000
GENERATOR = np.random.default_rng(11)
RANDOM = random.Random(11)
DEFAULT = ColumnChunks()


def chosen(type: Type, values: object, said: ColumnChunks = DEFAULT) -> str:
    schema = Schema((NestedField(1, "c", type),))
    column = pa.array(values).cast(type_to_arrow(type))
    batches = [pa.record_batch([column.slice(start, 10_000)], names=["c"]) for start in range(0, len(column), 10_000)]
    columns = parquet_columns(schema)
    encodings = choose_encodings(columns, batches, said.of_files(schema, columns))
    return "dictionary" if encodings.dictionary else "delta" if encodings.delta else "plain"


@pytest.mark.parametrize(
    ("type", "values", "expected"),
    [
        pytest.param(LongType(), np.arange(ROWS), "delta", id="sequence"),
        pytest.param(LongType(), np.repeat(np.arange(ROWS // 4), 4), "delta", id="key of several rows each"),
        pytest.param(LongType(), GENERATOR.integers(0, 10**7, ROWS), "delta", id="foreign key"),
        pytest.param(LongType(), GENERATOR.integers(-(2**62), 2**62, ROWS), "plain", id="hash"),
        pytest.param(LongType(), GENERATOR.integers(0, 50, ROWS), "dictionary", id="small number"),
        pytest.param(LongType(), GENERATOR.integers(0, 20_000, ROWS), "delta", id="foreign key of five rows each"),
        pytest.param(LongType(), np.repeat(np.arange(50), ROWS // 50), "dictionary", id="runs of small numbers"),
        pytest.param(DateType(), GENERATOR.integers(8000, 10_500, ROWS).astype(np.int32), "dictionary", id="date"),
        pytest.param(StringType(), ["N", "A", "R", None] * (ROWS // 4), "dictionary", id="flag text"),
        pytest.param(StringType(), [RANDOM.randbytes(12).hex() for _ in range(ROWS)], "plain", id="free text"),
        pytest.param(DecimalType(15, 2), [Decimal(n) for n in range(50)] * (ROWS // 50), "dictionary", id="quantity"),
        pytest.param(
            DecimalType(12, 2), [Decimal(n) / 100 for n in GENERATOR.integers(-(10**7), 10**7, ROWS).tolist()], "delta"
        ),
        pytest.param(
            DecimalType(9, 2), [Decimal(n) / 100 for n in GENERATOR.integers(0, 10**6, ROWS).tolist()], "delta"
        ),
        pytest.param(
            DecimalType(18, 0), [Decimal(n) for n in GENERATOR.integers(-(10**17), 10**17, ROWS).tolist()], "plain"
        ),
        pytest.param(DecimalType(19, 0), [Decimal(n) for n in range(ROWS)], "plain", id="a decimal of 19 digits"),
        pytest.param(BooleanType(), [True, False] * (ROWS // 2), "plain", id="boolean"),
        pytest.param(LongType(), [None] * ROWS, "plain", id="nulls"),
        pytest.param(LongType(), [5], "plain", id="one row"),
    ],
)
def test_encodings_follow_the_values(type: Type, values: object, expected: str) -> None:
    assert chosen(type, values) == expected


def test_a_column_with_the_path_of_a_field_has_no_dictionary_as_readers_take_one_for_the_others() -> None:
    struct = StructType((NestedField(3, "b", LongType()),))
    schema = Schema((NestedField(1, "a.b", LongType()), NestedField(2, "a", struct)))
    numbers = pa.array(range(1_000))
    batch = pa.record_batch([numbers, pa.StructArray.from_arrays([numbers], ["b"])], names=["a.b", "a"])
    columns = parquet_columns(schema)
    encodings = choose_encodings(columns, [batch], ColumnChunks().of_files(schema, columns))
    assert encodings == Encodings(dictionary=(), delta=())


def test_a_dictionary_is_what_the_properties_say() -> None:
    few, many = ["N", "A", "R", None] * 2_500, [RANDOM.randbytes(12).hex() for _ in range(10_000)]
    for values, without in ((few, "dictionary"), (many, "plain")):
        assert chosen(StringType(), values) == without
        assert chosen(StringType(), values, ColumnChunks(dictionaries=(("c", False),))) == "plain"
        assert chosen(StringType(), values, ColumnChunks(dictionaries=(("c", True),))) == "dictionary"
    numbers = np.arange(10_000) % 100
    assert chosen(LongType(), numbers) == "dictionary"
    assert chosen(LongType(), numbers, ColumnChunks(dictionary_bytes=500)) == "delta"
    assert chosen(LongType(), numbers, ColumnChunks(dictionaries=(("c", False),))) == "delta"
