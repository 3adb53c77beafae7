"""Which merge engines fit which columns, and what each column's rule is then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import SCHEMA, Writer, warehouse_catalog
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.rules.merge_rules import merge_engine
from sqlext.errors import AnalysisError
from sqlext.spec.merge_engine import NestedRows
from sqlext.spec.row_order import UNORDERED, RowOrder
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    DecimalType,
    IntegerType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UuidType,
)

_PARTS = StructType(
    (
        NestedField(14, "id", IntegerType()),
        NestedField(15, "Time.at", StringType()),
        NestedField(16, "m", MapType(17, StringType(), 18, StringType(), False)),
        NestedField(22, "u", UuidType()),
        NestedField(26, "of", StructType((NestedField(27, "u", ListType(28, UuidType(), False)),))),
    )
)

COLUMNS = Schema(
    (
        NestedField(1, "k", IntegerType(), required=True),
        NestedField(2, "n", IntegerType()),
        NestedField(3, "text", StringType()),
        NestedField(4, "tags", ListType(5, StringType(), False)),
        NestedField(6, "exact", DecimalType(38, 10)),
        NestedField(7, "at", IntegerType()),
        NestedField(8, "maps", ListType(9, MapType(10, StringType(), 11, StringType(), False), False)),
        NestedField(12, "nested", ListType(13, _PARTS, False)),
        NestedField(19, "timed", MapType(20, StringType(), 21, replace(_PARTS, fields=_PARTS.fields[:2]), False)),
        NestedField(23, "by_uuid", MapType(24, UuidType(), 25, StringType(), False)),
    ),
    identifier_field_ids=(1,),
)


def rules(**properties):
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in properties.items()}
    return merge_engine(COLUMNS, {"merge-engine": "aggregation", **named}, "t")


def test_columns_without_a_function_keep_their_last_value():
    engine = rules(fields__n__aggregate_function="SUM", sequence__field="AT")
    functions = {one.column: one.function for one in engine.columns}
    assert functions == {
        "n": "sum",
        "text": "last_non_null_value",
        "tags": "last_non_null_value",
        "exact": "last_non_null_value",
        "at": "last_value",
        "maps": "last_non_null_value",
        "nested": "last_non_null_value",
        "timed": "last_non_null_value",
        "by_uuid": "last_non_null_value",
    }
    assert {one.order for one in engine.columns} == {RowOrder(("at",))}


def test_a_default_function_is_of_all_columns_that_have_none_of_their_own():
    schema = Schema(COLUMNS.fields[:3], identifier_field_ids=(1,))
    said = {"fields.default-aggregate-function": "max", "fields.text.aggregate-function": "listagg"}
    engine = merge_engine(schema, {"merge-engine": "aggregation", **said}, "t")
    assert [one.function for one in engine.columns] == ["max", "listagg"]


def test_a_function_has_its_former_name_too():
    engine = rules(**{"fields.text.aggregate-function": "first_not_null_value"})
    assert {one.function for one in engine.columns if one.column == "text"} == {"first_non_null_value"}


def test_options_of_nested_rows_and_maps_name_fields():
    engine = rules(
        **{
            "fields.nested.aggregate-function": "nested_update",
            "fields.nested.nested-key": " ID, `time.AT`",
            "fields.nested.nested-sequence-field": "time.at",
            "fields.nested.nested-key-null-strategy": "Ignore",
            "fields.nested.count-limit": "7",
            "fields.timed.aggregate-function": "merge_map_with_keytime",
        }
    )
    merges = {one.column: one for one in engine.columns}
    assert merges["nested"].nested == NestedRows(("id", "Time.at"), ("Time.at",), "ignore", 7)
    assert merges["timed"].time == "Time.at"
    assert merges["nested"].is_ordered
    assert merges["nested"].retracts
    assert not merges["timed"].retracts


@pytest.mark.parametrize(
    "properties",
    [
        {"n": "nested_update"},
        {"tags": "nested_update"},
        {"nested": "nested_partial_update"},
        # its elements have a map
        {"nested": "nested_update"},
        {"nested": "nested_update", "nested.nested-key": "m"},
        {"nested": "nested_update", "nested.nested-key": "id, other"},
        {"nested": "nested_update", "nested.nested-key": "id,"},
        {"nested": "nested_update", "nested.nested-key": "id", "nested.nested-sequence-field": "m"},
        {"nested": "nested_update", "nested.nested-key": "id", "nested.nested-key-null-strategy": "drop"},
        {"nested": "nested_update", "nested.nested-key": "id", "nested.count-limit": "0"},
        {"nested": "nested_update", "nested.nested-key": "id", "nested.count-limit": "many"},
        {"nested": "nested_partial_update", "nested.nested-key": "id", "nested.count-limit": "3"},
        {"nested": "nested_update", "nested.nested-key-null-strategy": "ignore"},
        {"nested": "last_value", "nested.nested-key": "id"},
        {"nested": "nested_update", "nested.nested-key": "u"},
        {"nested": "nested_update", "nested.nested-key": "of"},
        {"nested": "merge_map"},
        {"by_uuid": "merge_map"},
        {"timed": "merge_map", "timed.ts-field": "id"},
        {"timed": "merge_map_with_keytime", "timed.ts-field": "other"},
        {"nested": "merge_map_with_keytime"},
        {"text": "hll_sketch"},
        {"text": "rbm32"},
        {"text": "listagg", "text.distinct": "true", "text.list-agg-delimiter": ""},
    ],
)
def test_functions_of_nested_rows_maps_and_sketches_are_refused_for_other_columns(properties):
    said = {
        f"fields.{name}" if "." in name else f"fields.{name}.aggregate-function": one
        for name, one in properties.items()
    }
    with pytest.raises(AnalysisError) as caught:
        rules(**said)
    assert caught.value.condition == "INVALID_MERGE_ENGINE"


def test_sequence_groups_order_their_columns():
    engine = rules(merge_engine="partial-update", fields__at__sequence_group="n, text")
    groups = {one.column: (one.order, one.grouped, one.function) for one in engine.columns}
    assert groups["n"] == groups["text"] == groups["at"] == (RowOrder(("at",)), True, "last_value")
    assert groups["exact"] == (UNORDERED, False, "last_non_null_value")


@pytest.mark.parametrize(
    "properties",
    [
        {"fields__text__aggregate_function": "sum"},
        {"fields__exact__aggregate_function": "sum"},
        {"fields__exact__aggregate_function": "product"},
        {"fields__maps__aggregate_function": "collect"},
        {"fields__tags__distinct": "true"},
        {"fields__n__list_agg_delimiter": ";"},
        {"fields__n__ignore_retract": "maybe"},
        {"fields__k__ignore_retract": "true"},
        {"fields__n__other": "true"},
        {"fields__at__aggregate_function": "max", "sequence__field": "at"},
        {"fields__at__sequence_group": "n"},
        {"merge_engine": "first-row", "fields__n__aggregate_function": "sum"},
        {"merge_engine": "partial-update", "fields__at__sequence_group": "n", "fields__n__sequence_group": "text"},
        {"merge_engine": "partial-update", "aggregation__remove_record_on_delete": "true"},
        {"aggregation__remove_record_on_delete": "true", "ignore_delete": "true"},
        {"write__upsert__enabled": "false"},
    ],
)
def test_refused(properties):
    with pytest.raises(AnalysisError) as caught:
        rules(**properties)
    assert caught.value.condition == "INVALID_MERGE_ENGINE"


def test_a_default_would_overwrite_what_a_partial_update_leaves():
    column = NestedField(2, "n", IntegerType(), write_default=0)
    schema = Schema((COLUMNS.fields[0], column), identifier_field_ids=(1,))
    with pytest.raises(AnalysisError) as caught:
        merge_engine(schema, {"merge-engine": "partial-update"}, "t")
    assert "default of n" in caught.value.parameters["reason"]


def test_the_order_has_one_meaning_under_two_names():
    with pytest.raises(AnalysisError) as caught:
        rules(sequence__field="at", write__upsert__sequence_field="n")
    assert caught.value.condition == "INVALID_TABLE_PROPERTY"
    assert rules(sequence__field="at", write__upsert__sequence_field="at").sequence == RowOrder(("at",))


def test_a_direction_is_of_the_sequence_field_and_not_of_groups():
    said = {"sequence.field.sort-order": "Descending"}
    assert rules(sequence__field="at", **said).sequence == RowOrder(("at",), descending=True)
    engine = rules(merge_engine="partial-update", fields__at__sequence_group="n", **said)
    assert {one.order.descending for one in engine.columns} == {False}


def test_a_commit_is_held_to_the_rules_that_it_changes(tmp_path: Path):
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    column = SCHEMA.fields[1].name
    said = {"merge-engine": "aggregation", f"fields.{column}.aggregate-function": "bool_and"}
    with pytest.raises(AnalysisError) as caught:
        writer.commit(ChangeProperties(said), base=writer.load())
    assert caught.value.condition == "INVALID_MERGE_ENGINE"
