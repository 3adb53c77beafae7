"""The fields of a schema that data files contain."""

from __future__ import annotations

import pytest

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.stored_fields import require_storable, stored_schema
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType, Type, UnknownType

VOID = NestedField(2, "n", UnknownType())
NUMBER = NestedField(3, "i", IntegerType())


def test_fields_of_nulls_are_left_out_at_any_depth() -> None:
    inside = ListType(5, StructType((VOID, NUMBER)), False)
    schema = Schema((VOID, NestedField(4, "l", MapType(6, StringType(), 7, inside, False))), schema_id=3)
    stored = stored_schema(schema)
    kept = MapType(6, StringType(), 7, ListType(5, StructType((NUMBER,)), False), False)
    assert stored == Schema((NestedField(4, "l", kept),), schema_id=3)
    require_storable(schema)


def test_a_schema_without_any_is_itself() -> None:
    schema = Schema((NUMBER,))
    assert stored_schema(schema) is schema


@pytest.mark.parametrize(
    ("type_", "named"),
    [
        (StructType((VOID,)), "which structs are null"),
        (ListType(4, UnknownType(), False), "how long lists are"),
        (MapType(4, StringType(), 5, ListType(6, UnknownType(), False), False), "how long lists are"),
        (MapType(4, StringType(), 5, UnknownType(), False), "how long maps are"),
    ],
)
def test_nulls_that_no_file_would_tell_are_refused(type_: Type, named: str) -> None:
    with pytest.raises(UnsupportedError, match=named):
        require_storable(Schema((NUMBER, NestedField(9, "c", type_))))


def test_a_table_of_nulls_only_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="how many rows"):
        require_storable(Schema((VOID,)))
