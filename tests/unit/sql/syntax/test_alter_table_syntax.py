"""ALTER TABLE in Spark's spellings and Iceberg's, and what of it is left to Spark."""

from __future__ import annotations

from typing import Any

import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.spec.identity_column import IdentityColumn
from sqlext.spec.schema_change import (
    DropColumn,
    DropIdentifierFields,
    MoveColumn,
    Position,
    RenameColumn,
    SetComment,
    SetIdentifierFields,
    SetRequired,
)
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import (
    AddPartitionField,
    AlterColumns,
    AlterPartitioning,
    AlterWriteOrder,
    ColumnAddition,
    ColumnDefault,
    ColumnType,
    DropPartitionField,
    PartitionTerm,
    ReplacedColumns,
    ReplacePartitionField,
    SortTerm,
    Statement,
)


def parsed(text: str) -> Statement | None:
    return parse(text, catalogs=["lake"], current=("lake", "db"), other_catalogs=["other"])


def column_changes(text: str) -> tuple[Any, ...]:
    statement = parsed(f"ALTER TABLE lake.db.t {text}")
    assert isinstance(statement, AlterColumns)
    assert statement.table.parts == ("lake", "db", "t")
    return statement.changes


def test_a_collation_that_no_column_would_follow_is_refused():
    with pytest.raises(UnsupportedError, match=r"UNSUPPORTED_SYNTAX.*DEFAULT COLLATION"):
        parse("ALTER TABLE lake.db.t DEFAULT COLLATION UTF8_LCASE", catalogs=("lake",), current=("lake",))


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("ADD COLUMN a INT", (ColumnAddition(("a",), "INT"),)),
        (
            "ADD COLUMNS (a INT, b.c DECIMAL(9, 2))",
            (ColumnAddition(("a",), "INT"), ColumnAddition(("b", "c"), "DECIMAL(9, 2)")),
        ),
        (
            "ADD COLUMN a STRUCT<x: INT, y: STRING> COMMENT 'it''s' FIRST",
            (ColumnAddition(("a",), "STRUCT<x: INT, y: STRING>", comment="it's", position=Position()),),
        ),
        (
            "add columns `a b`.c INT NOT NULL AFTER `x y`",
            (ColumnAddition(("a b", "c"), "INT", required=True, position=Position("x y")),),
        ),
        ("DROP COLUMN a", (DropColumn(("a",)),)),
        ("DROP COLUMNS IF EXISTS (a.b, c)", (DropColumn(("a", "b"), True), DropColumn(("c",), True))),
        ("RENAME COLUMN a.b TO c", (RenameColumn(("a", "b"), "c"),)),
        ("ALTER COLUMN a TYPE BIGINT", (ColumnType(("a",), "BIGINT"),)),
        (
            "ALTER a TYPE DECIMAL(9, 2), b COMMENT 'x', c DROP NOT NULL, d SET NOT NULL",
            (
                ColumnType(("a",), "DECIMAL(9, 2)"),
                SetComment(("b",), "x"),
                SetRequired(("c",), False),
                SetRequired(("d",), True),
            ),
        ),
        ("CHANGE COLUMN a AFTER b", (MoveColumn(("a",), Position("b")),)),
        ("ALTER COLUMN a FIRST", (MoveColumn(("a",), Position()),)),
        ("ALTER COLUMN a DROP DEFAULT", (ColumnDefault(("a",), None),)),
        (
            "CHANGE a a BIGINT COMMENT 'x' FIRST",
            (ColumnType(("a",), "BIGINT"), SetComment(("a",), "x"), MoveColumn(("a",), Position())),
        ),
        ("CHANGE COLUMN a b BIGINT", (ColumnType(("a",), "BIGINT"), RenameColumn(("a",), "b"))),
        (
            "REPLACE COLUMNS (a INT, b STRING)",
            (ReplacedColumns((ColumnAddition(("a",), "INT"), ColumnAddition(("b",), "STRING"))),),
        ),
        ("SET IDENTIFIER FIELDS a, b.c", (SetIdentifierFields((("a",), ("b", "c"))),)),
        ("DROP IDENTIFIER FIELDS a", (DropIdentifierFields((("a",),)),)),
    ],
)
def test_columns(text: str, changes: tuple[Any, ...]) -> None:
    assert column_changes(text) == changes


def test_defaults_are_slices_of_the_text() -> None:
    added, changed = (
        column_changes("ADD COLUMN a INT DEFAULT f(1, 2) COMMENT 'x'")[0],
        column_changes("ALTER COLUMN a SET DEFAULT CASE WHEN true THEN 1 END")[0],
    )
    assert (added.default.text, added.comment) == ("f(1, 2)", "x")
    assert changed.default.text == "CASE WHEN true THEN 1 END"


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("ADD PARTITION FIELD a.b", AddPartitionField(PartitionTerm("identity", ("a", "b")))),
        (
            "ADD PARTITION FIELD bucket(16, id) AS shard",
            AddPartitionField(PartitionTerm("bucket", ("id",), 16), "shard"),
        ),
        ("DROP PARTITION FIELD days(ts)", DropPartitionField(PartitionTerm("day", ("ts",)))),
        (
            "REPLACE PARTITION FIELD ts_day WITH hour(ts) AS h",
            ReplacePartitionField(
                PartitionTerm("identity", ("ts_day",)), AddPartitionField(PartitionTerm("hour", ("ts",)), "h")
            ),
        ),
    ],
)
def test_partition_fields(text: str, change: object) -> None:
    statement = parsed(f"ALTER TABLE t {text}")
    assert isinstance(statement, AlterPartitioning)
    assert statement.change == change


