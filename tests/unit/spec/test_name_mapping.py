from __future__ import annotations

import json

import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.name_mapping import FileColumns, MappedField, NameMapping, names_in_file
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


def test_a_rename_keeps_the_old_name() -> None:
    old, new = Schema((field(1, "a"), field(2, "b"))), Schema((field(1, "c"), field(2, "b")))
    renamed = NameMapping.of_schema(old).with_changes(old, new)
    assert names_in_file(renamed, columns(a=LEAF, b=LEAF)) == {1: "a", 2: "b"}
    assert names_in_file(renamed, columns(c=LEAF)) == {1: "c"}


@pytest.mark.parametrize(
    ("new", "in_old_file"),
    [
        pytest.param([(1, "b"), (2, "a")], {1: "a", 2: "b"}, id="two fields change names"),
        pytest.param([(2, "b"), (3, "a")], {1: "a", 2: "b"}, id="one is dropped and added again"),
        pytest.param([(1, "c"), (2, "b"), (3, "a")], {1: "a", 2: "b"}, id="one is renamed, and its name given again"),
    ],
)
def test_a_name_stays_with_the_field_of_old_files(new: list[tuple[int, str]], in_old_file: dict[int, str]) -> None:
    old = Schema((field(1, "a"), field(2, "b")))
    changed = NameMapping.of_schema(old).with_changes(old, Schema(tuple(field(*one) for one in new)))
    assert names_in_file(changed, columns(a=LEAF, b=LEAF)) == in_old_file


def test_fields_inside_of_others_are_added_and_renamed() -> None:
    point = StructType((NestedField(4, "u", IntegerType()), POINT.fields[1], NestedField(11, "z", IntegerType())))
    new = Schema((SCHEMA.fields[0], NestedField(2, "point", point), *SCHEMA.fields[2:]))
    changed = NameMapping.of_schema(SCHEMA).with_changes(SCHEMA, new)
    assert names_in_file(changed, columns(point=columns(x=LEAF, z=LEAF))) == {2: "point", 4: "x", 11: "z"}
    assert names_in_file(changed, columns(point=columns(u=LEAF))) == {2: "point", 4: "u"}


def test_what_a_mapping_leaves_out_stays_out() -> None:
    """A mapping may lack columns, which then are in no file without field ids."""
    old, new = Schema((field(1, "a"), field(2, "b"))), Schema((field(1, "a"), field(2, "c")))
    mapping = NameMapping((MappedField(1, ("a",)),))
    assert mapping.with_changes(old, new) == mapping


def field(id: int, name: str) -> NestedField:
    return NestedField(id, name, IntegerType())
