"""The nesting of types, compared with Arrow's own readers."""

from __future__ import annotations

import random
from io import BytesIO
from itertools import count

import pyarrow as pa
import pytest

from sqlext.errors import UnsupportedError
from sqlext.spec.nesting import MAX_LEVELS, levels, require_levels
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType, Type
from sqlext.write.arrow_schema import type_to_arrow

_ARROW_ENDS_AT = 64


def random_type(random: random.Random, steps: int) -> Type:
    """Nested structs, lists and maps, also as map keys, with fields of other types beside them."""
    ids = count(1)
    type: Type = IntegerType()
    for _ in range(steps):
        match random.randrange(5):
            case 0:
                type = StructType((NestedField(next(ids), "f", type),))
            case 1:
                beside = NestedField(next(ids), "g", ListType(next(ids), StringType(), False))
                type = StructType((beside, NestedField(next(ids), "f", type)))
            case 2:
                type = ListType(next(ids), type, False)
            case 3:
                type = MapType(next(ids), StringType(), next(ids), type, False)
            case 4:
                type = MapType(next(ids), type, next(ids), StringType(), False)
    return type


def _travels(type: pa.DataType) -> bool:
    schema = pa.schema([pa.field("c", type)])
    stream = BytesIO()
    try:
        with pa.ipc.new_stream(stream, schema) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays([pa.nulls(1, type)], schema=schema))
        return pa.ipc.open_stream(stream.getvalue()).read_all().num_rows == 1
    except (pa.ArrowInvalid, OSError):
        return False


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_those_that_arrow_counts(seed: int) -> None:
    steps = random.Random(seed)
    for size in range(25, 70):
        type = random_type(random.Random(steps.random()), size)
        assert _travels(type_to_arrow(type)) == (levels(type) < _ARROW_ENDS_AT), (seed, size)


def _column(id: int, depth: int) -> NestedField:
    type: Type = IntegerType()
    for number in range(depth):
        type = ListType(100 * id + number, type, False)
    return NestedField(id, f"c{id}", type)


def test_a_column_of_more_levels_is_refused_by_name_unless_it_had_them() -> None:
    fits, deep = Schema((_column(1, MAX_LEVELS),)), Schema((_column(1, 2), _column(2, MAX_LEVELS + 1)))
    require_levels(fits)
    with pytest.raises(UnsupportedError, match=f"TOO_DEEPLY_NESTED.* column c2 .*{MAX_LEVELS} levels"):
        require_levels(deep)
    require_levels(Schema((*deep.fields, _column(3, 1))), deep)
    with pytest.raises(UnsupportedError, match="TOO_DEEPLY_NESTED"):
        require_levels(Schema((_column(1, 2), _column(2, MAX_LEVELS + 2))), deep)