A, B = PartitionTerm("identity", ("a",)), PartitionTerm("bucket", ("b",), 4)


@pytest.mark.parametrize(
    ("text", "ordering", "distribution"),
    [
        ("WRITE ORDERED BY a", (SortTerm(A),), "range"),
        (
            "WRITE ORDERED BY (a DESC, bucket(4, b) ASC NULLS LAST)",
            (SortTerm(A, True, False), SortTerm(B, False, False)),
            "range",
        ),
        ("WRITE LOCALLY ORDERED BY a DESC NULLS FIRST, bucket(4, b)", (SortTerm(A, True, True), SortTerm(B)), None),
        ("WRITE DISTRIBUTED BY PARTITION", (), "hash"),
        ("WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY a", (SortTerm(A),), "hash"),
        ("WRITE LOCALLY ORDERED BY a DISTRIBUTED BY PARTITION", (SortTerm(A),), "hash"),
        ("WRITE UNORDERED", (), "none"),
        ("CLUSTER BY (a)", (SortTerm(A),), "range"),
        ("CLUSTER BY NONE", (), "none"),
    ],
)
def test_write_order(text: str, ordering: tuple[SortTerm, ...], distribution: str | None) -> None:
    statement = parsed(f"ALTER TABLE t {text}")
    assert isinstance(statement, AlterWriteOrder)
    assert (statement.ordering, statement.distribution) == (ordering, distribution)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t SET TBLPROPERTIES ('a'='b')",
        "ALTER TABLE t RENAME TO u",
        "ALTER TABLE other.db.t ADD COLUMN a INT",
        "ALTER VIEW other.db.v AS SELECT 1",
        "ALTER NAMESPACE lake.db SET PROPERTIES ('a'='b')",
    ],
)
def test_left_to_spark(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ADD COLUMN a", "a type"),
        ("ADD COLUMN a INT FIRST FIRST", "FIRST or AFTER"),
        ("ADD COLUMN a INT GENERATED ALWAYS AS (b", r"expected \)"),
        ("ADD COLUMN a INT GENERATED BY DEFAULT AS (b)", r"ALWAYS AS \(expression\)"),
        ("ADD COLUMN a INT GENERATED ALWAYS AS (b) GENERATED ALWAYS AS IDENTITY", "GENERATED"),
        ("DROP COLUMN (a", r"expected \)"),
        ("RENAME COLUMN a b", "expected TO"),
        ("ALTER COLUMN a SET", "NOT NULL or DEFAULT"),
        ("REPLACE COLUMNS a INT", r"expected \("),
        ("WRITE", "DISTRIBUTED BY PARTITION"),
        ("WRITE ORDERED BY a UNORDERED", "the end of the statement"),
        ("ADD PARTITION FIELD days(a) AS", "a partition field name"),
    ],
)
def test_syntax_errors_say_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(ParseError, match=expected):
        parsed(f"ALTER TABLE t {text}")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("COMMENT ON COLUMN lake.db.t.a IS 'it''s'", SetComment(("a",), "it's")),
        ("comment on /* c */ column t.`a.b` is null", SetComment(("a.b",), None)),
    ],
)
def test_a_comment_on_a_column_is_a_change_of_its_table(text, change):
    statement = parsed(text)
    assert isinstance(statement, AlterColumns)
    assert (statement.table.parts, statement.changes) == (("lake", "db", "t"), (change,))


@pytest.mark.parametrize("text", ["COMMENT ON COLUMN other.db.t.a IS 'x'", "COMMENT ON COLUMN a IS 'x'"])
def test_a_comment_on_a_column_of_another_catalog_is_left_to_spark(text):
    assert parsed(text) is None


@pytest.mark.parametrize(
    "text", ["COMMENT ON COLUMN t.a IS x", "COMMENT ON COLUMN t.a 'x'", "COMMENT ON COLUMN t.a IS 'x' y"]
)
def test_a_comment_on_a_column_that_is_misspelt_is_refused(text):
    with pytest.raises(ParseError):
        parsed(text)


def test_added_columns_that_are_computed() -> None:
    text = (
        "ALTER TABLE t ADD COLUMNS (a INT GENERATED ALWAYS AS ( f(b, ')') /* c */ ) COMMENT 'x' FIRST,"
        " `i.d` BIGINT COMMENT 'y' GENERATED BY DEFAULT AS IDENTITY (START WITH 5) AFTER a, c STRING)"
    )
    statement = parsed(text)
    assert isinstance(statement, AlterColumns)
    assert statement.changes == (
        ColumnAddition(("a",), "INT", comment="x", position=Position(), generated_text="f(b, ')') /* c */"),
        ColumnAddition(("i.d",), "BIGINT", comment="y", position=Position("a"), identity=IdentityColumn(False, 5)),
        ColumnAddition(("c",), "STRING"),
    )


def test_replaced_columns_are_not_computed() -> None:
    with pytest.raises(UnsupportedError, match="GENERATED in REPLACE COLUMNS"):
        parsed("ALTER TABLE t REPLACE COLUMNS (a INT, b INT GENERATED ALWAYS AS (a))")
