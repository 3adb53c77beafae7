"""Joins of a table with few rows that the query has itself: the table is read by their values, with equal rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from sessions import planned

# As Spark names the rule.
RULE = "io.sqlext.JoinedValues"
VALUES = "(VALUES (3, 'x'), (77, 'y'), (77, 'z'), (-1, NULL), (NULL, 'n')) AS v(k, w)"
QUERIES = (
    "SELECT * FROM {table} t JOIN {values} ON t.id = v.k",
    "SELECT * FROM {values} JOIN {table} t ON v.k = t.id AND t.name LIKE '%7'",
    "SELECT * FROM {values} LEFT JOIN {table} t ON v.k = t.id",
    "SELECT count(*), sum(k) FROM {table} t LEFT JOIN {values} ON v.k = t.id",
    "SELECT * FROM {table} t RIGHT JOIN {values} ON v.k = t.id AND v.w > 'x'",
    "SELECT count(*), count(id), count(k) FROM {table} t FULL JOIN {values} ON v.k = t.id",
    "SELECT * FROM {table} t LEFT SEMI JOIN {values} ON v.k = t.id",
    "SELECT count(*), min(id) FROM {table} t LEFT ANTI JOIN {values} ON v.k = t.id",
    "SELECT * FROM {values} LEFT ANTI JOIN {table} t ON v.k = t.id",
    "SELECT * FROM {values} LEFT SEMI JOIN {table} t ON v.k = t.id",
    "SELECT * FROM {table} t LEFT SEMI JOIN {values} ON v.k = t.id AND v.w < t.name",
    "SELECT * FROM {table} t LEFT SEMI JOIN (SELECT 77 AS k) v ON v.k = t.id",
    "SELECT count(*) FROM {table} t LEFT SEMI JOIN (SELECT 77 AS k) v ON v.k > 0",
    "SELECT count(*) FROM {table} t LEFT SEMI JOIN (SELECT 77 AS k WHERE rand() > 2) v ON v.k > 0",
    "SELECT count(*) FROM {table} t LEFT SEMI JOIN (SELECT * FROM {values} WHERE k < rand() - 100) v ON v.k = t.id",
    "SELECT * FROM {table} WHERE id IN (SELECT k FROM {values})",
    "SELECT count(*) FROM {table} WHERE id NOT IN (SELECT k FROM {values} WHERE k IS NOT NULL)",
    "SELECT * FROM {values} WHERE k NOT IN (SELECT id FROM {table})",
    "SELECT * FROM {values} WHERE EXISTS (SELECT * FROM {table} t WHERE t.id = k + 1)",
    "SELECT w, (SELECT max(name) FROM {table} t WHERE t.id = k) FROM {values}",
    "SELECT * FROM {table} t JOIN {values} ON t.id <=> v.k",
    "SELECT * FROM {table} t JOIN {values} ON t.id = v.k OR t.id = 5",
    "SELECT * FROM {table} t JOIN {values} ON t.id = abs(v.k)",
    "SELECT * FROM {table} t JOIN {values} ON t.name = concat('name ', v.k)",
    "SELECT * FROM {table} t JOIN {values} ON t.amount = v.k",
    "SELECT * FROM {table} t JOIN {values} ON t.root = sqrt(v.k)",
    "SELECT * FROM {table} t JOIN {values} ON t.day = DATE'2024-01-01' + v.k",
    "SELECT * FROM {table} t JOIN (SELECT 77L AS k UNION ALL SELECT 78L) v ON t.id = v.k",
    "SELECT * FROM {table} t JOIN (SELECT 77L AS k) v ON t.id = v.k JOIN {table} u ON u.id = t.id",
    "SELECT * FROM {table} t JOIN (SELECT 77 AS k, 'x' AS w) v ON t.id = v.k AND t.name > v.w",
    "SELECT * FROM (SELECT 77 AS k, NULL AS w) v JOIN {table} t ON t.id = v.k",
    "SELECT count(*), max(w) FROM (SELECT 77 AS k, 'x' AS w) v CROSS JOIN {table} t",
    "SELECT count(*), max(w) FROM {table} t JOIN (SELECT 77 AS k, 'x' AS w WHERE 1 = 0) v ON t.id = v.k",
    "SELECT count(DISTINCT r) FROM {table} t JOIN (SELECT 7 AS k, rand() AS r) v ON t.id % 10 = v.k",
    "SELECT * FROM {table} t JOIN (SELECT 77 AS k, (SELECT max(id) FROM {table}) AS w) v ON t.id = v.k",
    "SELECT * FROM (SELECT 77L AS id) v NATURAL JOIN {table} t",
    "SELECT * FROM {table} t JOIN (SELECT k, rand() AS r FROM {values}) v ON t.id = v.k WHERE r < 2",
    "SELECT * FROM {table} t JOIN (SELECT max(k) AS k FROM {values}) v ON t.id = v.k",
    "SELECT * FROM {table} t JOIN (SELECT CAST(NULL AS BIGINT) AS k) v ON t.id = v.k",
    "SELECT t.id, s.id FROM (SELECT id, id * 2 AS twice FROM {table}) t JOIN {values} ON t.twice = v.k"
    " JOIN {table} s ON s.id = v.k",
    "SELECT t.id, s.id FROM {values} LEFT JOIN {table} t ON t.id = v.k LEFT JOIN {table} s ON s.id = v.k + 1",
    "SELECT count(*) FROM {table} t RIGHT JOIN {values} ON t.id = v.k FULL JOIN {table} s ON s.id = v.k",
    "SELECT t.id, s.id FROM {table} t LEFT JOIN {values} ON t.id = v.k JOIN {table} s ON s.id = coalesce(v.k, 5)",
    "SELECT t.id, s.id FROM {table} t RIGHT JOIN {values} ON t.id = v.k LEFT JOIN {table} s ON s.id = v.k + t.id",
)


@contextmanager
def _without_rule(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.optimizer.excludedRules", RULE)
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")


def _table(spark: SparkSession, name: str, properties: str, rows: int = 3000) -> None:
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, name STRING, amount DECIMAL(20, 2), root DOUBLE, day DATE, PRIMARY KEY (id))"
        f" TBLPROPERTIES ({properties})"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT id, concat('name ', id), CAST(id AS DECIMAL(20, 2)), sqrt(id),"
        f" DATE'2024-01-01' + CAST(id % 400 AS INT) FROM range({rows})"
    )
    spark.sql(f"DELETE FROM {name} WHERE id % 13 = 0")
    spark.sql(f"UPSERT INTO {name} VALUES (78, 'name 78', 78, 1, DATE'2024-02-01')")


@pytest.mark.parametrize(
    "properties",
    ["'format-version'='3'", "'format-version'='2'", "'format-version'='2', 'write.upsert.mode'='equality'"],
)
def test_rows_are_those_of_the_whole_join(spark: SparkSession, table_name: str, properties: str) -> None:
    _table(spark, table_name, properties)
    for select in QUERIES:
        query = select.format(table=table_name, values=VALUES)
        found = canonical_rows(spark.sql(query).drop("r"))
        with _without_rule(spark), planned(spark, looked_up_rows=0):
            assert found == canonical_rows(spark.sql(query).drop("r")), query


def _filters(spark: SparkSession, query: str) -> list[str]:
    """What the scans of a query are told to leave out."""
    plan = spark.sql(f"EXPLAIN {query}").collect()[0][0]
    return re.findall(r"sqlext lake\.\S+ \[filters: (.*?)\] ", plan)


def test_the_table_is_read_by_the_values(spark: SparkSession, table_name: str) -> None:
    _table(spark, table_name, "'format-version'='3'")
    join = f"SELECT * FROM {table_name} t JOIN (VALUES (5L), (7L)) v(k) ON t.id = k"
    (filters,) = _filters(spark, join)
    assert "id IN (5, 7)" in filters
    (filters,) = _filters(spark, join.replace("JOIN", "FULL JOIN"))
    assert "IN" not in filters
    (filters,) = _filters(spark, f"SELECT * FROM {table_name} t JOIN range(1001) r ON t.id = r.id")
    assert "IN" not in filters
    semi = spark.sql(f"SELECT * FROM {table_name} LEFT SEMI JOIN (VALUES (5L), (7L), (NULL)) v(k) ON id = k")
    assert "Join" not in semi._jdf.queryExecution().optimizedPlan().toString()
    many = ", ".join(f"({number}L)" for number in range(1001))
    (filters,) = _filters(spark, f"SELECT * FROM {table_name} t JOIN (VALUES {many}) v(k) ON t.id = k")
    assert "IN" not in filters


def test_an_error_of_a_value_is_told_where_spark_evaluates_it(spark: SparkSession, table_name: str) -> None:
    _table(spark, table_name, "'format-version'='3'", rows=20)
    empty = f"(SELECT * FROM {table_name} WHERE id < 0)"
    query = f"SELECT * FROM {empty} t JOIN (VALUES (0L), (1L)) v(k) ON t.id = 1 DIV k"
    assert spark.sql(query).collect() == []
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql(query.replace(empty, table_name)).collect()


def test_texts_of_a_collation_are_compared_by_it(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (name STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES ('Anna'), ('ANNA'), ('Berta')")
    query = (
        f"SELECT name FROM {table_name} JOIN (VALUES ('anna')) v(k) ON name COLLATE UTF8_LCASE = k COLLATE UTF8_LCASE"
    )
    assert canonical_rows(spark.sql(query)) == [["ANNA"], ["Anna"]]


def test_tables_that_are_all_read_by_the_values_do_not_filter_each_other(spark: SparkSession, table_name: str) -> None:
    """Spark would read the tables on the left once more for each on the right, and theirs for them."""
    _table(spark, table_name, "'format-version'='3'", rows=20)
    joins = " ".join(f"JOIN {table_name} t{number} ON t{number}.id = v.k" for number in range(8))
    for query in (
        f"SELECT count(*) FROM {VALUES} {joins}",
        f"SELECT count(*) FROM {VALUES} {joins.replace('JOIN', 'LEFT JOIN')}",
        f"SELECT count(*) FROM {table_name} v {joins.replace('v.k', 'v.id')} WHERE v.id IN (3, 7)",
    ):
        read = _filters(spark, query)
        assert len(read) == query.count("JOIN") + query.count(f"FROM {table_name}")
        assert all("id IN" in filters for filters in read)
