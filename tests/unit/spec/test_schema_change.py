"""Schema changes keep the ids of existing columns and give new ids to added ones."""

from __future__ import annotations

import pytest

from sqlext.errors import SqlextError
from sqlext.spec.field_path import FieldPath
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import (
    AddColumn,
    DropColumn,
    DropIdentifierFields,
    MoveColumn,
    Position,
    RenameColumn,
    ReplaceColumns,
    SchemaChange,
    SetComment,
    SetDefault,
    SetIdentifierFields,
    SetRequired,
    WidenColumn,
    changed_schema,
)
from sqlext.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    Type,
)

POINT = StructType((NestedField(4, "x", IntegerType()), NestedField(5, "y", IntegerType())))
ITEMS = ListType(7, StructType((NestedField(8, "name", StringType()),)), False)
COUNTS = MapType(10, StringType(), 11, IntegerType(), False)
SCHEMA = Schema(
    (
        NestedField(1, "id", IntegerType(), required=True),
        NestedField(2, "name", StringType(), doc="who"),
        NestedField(3, "point", POINT),
        NestedField(6, "items", ITEMS),
        NestedField(9, "counts", COUNTS),
    ),
    identifier_field_ids=(1,),
)
LAST_ID = 20


def changed(*changes: SchemaChange, schema: Schema = SCHEMA, version: int = 2) -> Schema:
    return changed_schema(schema, changes, LAST_ID, version)


def names(schema: Schema) -> list[str]:
    return [field.name for field in schema.fields]


def test_a_new_column_gets_ids_that_no_column_ever_had() -> None:
    struct = StructType((NestedField(1, "a", IntegerType()), NestedField(2, "b", ListType(3, LongType(), False))))
    after = changed(AddColumn(("extra",), struct, doc="more"))
    added = after.fields[-1]
    assert (added.id, added.name, added.doc, added.required) == (21, "extra", "more", False)
    inside = [after.column_path(id) for id in (22, 23, 24)]
    assert inside == [("extra", "a"), ("extra", "b"), ("extra", "b", "element")]
    assert after.fields[:-1] == SCHEMA.fields


def test_a_name_that_comes_back_is_another_column() -> None:
    after = changed(DropColumn(("name",)), AddColumn(("name",), StringType()))
    assert [field.id for field in after.fields] == [1, 3, 6, 9, 21]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("point", "z"), ("point", "z")),
        (("POINT", "z"), ("point", "z")),
        (("items", "element", "price"), ("items", "element", "price")),
    ],
)
def test_columns_are_added_at_any_depth(path: FieldPath, found: FieldPath) -> None:
    field = changed(AddColumn(path, DoubleType())).field_at(found)
    assert field == NestedField(21, path[-1], DoubleType())


def test_positions_count_among_siblings() -> None:
    after = changed(
        AddColumn(("a",), LongType(), position=Position()),
        AddColumn(("b",), LongType(), position=Position("NAME")),
        MoveColumn(("id",), Position("point")),
        MoveColumn(("point", "y"), Position()),
    )
    assert names(after) == ["a", "name", "b", "point", "id", "items", "counts"]
    assert [field.name for field in after.column("point").type.fields] == ["y", "x"]  # type: ignore[union-attr]


def test_a_rename_keeps_id_and_key() -> None:
    after = changed(RenameColumn(("id",), "ID"), RenameColumn(("point", "x"), "lon"))
    assert after.identifier_field_ids == (1,)
    assert after.column("ID") == NestedField(1, "ID", IntegerType(), True)
    assert after.field_at(("point", "lon")) == NestedField(4, "lon", IntegerType())


@pytest.mark.parametrize(
    ("before", "after", "version", "allowed"),
    [
        (IntegerType(), LongType(), 1, True),
        (LongType(), IntegerType(), 2, False),
        (FloatType(), DoubleType(), 2, True),
        (DecimalType(9, 2), DecimalType(18, 2), 2, True),
        (DecimalType(9, 2), DecimalType(18, 3), 2, False),
        (IntegerType(), StringType(), 2, False),
        (DateType(), TimestampType(), 2, False),
        (DateType(), TimestampType(), 3, True),
        (DateType(), TimestamptzType(), 3, False),
    ],
)
def test_types_only_widen(before: Type, after: Type, version: int, allowed: bool) -> None:
    schema = Schema((NestedField(1, "c", before),))
    change = WidenColumn(("c",), after)
    if allowed:
        assert changed(change, schema=schema, version=version).fields[0] == NestedField(1, "c", after)
    else:
        with pytest.raises(SqlextError, match="NOT_SUPPORTED_CHANGE_COLUMN"):
            changed(change, schema=schema, version=version)


def test_values_of_lists_and_maps_widen() -> None:
    after = changed(WidenColumn(("counts", "value"), LongType()))
    assert after.column("counts").type == MapType(10, StringType(), 11, LongType(), False)  # type: ignore[union-attr]


def test_the_defaults_of_a_widened_date_are_its_midnights() -> None:
    schema = Schema((NestedField(1, "d", DateType(), initial_default=1, write_default=2),))
    field = changed(WidenColumn(("d",), TimestampType()), schema=schema, version=3).fields[0]
    assert (field.initial_default, field.write_default) == (86_400_000_000, 2 * 86_400_000_000)


