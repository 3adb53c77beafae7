"""Schema changes that let a table store rows with other columns."""

from __future__ import annotations

from sqlext.spec.schema_change import AddColumn, WidenColumn
from sqlext.spec.schema_union import union_changes
from sqlext.spec.types import (
    DateType,
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    Type,
)


def fields(**types: Type) -> list[NestedField]:
    return [NestedField(id, name, type) for id, (name, type) in enumerate(types.items(), 1)]


def test_new_columns_are_added_and_types_widened_by_name() -> None:
    known = fields(id=IntegerType(), m=DecimalType(9, 2), name=StringType())
    incoming = fields(NAME=IntegerType(), M=DecimalType(12, 2), ID=LongType(), extra=DateType())
    assert list(union_changes(known, incoming, 2)) == [
        WidenColumn(("m",), DecimalType(12, 2)),
        WidenColumn(("id",), LongType()),
        AddColumn(("extra",), DateType()),
    ]


def test_narrower_values_change_nothing() -> None:
    assert list(union_changes(fields(a=LongType(), d=DateType()), fields(a=IntegerType(), d=TimestampType()), 3)) == []


def test_nested_fields_are_matched_by_name() -> None:
    point = StructType((NestedField(2, "x", IntegerType()),))
    wider = StructType((NestedField(7, "y", IntegerType(), True), NestedField(8, "X", LongType(), True)))
    known = fields(p=point, l=ListType(3, point, False), m=MapType(4, StringType(), 5, point, False))
    incoming = fields(p=wider, l=ListType(9, wider, True), m=MapType(9, StringType(), 10, wider, True))
    assert list(union_changes(known, incoming, 2)) == [
        change
        for path in (("p",), ("l", "element"), ("m", "value"))
        for change in (AddColumn((*path, "y"), IntegerType()), WidenColumn((*path, "x"), LongType()))
    ]


def test_what_is_required_in_the_rows_is_optional_in_the_table() -> None:
    given = ListType(1, StructType((NestedField(2, "a", IntegerType(), True),)), True)
    taken = ListType(1, StructType((NestedField(2, "a", IntegerType(), False),)), False)
    assert list(union_changes([], fields(l=given), 2)) == [AddColumn(("l",), taken)]
