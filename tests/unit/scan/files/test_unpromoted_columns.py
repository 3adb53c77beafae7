"""Which files hold fields in a type that was widened since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlext.scan.files.unpromoted_columns import promoted_fields, unpromoted_columns
from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType, IntegerType, LongType, NestedField, StructType, Type
from unit.scan.small_table import SmallTable, data_file


def _schema(schema_id: int, number: Type, inside: Type) -> Schema:
    struct = StructType((NestedField(3, "x", inside), NestedField(4, "y", LongType())))
    return Schema((NestedField(1, "n", number), NestedField(2, "s", struct)), schema_id)


def test_fields_whose_type_was_widened_at_any_depth(tmp_path: Path) -> None:
    now = _schema(1, LongType(), DoubleType())
    metadata = replace(
        SmallTable(tmp_path).metadata, schemas=(_schema(0, IntegerType(), FloatType()), now), current_schema_id=1
    )
    assert promoted_fields(metadata, now.fields) == {1, 3}
    assert promoted_fields(metadata, now.fields[:1]) == {1}
    assert promoted_fields(metadata, metadata.schemas[0].fields) == frozenset()


def test_the_width_of_a_bound_tells_the_type_of_a_file() -> None:
    old = replace(data_file("old"), lower_bounds={1: b"\0" * 4, 3: b"\0" * 8})
    new = replace(data_file("new"), lower_bounds={1: b"\0" * 8})
    unknown = replace(data_file("unknown"), lower_bounds=None)
    promoted = frozenset({1, 3})
    assert unpromoted_columns(promoted, [old, new, unknown]) == [[1], None, None]
    assert unpromoted_columns(promoted, [new, unknown]) == []
    assert unpromoted_columns(promoted, [replace(old, file_format="ORC")]) == []
    assert unpromoted_columns(frozenset(), [old]) == []
