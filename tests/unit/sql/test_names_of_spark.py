"""Statements whose names Spark has a say in: in its session catalog, where sqlext has `own`, and by its search path."""

import pytest

from sqlext.errors import UnsupportedError
from sqlext.sql.parser import parse

OWN = {("spark_catalog", "db", "own"), ("spark_catalog", "other", "own"), ("spark_catalog", "db", "own", "branch_b")}


def is_ours(text, catalogs=("lake", "spark_catalog"), current=("spark_catalog", "db")):
    return parse(text, catalogs=catalogs, current=current, holds=OWN.__contains__) is not None


@pytest.mark.parametrize("table", ["own", "db.own", "spark_catalog.db.own", "other.own", "lake.db.plain"])
@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO {} VALUES (1)",
        "UPSERT INTO {} VALUES (1)",
        "UPDATE {} SET a = 1",
        "DELETE FROM {}",
        "MERGE INTO {} t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "WITH c AS (SELECT 1 AS a) INSERT INTO {} SELECT * FROM c",
        "EXPLAIN DELETE FROM {}",
        "TRUNCATE TABLE {}",
        "ALTER TABLE {} ADD COLUMN b INT",
        "ALTER TABLE {} CREATE BRANCH b",
        "SHOW CREATE TABLE {}",
        "RESTORE TABLE {} TO VERSION AS OF 1",
    ],
)
def test_a_statement_on_a_table_is_sqlexts_if_the_table_is(text, table):
    assert is_ours(text.format(table))
    if "UPSERT" not in text and "lake" not in table:
        assert not is_ours(text.format(table.replace("own", "plain")))


def test_a_branch_is_of_its_table():
    assert is_ours("INSERT INTO db.own.branch_b VALUES (1)")


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("CREATE TABLE t (a INT)", True),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a)) USING ICEBERG", True),
        ("CREATE TABLE t (a INT) PARTITIONED BY (a) USING sqlext", True),
        ("CREATE TABLE t (a INT) WITH ('x' = 'y')", True),
        ("CREATE TABLE t (a INT) TBLPROPERTIES ('x' = 'y') USING parquet", False),
        ("CREATE TABLE t (a INT) WITH ('x' = 'y') USING delta", False),
        ("CREATE TABLE t USING org.example.source", False),
        ("CREATE TABLE t AS SELECT 1 AS a", True),
        ("CREATE TABLE t AS SELECT 1 AS using", True),
        ("CREATE TABLE t AS WITH c AS (SELECT 1) SELECT * FROM c JOIN d USING (a)", True),
        ("CREATE TABLE t WITH c AS (SELECT 1) SELECT * FROM c", True),
        ("CREATE TABLE t USING csv AS SELECT 1", False),
        ("CREATE OR REPLACE TABLE t USING iceberg AS SELECT 1 AS a", True),
        ("CREATE OR REPLACE TABLE t USING delta AS SELECT 1 AS a", False),
        ("CREATE EXTERNAL TABLE t (a INT)", False),
        ("CREATE TABLE t (a INT) STORED AS ORC", False),
        ("CREATE TABLE t (a INT) ROW FORMAT DELIMITED", False),
        ("CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS", False),
        ("CREATE TABLE t LIKE own", True),
        ("CREATE TABLE t LIKE own USING parquet", False),
        ("CREATE TABLE t (LIKE own)", True),
        ("CREATE TABLE t LIKE plain", False),
        ("CREATE TABLE lake.db.t LIKE own", True),
        ("UNDROP TABLE gone", True),
        ("CREATE VIEW v AS SELECT * FROM own", False),
        ("ALTER VIEW v AS SELECT 1", False),
        ("DROP VIEW v", False),
        ("SHOW VIEWS", False),
        ("SHOW VIEWS IN spark_catalog.db", False),
        ("SHOW VIEWS IN lake.db", True),
        ("CALL spark_catalog.system.compact('db.own')", True),
        ("CALL system.compact('db.own')", True),
    ],
)
def test_a_new_table_is_sqlexts_by_its_format_and_views_are_sparks(text, ours):
    assert is_ours(text) is ours


def test_tables_of_spark_are_sparks_where_sqlext_is_not_its_session_catalog():
    assert not is_ours("INSERT INTO spark_catalog.db.own VALUES (1)", catalogs=("lake",), current=("lake", "db"))
    assert not is_ours("INSERT INTO own VALUES (1)", catalogs=("lake",))


def test_by_a_search_path_only_names_with_a_namespace_are_taken():
    settings = {"catalogs": ("lake",), "current": ("lake", "db"), "by_path": True}
    with pytest.raises(UnsupportedError, match="SEARCH_PATH_NOT_FOLLOWED"):
        parse("INSERT INTO t VALUES (1)", **settings)
    assert parse("INSERT INTO db.t VALUES (1)", **settings) is not None
    assert parse("CREATE TABLE t (a INT)", **settings) is not None
