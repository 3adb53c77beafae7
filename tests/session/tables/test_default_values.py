"""DEFAULT wherever it may stand, beside Spark's own tables: the same rows, or refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

COLUMNS = "(a INT DEFAULT 7, b INT DEFAULT 9)"
# The values of a row, and what may stand around them: Spark gives each of their products rows, or refuses it.
VALUES = ["DEFAULT, 3", "3, (DEFAULT)", "DEFAULT AS a, 3", "3, coalesce(DEFAULT, 1)"]
AROUND = ["VALUES ({})", "(SELECT {} LIMIT 1)", "SELECT 1, 2 UNION ALL SELECT {}", "SELECT {} EXCEPT SELECT 1, 3"]
AROUND += ["SELECT * FROM (SELECT {})", "SELECT DISTINCT {}", "FROM range(1) SELECT {}"]
SINGLE = [
    "SELECT * FROM VALUES (DEFAULT, 3) AS s(x, y)",
    "SELECT DEFAULT, 2, 3",
    "SELECT `DEFAULT`, 5",
    "WITH c AS (SELECT DEFAULT, 3) SELECT * FROM c",
    "SELECT default, 5 FROM (SELECT 1 AS default)",
    "SELECT DEFAULT, 5 FROM (SELECT 1 + 1.5 AS default)",
    "SELECT s.DEFAULT, 5 FROM (SELECT 1 AS default) AS s",
    "SELECT 1 AS default, default",
    "SELECT *, DEFAULT FROM (SELECT 4 AS p)",
    "SELECT stack(1, 2, 3), DEFAULT",
    "SELECT inline(array(struct(2, 3))), DEFAULT",
    "SELECT explode(array(1)), DEFAULT",
    "SELECT id, DEFAULT FROM range(2) LATERAL VIEW explode(array(1)) l AS e ORDER BY id",
    "SELECT 3, (SELECT DEFAULT)",
    "VALUES (DEFAULT, 3), (1, DEFAULT), (DEFAULT, DEFAULT)",
    "VALUES (1, 2) UNION ALL VALUES (DEFAULT, 3)",
    "SELECT DEFAULT",
    "SELECT DEFAULT, nope",
]
QUERIES = [*(around.format(values) for around, values in itertools.product(AROUND, VALUES)), *SINGLE]

# What Spark refuses here, though the place leaves no doubt which column is meant.
_ONLY_HERE = {
    "WITH c AS (SELECT 5 AS x) SELECT DEFAULT, x FROM c": [(7, 5)],
    "SELECT DEFAULT, id FROM range(3) GROUP BY id HAVING id = 2": [(7, 2)],
    "VALUES (DEFAULT, 3) LIMIT 1": [(7, 3)],
    "SELECT DEFAULT, max(5)": [(7, 5)],
}
REFUSED = None


@pytest.fixture(scope="module")
def stored(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Any]:
    """What a statement stores in a table that was empty: rows, or None where it is refused."""
    folder = str(tmp_path_factory.mktemp("parquet"))
    spark.sql(f"CREATE TABLE lake.db.with_defaults {COLUMNS} TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"CREATE TABLE spark_catalog.default.with_defaults {COLUMNS} USING parquet LOCATION '{folder}'")

    def run(catalog: str, statement: str) -> Any:
        table = "lake.db.with_defaults" if catalog == "lake" else "spark_catalog.default.with_defaults"
        try:
            spark.sql(statement.format(table=table))
        except AnalysisException:
            return REFUSED
        rows = sorted(tuple(row) for row in spark.table(table).collect())
        spark.sql(f"INSERT OVERWRITE {table} SELECT 0, 0 WHERE false")
        return rows

    return run


@pytest.mark.parametrize("query", QUERIES)
def test_a_source_gives_what_it_gives_to_tables_of_spark(stored: Callable[[str, str], Any], query: str) -> None:
    statement = f"INSERT INTO {{table}} {query}"
    assert stored("lake", statement) == stored("spark", statement)


@pytest.mark.parametrize("head", ["(b, a)", "(a, b)", "(b)", "BY NAME"])
@pytest.mark.parametrize(
    "query", ["VALUES (DEFAULT, 3)", "SELECT 4, DEFAULT", "VALUES (DEFAULT)", "SELECT DEFAULT AS b"]
)
@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_named_columns_have_their_own_defaults(
    stored: Callable[[str, str], Any], head: str, query: str, verb: str
) -> None:
    statement = f"INSERT {verb} {{table}} {head} {query}"
    assert stored("lake", statement) == stored("spark", statement)


@pytest.mark.parametrize("query", _ONLY_HERE)
def test_sources_that_only_sqlext_takes(stored: Callable[[str, str], Any], query: str) -> None:
    statement = f"INSERT INTO {{table}} {query}"
    assert stored("lake", statement) == _ONLY_HERE[query]
    assert stored("spark", statement) is REFUSED


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ("SELECT '+U' AS _row_kind, DEFAULT, 3", (7, 3)),
        ("SELECT DEFAULT, '+U' AS _row_kind, DEFAULT", (7, 9)),
        ("SELECT * FROM VALUES ('+I', DEFAULT, 1) AS s(_row_kind, a, b)", (7, 1)),
    ],
)
def test_the_kind_of_a_row_takes_no_place(
    spark: SparkSession, table_name: str, query: str, row: tuple[int, int]
) -> None:
    columns = f"{COLUMNS[:-1]}, PRIMARY KEY (a))"
    spark.sql(f"CREATE TABLE {table_name} {columns} TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"UPSERT INTO {table_name} {query}")
    assert [tuple(stored) for stored in spark.table(table_name).collect()] == [row]


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE {t} SET a = (DEFAULT)", (7, 2, 1)),
        ("UPDATE {t} SET a = default", (1, 2, 1)),
        ("UPDATE {t} SET a = {t}.default", (1, 2, 1)),
        ("MERGE INTO {t} USING (SELECT 1 AS x) s ON true WHEN MATCHED THEN UPDATE SET a = DEFAULT", (1, 2, 1)),
        (
            "MERGE INTO {t} USING (SELECT 5 AS default) s ON false WHEN NOT MATCHED THEN INSERT (a, b)"
            " VALUES (DEFAULT, (DEFAULT))",
            (5, 5, None),
        ),
        (
            "MERGE INTO {t} USING (SELECT 5 AS x) s ON false WHEN NOT MATCHED THEN INSERT (a, b)"
            " VALUES (DEFAULT, (DEFAULT))",
            (7, 9, None),
        ),
        (
            "MERGE INTO {t} USING (SELECT 5 AS default) s ON false WHEN NOT MATCHED BY SOURCE"
            " THEN UPDATE SET a = DEFAULT",
            (1, 2, 1),
        ),
    ],
)
def test_a_column_of_that_name_comes_first(
    spark: SparkSession, table_name: str, statement: str, row: tuple[Any, ...]
) -> None:
    named = "default" if "(7" not in str(row) else "other"
    spark.sql(
        f"CREATE TABLE {table_name} (a INT DEFAULT 7, b INT DEFAULT 9, {named} INT)"
        " TBLPROPERTIES ('format-version'='3')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (0, 2, 1)")
    spark.sql(statement.format(t=table_name))
    assert row in [tuple(stored) for stored in spark.table(table_name).collect()]


ROWS_WITHOUT_A_COLUMN = {
    "insert": lambda spark, t: spark.sql(f"INSERT INTO {t} (id, n) SELECT 2, 6"),
    "insert by name": lambda spark, t: spark.sql(f"INSERT INTO {t} BY NAME SELECT 2 AS id, 6 AS n"),
    "insert with evolution": lambda spark, t: spark.sql(
        f"INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 2 AS id, 6 AS n, 'y' AS w"
    ),
    "literals": lambda spark, t: spark.sql(f"INSERT INTO {t} (id, n) VALUES (2, 6)"),
    "upsert": lambda spark, t: spark.sql(f"UPSERT INTO {t} (id, n) SELECT 2, 6"),
    "upsert of literals": lambda spark, t: spark.sql(f"UPSERT INTO {t} (id, n) VALUES (2, 6)"),
    "on conflict": lambda spark, t: spark.sql(f"INSERT INTO {t} (id, n) VALUES (2, 6) ON CONFLICT DO NOTHING"),
    "merge": lambda spark, t: spark.sql(
        f"MERGE INTO {t} t USING (SELECT 2 AS id, 6 AS n) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
    ),
    "merge with evolution": lambda spark, t: spark.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 2 AS id, 6 AS n, 'y' AS w) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    "merge with evolution and a condition": lambda spark, t: spark.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 2 AS id, 6 AS n) s ON t.id = s.id AND t.n > 9"
        " WHEN NOT MATCHED AND s.n > 1 THEN INSERT *"
    ),
    "writeTo": lambda spark, t: spark.sql("SELECT 2 AS id, 6 AS n").writeTo(t).append(),
    "writeTo with evolution": lambda spark, t: (
        spark.sql("SELECT 2 AS id, 6 AS n, 'y' AS w").writeTo(t).option("mergeSchema", "true").append()
    ),
    "saveAsTable": lambda spark, t: spark.sql("SELECT 2 AS id, 6 AS n").write.mode("append").saveAsTable(t),
}
"""Ways for the row (2, 6) to come into columns id and n of a table that has more."""


@pytest.mark.parametrize("mode", ["resolved", "equality"])
@pytest.mark.parametrize("way", ROWS_WITHOUT_A_COLUMN)
def test_a_new_row_has_the_default_of_a_column_that_it_lacks(
    spark: SparkSession, table_name: str, way: str, mode: str
) -> None:
    columns = "id INT, v STRING DEFAULT 'unknown', n INT DEFAULT 7, PRIMARY KEY (id) NOT ENFORCED"
    spark.sql(
        f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ('format-version'='3', 'write.upsert.mode'='{mode}')"
    )
    ROWS_WITHOUT_A_COLUMN[way](spark, table_name)
    assert [tuple(row) for row in spark.table(table_name).select("id", "v", "n").collect()] == [(2, "unknown", 6)]
