"""A table of more files than the driver plans whole: Spark does what the driver's look-ups do, with equal rows."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

LIMIT = "sqlext.plan.planned-files"
CHANGES = (
    "UPSERT INTO {t} VALUES (2, 'upserted', 20), (90, 'new', 900)",
    "UPDATE {t} SET v = 'updated' WHERE n > 25",
    "MERGE INTO {t} AS t USING (SELECT 1 AS id UNION ALL SELECT 91) AS s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT (id, v, n) VALUES (s.id, 'merged', 0)",
    "DELETE FROM {t} WHERE id = 4",
    "INSERT INTO {t} REPLACE WHERE v LIKE 'u%' AND length(v) >= 7 VALUES (3, 'replaced', 30)",
)


def _rows(spark: SparkSession, name: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, spark.table(name).collect()))


@pytest.mark.parametrize("version", [2, 3])
def test_changes_are_equal_with_and_without_a_plan_of_all_files(
    spark: SparkSession, table_name: str, version: int
) -> None:
    other = spark.newSession()
    other.conf.set(LIMIT, "0")
    tables = ((spark, table_name), (other, f"{table_name}_large"))
    for session, name in tables:
        session.sql(
            f"CREATE TABLE {name} (id INT, v STRING, n INT, PRIMARY KEY (id) ENFORCED)"
            f" TBLPROPERTIES ('format-version'='{version}')"
        )
        for start in (0, 3):
            ids = f"SELECT CAST(id AS INT) AS id FROM range({start}, {start + 3})"
            session.sql(f"INSERT INTO {name} SELECT id, 'old', id * 10 FROM ({ids})")
    for change in CHANGES:
        for session, name in tables:
            session.sql(change.format(t=name))
        assert _rows(spark, table_name) == _rows(other, f"{table_name}_large"), change
    assert (3, "replaced", 30) in _rows(spark, table_name)
    for session, name in tables:
        with pytest.raises(PySparkException, match="KEY_ALREADY_EXISTS"):
            session.sql(f"INSERT INTO {name} VALUES (1, 'again', 1)")