def test_defaults_are_of_version_3() -> None:
    add = AddColumn(("c",), IntegerType(), required=True, default=7)
    assert changed(add, version=3).fields[-1] == NestedField(21, "c", IntegerType(), True, None, 7, 7)
    later = changed(add, SetDefault(("c",), 8), version=3).fields[-1]
    assert (later.initial_default, later.write_default) == (7, 8)
    with pytest.raises(SqlextError, match=r"SCHEMA_CHANGE_REFUSED.*version 3"):
        changed(add)


def test_comments_and_nullability() -> None:
    after = changed(SetComment(("name",), "he"), DropIdentifierFields((("id",),)), SetRequired(("id",), False))
    assert after.column("name").doc == "he"  # type: ignore[union-attr]
    assert (after.identifier_field_ids, after.fields[0].required) == ((), False)


def test_the_key_moves_to_other_required_columns() -> None:
    schema = Schema((*SCHEMA.fields, NestedField(12, "code", LongType(), required=True)), identifier_field_ids=(1,))
    assert changed(SetIdentifierFields((("code",),)), schema=schema).identifier_field_ids == (12,)
    assert changed(SetIdentifierFields((("code",), ("id",))), schema=schema).identifier_field_ids == (1, 12)


def test_replacing_columns_makes_new_ones() -> None:
    schema = Schema(SCHEMA.fields)
    after = changed(ReplaceColumns((AddColumn(("name",), StringType()), AddColumn(("n",), LongType()))), schema=schema)
    assert [(field.id, field.name) for field in after.fields] == [(21, "name"), (22, "n")]


def test_drop_if_exists() -> None:
    assert changed(DropColumn(("nothing",), if_exists=True)) == SCHEMA
    assert changed(DropColumn(("point", "z"), if_exists=True), DropColumn(("name", "z"), if_exists=True)) == SCHEMA


@pytest.mark.parametrize(
    ("change", "condition"),
    [
        (AddColumn(("NAME",), LongType()), "FIELD_ALREADY_EXISTS"),
        (AddColumn(("point", "X"), LongType()), "FIELD_ALREADY_EXISTS"),
        (AddColumn(("c",), LongType(), required=True), "SCHEMA_CHANGE_REFUSED"),
        (AddColumn(("name", "c"), LongType()), "SCHEMA_CHANGE_REFUSED"),
        (AddColumn(("counts", "key", "c"), LongType()), "SCHEMA_CHANGE_REFUSED"),
        (AddColumn(("items", "c"), LongType()), "SCHEMA_CHANGE_REFUSED"),
        (AddColumn(("c",), LongType(), position=Position("d")), "UNRESOLVED_COLUMN"),
        (DropColumn(("id",)), "COLUMN_IN_USE"),
        (DropColumn(("nothing",)), "UNRESOLVED_COLUMN"),
        (DropColumn(("items", "element")), "SCHEMA_CHANGE_REFUSED"),
        (DropColumn(("items", "element", "name")), "SCHEMA_CHANGE_REFUSED"),
        (RenameColumn(("name",), "POINT"), "FIELD_ALREADY_EXISTS"),
        (RenameColumn(("counts", "value"), "v"), "SCHEMA_CHANGE_REFUSED"),
        (WidenColumn(("counts", "key"), StringType()), "SCHEMA_CHANGE_REFUSED"),
        (WidenColumn(("point",), StructType((NestedField(1, "x", LongType()),))), "NOT_SUPPORTED_CHANGE_COLUMN"),
        (SetRequired(("name",), True), "SCHEMA_CHANGE_REFUSED"),
        (SetRequired(("id",), False), "COLUMN_IN_USE"),
        (SetIdentifierFields((("name",),)), "INVALID_PRIMARY_KEY"),
        (SetIdentifierFields((("id",), ("ID",))), "INVALID_PRIMARY_KEY"),
        (DropIdentifierFields((("name",),)), "INVALID_PRIMARY_KEY"),
        (ReplaceColumns((AddColumn(("c",), LongType()),)), "COLUMN_IN_USE"),
        (SetDefault(("name",), "x"), "SCHEMA_CHANGE_REFUSED"),
    ],
    ids=str,
)
def test_refused(change: SchemaChange, condition: str) -> None:
    with pytest.raises(SqlextError, match=rf"\[{condition}"):
        changed(change)


@pytest.mark.parametrize("name", ["_file", "_POS", "_partition", "_spec_id", "_deleted", "_row_id", "_row_kind"])
def test_names_of_hidden_columns_are_refused(name: str) -> None:
    schema = Schema((NestedField(1, "a", StructType((NestedField(2, "b", LongType()),))),))
    for change in (AddColumn((name,), LongType()), RenameColumn(("a",), name)):
        with pytest.raises(SqlextError) as refused:
            changed_schema(schema, (change,), 2, 2)
        assert refused.value.condition == "RESERVED_COLUMN_NAME"
    inside = changed_schema(
        schema, (AddColumn(("a", name), LongType()), RenameColumn(("a", "b"), "_change_type")), 2, 2
    )
    assert [field.name for field in inside.fields] == ["a"]
