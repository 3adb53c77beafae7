"""A MERGE from structs that have fewer fields than the table's: `spark.sql.mergeNestedTypeCoercion.enabled`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge, JudgeError

SETTING = "spark.sql.mergeNestedTypeCoercion.enabled"
STRUCT = (
    "id INT, s STRUCT<a: INT, b: INT, c: STRUCT<x: INT, y: INT>>",
    "SELECT 1 AS id, named_struct('a', 1, 'b', 2, 'c', named_struct('x', 3, 'y', 4)) AS s UNION ALL SELECT 3, NULL",
)
LISTS = (
    "id INT, s ARRAY<STRUCT<a: INT, b: INT>>, m MAP<STRING, STRUCT<a: INT, b: INT>>",
    "SELECT 1 AS id, array(named_struct('a', 1, 'b', 2)) AS s, map('k', named_struct('a', 1, 'b', 2)) AS m",
)
IDS = "FROM VALUES (1), (2), (3) AS v(id)"
SOURCES = {
    "fewer": (STRUCT, f"SELECT id, named_struct('c', named_struct('y', 40L), 'A', 10) AS s {IDS}"),
    "null": (STRUCT, f"SELECT id, CAST(NULL AS STRUCT<a: INT, c: STRUCT<y: INT>>) AS s {IDS}"),
    "null inside": (STRUCT, f"SELECT id, named_struct('a', 10, 'c', CAST(NULL AS STRUCT<y: INT>)) AS s {IDS}"),
    "fewer inside": (STRUCT, f"SELECT id, named_struct('a', 10, 'b', 20, 'c', named_struct('y', 40)) AS s {IDS}"),
    "all": (STRUCT, f"SELECT id, named_struct('a', 10, 'b', 20, 'c', named_struct('x', 30, 'y', 40)) AS s {IDS}"),
    "in lists": (LISTS, f"SELECT id, array(named_struct('a', 10)) AS s, map('k', named_struct('a', 10)) AS m {IDS}"),
}
UPDATE, INSERT = "WHEN MATCHED THEN UPDATE SET *", "WHEN NOT MATCHED THEN INSERT *"
EVOLVING = "WITH SCHEMA EVOLUTION "
CLAUSES = {
    "": (UPDATE, INSERT, "WHEN MATCHED THEN UPDATE SET s = s.s", "WHEN MATCHED THEN UPDATE SET t.s.c = s.s.c"),
    EVOLVING: (
        f"{UPDATE} {INSERT}",
        "WHEN MATCHED THEN UPDATE SET s = s.s WHEN NOT MATCHED THEN INSERT (id, s) VALUES (s.id, s.s)",
        "WHEN MATCHED THEN UPDATE SET t.s.c = s.s.c",
    ),
}


@pytest.fixture(params=["true", "false"])
def setting(request: pytest.FixtureRequest, spark: SparkSession, iceberg: IcebergJudge) -> Iterator[str]:
    spark.conf.set(SETTING, request.param)
    iceberg.sql(f"SET {SETTING}={request.param}")
    yield request.param
    spark.conf.unset(SETTING)
    iceberg.sql(f"RESET {SETTING}")


@pytest.mark.turns(1)
@pytest.mark.parametrize("evolution", CLAUSES)
def test_as_iceberg(spark: SparkSession, iceberg: IcebergJudge, table_name: str, setting: str, evolution: str) -> None:
    """Rows or a refusal, for each shape of the source and each clause."""
    different = []
    for name, clauses in product(SOURCES if setting == "true" else ["fewer"], CLAUSES[evolution]):
        (columns, rows), source = SOURCES[name]
        if name == "in lists" and "t.s.c" in clauses:
            continue
        key = ", PRIMARY KEY (id)" if name == "fewer" else ""
        spark.sql(f"CREATE OR REPLACE TABLE {table_name} ({columns}{key})")
        iceberg.sql(f"CREATE OR REPLACE TABLE {table_name}_judged ({columns}) USING iceberg")
        results = []
        for run, table in (
            (lambda text: canonical_rows(spark.sql(text)), table_name),
            (iceberg.sql, f"{table_name}_judged"),
        ):
            run(f"INSERT INTO {table} {rows}")
            refusal = None
            try:
                run(f"MERGE {evolution}INTO {table} AS t USING ({source}) AS s ON t.id = s.id {clauses}")
            except (PySparkException, JudgeError) as error:
                refusal = _condition(error)
            results.append((refusal, run(f"SELECT * FROM {table}")))
        if results[0] != results[1]:
            different.append((name, clauses, *results))
        if name == "fewer" and clauses.startswith(UPDATE):
            assert (results[0][0] is None) == (setting == "true")
    assert different == []


def _condition(error: Any) -> str | None:
    condition: str | None = error.condition if isinstance(error, JudgeError) else error.getCondition()
    return condition


def test_fields_that_the_table_lacks_are_refused(spark: SparkSession, table_name: str) -> None:
    """Spark drops them, where others are absent at the same time."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, s STRUCT<a: INT, b: INT>)")
    spark.sql(f"INSERT INTO {table_name} SELECT 1, named_struct('a', 1, 'b', 2)")
    spark.conf.set(SETTING, "true")
    try:
        with pytest.raises(PySparkException, match="EXTRA_STRUCT_FIELDS"):
            spark.sql(
                f"MERGE INTO {table_name} AS t USING (SELECT 1 AS id, named_struct('a', 10, 'z', 5) AS s) AS s"
                " ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
            )
    finally:
        spark.conf.unset(SETTING)
    assert [tuple(row.s) for row in spark.table(table_name).collect()] == [(1, 2)]
