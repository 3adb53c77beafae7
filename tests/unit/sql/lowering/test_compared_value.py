"""Expressions for values that Spark does not compare. What they are equal for is tested with Spark, by undoing changes
of such values (`tests/session/changes/test_undo_of_tables.py`)."""

from __future__ import annotations

import pytest

from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    IntegerType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    Type,
    UnknownType,
    VariantType,
    has_equality,
)
from sqlext.sql.lowering.compared_value import can_compare, compared_columns, compared_row, compared_value

INT, TEXT, VARIANT = IntegerType(), StringType(), VariantType()
MAP = MapType(10, TEXT, 11, INT, value_required=False)
_ENTRY = "named_struct('c0', {0}.`key`, 'c1', {0}.`value`)"
_OF_MAP = "sort_array(transform(map_entries({1}), {0} -> " + _ENTRY + "))"


def _struct(*types: Type) -> StructType:
    return StructType(tuple(NestedField(number, f"f.{number}", type) for number, type in enumerate(types, 1)))


@pytest.mark.parametrize("type", [INT, TEXT, _struct(INT, _struct(TEXT)), ListType(1, _struct(INT), False)])
def test_what_spark_compares_stays(type: Type) -> None:
    assert has_equality(type)
    assert compared_value("`a`", type) == "`a`"


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        (MAP, _OF_MAP.format("`__sqlext_v0`", "`a`")),
        (
            ListType(1, MAP, False),
            f"transform(`a`, `__sqlext_v0` -> {_OF_MAP.format('`__sqlext_v1`', '`__sqlext_v0`')})",
        ),
        (
            MapType(1, INT, 2, MAP, value_required=True),
            "sort_array(transform(map_entries(`a`), `__sqlext_v0` -> named_struct('c0', `__sqlext_v0`.`key`, 'c1',"
            f" {_OF_MAP.format('`__sqlext_v1`', '`__sqlext_v0`.`value`')})))",
        ),
        (
            _struct(INT, MAP),
            "CASE WHEN `a` IS NOT NULL THEN named_struct('c0', `a`.`f.1`, 'c1',"
            f" {_OF_MAP.format('`__sqlext_v0`', '`a`.`f.2`')}) END",
        ),
        (VARIANT, "named_struct('c0', schema_of_variant(`a`), 'c1', to_json(`a`))"),
        (UnknownType(), "CAST(NULL AS BOOLEAN)"),
    ],
)
def test_what_spark_does_not_compare_is_taken_apart(type: Type, expected: str) -> None:
    assert not has_equality(type)
    assert compared_value("`a`", type) == expected


def test_a_row_has_its_columns_and_others() -> None:
    schema = Schema((NestedField(1, "a", INT), NestedField(2, "b`c", MAP)))
    assert not can_compare(schema)
    columns = ["`a`", "`b``c`", "`_row_id`"]
    of_map = _OF_MAP.format("`__sqlext_v0`", "`b``c`")
    assert compared_columns(columns, schema) == ["`a`", of_map, "`_row_id`"]
    assert compared_row(columns, schema) == f"named_struct('c0', `a`, 'c1', {of_map}, 'c2', `_row_id`)"
