from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import AddColumn, DropColumn, MoveColumn, Position, RenameColumn, SchemaChange
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType
from sqlext.sql.row_rules import (
    checked_columns,
    require_generated_kept,
    require_plain_check,
    row_rules,
    violated_rule,
)

SCHEMA = Schema(
    (
        NestedField(1, "a", IntegerType()),
        NestedField(2, "s`t", StringType()),
        NestedField(
            3,
            "n",
            ListType(4, StructType((NestedField(5, "m", MapType(6, StringType(), 7, StringType(), False)),)), False),
        ),
    )
)


def test_lengths_come_before_checks():
    rules = row_rules(
        SCHEMA, {"sqlext.check.z": "a > 0", "sqlext.check.b": "A < n[0].m['a']", "sqlext.varchar-length.2": "3"}
    )
    assert [(rule.name, rule.limit, rule.columns) for rule in rules] == [
        ("s`t", 3, ("s`t",)),
        ("b", None, ("a", "n")),
        ("z", None, ("a",)),
    ]
    assert violated_rule(rules[:2], operations=True) == (
        "CAST(CASE WHEN `__operation` < 2Y THEN NULL WHEN NOT (char_length(`s``t`) <= 3\n) THEN 0"
        " WHEN NOT (A < n[0].m['a']\n) THEN 1 END AS INT)"
    )


def test_lengths_at_any_depth():
    key, value = row_rules(SCHEMA, {"sqlext.varchar-length.6": "1", "sqlext.varchar-length.7": "2"})
    inner = "forall(map_keys(`__element_0`.`m`), `__element_1` -> char_length(`__element_1`) <= 1)"
    assert key.test == f"forall(`n`, `__element_0` -> {inner})"
    assert (value.name, value.limit, value.columns) == ("n.element.m.value", 2, ("n",))


def test_a_length_of_a_column_that_is_gone_is_no_rule():
    assert row_rules(SCHEMA, {"sqlext.varchar-length.99": "1"}) == ()


def test_columns_of_a_check():
    assert checked_columns(SCHEMA, "a > 1 AND size(filter(N, x -> x.m IS NULL)) = 0") == ("a", "n")
    assert checked_columns(SCHEMA, "a >>> 1 = 0") == ("a", "s`t", "n")


@pytest.mark.parametrize("expression", ["a IN (SELECT 1)", "b > 1", "t.a > 1"])
def test_what_is_no_condition_over_a_row_is_refused(expression: str):
    with pytest.raises(AnalysisError) as refusal:
        require_plain_check("c", expression, SCHEMA)
    assert refusal.value.condition == "INVALID_CHECK_CONSTRAINT"


@pytest.mark.parametrize(
    ("change", "expression", "used"),
    [
        (AddColumn(("n", "element", "x"), IntegerType()), "to_json(n)", True),
        (AddColumn(("n", "element", "x"), IntegerType()), "N[0]", True),
        (MoveColumn(("n", "element", "m"), Position()), "size(n)", True),
        (AddColumn(("n", "element", "x"), IntegerType()), "a + 1", False),
        (AddColumn(("x",), IntegerType()), "to_json(n)", False),
        (MoveColumn(("n",), Position()), "to_json(n)", False),
        (AddColumn(("s", "x"), IntegerType()), "s.b", False),
        (AddColumn(("s", "b", "x"), IntegerType()), "s.b", True),
        (AddColumn(("s", "x"), IntegerType()), "hash(s)", True),
        (DropColumn(("s", "x")), "s.b", True),
        (RenameColumn(("A",), "b"), "a + 1", True),
    ],
    ids=str,
)
def test_what_a_generated_column_is_computed_from_stays(change: SchemaChange, expression: str, used: bool) -> None:
    inner = StructType((NestedField(11, "b", StructType((NestedField(12, "c", IntegerType()),))),))
    schema = Schema((*SCHEMA.fields, NestedField(10, "s", inner), NestedField(20, "g", StringType())))
    properties = {"sqlext.generated.20": expression}
    if used:
        with pytest.raises(AnalysisError) as refused:
            require_generated_kept(change, schema, properties)
        assert refused.value.condition == "COLUMN_IN_USE"
    else:
        require_generated_kept(change, schema, properties)
