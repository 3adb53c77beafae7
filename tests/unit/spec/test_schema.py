from __future__ import annotations

import pytest
from pyiceberg.schema import Schema as PyIcebergSchema

from sqlext.errors import AnalysisError
from sqlext.spec.field_path import FieldPath
from sqlext.spec.schema import Schema, assign_fresh_ids
from sqlext.spec.types import (
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

POINT = StructType((NestedField(10, "x", DoubleType(), True), NestedField(11, "y", DoubleType())))
SCHEMA = Schema(
    fields=(
        NestedField(1, "id", LongType(), True, "unique id"),
        NestedField(2, "point", POINT, True),
        NestedField(3, "tags", ListType(12, StructType((NestedField(13, "name", StringType()),)), False)),
        NestedField(4, "prices", MapType(14, StringType(), 15, DecimalType(9, 2), False)),
    ),
    schema_id=7,
    identifier_field_ids=(1,),
)


def test_json_round_trips_and_pyiceberg_reads_it() -> None:
    assert Schema.from_json(SCHEMA.to_json()) == SCHEMA
    theirs = PyIcebergSchema.model_validate(SCHEMA.to_json())
    assert theirs.identifier_field_ids == [1]
    assert theirs.find_field("tags.element.name").field_id == 13
    assert theirs.highest_field_id == SCHEMA.highest_field_id == 15


@pytest.mark.parametrize(
    ("path", "id"),
    [(("id",), 1), (("point", "x"), 10), (("tags", "element", "name"), 13), (("prices", "value"), 15)],
)
def test_paths_lead_to_fields(path: FieldPath, id: int) -> None:
    found = SCHEMA.field_at(path)
    upper = tuple(name.upper() for name in path)
    assert found is not None
    assert found.id == id
    assert SCHEMA.column_path(id) == path
    assert SCHEMA.field_at(upper) is None
    assert SCHEMA.field_at(upper, case_sensitive=False) == found


def test_a_name_with_dots_is_no_path() -> None:
    inner = NestedField(3, "b", LongType())
    schema = Schema((NestedField(1, "a.b", LongType()), NestedField(2, "a", StructType((inner,)))))
    assert schema.column("a.b") == schema.field_at(("a.b",)) == schema.field(1)
    assert schema.column("A.B", case_sensitive=False) == schema.field(1)
    assert schema.field_at(("a", "b")) == inner
    assert [schema.column_path(id) for id in (1, 3)] == [("a.b",), ("a", "b")]
    assert SCHEMA.column("point.x") is None
    assert SCHEMA.column("point.x", case_sensitive=False) is None


def test_a_name_ambiguous_without_case_is_refused() -> None:
    schema = Schema((NestedField(1, "a", LongType()), NestedField(2, "A", LongType())))
    assert schema.column("A", case_sensitive=False) == schema.field(2)
    with pytest.raises(AnalysisError) as caught:
        Schema((NestedField(1, "ab", LongType()), NestedField(2, "AB", LongType()))).column("Ab", case_sensitive=False)
    assert caught.value.condition == "AMBIGUOUS_REFERENCE"


def test_fresh_ids_number_top_level_columns_first() -> None:
    fresh = assign_fresh_ids(SCHEMA)
    assert [field.id for field in fresh.fields] == [1, 2, 3, 4]
    ids = [fresh.column_path(id) for id in (5, 6, 7, 8, 9)]
    assert ids == [("point", "x"), ("point", "y"), ("tags", "element"), ("tags", "element", "name"), ("prices", "key")]
    assert fresh.identifier_field_ids == (1,)


def test_selection_keeps_the_structs_above() -> None:
    selected = SCHEMA.select({10, 15})
    assert [field.name for field in selected.fields] == ["point", "prices"]
    assert selected.field_or_none(11) is None
    assert selected.identifier_field_ids == ()


@pytest.mark.parametrize(
    ("id", "reason"),
    [(2, "nested"), (10, "exact equality"), (12, "nested"), (13, "inside the list"), (99, "no such field")],
)
def test_fields_that_cannot_identify_a_row(id: int, reason: str) -> None:
    with pytest.raises(AnalysisError, match=reason) as caught:
        Schema(SCHEMA.fields, 0, (id,)).validate_identifier_fields()
    assert caught.value.condition == "INVALID_PRIMARY_KEY"


def test_an_optional_field_cannot_identify_a_row() -> None:
    with pytest.raises(AnalysisError, match="optional"):
        Schema((NestedField(1, "id", IntegerType()),), 0, (1,)).validate_identifier_fields()


def test_same_columns_ignores_the_schema_id() -> None:
    assert SCHEMA.same_columns(Schema(SCHEMA.fields, 9, (1,)))
    assert not SCHEMA.same_columns(Schema(SCHEMA.fields, 7, ()))
