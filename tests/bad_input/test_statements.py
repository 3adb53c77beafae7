"""Statements that do not fit their table, on the driver's path and on the executors'."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bad_input.refusals import MANY_ROWS, nothing_left, refused, table_folder
from turns import EVERY

WIDE_ROWS = f"FROM (SELECT id, 'a' AS a, 'b' AS b, 'c' AS c FROM range({MANY_ROWS}))"


@pytest.fixture
def orders(spark: SparkSession, table_name: str) -> str:
    """A keyed table of three rows."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, buyer STRING NOT NULL, n INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'Ada', 10), (2, 'Bob', 20), (3, 'Eve', 30)")
    return table_name


@pytest.fixture
def wide(spark: SparkSession, table_name: str) -> str:
    """A keyed table whose rows are many bytes by Spark's estimate."""
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, a STRING NOT NULL, b STRING, c STRING, PRIMARY KEY (id) NOT ENFORCED)"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 'b', 'c')")
    return table_name


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    ("statement", "condition", "named"),
    [
        ("INSERT INTO {t} (id, nobody) VALUES (4, 'x')", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nobody"),
        ("INSERT INTO {t} SELECT id, nobody, n FROM {t}", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nobody"),
        ("UPDATE {t} SET nobody = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nobody"),
        ("DELETE FROM {t} WHERE nobody = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nobody"),
        ("SELECT nobody FROM {t}", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "nobody"),
        ("INSERT INTO {t} VALUES ('many', 'Kim', 1)", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "id"),
        ("INSERT INTO {t} SELECT CAST('many' AS INT), 'Kim', 1", "CAST_INVALID_INPUT", "many"),
        ("INSERT INTO {t} VALUES (4000000000L, 'Kim', 1)", "CAST_OVERFLOW_IN_TABLE_INSERT", "id"),
        ("INSERT INTO {t} VALUES (DATE'2024-01-01', 'Kim', 1)", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "id"),
        ("UPDATE {t} SET n = DATE'2024-01-01'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST", "n"),
        ("INSERT INTO {t} VALUES (4, 'Kim')", "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS", "buyer"),
        ("INSERT INTO {t} VALUES (NULL, 'Kim', 1)", "NULL_IN_REQUIRED_COLUMN", "id"),
        ("INSERT INTO {t} (id) VALUES (4)", "NULL_IN_REQUIRED_COLUMN", "buyer"),
        ("UPDATE {t} SET buyer = NULL WHERE id = 1", "NULL_IN_REQUIRED_COLUMN", "buyer"),
        ("CREATE TABLE {t} (id INT)", "TABLE_OR_VIEW_ALREADY_EXISTS", "t"),
        ("CREATE TABLE {t} AS SELECT 1 AS id", "TABLE_OR_VIEW_ALREADY_EXISTS", "t"),
        (
            "CREATE TABLE {t}x (id INT, PRIMARY KEY (nobody) NOT ENFORCED)",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            "nobody",
        ),
        ("CREATE TABLE {t}x AS SELECT 1 AS id, CAST('many' AS INT) AS n", "CAST_INVALID_INPUT", "many"),
        (
            "MERGE INTO {t} USING (SELECT 1 AS i) s ON id = i WHEN MATCHED THEN UPDATE SET nobody = 1",
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
            "nobody",
        ),
    ],
)
def test_small_statements(
    spark: SparkSession, warehouse: Path, orders: str, statement: str, condition: str, named: str
) -> None:
    with nothing_left(warehouse):
        message = refused(condition, lambda: spark.sql(statement.format(t=orders)).collect())
    assert named in message
    assert spark.sql(f"SELECT count(*), sum(n) FROM {orders}").first()[:] == (3, 60)


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize("name", ["../../x", "..", ".hidden", "a/b", "a\\b", "%2e%2e", "x" * 300])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE lake.db.`{name}` (id INT)",
        "CREATE NAMESPACE lake.`{name}`",
        "CREATE TABLE lake.`{name}`.t AS SELECT 1 AS id",
    ],
)
def test_names_that_leave_the_warehouse(spark: SparkSession, warehouse: Path, statement: str, name: str) -> None:
    with nothing_left(warehouse.parent):
        refused("INVALID_NAME", lambda: spark.sql(statement.format(name=name)).collect())
    assert not (warehouse.parent / "x").exists()


@pytest.mark.parametrize(
    ("column", "value"), [("id", "IF(id = 599999, NULL, id), a, b, c"), ("a", "id, IF(id = 599999, NULL, a), b, c")]
)
def test_null_that_an_executor_meets(spark: SparkSession, warehouse: Path, wide: str, column: str, value: str) -> None:
    with nothing_left(warehouse):
        message = refused(
            "NULL_IN_REQUIRED_COLUMN", lambda: spark.sql(f"INSERT INTO {wide} SELECT {value} {WIDE_ROWS}")
        )
    assert column in message


def test_value_that_an_executor_cannot_cast(spark: SparkSession, warehouse: Path, wide: str) -> None:
    query = f"SELECT CAST(IF(id = 599999, 'many', '1') AS BIGINT), a, b, c {WIDE_ROWS}"
    with nothing_left(warehouse):
        assert "many" in refused("CAST_INVALID_INPUT", lambda: spark.sql(f"INSERT INTO {wide} {query}"))


MATCHED_TWICE = {
    "driver": "SELECT 1L AS id, 'x' AS a, 'b' AS b, 'c' AS c UNION ALL SELECT 1L, 'y', 'b', 'c'",
    "executors": f"SELECT id % 599999 + 1 AS id, a, b, c {WIDE_ROWS}",
}


@pytest.mark.parametrize("key", [1, 2], ids=["matched", "new"])
@pytest.mark.parametrize("mode", ["resolved", "equality"])
@pytest.mark.parametrize("path", list(MATCHED_TWICE))
def test_key_that_comes_twice_in_an_upsert(
    spark: SparkSession, warehouse: Path, wide: str, mode: str, path: str, key: int
) -> None:
    spark.sql(f"ALTER TABLE {wide} SET TBLPROPERTIES ('write.upsert.mode'='{mode}')")
    source = f"SELECT id + {key - 1} AS id, a, b, c FROM ({MATCHED_TWICE[path]})"
    upsert = f"""MERGE INTO {wide} AS t USING ({source}) AS s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""
    with nothing_left(table_folder(warehouse, wide)):
        assert f'{{"id": {key}}}' in refused("DUPLICATE_KEY", lambda: spark.sql(upsert))
    assert [row[:] for row in spark.table(wide).collect()] == [(1, "a", "b", "c")]


@pytest.mark.parametrize("path", list(MATCHED_TWICE))
def test_row_that_a_merge_changes_twice(spark: SparkSession, warehouse: Path, wide: str, path: str) -> None:
    merge = f"""MERGE INTO {wide} AS t USING ({MATCHED_TWICE[path]}) AS s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET a = concat(t.a, s.a) WHEN NOT MATCHED AND s.id < 0 THEN INSERT *"""
    with nothing_left(table_folder(warehouse, wide)):
        assert '{"id": 1}' in refused("MERGE_CARDINALITY_VIOLATION", lambda: spark.sql(merge))
    assert [row[:] for row in spark.table(wide).collect()] == [(1, "a", "b", "c")]
