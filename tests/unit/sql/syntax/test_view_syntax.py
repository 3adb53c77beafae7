"""CREATE, ALTER and DROP VIEW, SHOW VIEWS: what is read, and what is left to Spark."""

from __future__ import annotations

import pytest

from sqlext.errors import AnalysisError, ParseError, SqlextError, UnsupportedError
from sqlext.sql.parser import parse
from sqlext.sql.statements.statement import Statement, TableName
from sqlext.sql.statements.view_statement import (
    AlterViewProperties,
    AlterViewQuery,
    CreateView,
    DropView,
    RenameView,
    ShowViews,
    ViewColumn,
    ViewStatement,
)


def parsed(text: str, current: tuple[str, ...] = ("lake", "db")) -> Statement | ViewStatement | None:
    return parse(text, catalogs=("lake",), current=current)


def test_the_query_is_kept_word_for_word() -> None:
    text = "CREATE VIEW v AS\n  WITH x AS (SELECT 'a''b' AS c) -- why\n  SELECT *\n  FROM x; "
    statement = parsed(text)
    assert isinstance(statement, CreateView)
    assert statement.query.text == "WITH x AS (SELECT 'a''b' AS c) -- why\n  SELECT *\n  FROM x"
    assert text[statement.query.start : statement.query.end] == statement.query.text
    assert statement.current == ("lake", "db")


def test_every_clause_of_create_view() -> None:
    statement = parsed(
        "CREATE OR REPLACE VIEW lake.a.b.v (x COMMENT 'the x', `y z`) TBLPROPERTIES ('k' = 'v', n.m = 1)"
        " WITH SCHEMA COMPENSATION COMMENT 'all' AS SELECT 1, 2",
        current=("spark_catalog", "default"),
    )
    assert isinstance(statement, CreateView)
    assert statement.name.parts == ("lake", "a", "b", "v")
    assert statement.columns == (ViewColumn("x", "the x"), ViewColumn("y z"))
    assert statement.properties == {"k": "v", "n.m": "1"}
    assert (statement.comment, statement.or_replace, statement.if_not_exists) == ("all", True, False)
    assert statement.current == ("spark_catalog", "default")


def test_alter_view() -> None:
    name = TableName(("lake", "db", "v"), ("v",))
    query = parsed("ALTER VIEW v AS SELECT 1 AS a")
    assert isinstance(query, AlterViewQuery)
    assert (query.name, query.query.text) == (name, "SELECT 1 AS a")
    assert parsed("ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')") == AlterViewProperties(name, {"a": "b"})
    assert parsed("ALTER VIEW v UNSET TBLPROPERTIES IF EXISTS ('a', b.c)") == AlterViewProperties(
        name, removed=("a", "b.c"), if_exists=True
    )
    assert parsed("ALTER VIEW v RENAME TO w") == RenameView(name, TableName(("lake", "db", "w"), ("w",)))
    other = TableName(("lake", "other", "w"), ("other", "w"))
    assert parsed("ALTER VIEW v RENAME TO other.w") == RenameView(name, other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP VIEW v", DropView(TableName(("lake", "db", "v"), ("v",)))),
        ("DROP VIEW IF EXISTS lake.x.v;", DropView(TableName(("lake", "x", "v"), ("lake", "x", "v")), True)),
        ("SHOW VIEWS", ShowViews(("lake", "db"))),
        ("SHOW VIEWS IN lake.x LIKE 'a*|b'", ShowViews(("lake", "x"), "a*|b")),
        ("SHOW VIEWS FROM x 'a*'", ShowViews(("lake", "x"), "a*")),
        ("show /* all */ views in lake", ShowViews(("lake",))),
    ],
)
def test_drop_and_show(text: str, expected: ViewStatement) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TEMPORARY VIEW v AS SELECT * FROM lake.db.t",
        "CREATE OR REPLACE GLOBAL TEMP VIEW v AS SELECT * FROM lake.db.t",
        "CREATE VIEW spark_catalog.default.v AS SELECT * FROM lake.db.t",
        "DROP VIEW spark_catalog.default.v",
        "DROP VIEW global_temp.v",
        "ALTER VIEW spark_catalog.default.v AS SELECT * FROM lake.db.t",
        "SHOW VIEWS IN spark_catalog.default",
        "SHOW VIEWS IN global_temp",
        "DROP TABLE lake.db.t",
        "DROP NAMESPACE lake.db",
    ],
)
def test_what_is_not_of_our_catalogs_is_left_to_spark(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("CREATE OR REPLACE VIEW IF NOT EXISTS v AS SELECT 1 AS a", UnsupportedError, "contradict"),
        ("CREATE VIEW v", ParseError, "AS and a query"),
        ("CREATE VIEW v AS", ParseError, "a query"),
        ("CREATE VIEW v (a, A) AS SELECT 1, 2", AnalysisError, "A is named more than once"),
        ("CREATE VIEW v COMMENT 'a' COMMENT 'b' AS SELECT 1 AS a", ParseError, "COMMENT stands more than once"),
        ("CREATE VIEW v WITH SCHEMA EVOLUTION AS SELECT 1 AS a", UnsupportedError, "keeps its columns"),
        ("CREATE VIEW v PARTITIONED ON (a) AS SELECT 1 AS a", UnsupportedError, "PARTITIONED"),
        ("ALTER VIEW v RENAME TO spark_catalog.default.w", UnsupportedError, "stays in its catalog"),
        ("ALTER VIEW v ADD COLUMN a INT", ParseError, "RENAME TO"),
        ("DROP VIEW v CASCADE", ParseError, "the end of the statement"),
    ],
)
def test_what_cannot_be_is_refused(text: str, error: type[SqlextError], said: str) -> None:
    with pytest.raises(error, match=said):
        parsed(text)
