import time

import pytest

from sqlext.errors import ParseError, UnsupportedError
from sqlext.sql.parser import may_be_ours, parse
from sqlext.sql.statements.statement import CreateTable, Delete, Insert, Merge, ShowCreateTable, Update

LAKE = ("lake", "db")
SPARK = ("spark_catalog", "default")


def read(text, current=SPARK, **options):
    return parse(text, catalogs=("lake",), current=current, **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM lake.db.t", False),
        ("(SELECT 1) UNION ALL (SELECT * FROM lake.db.t)", False),
        ("-- INSERT\n/* MERGE */ VALUES (1)", False),
        ("EXPLAIN SELECT * FROM lake.db.t", False),
        ("EXPLAIN FORMATTED\nDELETE FROM lake.db.t", True),
        ("/* why */ insert into lake.db.t VALUES (1)", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("COMMIT", True),
    ],
)
def test_first_words_tell_whether_a_statement_may_be_ours(text, expected):
    assert may_be_ours(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM lake.db.t",
        "",
        "   ",
        "-- only a comment",
        "/* INSERT INTO lake.db.t VALUES (1) */ SELECT 1",
        "SELECT 'INSERT INTO lake.db.t'",
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM lake.db.t",
        "CREATE NAMESPACE lake.x",
        "CREATE FUNCTION lake.f AS 'x'",
        "CREATE TEMPORARY TABLE lake.db.t (a INT)",
        "DROP TABLE lake.db.t",
        "ALTER TABLE lake.db.t RENAME TO u",
        "SHOW TABLES IN lake.db",
        "SHOW CREATE TABLE db.t",
        "DESCRIBE TABLE lake.db.t",
        "WITH a AS (SELECT 1) SELECT * FROM a, lake.db.t",
        "WITH a AS (SELECT 'merge') SELECT * FROM a, lake.db.t",
        "WITH a AS (SELECT 1) INSERT INTO db.t SELECT * FROM lake.db.a",
        "FROM lake.db.x INSERT INTO lake.db.t SELECT *",
        "INSERT INTO db.t SELECT * FROM lake.db.t",
        "INSERT INTO `db`.`lake` VALUES (1)",
        "INSERT OVERWRITE DIRECTORY '/tmp/lake' SELECT 1",
        "INSERT OVERWRITE LOCAL DIRECTORY '/tmp/lake' SELECT 1",
        "INSERT INTO lake.db.t REPLACE WHERE a = 1 SELECT 2",
        "MERGE INTO db.t USING lake.db.s ON true WHEN MATCHED THEN DELETE",
        "UPDATE db.t SET a = 1 WHERE b IN (SELECT b FROM lake.db.s)",
        "DELETE FROM db.t WHERE b IN (SELECT b FROM lake.db.s)",
        "DELETE FROM global_temp.t WHERE a IN (SELECT a FROM lake.db.s)",
        "CREATE TABLE t (lake INT) USING parquet",
        "SET x = lake",
        "COMMENT ON TABLE lake.db.t IS 'x'",
        "COMMENT ON COLUMN db.t.a IS 'lake'",
        "COMMENT ON COLUMN lake IS 'x'",
    ],
)
def test_what_does_not_concern_a_catalog_is_left_to_spark(text):
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "current", "parts"),
    [
        ("DELETE FROM lake.db.t", SPARK, ("lake", "db", "t")),
        ("DELETE FROM lake.t", SPARK, ("lake", "t")),
        ("DELETE FROM t", LAKE, ("lake", "db", "t")),
        ("DELETE FROM t", ("lake",), ("lake", "t")),
        ("DELETE FROM x.t", LAKE, ("lake", "x", "t")),
        ("DELETE FROM lake.a.b.c.t", SPARK, ("lake", "a", "b", "c", "t")),
        ("DELETE FROM `lake` . `d``b` . `t t`", SPARK, ("lake", "d`b", "t t")),
        ("DELETE FROM lake /* c */ . db -- x\n . t", SPARK, ("lake", "db", "t")),
        ("DELETE FROM lake.db.`select`", SPARK, ("lake", "db", "select")),
        ("DELETE FROM lake.db.date", SPARK, ("lake", "db", "date")),
        ("DELETE FROM lake.db.1t", SPARK, ("lake", "db", "1t")),
        ("DELETE FROM lake.db.таблица", SPARK, ("lake", "db", "таблица")),
        ("DELETE FROM lake.db.`表 🌊`", SPARK, ("lake", "db", "表 🌊")),
    ],
)
def test_names_are_resolved_as_spark_does(text, current, parts):
    assert read(text, current).table.parts == parts


def test_the_identifier_clause_is_left_to_spark():
    assert read("INSERT INTO IDENTIFIER('lake.db.t') VALUES (1)", LAKE) is None


