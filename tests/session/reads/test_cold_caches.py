"""No answer needs a cache: the same statements with every cache of the process empty, as a busy one may find them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sqlext.catalog import decoded_metadata
from sqlext.scan.files.byte_cache import ByteCache
from sqlext.spark.catalog import remembered_metadata

STATEMENTS = (
    "INSERT INTO {t} SELECT id, 'a', id FROM range(6)",
    "UPSERT INTO {t} VALUES (1, 'b', 10), (7, 'b', 70)",
    "UPDATE {t} SET v = v + 1 WHERE id IN (2, 3)",
    "DELETE FROM {t} WHERE v = 4",
    "MERGE WITH SCHEMA EVOLUTION INTO {t} AS t"
    " USING (SELECT id, 'c' AS part, 5L AS v, 'new' AS more FROM range(5, 9)) AS s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "ALTER TABLE {t} CREATE BRANCH b",
    "INSERT INTO {t}.branch_b VALUES (20, 'd', 20, 'x')",
    "ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)",
    "MERGE INTO {t} AS t USING {t}.branch_b AS s ON t.id = s.id AND t.id > 6 WHEN NOT MATCHED THEN INSERT *",
    "BEGIN",
    "DELETE FROM {t} WHERE id < 3",
    "SAVEPOINT s",
    "INSERT INTO {t} VALUES (30, 'e', 30, 'y')",
    "ALTER TABLE {t} ADD COLUMN last INT",
    "UPDATE {t} SET last = id WHERE id > 4",
    "ROLLBACK TO s",
    "INSERT INTO {t} VALUES (31, 'e', 31, 'z')",
    "COMMIT",
    "CALL lake.system.compact('{t}')",
)
QUERIES = (
    "SELECT * FROM {t}",
    "SELECT * FROM {t}.branch_b",
    "SELECT id, part FROM {t} WHERE part = 'e' OR v > 50",
    "SELECT count(*), max(v) FROM {t}",
    "SELECT id, _change_type FROM {t}.changes",
    "SELECT operation FROM {t}.snapshots",
    "SELECT record_count FROM {t}.files",
)


def _rows(spark: SparkSession, text: str) -> list[str]:
    return sorted(str(tuple(row)) for row in spark.sql(text).collect())


def _run(spark: SparkSession, name: str, mode: str) -> list[Any]:
    properties = f"TBLPROPERTIES ('write.upsert.mode'='{mode}', 'format-version'='2')"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, part STRING, v BIGINT, PRIMARY KEY (id)) {properties}")
    found: list[Any] = []
    for statement in STATEMENTS:
        spark.sql(statement.format(t=name))
        found.append((statement, _rows(spark, f"SELECT * FROM {name}")))
    rows = spark.createDataFrame(
        [(40, "f", 40, "w", 1.5)], "id BIGINT, part STRING, v BIGINT, more STRING, fresh DOUBLE"
    )
    rows.writeTo(name).option("mergeSchema", "true").append()
    return [*found, *((query, _rows(spark, query.format(t=name))) for query in QUERIES)]


@pytest.fixture
def cold(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every cache of tables keeps nothing, here and in the JVM."""
    monkeypatch.setattr(remembered_metadata, "_REMEMBERED_VERSIONS", 0)
    monkeypatch.setattr(decoded_metadata, "_MOST_BYTES", 0)
    monkeypatch.setattr(ByteCache, "_keep", lambda *_: None)
    jvm: Any = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()

    def private(owner: Any, name: str) -> Any:
        field = owner.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return field

    def singleton(name: str) -> Any:
        module = loader.loadClass(f"io.sqlext.{name}$")
        return module.getField("MODULE$").get(None)

    bridge = singleton("Bridge")
    answers = private(bridge, "kept").get(bridge)
    most = private(answers, "most")
    before = most.get(answers)
    most.set(answers, 0)
    answers.clear()
    yield
    most.set(answers, before)


@pytest.mark.turns(1)
@pytest.mark.parametrize("mode", ["equality", "resolved"])
def test_statements_do_as_they_do_with_caches(
    spark: SparkSession, table_name: str, request: pytest.FixtureRequest, mode: str
) -> None:
    warm = _run(spark, f"{table_name}_warm", mode)
    request.getfixturevalue("cold")
    for (statement, expected), (_, found) in zip(warm, _run(spark, f"{table_name}_cold", mode), strict=True):
        assert found == expected, statement
