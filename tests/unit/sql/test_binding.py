import pytest

from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, NestedField, StringType, StructType
from sqlext.sql.binding import (
    Relation,
    assigned_value,
    bind_assignments,
    new_value,
    qualify,
    resolve_column,
    resolve_field,
)
from sqlext.sql.statements.statement import Assignment, Slice, TableName
from sqlext.sql.syntax.type_text import spark_type_text

INNER = StructType((NestedField(6, "a", IntegerType()), NestedField(7, "b", StringType())))
POINT = StructType((NestedField(4, "x", IntegerType()), NestedField(5, "inner", INNER)))
SCHEMA = Schema(
    (
        NestedField(1, "id", IntegerType(), True),
        NestedField(2, "Name", StringType()),
        NestedField(3, "point", POINT),
    )
)
TARGET = Relation(("lake", "db", "t"), ("id", "Name", "point"))
SOURCE = Relation(("s",), ("id", "name", "extra", "s"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", "`s`.id"),
        ("id + extra", "`s`.id + `s`.extra"),
        ("s.id", "s.id"),
        ("S.ID + NAME", "S.ID + `s`.NAME"),
        ("`id`", "`s`.`id`"),
        ("upper(name) || 'id'", "upper(`s`.name) || 'id'"),
        ("transform(extra, id -> id + 1)", "transform(`s`.extra, id -> id + 1)"),
        ("transform(extra, x -> x + id)", "transform(`s`.extra, x -> x + `s`.id)"),
        ("CASE WHEN id = 1 THEN name END", "CASE WHEN `s`.id = 1 THEN `s`.name END"),
        ("extra.id", "`s`.extra.id"),
        ("extra['id']", "`s`.extra['id']"),
        ("s.q", "`s`.s.q"),
        ("(SELECT max(id) FROM x)", "(SELECT max(id) FROM x)"),
        ("id IN (SELECT id FROM x)", "`s`.id IN (SELECT id FROM x)"),
        ("struct(id AS extra)", "struct(`s`.id AS extra)"),
        ("unknown + 1", "unknown + 1"),
        ("/* id */ id -- id\n + 1", "/* id */ `s`.id -- id\n + 1"),
        ("id /* 🌊 */ + name", "`s`.id /* 🌊 */ + `s`.name"),
        ("named_struct('id', id)", "named_struct('id', `s`.id)"),
        ("1", "1"),
        ("extra:id:x", "extra:id:x"),
    ],
)
def test_bare_names_get_their_qualifier(text, expected):
    hidden = Relation(TARGET.name, ("point",)) if ":" in text else TARGET
    assert qualify(text, SOURCE, hidden, "x") == expected


@pytest.mark.parametrize("text", ["point", "t.id", "db.t.id", "lake.db.t.id + 1", "f(point.x)", "T.Name"])
def test_the_hidden_side_is_not_seen(text):
    with pytest.raises(AnalysisError) as caught:
        qualify(text, SOURCE, TARGET, "WHEN NOT MATCHED THEN INSERT")
    assert caught.value.condition == "UNRESOLVED_COLUMN.WITH_SUGGESTION"


def test_an_unreadable_expression_with_a_doubtful_name_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        qualify("point:a:b", SOURCE, TARGET, "x")
    assert caught.value.condition == "UNREADABLE_EXPRESSION"


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (("id",), "id"),
        (("ID",), "id"),
        (("t", "name"), "Name"),
        (("db", "t", "id"), "id"),
        (("lake", "db", "t", "id"), "id"),
        (("LAKE", "DB", "T", "ID"), "id"),
    ],
)
def test_assigned_columns(column, name):
    assert list(bind_assignments([Assignment(column, Slice("1", 0, 1))], TARGET, SCHEMA, "UPDATE")) == [name]


def test_assigned_fields_are_gathered_by_their_structs():
    one, two, three = (Slice(text, 0, 1) for text in "123")
    assignments = [
        Assignment(("t", "point", "X"), one),
        Assignment(("point", "inner", "b"), two),
        Assignment(("id",), three),
    ]
    bound = bind_assignments(assignments, TARGET, SCHEMA, "UPDATE")
    assert bound == {"point": {"x": one, "inner": {"b": two}}, "id": three}
    text = new_value(bound["point"], SCHEMA.fields[2], "`t`.`point`", TableName(TARGET.name), visible=(TARGET,))
    assert text == (
        "named_struct('x', sqlext_assign(1, 'point', 'INT', '`lake`.`db`.`t`', 'x'), 'inner', named_struct("
        "'a', `t`.`point`.`inner`.`a`, 'b', sqlext_assign(2, 'point', 'STRING', '`lake`.`db`.`t`', 'inner', 'b')))"
    )


def test_structs_may_lack_fields_where_asked():
    column, name = SCHEMA.fields[2], TableName(TARGET.name)
    about = f"'point', '{spark_type_text(column.type)}', '`lake`.`db`.`t`'"

    assert assigned_value("s.p", column, name) == f"sqlext_assign(s.p, {about})"
    assert assigned_value("s.p", column, name, fills=True) == f"sqlext_assign_part(s.p, NULL, true, {about})"
    assert assigned_value("s.p", column, name, kept="t.p") == f"sqlext_assign_part(s.p, t.p, false, {about})"
    assert assigned_value("s.i", SCHEMA.fields[0], name, kept="t.i", fills=True).startswith("sqlext_assign(s.i, ")


@pytest.mark.parametrize(
    ("columns", "error", "condition"),
    [
        ([("nope",)], AnalysisError, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ([("s", "id")], AnalysisError, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ([("t", "nope")], AnalysisError, "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ([("id",), ("t", "ID")], AnalysisError, "DUPLICATE_ASSIGNMENTS"),
        ([("point", "x"), ("t", "point", "X")], AnalysisError, "DUPLICATE_ASSIGNMENTS"),
        ([("point", "x"), ("point",)], AnalysisError, "CONFLICTING_ASSIGNMENTS"),
        ([("point",), ("point", "x")], AnalysisError, "CONFLICTING_ASSIGNMENTS"),
        ([("point", "inner"), ("point", "inner", "a")], AnalysisError, "CONFLICTING_ASSIGNMENTS"),
        ([("point", "y")], AnalysisError, "FIELD_NOT_FOUND"),
        ([("id", "x")], UnsupportedError, "UNSUPPORTED_NESTED_ASSIGNMENT"),
        ([("point", "x", "z")], UnsupportedError, "UNSUPPORTED_NESTED_ASSIGNMENT"),
    ],
)
def test_wrong_assignments(columns, error, condition):
    with pytest.raises(error) as caught:
        bind_assignments([Assignment(column, Slice("1", 0, 1)) for column in columns], TARGET, SCHEMA, "UPDATE")
    assert caught.value.condition == condition


def test_case_sensitive_names():
    assert Relation(("t",), ("a",), case_sensitive=True).find("A") is None
    assert resolve_column(SCHEMA, "NAME").id == 2
    with pytest.raises(AnalysisError):
        resolve_column(SCHEMA, "NAME", case_sensitive=True)


def test_suggestions_are_the_nearest_names():
    with pytest.raises(AnalysisError) as caught:
        resolve_column(SCHEMA, "nmae", "PRIMARY KEY")
    assert caught.value.parameters["suggestions"].startswith("`Name`")


def test_nested_names_resolve():
    assert resolve_field(SCHEMA, ("point", "x")).id == 4
