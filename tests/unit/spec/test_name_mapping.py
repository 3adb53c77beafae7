from __future__ import annotations

import json

import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.name_mapping import FileColumns, NameMapping, names_in_file
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType

POINT = StructType((NestedField(4, "x", IntegerType()), NestedField(5, "y", IntegerType())))
SCHEMA = Schema(
    (
        NestedField(1, "id", IntegerType()),
        NestedField(2, "point", POINT),
        NestedField(3, "points", ListType(6, StructType((NestedField(7, "z", IntegerType()),)), False)),
        NestedField(8, "tags", MapType(9, StringType(), 10, IntegerType(), False)),
    )
)


def columns(**inside: FileColumns) -> FileColumns:
    return FileColumns(inside)


LEAF = columns()


def test_the_property_is_read_as_iceberg_writes_it() -> None:
    text = """[ { "field-id" : 1, "names" : [ "id", "record_id" ] },
        { "field-id" : 2, "names" : [ "point" ], "fields" : [ { "field-id" : 4, "names" : [ "x" ] } ] },
        { "names" : [ "unknown" ] } ]"""
    mapping = NameMapping.of_table({"schema.name-mapping.default": text})
    assert mapping is not None
    assert json.loads(mapping.to_text()) == json.loads(text)
    assert NameMapping.of_table({}) is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"field-id": "1", "names": []}]', '[{"names": 1}]', "[" * 2000])
def test_what_is_no_mapping_is_refused(text: str) -> None:
    with pytest.raises(AnalysisError, match=r"schema\.name-mapping\.default"):
        NameMapping.of_table({"schema.name-mapping.default": text})


def test_names_of_a_schema_in_a_file() -> None:
    mapping = NameMapping.of_schema(SCHEMA)
    file = columns(
        id=LEAF,
        point=columns(y=LEAF, other=LEAF),
        points=columns(element=columns(z=LEAF)),
        tags=columns(key=LEAF, value=LEAF),
    )
    assert names_in_file(mapping, file) == {
        1: "id",
        2: "point",
        5: "y",
        3: "points",
        6: "element",
        7: "z",
        8: "tags",
        9: "key",
        10: "value",
    }


def test_the_first_name_that_the_file_has_counts() -> None:
    mapping = NameMapping.of_table({"schema.name-mapping.default": '[{"field-id": 1, "names": ["a", "b"]}]'})
    assert mapping is not None
    assert names_in_file(mapping, columns(b=LEAF)) == {1: "b"}
    assert names_in_file(mapping, columns(a=LEAF, b=LEAF)) == {1: "a"}
    assert names_in_file(mapping, columns(c=LEAF)) == {}


def test_a_changed_schema_adds_its_names() -> None:
    """A rename keeps the old name; a new column of a name takes it away from the field that had it."""
    old = NameMapping.of_schema(Schema((NestedField(1, "a", IntegerType()), NestedField(2, "b", IntegerType()))))
    renamed = old.with_schema(Schema((NestedField(1, "c", IntegerType()), NestedField(2, "b", IntegerType()))))
    assert names_in_file(renamed, columns(a=LEAF, b=LEAF)) == {1: "a", 2: "b"}
    assert names_in_file(renamed, columns(c=LEAF)) == {1: "c"}
    again = renamed.with_schema(Schema((NestedField(1, "c", IntegerType()), NestedField(3, "a", IntegerType()))))
    assert names_in_file(again, columns(a=LEAF, c=LEAF)) == {1: "c", 3: "a"}