def test_another_catalogs_name_is_not_a_namespace_of_the_current_catalog():
    text = "DELETE FROM hive.db.t"
    assert read(text, LAKE).table.parts == ("lake", "hive", "db", "t")
    assert read(text, LAKE, other_catalogs=("hive",)) is None
    assert read("DELETE FROM spark_catalog.db.t", LAKE) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("/* a /* nested */ b */ delete from lake.db.t", Delete),
        ("-- c\n\n  UPDATE lake.db.t SET a = 1;", Update),
        ("\tInSeRt\nInTo lake.db.t VALUES (1) ; ;", Insert),
        ("MERGE/**/INTO/**/lake.db.t USING s ON true WHEN MATCHED THEN DELETE", Merge),
        ("SHOW CREATE TABLE lake.db.t", ShowCreateTable),
        ("show  create\ntable `lake`.db.t;", ShowCreateTable),
        ("CREATE TABLE lake.db.t (a INT)", CreateTable),
        ("CREATE OR /* x */ REPLACE TABLE lake.db.t (a INT)", CreateTable),
        ("REPLACE TABLE lake.db.t (a INT)", CreateTable),
        ("WITH a AS (SELECT 1) INSERT INTO lake.db.t SELECT * FROM a", Insert),
        ("WITH a (x) AS (SELECT 1), b AS (WITH c AS (SELECT 2) SELECT * FROM c) DELETE FROM lake.db.t", Delete),
        ("WITH a AS (SELECT ')' AS `(`) UPDATE lake.db.t SET a = 1", Update),
        ("WITH RECURSIVE r MAX RECURSION LEVEL 5 AS (SELECT 1) INSERT INTO lake.db.t SELECT * FROM r", Insert),
    ],
)
def test_heads(text, kind):
    assert type(read(text)) is kind


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("DELETE FROM lake.db.t WHERE", 1, 28),
        ("DELETE FROM lake.db.t\n  WHERE a = (1", 2, 15),
        ("DELETE FROM lake.db.t WHERE a = 1)", 1, 34),
        ("DELETE FROM lake.db.t WHERE a = [1)", 1, 35),
        ("DELETE FROM lake.db.t WHERE 1 = 1; DROP TABLE x", 1, 34),
        ("UPDATE lake.db.t SET", 1, 21),
        ("UPDATE lake.db.t SET a", 1, 23),
        ("UPDATE lake.db.t SET a =", 1, 25),
        ("UPDATE lake.db.t SET a = 1,", 1, 28),
        ("UPDATE lake.db.t WHERE a = 1", 1, 24),
        ("INSERT INTO lake.db.t", 1, 22),
        ("INSERT INTO lake.db.t (a, b)", 1, 29),
        ("INSERT INTO lake.db.t (a b) SELECT 1", 1, 26),
        ("MERGE INTO lake.db.t USING s", 1, 29),
        ("MERGE INTO lake.db.t USING s ON true WHEN MATCHED THEN INSERT *", 1, 56),
        ("MERGE INTO lake.db.t USING s ON true WHEN NOT MATCHED THEN DELETE", 1, 60),
        ("MERGE INTO lake.db.t USING s ON true WHEN MATCHED THEN DELETE x", 1, 63),
        ("MERGE INTO lake.db.t USING s ON true WHEN MATCHED DELETE", 1, 51),
        ("CREATE TABLE lake.db.t", 1, 23),
        ("CREATE TABLE lake.db.t (a INT", 1, 30),
        ("CREATE TABLE lake.db.t (a)", 1, 26),
        ("CREATE TABLE lake.db.t (a ARRAY<INT)", 1, 36),
        ("CREATE TABLE lake.db.t (a INT) COMMENT x", 1, 40),
        ("DELETE FROM lake.db.t WHERE a = 'x", 1, 35),
        ("DELETE FROM lake.db.t /* x", 1, 27),
        ("SHOW CREATE TABLE lake.db.t x", 1, 29),
    ],
)
def test_syntax_errors_tell_where(text, line, column):
    with pytest.raises(ParseError) as caught:
        read(text)
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"
    assert (caught.value.parameters["line"], caught.value.parameters["column"]) == (str(line), str(column))


def test_show_create_as_serde_is_refused():
    with pytest.raises(UnsupportedError):
        read("SHOW CREATE TABLE lake.db.t AS SERDE")


def test_foreign_statements_cost_next_to_nothing():
    texts = [
        "SELECT " + ", ".join(f"c{i}" for i in range(2000)),
        "INSERT INTO db.t SELECT " + ", ".join(f"lake{i}" for i in range(2000)),
        "CREATE VIEW v AS SELECT * FROM lake.db.t WHERE a = " + "1 + " * 2000 + "1",
    ]
    for text in texts:
        runs = []
        for _ in range(20):
            start = time.perf_counter()
            assert read(text) is None
            runs.append(time.perf_counter() - start)
        assert min(runs) < 1e-4
